module "jobs" {
  source = "{{ cookiecutter.module_source }}"

  name      = var.name
  workloads = local.workloads

  # A table with a record of every job: it runs once per key, can be asked for its status and cancelled, and keeps what is
  # parked. About $1.25 per million jobs, nothing while idle; a job that is cheap to repeat declines it by `ledger = False`.
  # The table refuses to be destroyed: for a stack to throw away, write { deletion_protection = false }.
  job_state = {}

  # Alarms go here; a second list, `ticket`, takes what can wait until morning. About $2 a month for each workload, of which a
  # workload's `alarms` can say what is promised: { max_age_seconds = 600 }. A dashboard comes with them.
  alarm_actions = { page = [aws_sns_topic.alarms.arn] }

  # A bucket for payloads above 248 KB, which are refused without it. About $5.40 per million of them, nothing for others.
  # claim_check = {}

  # Jobs at certain times, see docs/time.md.
  # schedules = {}

  tags = { project = "{{ cookiecutter.project_slug }}" }
}
