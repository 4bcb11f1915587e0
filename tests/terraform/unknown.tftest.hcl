mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

# Everything the module is given is created in the same apply, so nothing of it is known at plan.
run "first_plan_of_an_empty_state" {
  command = plan

  module {
    source = "./tests/terraform/fixtures/unknown_values"
  }

  assert {
    condition     = output.function_name == "shop-sync"
    error_message = "Names must be known at plan."
  }
}

run "then_apply" {
  module {
    source = "./tests/terraform/fixtures/unknown_values"
  }

  assert {
    condition     = length(output.key_policy_statements) == 2
    error_message = "The key policy is written from the module's output, without a cycle."
  }
}
