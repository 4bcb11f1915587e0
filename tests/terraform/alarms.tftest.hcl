# The plans of these runs are read by test_alarms.py.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  workloads = {
    email = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
  }
}

run "every_alarm_there_is" {
  command = plan

  module {
    source = "./tests/terraform/fixtures/all_alarms"
  }
}

run "only_somewhere_to_page" {
  command = plan

  module {
    source = "./tests/terraform/fixtures/all_alarms"
  }
  variables {
    ticket = []
  }
}

run "only_somewhere_for_tickets" {
  command = plan

  module {
    source = "./tests/terraform/fixtures/all_alarms"
  }
  variables {
    page = []
  }
}

run "one_workload" {
  command = plan
}

run "many_choices" {
  command = plan

  variables {
    alarm_actions    = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"], ticket = ["arn:aws:sns:eu-west-1:123456789012:tickets"] }
    alarm_suppressor = { alarm = "deploying" }
    dashboard        = false
    workloads = {
      email = {
        lambda  = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler", timeout_seconds = 100 }
        ceiling = { pollers = { min = 2, max = 5 } }
        delay   = true
        alarms  = { max_age_seconds = 60, max_depth = 50, max_end_to_end_seconds = 90, error_rate_percent = 1, max_discarded = 10 }
      }
      billing = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        fifo   = true
      }
      toys = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        alarms = { enabled = false }
      }
    }
  }

  assert {
    condition     = output.workloads["toys"].composite_alarm == null && length(output.workloads["toys"].alarms) == 0 && output.dashboard == null && output.workloads["email"].composite_alarm.name == "shop-email-attention"
    error_message = "A workload may have no alarms, the stack no dashboard."
  }
}

run "silent_on_purpose" {
  command = plan

  variables {
    alarm_actions       = {}
    allow_silent_alarms = true
  }

  assert {
    condition     = output.stack_alarms.composite_alarm.name == "shop-attention" && output.dashboard == "shop"
    error_message = "The alarms are there, and the dashboard shows them."
  }
}
