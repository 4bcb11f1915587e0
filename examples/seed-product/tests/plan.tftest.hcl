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
    condition     = keys(output.workloads) == ["billing", "cache", "credits", "mail", "shared"]
    error_message = "The workloads of this example: ${jsonencode(keys(output.workloads))}"
  }

  assert {
    condition     = [for key, w in output.workloads : key if w.queue == null] == ["cache"] && [for key, w in output.workloads : key if try(w.queue.fifo, false)] == ["credits"]
    error_message = "One workload has no queue, one keeps an order."
  }

  # The direct one has a machine without asking: nothing else can keep its retries.
  assert {
    condition     = [for key, w in output.workloads : key if w.delay_machine != null] == ["billing", "cache", "shared"]
    error_message = "Who keeps jobs for longer than a queue can: ${jsonencode([for key, w in output.workloads : key if w.delay_machine != null])}"
  }
}

run "schedules" {
  assert {
    condition     = keys(output.schedules.schedules) == ["close-day", "recalculate-credits", "renew-allowances", "run-invoices", "sweep-reservations", "weekly-digest"]
    error_message = "Six schedules: ${jsonencode(keys(output.schedules.schedules))}"
  }
}

run "alarms" {
  assert {
    condition     = alltrue([for w in output.workloads : w.composite_alarm != null])
    error_message = "Each workload pages somebody: ${jsonencode({ for key, w in output.workloads : key => w.composite_alarm })}"
  }
}

run "somebody_is_told" {
  command = plan

  variables {
    alarm_emails = { page = "oncall@acme.example" }
  }

  assert {
    condition     = keys(output.alarm_topics) == ["page", "ticket"] && keys(aws_sns_topic_subscription.email) == ["page"]
    error_message = "A topic for each severity, and a subscription for each address."
  }
}
