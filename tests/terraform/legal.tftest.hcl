# What must not be refused.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  workloads = {
    email   = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    billing = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, queue = { max_receive_count = 3 } }
  }
}

run "both_topics_exist_without_any_workload" {
  command = plan

  variables {
    workloads = {}
  }

  assert {
    condition     = output.topic.name == "shop-jobs" && output.fifo_topic.name == "shop-jobs.fifo" && length(output.workloads) == 0
    error_message = "So that removing the last FIFO workload changes no other function."
  }
}

run "budget_that_is_just_enough" {
  command = plan

  variables {
    account_concurrency_budget = 88
    workloads = {
      a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }                                                               # 10 by default
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, ceiling = { max_concurrency = 8 } }                            # 8
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, ceiling = { pollers = { min = 2, max = 4 } } }                 # 40
      d = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, ceiling = { max_concurrency = 2 }, reserved_concurrency = 30 } # 30
    }
  }
}

run "long_names_stay_apart" {
  command = plan

  variables {
    name = "acme-payments-eu-west-1"
    workloads = {
      invoice-reconciliation-high-priority-retry-a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
      invoice-reconciliation-high-priority-retry-b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true }
    }
  }

  assert {
    condition     = length(distinct([for w in output.workloads : w.function.name])) == 2 && alltrue([for w in output.workloads : length(w.function.name) <= 64 && length(w.queue.name) <= 80 && length(w.dlq.name) <= 80 && length(w.subscription_dlq.name) <= 80])
    error_message = "Legal and different: ${jsonencode([for w in output.workloads : w.function.name])}"
  }
}

run "rows_that_are_legal_must_plan" {
  command = plan

  variables {
    workloads = {
      many       = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, ceiling = { max_concurrency = 1500 } }
      batch      = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, queue = { batch_size = 10000, batch_window_seconds = 300 } }
      slow       = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler", timeout_seconds = 900 }, queue = { visibility_timeout_seconds = 43200, max_receive_count = 8 } }
      image      = { lambda = { artifact = { image_uri = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/jobs:1" } } }
      bucket     = { lambda = { artifact = { s3_bucket = "b", s3_key = "k" }, handler = "app.handler" } }
      fifo-batch = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, queue = { batch_size = 10 } }
      renamed    = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, name = "shop-former-name" }
    }
  }

  assert {
    condition     = output.workloads["renamed"].queue.name == "shop-former-name" && output.workloads["batch"].queue.visibility_timeout_seconds == 660
    error_message = "A fixed name is used, and the window counts."
  }
}

run "semantics_without_any_workload" {
  command = plan

  variables {
    workloads   = {}
    job_state   = {}
    claim_check = { expire_days = 16 }
  }

  assert {
    condition     = output.job_state.name == "shop-jobs" && length(output.workloads) == 0 && !contains(keys(output.publisher.environment), "JOBS_DELAY_MACHINES")
    error_message = "Table and bucket belong to the stack."
  }
}

run "payloads_that_live_just_long_enough" {
  command = plan

  variables {
    claim_check = { expire_days = 19 }
  }
}

run "derived_names_of_long_names" {
  command = plan

  variables {
    name      = "acme-payments-eu-west-1"
    job_state = {}
    workloads = {
      invoice-reconciliation-high-priority-retry-a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      invoice-reconciliation-high-priority-retry-b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true, fifo = true }
    }
  }

  assert {
    condition     = length(distinct([for w in output.workloads : w.delay_machine.name])) == 2 && alltrue([for w in output.workloads : length(w.delay_machine.name) <= 64])
    error_message = "Legal and different: ${jsonencode([for w in output.workloads : w.delay_machine.name])}"
  }
}
