mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  artifact = "../../tests/terraform/fixtures/artifact.zip"
}

run "plan" {
  command = plan

  assert {
    condition     = aws_dynamodb_table.points.deletion_protection_enabled && aws_dynamodb_table.points.point_in_time_recovery[0].enabled
    error_message = "The system of record is not lost with a stack."
  }
}

run "apply" {
  assert {
    condition     = keys(output.workloads) == ["points", "points-retry"] && keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["points", "points-retry"]
    error_message = "The workloads of this example: ${jsonencode(keys(output.workloads))}"
  }

  assert {
    condition     = [for w in output.workloads : w.event_source_mapping.max_concurrency] == [20, 2]
    error_message = "Retries have a low ceiling of their own: ${jsonencode([for w in output.workloads : w.event_source_mapping])}"
  }

  # 20 attempts of RetryBooking, and as many receives again for what is no attempt.
  assert {
    condition     = output.workloads["points-retry"].queue.max_receive_count >= 2 * 20
    error_message = "The queue would move a booking that still has attempts: ${output.workloads["points-retry"].queue.max_receive_count}"
  }
}

run "what_the_jobs_may_do" {
  assert {
    condition     = toset(jsondecode(aws_iam_policy.points.policy).Statement[0].Action) == toset(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"])
    error_message = "No job removes an entry: ${aws_iam_policy.points.policy}"
  }
}
