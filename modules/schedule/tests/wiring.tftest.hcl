mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name = "shop"
  schedules = {
    nightly = {
      workload = "reports"
      queue = {
        arn  = "arn:aws:sqs:eu-west-1:123456789012:shop-reports"
        url  = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports"
        name = "shop-reports"
        fifo = false
      }
      job          = "report.build"
      payload_json = "{\"kind\": \"full\"}"
      expression   = "cron(0 3 * * ? *)"
    }
  }
}

run "a_queue" {
  assert {
    condition     = aws_scheduler_schedule.this["nightly"].name == "nightly" && aws_scheduler_schedule_group.this.name == "shop-schedules" && aws_scheduler_schedule.this["nightly"].group_name == "shop-schedules" && aws_scheduler_schedule.this["nightly"].state == "ENABLED"
    error_message = "The key is the name, in the stack's own group."
  }

  assert {
    condition     = aws_scheduler_schedule.this["nightly"].schedule_expression == "cron(0 3 * * ? *)" && aws_scheduler_schedule.this["nightly"].schedule_expression_timezone == "UTC" && aws_scheduler_schedule.this["nightly"].flexible_time_window[0].mode == "OFF"
    error_message = "In UTC and at its time, unless it says otherwise."
  }

  assert {
    condition     = aws_scheduler_schedule.this["nightly"].target[0].arn == "arn:aws:scheduler:::aws-sdk:sqs:sendMessage" && aws_scheduler_schedule.this["nightly"].target[0].role_arn == output.role.arn
    error_message = "SQS is called as it is, so that the message has its attributes."
  }

  # tests/terraform/test_schedules.py reads it with the runtime, and compares it with the golden message.
  assert {
    condition     = jsondecode(jsondecode(aws_scheduler_schedule.this["nightly"].target[0].input).MessageBody) == { id = "shop:nightly:<aws.scheduler.scheduled-time>", job = "report.build", v = 1, enqueued_at = "<aws.scheduler.scheduled-time>", occurrence = "<aws.scheduler.scheduled-time>", payload = { kind = "full" } }
    error_message = "The body is an envelope: ${aws_scheduler_schedule.this["nightly"].target[0].input}"
  }

  assert {
    condition = { for name, value in jsondecode(aws_scheduler_schedule.this["nightly"].target[0].input) : name => value if name != "MessageBody" } == {
      QueueUrl = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports"
      MessageAttributes = {
        workload = { DataType = "String", StringValue = "reports" }
        job      = { DataType = "String", StringValue = "report.build" }
      }
    }
    error_message = "A standard queue gets neither group nor deduplication id: ${aws_scheduler_schedule.this["nightly"].target[0].input}"
  }

  # Scheduler finds its keyword by its text: an escaped "<" would be sent as it is.
  assert {
    condition     = length(regexall("<aws\\.scheduler\\.scheduled-time>", aws_scheduler_schedule.this["nightly"].target[0].input)) == 3 && !strcontains(aws_scheduler_schedule.this["nightly"].target[0].input, "u003c")
    error_message = "Id, time of publishing and occurrence: ${aws_scheduler_schedule.this["nightly"].target[0].input}"
  }

  assert {
    condition     = aws_scheduler_schedule.this["nightly"].target[0].retry_policy[0].maximum_retry_attempts == 185 && aws_scheduler_schedule.this["nightly"].target[0].retry_policy[0].maximum_event_age_in_seconds == 86400 && aws_scheduler_schedule.this["nightly"].target[0].dead_letter_config[0].arn == output.dlq.arn
    error_message = "Tried for a day, then a dead letter."
  }

  assert {
    condition     = aws_sqs_queue.dlq.name == "shop-schedules-dlq" && aws_sqs_queue.dlq.message_retention_seconds == 1209600 && aws_sqs_queue.dlq.sqs_managed_sse_enabled && aws_sqs_queue.dlq.fifo_queue != true
    error_message = "Dead letters are kept for 14 days, encrypted, in a standard queue."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.dlq.policy).Statement[0].Resource == "arn:aws:sqs:eu-west-1:123456789012:shop-schedules-dlq" && jsondecode(aws_sqs_queue.dlq.policy).Statement[0].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    error_message = "Only by TLS: ${aws_sqs_queue.dlq.policy}"
  }

  assert {
    condition = jsondecode(aws_iam_role.this.assume_role_policy).Statement[0].Condition == {
      ArnEquals    = { "aws:SourceArn" = output.group.arn }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }
    error_message = "Only schedules of this group of this account may take the role: ${aws_iam_role.this.assume_role_policy}"
  }

  assert {
    condition     = keys(aws_iam_role_policy.send) == ["reports"] && jsondecode(aws_iam_role_policy.send["reports"].policy).Statement == [{ Sid = "ToQueue", Effect = "Allow", Action = "sqs:SendMessage", Resource = ["arn:aws:sqs:eu-west-1:123456789012:shop-reports"] }]
    error_message = "It may send to this queue: ${aws_iam_role_policy.send["reports"].policy}"
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.dead_letters.policy).Statement : s.Sid] == ["OwnDeadLetters"]
    error_message = "And to its dead-letter queue: ${aws_iam_role_policy.dead_letters.policy}"
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.heartbeat) == 0 && output.schedules["nightly"].heartbeat == null && output.schedules["nightly"].id == "shop:nightly:<aws.scheduler.scheduled-time>"
    error_message = "A heartbeat is opt-in."
  }
}

