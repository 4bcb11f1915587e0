mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  artifact = "../../tests/terraform/fixtures/artifact.zip"
}

run "plan" {
  command = plan
}

run "apply" {
  assert {
    condition     = keys(output.workloads) == ["calendar", "calls", "rollouts", "webhooks"] && keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["calendar", "calls", "rollouts", "webhooks"]
    error_message = "The workloads of this example: ${jsonencode(keys(output.workloads))}"
  }

  # The work of a killed process is back within half a minute.
  assert {
    condition     = alltrue([for w in output.workloads : w.queue.visibility_timeout_seconds == 30])
    error_message = "Visibility is six times the timeout of five seconds."
  }

  assert {
    condition     = [for key, w in output.workloads : key if w.queue.fifo] == ["rollouts"]
    error_message = "Only rollouts keep an order."
  }
}

run "semantics" {
  assert {
    condition     = [for key, w in output.workloads : key if w.delay_machine != null] == ["rollouts", "webhooks"]
    error_message = "Two workloads delay jobs for longer than 15 minutes."
  }

  assert {
    condition     = output.publisher.environment["JOBS_TABLE"] == "acme-jobs" && output.publisher.environment["JOBS_CLAIM_BUCKET"] == "acme-claims-123456789012-eu-west-1" && output.publisher.environment["JOBS_CLAIM_MAX_DELAY_SECONDS"] == tostring(31 * 86400)
    error_message = "Table and bucket: ${jsonencode(output.publisher.environment)}"
  }
}

run "schedules" {
  assert {
    condition     = keys(output.schedules.schedules) == ["agenda", "rollout-review"] && output.schedules.group.name == "acme-schedules"
    error_message = "Two jobs are sent by schedules: ${jsonencode(output.schedules)}"
  }
}
