mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name      = "shop"
  schedules = {}
}

run "refuse_stack_name" {
  command = plan
  variables {
    name = "Shop"
  }
  expect_failures = [var.name]
}

run "refuse_an_alias_as_key" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs" }
  }
  expect_failures = [var.kms_key]
}

run "refuse_key" {
  command = plan
  variables {
    schedules = {
      Nightly = { workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_long_key" {
  command = plan
  variables {
    schedules = {
      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = { workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_no_target" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { topic_arn = null })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_two_targets" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { queue = { arn = "a", url = "u", name = "n", fifo = false } })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_job" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { job = "Report Build" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_version" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { version = 0 })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_payload_is_no_json" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { payload_json = "kind=full" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_payload_is_no_object" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { payload_json = "[1]" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_payload_holds_a_context_attribute" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { payload_json = "{\"at\": \"<aws.scheduler.scheduled-time>\"}" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_payload_is_too_large" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { payload_json = jsonencode({ text = join("", [for i in range(1000) : join("", [for j in range(27) : "0123456789"])]) }) })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_expression" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { expression = "0 9 * * 1" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_time_zone" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { timezone = "GMT+2" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_window" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { flexible_window_minutes = 1441 })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_start" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { start = "2027-01-05T08:00:00+01:00" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_end_before_start" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { start = "2027-01-05T08:00:00Z", end = "2027-01-05T08:00:00Z" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_attempts" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { retry = { max_attempts = 186 } })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_age" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { retry = { max_age_seconds = 59 } })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_group_on_a_standard_queue" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { topic_arn = null, queue = { arn = "a", url = "u", name = "n", fifo = false }, message_group_id = "g" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_group_that_sqs_refuses" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { topic_arn = null, queue = { arn = "a", url = "u", name = "n", fifo = true }, message_group_id = "a group" })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_heartbeat_of_a_week" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { topic_arn = null, queue = { arn = "a", url = "u", name = "n", fifo = false }, heartbeat = { period_seconds = 604800 } })
    }
  }
  expect_failures = [var.schedules]
}

run "refuse_heartbeat_without_a_queue" {
  command = plan
  variables {
    schedules = {
      bad = merge({ workload = "reports", topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs", job = "report.build", expression = "rate(1 hour)" }, { heartbeat = { period_seconds = 3600 } })
    }
  }
  expect_failures = [var.schedules]
}
