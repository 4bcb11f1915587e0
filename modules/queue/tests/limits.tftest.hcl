# One run per rule that is refused at plan. The legal neighbours of a limit stand in the runs named "accepts".
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name                     = "shop-email"
  consumer_timeout_seconds = 60
  subscription = {
    topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    filter    = { workload = ["email"] }
  }
}

run "accepts_the_limits_themselves" {
  command = plan
  variables {
    name                       = "n234567890123456789012345678901234567890123456789012345678901234567" # 67
    consumer_timeout_seconds   = 900
    batch_window_seconds       = 300
    visibility_timeout_seconds = 43200
    max_receive_count          = 3
    retention_seconds          = 1209599
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      filter = {
        a = ["1", "2", "3", "4", "5"]
        b = ["1", "2", "3", "4", "5", "6"]
        c = ["1", "2", "3", "4", "5"]
        d = ["1"]
        e = ["1"]
      }
    }
  }
}

run "refuses_a_name_too_long_for_its_dead_letter_queues" {
  command = plan
  variables {
    name = "n2345678901234567890123456789012345678901234567890123456789012345678"
  }
  expect_failures = [var.name]
}

run "refuses_the_name_of_a_dead_letter_queue" {
  command = plan
  variables {
    name = "shop-email-dlq"
  }
  expect_failures = [var.name]
}

run "refuses_a_consumer_timeout_whose_visibility_does_not_fit" {
  command = plan
  variables {
    consumer_timeout_seconds = 7201
  }
  expect_failures = [var.consumer_timeout_seconds]
}

run "refuses_visibility_below_six_timeouts" {
  command = plan
  variables {
    visibility_timeout_seconds = 359
  }
  expect_failures = [var.visibility_timeout_seconds]
}

run "refuses_visibility_that_forgets_the_window" {
  command = plan
  variables {
    visibility_timeout_seconds = 360
    batch_window_seconds       = 1
  }
  expect_failures = [var.visibility_timeout_seconds]
}

run "refuses_visibility_above_12_hours" {
  command = plan
  variables {
    visibility_timeout_seconds = 43201
  }
  expect_failures = [var.visibility_timeout_seconds]
}

run "refuses_two_receives" {
  command = plan
  variables {
    max_receive_count = 2
  }
  expect_failures = [var.max_receive_count]
}

run "refuses_1001_receives" {
  command = plan
  variables {
    max_receive_count = 1001
  }
  expect_failures = [var.max_receive_count]
}

run "refuses_retention_of_59_seconds" {
  command = plan
  variables {
    retention_seconds = 59
  }
  expect_failures = [var.retention_seconds]
}

run "refuses_retention_as_long_as_the_dead_letter_queues" {
  command = plan
  variables {
    retention_seconds = 1209600
  }
  expect_failures = [var.retention_seconds]
}

run "warns_when_the_last_receive_comes_after_the_retention" {
  command = plan
  variables {
    retention_seconds = 3599 # 10 receives x 360 s are 3600
  }
  expect_failures = [check.retry_horizon]
}

run "refuses_a_window_of_301_seconds" {
  command = plan
  variables {
    batch_window_seconds = 301
  }
  expect_failures = [var.batch_window_seconds]
}

run "refuses_a_window_on_fifo" {
  command = plan
  variables {
    fifo                 = true
    batch_window_seconds = 5
  }
  expect_failures = [var.batch_window_seconds]
}

run "refuses_six_filter_attributes" {
  command = plan
  variables {
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      filter    = { a = ["1"], b = ["1"], c = ["1"], d = ["1"], e = ["1"], f = ["1"] }
    }
  }
  expect_failures = [var.subscription]
}

run "refuses_180_filter_combinations" {
  command = plan
  variables {
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      filter = {
        job    = ["a", "b", "c", "d", "e", "f"]
        tenant = ["t1", "t2", "t3", "t4", "t5", "t6"]
        v      = ["1", "2", "3", "4", "5"]
      }
    }
  }
  expect_failures = [var.subscription]
}

run "refuses_an_empty_filter" {
  command = plan
  variables {
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      filter    = {}
    }
  }
  expect_failures = [var.subscription]
}

run "refuses_an_attribute_without_values" {
  command = plan
  variables {
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      filter    = { workload = [] }
    }
  }
  expect_failures = [var.subscription]
}

run "refuses_the_aws_managed_key" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs" }
  }
  expect_failures = [var.kms_key]
}

run "refuses_everybody" {
  command = plan
  variables {
    policy_statements = { Open = { aws = ["*"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_wildcard_actions" {
  command = plan
  variables {
    policy_statements = { Wide = { aws = ["444455556666"], actions = ["sqs:*"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_a_service_of_any_account" {
  command = plan
  variables {
    policy_statements = { Confused = { services = ["s3.amazonaws.com"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_an_illegal_statement_id" {
  command = plan
  variables {
    policy_statements = { "Has space" = { aws = ["444455556666"] } }
  }
  expect_failures = [var.policy_statements]
}

run "accepts_the_shortest_lease" {
  command = plan
  variables {
    consumer_timeout_seconds   = null
    visibility_timeout_seconds = 30
  }
}

run "accepts_the_longest_lease" {
  command = plan
  variables {
    consumer_timeout_seconds   = null
    visibility_timeout_seconds = 43200
    max_receive_count          = 3
  }
}

run "refuses_neither_timeout_nor_lease" {
  command = plan
  variables {
    consumer_timeout_seconds = null
  }
  expect_failures = [var.visibility_timeout_seconds]
}

run "refuses_a_lease_that_no_renewal_can_keep" {
  command = plan
  variables {
    consumer_timeout_seconds   = null
    visibility_timeout_seconds = 29
  }
  expect_failures = [var.visibility_timeout_seconds]
}

run "refuses_a_lease_above_12_hours" {
  command = plan
  variables {
    consumer_timeout_seconds   = null
    visibility_timeout_seconds = 43201
  }
  expect_failures = [var.visibility_timeout_seconds]
}
