# Four failure domains of one small product. They share a zip: what separates them is their queue, ceiling and dead letters.
locals {
  lambda = {
    artifact        = { filename = var.artifact }
    handler         = var.handler
    runtime         = var.runtime
    architecture    = var.architecture
    timeout_seconds = var.timeout_seconds
  }
}

module "jobs" {
  source = "../.."

  name                       = var.name
  account_concurrency_budget = 50

  alarm_actions = { page = [aws_sns_topic.alarms.arn] }

  # Job records: a job runs once per key, can be asked for its status and cancelled; parked work is kept.
  job_state = { deletion_protection = var.protected }

  # Payloads above 248 KiB: 29 days cover queue, dead-letter queue and redrive, 31 more are for delayed jobs.
  claim_check = { expire_days = 60, force_destroy = !var.protected }

  workloads = {
    # Propagate a changed appointment to the calendars of everyone invited: many small jobs, taken ten at a time.
    calendar = {
      lambda  = local.lambda
      ceiling = { max_concurrency = 20 }
      queue   = { batch_size = 10 }
    }

    # Call customers' endpoints: slow and unreliable by nature, so it must not take capacity from the others.
    # A customer that is down for hours is tried again tomorrow; while it is down, polling stops.
    webhooks = {
      lambda        = merge(local.lambda, { log_retention_days = 90 })
      ceiling       = { max_concurrency = 10 }
      delay         = true
      pause_on_open = true
    }

    # Prepare the plan for a call that starts in a minute: one at a time, no waiting behind a batch; worthless when late.
    calls = {
      lambda  = local.lambda
      ceiling = { max_concurrency = 10 }
      queue   = { batch_size = 1, max_receive_count = 5, retention_seconds = 3600 }
      alarms  = { max_age_seconds = 60, max_end_to_end_seconds = 120 }
    }

    # Roll a change out account by account: order matters within an account, so the queue is FIFO and the account is the group.
    # A step may be set for next week.
    rollouts = {
      fifo    = true
      delay   = true
      lambda  = local.lambda
      ceiling = { max_concurrency = 5 }
      queue   = { batch_size = 10 }
    }
  }

  # Sent at certain times, straight to the workload's queue. Each occurrence is one job: delivered twice, it runs once.
  schedules = {
    # Every working day at six, by the office's clock. The job learns from its occurrence which day it is about.
    agenda = {
      workload     = "calendar"
      job          = "calendar.agenda.prepare"
      payload_json = jsonencode({ team = "everyone" })
      expression   = "cron(0 6 ? * MON-FRI *)"
      timezone     = "Europe/Berlin"
    }

    # On a FIFO queue the schedule is the message group: a review waits for the one before it, and for nothing else.
    rollout-review = {
      workload     = "rollouts"
      job          = "rollouts.review"
      payload_json = jsonencode({ product = var.name })
      expression   = "cron(0 7 ? * MON *)"
    }
  }

  tags = { product = var.name }
}

# Who is told. Somebody must confirm the e-mail subscription; a pager or chat takes the place of the address later.
resource "aws_sns_topic" "alarms" {
  name = "${var.name}-alarms"
}

resource "aws_sns_topic_subscription" "email" {
  count = var.alarm_email == null ? 0 : 1

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.alarm_email
}
