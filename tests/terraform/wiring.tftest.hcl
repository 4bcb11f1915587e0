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
  name = "shop"
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
    condition     = [for s in output.kms_key_policy_statements : s.Sid] == ["AllowTopicsToUseKey", "AllowPublisherAccountsToUseKey"] && !strcontains(jsonencode([for s in output.kms_key_policy_statements : s.Principal]), "*")
    error_message = "The key policy needs SNS and the other account: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = [for s in jsondecode(output.publisher.policy_json).Statement : s.Sid] == ["PublishJobs", "SendDelayedJobs", "QueueAndTopicKey"]
    error_message = "A producer needs the key: ${output.publisher.policy_json}"
  }
}
