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
    condition     = keys(output.workloads) == ["email"] && keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["email"]
    error_message = "The workloads of this example: ${jsonencode(keys(output.workloads))}"
  }
}
