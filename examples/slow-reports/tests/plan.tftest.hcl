mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

override_resource {
  target = aws_ecs_cluster.this
  values = { arn = "arn:aws:ecs:eu-west-1:123456789012:cluster/reporting" }
}

variables {
  image              = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/report-jobs:1.0.0"
  subnet_ids         = ["subnet-0123456789abcdef0"]
  security_group_ids = ["sg-0123456789abcdef0"]
}

run "plan" {
  command = plan
}

run "apply" {
  assert {
    condition     = keys(output.workloads) == ["reports"] && keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["reports"]
    error_message = "The workload of this example: ${jsonencode(keys(output.workloads))}"
  }

  assert {
    condition     = output.workloads["reports"].function == null && output.workloads["reports"].service.name == "reporting-reports"
    error_message = "A service, and no function: ${jsonencode(output.workloads["reports"])}"
  }

  # The lease and the queue's visibility are one thing.
  assert {
    condition     = output.workloads["reports"].queue.visibility_timeout_seconds == 120
    error_message = "Visibility is the lease: ${output.workloads["reports"].queue.visibility_timeout_seconds}"
  }
}

run "what_the_jobs_may_do" {
  assert {
    condition     = [for s in jsondecode(aws_iam_policy.reports.policy).Statement : s.Action] == ["s3:PutObject", "s3:ListBucket"]
    error_message = "Pages are added, not removed: ${aws_iam_policy.reports.policy}"
  }
}
