# What every alarm watches, and whom it tells, is read from the plan by tests/terraform/test_alarms.py.
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name    = "shop-email"
  subject = "workload email of shop"
  queue   = { name = "shop-email" }
  dlq     = { name = "shop-email-dlq" }
  actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
}

run "a_queue_alone" {
  assert {
    condition     = keys(output.alarms) == ["dead-letters", "dead-letters-expiring", "dead-letters-growing", "queue-age", "queue-in-flight"]
    error_message = "What is not there has no alarm: ${jsonencode(keys(output.alarms))}"
  }

  assert {
    condition     = output.composite_alarm.name == "shop-email-attention" && aws_cloudwatch_composite_alarm.this[0].alarm_rule == "ALARM(\"shop-email-dead-letters\") OR ALARM(\"shop-email-queue-age\")"
    error_message = "What pages goes through the composite alarm: ${aws_cloudwatch_composite_alarm.this[0].alarm_rule}"
  }

  assert {
    condition     = length(output.alarm_arns) == 6
    error_message = "All ARNs."
  }
}

run "nothing_to_watch" {
  variables {
    queue = null
    dlq   = null
  }

  assert {
    condition     = length(output.alarms) == 0 && output.composite_alarm == null
    error_message = "No alarm, and no composite alarm over nothing."
  }
}

run "dead_letters_of_a_source_that_keeps_long" {
  command = plan
  variables {
    dlq = { name = "shop-email-dlq", source_retention_seconds = 1209599 }
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["dead-letters-expiring"].threshold == 3600
    error_message = "A letter may have an hour: the alarm goes off at once, but after the one that says there are letters."
  }
}

run "dead_letters_of_a_source_that_keeps_shortly" {
  command = plan
  variables {
    dlq = { name = "shop-email-dlq", source_retention_seconds = 3600 }
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["dead-letters-expiring"].threshold == 864000
    error_message = "Ten days at most, so that four are left to act."
  }
}

run "refuses_a_name_that_no_alarm_may_have" {
  command = plan
  variables {
    name = "shop.email"
  }
  expect_failures = [var.name]
}

run "refuses_an_empty_subject" {
  command = plan
  variables {
    subject = ""
  }
  expect_failures = [var.subject]
}

run "refuses_a_service_without_its_queue" {
  command = plan
  variables {
    queue   = null
    service = { cluster_name = "shop", service_name = "shop-email", max_tasks = 4 }
    jobs    = { service = "shop", workload = "email" }
  }
  expect_failures = [var.service]
}

run "refuses_a_key_of_a_topic_that_no_name_may_have" {
  command = plan
  variables {
    topics = { "shop.fifo" = "shop.fifo" }
  }
  expect_failures = [var.topics]
}

run "refuses_an_age_that_no_message_reaches" {
  command = plan
  variables {
    dlq = { name = "shop-email-dlq", source_retention_seconds = 900 }
  }
  expect_failures = [var.thresholds]
}

run "refuses_six_places_to_page" {
  command = plan
  variables {
    actions = { page = ["arn:aws:sns:eu-west-1:123456789012:a", "arn:aws:sns:eu-west-1:123456789012:b", "arn:aws:sns:eu-west-1:123456789012:c", "arn:aws:sns:eu-west-1:123456789012:d", "arn:aws:sns:eu-west-1:123456789012:e", "arn:aws:sns:eu-west-1:123456789012:f"] }
  }
  expect_failures = [var.actions]
}
