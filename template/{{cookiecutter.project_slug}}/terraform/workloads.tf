# One entry per workload: one queue with its dead-letter queue, one consumer, one concurrency ceiling. Jobs choose theirs
# with `workload = "..."`; the key here is that name. A new job needs no change in this file. A new workload is for jobs
# that must not wait for each other, need another timeout or memory size, or call something that bears fewer callers.
locals {
  workloads = {
    {%- if cookiecutter.__lambda %}
    "{{ cookiecutter.first_workload }}" = {
      lambda = {
        artifact        = { filename = "${path.module}/../dist/lambda.zip" }
        handler         = "{{ cookiecutter.package_name }}.lambda_function.handler"
        runtime         = "python{{ cookiecutter.python_version }}"
        architecture    = "{{ cookiecutter.architecture }}"
        timeout_seconds = 60
        memory_mb       = 512
        # policy_arns   = { invoices = aws_iam_policy.invoices.arn } # what the jobs themselves may do
      }
      ceiling = { max_concurrency = 10 }

      # Jobs for later than 15 minutes from now, up to a year. About $50 to $75 per million such jobs, nothing for others.
      # delay = true

      # Stop receiving while something that the jobs name in `dependencies` is down.
      # pause_on_open = true
    }
    {%- endif %}
    {%- if cookiecutter.consumer == "both" %}
{% endif %}
    {%- if cookiecutter.__ecs %}
    "{{ "slow" if cookiecutter.__lambda else cookiecutter.first_workload }}" = {
      ecs = {
        cluster_arn         = var.ecs_cluster_arn
        image               = var.image
        architecture        = "{{ cookiecutter.architecture }}"
        cpu                 = 256
        memory_mb           = 512
        subnet_ids          = var.subnet_ids
        security_group_ids  = var.security_group_ids
        slots               = 1   # jobs at a time in one task
        min_tasks           = 0   # the first message starts a task, and with the queue empty none is left
        max_tasks           = 4   # the ceiling: slots x max_tasks jobs at a time
        job_seconds         = 300 # what a job takes; with the next line it says how many tasks a backlog needs
        max_latency_seconds = 900
        # lease_seconds     = 120  # how long a job may go without progress, and until a dead worker's job is taken over
        # spot              = true # cheaper; a task gets two minutes' notice
        # policy_arns       = { exports = aws_iam_policy.exports.arn } # what the jobs themselves may do
      }

      # Jobs for later than 15 minutes from now, up to a year. About $50 to $75 per million such jobs, nothing for others.
      # delay = true
    }
    {%- endif %}
  }
}
