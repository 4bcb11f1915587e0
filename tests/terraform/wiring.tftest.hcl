# test_policies.py also reads the states of these runs.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

# Told apart from the standard topic, to see which one a queue subscribes to.
override_resource {
  target = module.fifo_topic.aws_sns_topic.this
  values = { arn = "arn:aws:sns:eu-west-1:123456789012:mock.fifo" }
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  workloads = {
    email   = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    billing = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, queue = { max_receive_count = 3 } }
  }
}

run "two_workloads" {
  assert {
    condition     = output.workloads["email"].queue.name == "shop-email" && output.workloads["email"].dlq.name == "shop-email-dlq" && output.workloads["email"].subscription_dlq.name == "shop-email-sub-dlq" && output.workloads["email"].function.name == "shop-email" && output.workloads["email"].role.name == "shop-email" && output.workloads["email"].log_group_name == "/aws/lambda/shop-email"
    error_message = "Everything of a workload is named <stack>-<key>: ${jsonencode(output.workloads["email"])}"
  }

  assert {
    condition     = output.workloads["billing"].queue.name == "shop-billing.fifo" && output.workloads["billing"].dlq.name == "shop-billing-dlq.fifo" && output.workloads["billing"].subscription_dlq.name == "shop-billing-sub-dlq.fifo" && output.workloads["billing"].queue.fifo && output.workloads["billing"].queue.max_receive_count == 3
    error_message = "fifo reaches the queue and both dead-letter queues: ${jsonencode(output.workloads["billing"])}"
  }

  assert {
    condition     = output.topic.name == "shop-jobs" && output.fifo_topic.name == "shop-jobs.fifo" && output.fifo_topic.fifo
    error_message = "Both topics exist."
  }

  assert {
    condition     = keys(output.publisher.environment) == ["JOBS_FIFO_TOPIC_ARN", "JOBS_MAX_MESSAGE_BYTES", "JOBS_QUEUE_URLS", "JOBS_TOPIC_ARN"] && keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["billing", "email"]
    error_message = "A producer's environment: ${jsonencode(output.publisher.environment)}"
  }

  assert {
    condition     = [for s in jsondecode(output.publisher.policy_json).Statement : s.Action] == ["sns:Publish", "sqs:SendMessage"]
    error_message = "A producer may publish and send, no more: ${output.publisher.policy_json}"
  }

  assert {
    condition     = keys(output.queue_arns) == ["billing", "email"] && keys(output.dlq_arns) == ["billing", "email"] && keys(output.function_arns) == ["billing", "email"] && startswith(output.topic_arn, "arn:") && startswith(output.fifo_topic_arn, "arn:")
    error_message = "Flat ARNs by workload."
  }

  assert {
    condition     = length(output.kms_key_policy_statements) == 0
    error_message = "Without a key there is nothing to allow on it."
  }
}

run "nothing_is_made_that_was_not_asked_for" {
  assert {
    condition     = output.job_state == null && output.claim_check == null && output.schedules == null && alltrue([for w in output.workloads : w.delay_machine == null])
    error_message = "No table, no bucket, no schedule, no delay machine."
  }
}

