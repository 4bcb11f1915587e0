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
