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

run "standard" {
  assert {
    condition     = aws_sqs_queue.this.name == "shop-email" && aws_sqs_queue.dlq.name == "shop-email-dlq" && aws_sqs_queue.subscription_dlq[0].name == "shop-email-sub-dlq"
    error_message = "The names of the three queues."
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 360 && output.queue.visibility_timeout_seconds == 360
    error_message = "Visibility must be six times the consumer's timeout."
  }

  assert {
    condition     = aws_sqs_queue.this.message_retention_seconds == 345600 && aws_sqs_queue.dlq.message_retention_seconds == 1209600 && aws_sqs_queue.subscription_dlq[0].message_retention_seconds == 1209600
    error_message = "Dead letters must outlive the queue: 14 days against 4."
  }

  assert {
    condition     = aws_sqs_queue.this.sqs_managed_sse_enabled && aws_sqs_queue.dlq.sqs_managed_sse_enabled && aws_sqs_queue.subscription_dlq[0].sqs_managed_sse_enabled
    error_message = "Without a key all three queues have SSE-SQS."
  }

  # A string would come back from SQS as a number and differ on every plan.
  assert {
    condition     = aws_sqs_queue.this.redrive_policy == jsonencode({ deadLetterTargetArn = aws_sqs_queue.dlq.arn, maxReceiveCount = 10 })
    error_message = "The redrive policy must name the dead-letter queue and a JSON number: ${aws_sqs_queue.this.redrive_policy}"
  }

  assert {
    condition     = aws_sqs_queue.dlq.redrive_allow_policy == jsonencode({ redrivePermission = "byQueue", sourceQueueArns = ["arn:aws:sqs:eu-west-1:123456789012:shop-email"] })
    error_message = "Only this queue may redrive into the dead-letter queue: ${aws_sqs_queue.dlq.redrive_allow_policy}"
  }

  assert {
    condition     = alltrue([for q in [aws_sqs_queue.this, aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq[0]] : anytrue([for s in jsondecode(q.policy).Statement : s.Sid == "DenyInsecureTransport" && s.Effect == "Deny" && s.Resource == "arn:aws:sqs:eu-west-1:123456789012:${q.name}"])])
    error_message = "Every queue must deny plain HTTP on itself."
  }

  assert {
    condition     = alltrue(flatten([for q in [aws_sqs_queue.this, aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq[0]] : [for s in jsondecode(q.policy).Statement : !strcontains(jsonencode(s.Principal), "*") if s.Effect == "Allow"]]))
    error_message = "No queue may allow everybody."
  }

  assert {
    condition     = alltrue([for q in [aws_sqs_queue.this, aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq[0]] : jsondecode(q.policy).Version == "2012-10-17"])
    error_message = "Without a version the provider waits for a document that never comes."
  }

  assert {
    condition = jsonencode([for s in jsondecode(aws_sqs_queue.this.policy).Statement : s.Condition if s.Effect == "Allow"]) == jsonencode([{
      ArnEquals    = { "aws:SourceArn" = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }])
    error_message = "Only this topic of this account may send: ${aws_sqs_queue.this.policy}"
  }

  assert {
    condition     = length([for s in jsondecode(aws_sqs_queue.dlq.policy).Statement : s if s.Effect == "Allow"]) == 0 && length([for s in jsondecode(aws_sqs_queue.subscription_dlq[0].policy).Statement : s if s.Effect == "Allow"]) == 1
    error_message = "SNS may send undelivered messages to the subscription's dead-letter queue, and to no other."
  }

  assert {
    condition     = aws_sns_topic_subscription.this[0].raw_message_delivery && aws_sns_topic_subscription.this[0].filter_policy == jsonencode({ workload = ["email"] }) && aws_sns_topic_subscription.this[0].filter_policy_scope == "MessageAttributes"
    error_message = "Raw delivery, filtered on the attribute workload."
  }

  assert {
    condition     = jsondecode(aws_sns_topic_subscription.this[0].redrive_policy).deadLetterTargetArn == aws_sqs_queue.subscription_dlq[0].arn
    error_message = "The subscription must have its dead-letter queue."
  }

  assert {
    condition     = aws_sqs_queue.this.receive_wait_time_seconds == 20 && aws_sqs_queue.this.max_message_size == 262144
    error_message = "Long polling, and messages as large as a topic carries."
  }
}

run "fifo_reaches_every_queue" {
  variables {
    fifo = true
    subscription = {
      topic_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
      filter    = { workload = ["email"] }
    }
  }

  assert {
    condition     = alltrue([for q in [aws_sqs_queue.this, aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq[0]] : q.fifo_queue && endswith(q.name, ".fifo") && !q.content_based_deduplication && q.deduplication_scope == "messageGroup" && q.fifo_throughput_limit == "perMessageGroupId"])
    error_message = "One flag must set type, suffix and deduplication of all three queues."
  }

  assert {
    condition     = aws_sqs_queue.dlq.name == "shop-email-dlq.fifo" && jsondecode(aws_sqs_queue.dlq.redrive_allow_policy).sourceQueueArns == ["arn:aws:sqs:eu-west-1:123456789012:shop-email.fifo"]
    error_message = "The allowed source must carry the suffix: ${aws_sqs_queue.dlq.redrive_allow_policy}"
  }
}

run "window_and_override" {
  variables {
    batch_window_seconds = 30
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 390
    error_message = "The batching window belongs to the visibility timeout."
  }
}

run "an_override_at_the_floor_is_legal" {
  variables {
    visibility_timeout_seconds = 360
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 360
    error_message = "A legal override must be used."
  }
}

run "customer_key" {
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
  }

  assert {
    condition     = alltrue([for q in [aws_sqs_queue.this, aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq[0]] : q.kms_master_key_id == "arn:aws:kms:eu-west-1:123456789012:key/1"])
    error_message = "All three queues must use the key."
  }

  assert {
    condition = jsonencode(output.kms_key_policy_statements) == jsonencode([{
      Action = ["kms:Decrypt", "kms:GenerateDataKey*"]
      Condition = {
        ArnEquals    = { "aws:SourceArn" = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }
        StringEquals = { "aws:SourceAccount" = "123456789012" }
      }
      Effect    = "Allow"
      Principal = { Service = "sns.amazonaws.com" }
      Resource  = "*"
      Sid       = "AllowTopicToUseKey"
    }])
    error_message = "The key policy statement that lets SNS deliver: ${jsonencode(output.kms_key_policy_statements)}"
  }
}