run "all_semantics" {
  variables {
    workloads = {
      email   = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      billing = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, delay = true }
      report  = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    }
    job_state   = {}
    claim_check = {}
  }

  assert {
    condition     = output.job_state.name == "shop-jobs" && output.claim_check.name == "shop-claims-123456789012-eu-west-1"
    error_message = "One table and one bucket for the stack."
  }

  assert {
    condition     = { for key, w in output.workloads : key => w.delay_machine.name if w.delay_machine != null } == { email = "shop-email-delay", billing = "shop-billing-delay" }
    error_message = "A delay machine for those who ask: ${jsonencode(output.workloads)}"
  }

  assert {
    condition     = keys(output.publisher.environment) == ["JOBS_APP", "JOBS_CLAIM_BUCKET", "JOBS_CLAIM_MAX_DELAY_SECONDS", "JOBS_CLAIM_PREFIX", "JOBS_DELAY_MACHINES", "JOBS_FIFO_TOPIC_ARN", "JOBS_MAX_MESSAGE_BYTES", "JOBS_QUEUE_URLS", "JOBS_TABLE", "JOBS_TOPIC_ARN"] && keys(jsondecode(output.publisher.environment["JOBS_DELAY_MACHINES"])) == ["billing", "email"] && output.publisher.environment["JOBS_APP"] == "shop"
    error_message = "A producer's environment: ${jsonencode(output.publisher.environment)}"
  }

  assert {
    condition     = { for s in jsondecode(output.publisher.policy_json).Statement : s.Sid => s.Action } == { PublishJobs = "sns:Publish", SendDelayedJobs = "sqs:SendMessage", JobRecords = ["dynamodb:GetItem", "dynamodb:UpdateItem"], StoreClaims = ["s3:PutObject"], ReadResults = ["s3:GetObject"], StartDelay = ["states:StartExecution"], CompareDelay = ["states:DescribeExecution"] }
    error_message = "A producer's permissions: ${output.publisher.policy_json}"
  }
}

run "customer_key_and_other_accounts" {
  variables {
    workloads = {
      email   = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler", tracing = true, vpc = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] } } }
      billing = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, ceiling = { pollers = { min = 2, max = 5 } } }
    }
    kms_key    = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    publishers = { account_ids = ["444455556666"] }
  }

  assert {
    condition     = output.kms_key_policy_statements[1].Condition.StringLike["kms:ViaService"] == ["sns.*", "sqs.*"]
    error_message = "Other accounts use the key through the two services: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = [for s in output.kms_key_policy_statements : s.Sid] == ["AllowTopicsToUseKey", "AllowPublisherAccountsToUseKey"] && !strcontains(jsonencode([for s in output.kms_key_policy_statements : s.Principal]), "*")
    error_message = "The key policy needs SNS and the other account: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = [for s in jsondecode(output.publisher.policy_json).Statement : s.Sid] == ["PublishJobs", "SendDelayedJobs", "QueueAndTopicKey"]
    error_message = "A producer needs the key: ${output.publisher.policy_json}"
  }
}

run "all_semantics_with_customer_key_and_other_accounts" {
  variables {
    workloads = {
      email   = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      billing = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, delay = true }
    }
    job_state   = { deletion_protection = false }
    claim_check = { bucket_name = "acme-payloads", expire_days = 60, force_destroy = true }
    kms_key     = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    publishers  = { account_ids = ["444455556666"] }
  }

  assert {
    condition     = [for s in output.kms_key_policy_statements : s.Sid] == ["AllowTopicsToUseKey", "AllowPublisherAccountsToUseKey", "AllowLogDeliveryToUseKey"] && output.kms_key_policy_statements[1].Condition.StringLike["kms:ViaService"] == ["sns.*", "sqs.*", "s3.*"]
    error_message = "The key policy needs SNS, the other account and log delivery: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = length(distinct([for s in jsondecode(output.publisher.policy_json).Statement : s.Sid])) == length(jsondecode(output.publisher.policy_json).Statement) && length([for s in jsondecode(output.publisher.policy_json).Statement : s.Sid if endswith(s.Sid, "Key")]) == 4
    error_message = "A statement id stands once in a policy: ${output.publisher.policy_json}"
  }

  assert {
    condition     = output.claim_check.name == "acme-payloads"
    error_message = "The bucket's name as asked."
  }
}

run "schedules" {
  variables {
    schedules = {
      nightly = { workload = "email", job = "report.build", expression = "cron(0 3 * * ? *)", payload_json = jsonencode({ kind = "full" }) }
      hourly  = { workload = "billing", job = "billing.close", expression = "rate(1 hour)", message_group_id = "close" }
    }
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
  }

  assert {
    condition     = output.schedules.group.name == "shop-schedules" && output.schedules.dlq.name == "shop-schedules-dlq" && output.schedules.role.name == "shop-schedules" && keys(output.schedules.schedules) == ["hourly", "nightly"]
    error_message = "Group, dead-letter queue and role of the stack's schedules: ${jsonencode(output.schedules)}"
  }
}
