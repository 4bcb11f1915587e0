# One entry per workload: one queue with its dead-letter queue, one consumer, one concurrency ceiling. Jobs choose theirs
# with `workload = "..."`; the key here is that name. A new job needs no change in this file. A new workload is for jobs
# that must not wait for each other, need another timeout or memory size, or call something that bears fewer callers.
locals {
  workloads = {
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
  }
}