run "topic_of_another_account" {
  variables {
    subscription = { topic_arn = "arn:aws:sns:eu-west-1:999988887777:theirs" }
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.this.policy).Statement[1].Condition.StringEquals["aws:SourceAccount"] == "999988887777"
    error_message = "The account is the topic's: ${aws_sqs_queue.this.policy}"
  }

  # SNS refuses a scope without a policy.
  assert {
    condition     = aws_sns_topic_subscription.this[0].filter_policy == null
    error_message = "No filter, no filter policy."
  }
}

run "no_subscription" {
  variables {
    subscription = null
  }

  assert {
    condition     = length(aws_sqs_queue.subscription_dlq) == 0 && length(aws_sns_topic_subscription.this) == 0 && output.subscription_dlq == null
    error_message = "Without a subscription there is nothing to dead-letter for it."
  }

  assert {
    condition     = length(jsondecode(aws_sqs_queue.this.policy).Statement) == 1
    error_message = "And nobody is allowed to send but this account's roles."
  }
}

run "extra_statements" {
  variables {
    policy_statements = { PublisherAccounts = { aws = ["arn:aws:iam::444455556666:root"] } }
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.this.policy).Statement[2] == { Sid = "PublisherAccounts", Effect = "Allow", Principal = { AWS = ["arn:aws:iam::444455556666:root"] }, Action = ["sqs:SendMessage"], Condition = {}, Resource = "arn:aws:sqs:eu-west-1:123456789012:shop-email" }
    error_message = "The extra statement: ${aws_sqs_queue.this.policy}"
  }

  assert {
    condition     = !strcontains(aws_sqs_queue.dlq.policy, "PublisherAccounts")
    error_message = "Extra statements are for the queue, not for the dead letters."
  }
}

run "a_workers_queue" {
  variables {
    consumer_timeout_seconds   = null
    visibility_timeout_seconds = 120
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 120 && output.queue.visibility_timeout_seconds == 120
    error_message = "The visibility timeout is the lease."
  }
}