run "everything" {
  variables {
    schedules = {
      orders = {
        workload                = "billing"
        queue                   = { arn = "arn:aws:sqs:eu-west-1:123456789012:shop-billing.fifo", url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-billing.fifo", name = "shop-billing.fifo", fifo = true }
        job                     = "billing.close"
        version                 = 2
        expression              = "rate(12 hours)"
        flexible_window_minutes = 15
        start                   = "2027-01-05T08:00:00Z"
        end                     = "2028-01-05T08:00:00Z"
        retry                   = { max_attempts = 3, max_age_seconds = 600 }
        heartbeat               = { period_seconds = 43200, actions = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
      }
      grouped = {
        workload         = "billing"
        queue            = { arn = "arn:aws:sqs:eu-west-1:123456789012:shop-billing.fifo", url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-billing.fifo", name = "shop-billing.fifo", fifo = true }
        job              = "billing.close"
        expression       = "at(2027-01-05T08:00:00)"
        timezone         = "America/Argentina/Buenos_Aires"
        message_group_id = "acme"
        enabled          = false
        heartbeat        = { period_seconds = 300000 }
      }
      weekly = {
        workload     = "direct"
        topic_arn    = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
        job          = "report.build"
        payload_json = "{\"text\":\"<b>\\\"Z\\u00fcrich\\\" \\\\u003c & more</b>\",\"n\":1.50}"
        expression   = "cron(0 9 ? * MON-FRI *)"
      }
      rare = {
        workload   = "reports"
        queue      = { arn = "arn:aws:sqs:eu-west-1:123456789012:shop-reports", url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports", name = "shop-reports", fifo = false }
        job        = "report.build"
        expression = "rate(4 days)"
        heartbeat  = { period_seconds = 345600 }
      }
    }
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
  }

  assert {
    condition     = jsondecode(aws_scheduler_schedule.this["orders"].target[0].input).MessageGroupId == "orders" && jsondecode(aws_scheduler_schedule.this["orders"].target[0].input).MessageDeduplicationId == "shop:orders:<aws.scheduler.scheduled-time>" && jsondecode(aws_scheduler_schedule.this["grouped"].target[0].input).MessageGroupId == "acme"
    error_message = "On a FIFO queue the schedule is the group, and the occurrence is what is not sent twice: ${aws_scheduler_schedule.this["orders"].target[0].input}"
  }

  assert {
    condition     = aws_scheduler_schedule.this["orders"].flexible_time_window[0].mode == "FLEXIBLE" && aws_scheduler_schedule.this["orders"].flexible_time_window[0].maximum_window_in_minutes == 15 && aws_scheduler_schedule.this["orders"].start_date == "2027-01-05T08:00:00Z" && aws_scheduler_schedule.this["orders"].end_date == "2028-01-05T08:00:00Z" && aws_scheduler_schedule.this["orders"].target[0].retry_policy[0].maximum_retry_attempts == 3 && aws_scheduler_schedule.this["orders"].target[0].retry_policy[0].maximum_event_age_in_seconds == 600
    error_message = "Window, start, end and retries as given."
  }

  assert {
    condition     = aws_scheduler_schedule.this["grouped"].state == "DISABLED" && aws_scheduler_schedule.this["grouped"].schedule_expression_timezone == "America/Argentina/Buenos_Aires"
    error_message = "Switched off, in its time zone."
  }

  assert {
    condition     = aws_scheduler_schedule.this["weekly"].target[0].arn == "arn:aws:scheduler:::aws-sdk:sns:publish" && jsondecode(aws_scheduler_schedule.this["weekly"].target[0].input).TopicArn == "arn:aws:sns:eu-west-1:123456789012:shop-jobs" && jsondecode(aws_scheduler_schedule.this["weekly"].target[0].input).MessageAttributes.workload.StringValue == "direct"
    error_message = "Through the topic, with the attribute that routes: ${aws_scheduler_schedule.this["weekly"].target[0].input}"
  }

  # Whatever the payload holds, it arrives as it was.
  assert {
    condition     = jsondecode(jsondecode(aws_scheduler_schedule.this["weekly"].target[0].input).Message).payload == { text = "<b>\"Zürich\" \\u003c & more</b>", n = 1.5 } && jsondecode(jsondecode(aws_scheduler_schedule.this["weekly"].target[0].input).Message).id == "shop:weekly:<aws.scheduler.scheduled-time>"
    error_message = "The payload of the body: ${aws_scheduler_schedule.this["weekly"].target[0].input}"
  }

  assert {
    condition     = jsondecode(jsondecode(aws_scheduler_schedule.this["orders"].target[0].input).MessageBody).v == 2
    error_message = "The version of the payload's model."
  }

  assert {
    condition     = keys(aws_iam_role_policy.send) == ["billing", "direct", "reports"] && jsondecode(aws_iam_role_policy.send["direct"].policy).Statement == [{ Sid = "ToTopic", Effect = "Allow", Action = "sns:Publish", Resource = ["arn:aws:sns:eu-west-1:123456789012:shop-jobs"] }] && jsondecode(aws_iam_role_policy.send["billing"].policy).Statement[0].Resource == ["arn:aws:sqs:eu-west-1:123456789012:shop-billing.fifo"]
    error_message = "One policy per workload, for its queue or the topic: ${jsonencode(values(aws_iam_role_policy.send)[*].policy)}"
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.dead_letters.policy).Statement : [s.Sid, s.Resource]][1] == ["QueueAndTopicKey", "arn:aws:kms:eu-west-1:123456789012:key/1"] && aws_sqs_queue.dlq.kms_master_key_id == "arn:aws:kms:eu-west-1:123456789012:key/1" && aws_sqs_queue.dlq.fifo_queue != true
    error_message = "With a key the role needs it, and the dead letters have it."
  }

  # A day of looking back at most, unless the period is an hour or more.
  assert {
    condition     = keys(aws_cloudwatch_metric_alarm.heartbeat) == ["orders", "rare"] && [for a in aws_cloudwatch_metric_alarm.heartbeat : [a.period, a.evaluation_periods]] == [[64800, 1], [3600, 144]]
    error_message = "One and a half periods; none of a schedule that is switched off: ${jsonencode([for a in aws_cloudwatch_metric_alarm.heartbeat : [a.alarm_name, a.period, a.evaluation_periods]])}"
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.heartbeat["orders"].treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.heartbeat["orders"].metric_name == "NumberOfMessagesSent" && aws_cloudwatch_metric_alarm.heartbeat["orders"].dimensions == tomap({ QueueName = "shop-billing.fifo" }) && aws_cloudwatch_metric_alarm.heartbeat["orders"].alarm_actions == toset(["arn:aws:sns:eu-west-1:123456789012:pager"]) && output.schedules["orders"].heartbeat == "shop-orders-silent"
    error_message = "Silence is what alarms."
  }
}

run "no_schedule_at_all" {
  variables {
    schedules = {}
  }

  assert {
    condition     = length(output.schedules) == 0
    error_message = "An empty map is legal."
  }
}

run "a_local_time_that_the_clocks_skip" {
  command = plan

  variables {
    schedules = {
      for name, clock in {
        new-york = ["cron(30 2 * * ? *)", "America/New_York"]
        berlin   = ["cron(0 1,2 ? * SUN *)", "Europe/Berlin"]
        } : name => {
        workload   = "direct"
        topic_arn  = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
        job        = "report.build"
        expression = clock[0]
        timezone   = clock[1]
      }
    }
  }

  expect_failures = [check.skipped_local_time]
}

# No warning, which expect_failures would need.
run "local_times_that_are_always_there" {
  command = plan

  variables {
    schedules = {
      for name, clock in {
        utc      = ["cron(30 2 * * ? *)", "UTC"]
        tokyo    = ["cron(30 2 * * ? *)", "Asia/Tokyo"]
        new-york = ["cron(30 3 * * ? *)", "America/New_York"]
        twice    = ["cron(30 1 * * ? *)", "America/New_York"]
        hourly   = ["cron(0 * * * ? *)", "America/New_York"]
        ranged   = ["cron(0 0-5 * * ? *)", "America/New_York"]
        rate     = ["rate(2 hours)", "America/New_York"]
        } : name => {
        workload   = "direct"
        topic_arn  = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
        job        = "report.build"
        expression = clock[0]
        timezone   = clock[1]
      }
    }
  }

  assert {
    condition     = length(aws_scheduler_schedule.this) == 7
    error_message = "All of them plan."
  }
}
