mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name     = "shop-email-delay"
  workload = "email"
  queue = {
    arn  = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
    url  = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
    fifo = false
  }
}

run "standard_queue" {
  assert {
    condition     = aws_sfn_state_machine.this.name == "shop-email-delay" && aws_sfn_state_machine.this.type == "STANDARD" && aws_iam_role.this.name == "shop-email-delay"
    error_message = "An EXPRESS machine ends after five minutes."
  }

  # Paths survive as they are: "$." and "$$." mean nothing to HCL.
  assert {
    condition     = jsondecode(aws_sfn_state_machine.this.definition).StartAt == "Wait" && jsondecode(aws_sfn_state_machine.this.definition).States.Wait == { Type = "Wait", TimestampPath = "$.at", Next = "Send" }
    error_message = "It waits for the time in the input: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition = jsondecode(aws_sfn_state_machine.this.definition).States.Send.Parameters == {
      QueueUrl        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      "MessageBody.$" = "$.body"
      MessageAttributes = {
        workload = { DataType = "String", StringValue = "email" }
        job      = { DataType = "String", "StringValue.$" = "$.job" }
      }
      "MessageGroupId.$" = "$.group"
    }
    error_message = "The queue and the workload are fixed, the rest is the job's: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition     = keys(jsondecode(aws_sfn_state_machine.this.definition).States) == ["Send", "Wait"] && jsondecode(aws_sfn_state_machine.this.definition).States.Send.Resource == "arn:aws:states:::sqs:sendMessage" && jsondecode(aws_sfn_state_machine.this.definition).States.Send.End
    error_message = "Two states: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition     = jsondecode(aws_sfn_state_machine.this.definition).States.Send.Retry[0].JitterStrategy == "FULL" && !contains(keys(jsondecode(aws_sfn_state_machine.this.definition).States.Send), "Catch")
    error_message = "Tried again with jitter, and in the end a failed execution, not a swallowed one."
  }

  assert {
    condition     = aws_sfn_state_machine.this.logging_configuration[0].level == "ERROR" && !aws_sfn_state_machine.this.logging_configuration[0].include_execution_data && endswith(aws_sfn_state_machine.this.logging_configuration[0].log_destination, ":*")
    error_message = "Failures are logged, payloads are not."
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/vendedlogs/states/shop-email-delay" && aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "The group has the prefix that needs no resource policy per group, and a retention."
  }

  assert {
    condition     = length(aws_sfn_state_machine.this.encryption_configuration) == 0 && length(output.kms_key_policy_statements) == 0
    error_message = "Without a key Step Functions uses its own."
  }

  assert {
    condition = jsondecode(aws_iam_role.this.assume_role_policy).Statement[0].Condition == {
      ArnEquals    = { "aws:SourceArn" = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay" }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }
    error_message = "Only this machine of this account may take the role: ${aws_iam_role.this.assume_role_policy}"
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.this.policy).Statement : [s.Sid, s.Resource]] == [["OwnQueue", "arn:aws:sqs:eu-west-1:123456789012:shop-email"], ["LogDelivery", "*"]] && jsondecode(aws_iam_role_policy.this.policy).Statement[0].Action == "sqs:SendMessage"
    error_message = "It may send to this queue and log, no more: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = alltrue([for action in flatten([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Action]) : !strcontains(action, "*")])
    error_message = "No wildcard action: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = output.access.environment == { JOBS_DELAY_MACHINE_ARN = output.state_machine.arn } && [for s in output.access.statements : [s.sid, s.actions, s.resources]] == [["StartDelay", ["states:StartExecution"], [output.state_machine_arn]], ["CompareDelay", ["states:DescribeExecution"], ["arn:aws:states:eu-west-1:123456789012:execution:mock:*"]]]
    error_message = "Who delays may start and look: ${jsonencode(output.access)}"
  }
}

run "fifo_queue" {
  variables {
    queue = {
      arn  = "arn:aws:sqs:eu-west-1:123456789012:shop-email.fifo"
      url  = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email.fifo"
      fifo = true
    }
  }

  assert {
    condition     = jsondecode(aws_sfn_state_machine.this.definition).States.Send.Parameters["MessageGroupId.$"] == "$.group" && jsondecode(aws_sfn_state_machine.this.definition).States.Send.Parameters["MessageDeduplicationId.$"] == "$.dedup"
    error_message = "A FIFO queue needs both: ${aws_sfn_state_machine.this.definition}"
  }
}

run "topic" {
  variables {
    queue = null
    topic = { arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }
  }

  assert {
    condition = jsondecode(aws_sfn_state_machine.this.definition).States.Send.Parameters == {
      TopicArn    = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      "Message.$" = "$.body"
      MessageAttributes = {
        workload = { DataType = "String", StringValue = "email" }
        job      = { DataType = "String", "StringValue.$" = "$.job" }
      }
    }
    error_message = "The topic and the workload are fixed, the rest is the job's: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition     = jsondecode(aws_sfn_state_machine.this.definition).States.Send.Resource == "arn:aws:states:::sns:publish" && jsondecode(aws_sfn_state_machine.this.definition).States.Send.Retry[0].MaxAttempts == 20 && jsondecode(aws_sfn_state_machine.this.definition).States.Wait == { Type = "Wait", TimestampPath = "$.at", Next = "Send" }
    error_message = "It waits and tries again as for a queue: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition     = { for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid => [s.Action, s.Resource] if s.Sid != "LogDelivery" } == { OwnTopic = ["sns:Publish", "arn:aws:sns:eu-west-1:123456789012:shop-jobs"] }
    error_message = "It may publish to this topic, no more: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = output.access.environment == { JOBS_DELAY_MACHINE_ARN = output.state_machine.arn }
    error_message = "Who delays needs the same."
  }
}

run "topic_with_customer_key" {
  variables {
    queue   = null
    topic   = { arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Resource if s.Sid == "TopicAndMachineKey"] == ["arn:aws:kms:eu-west-1:123456789012:key/1"]
    error_message = "The topic is encrypted, too: ${aws_iam_role_policy.this.policy}"
  }
}

# The text as it always was: a machine that is there already does not change.
run "a_queue_s_machine_is_what_it_was" {
  assert {
    condition     = aws_sfn_state_machine.this.definition == "{\"Comment\":\"Keeps a job until its time, then sends it to the queue of workload email.\",\"StartAt\":\"Wait\",\"States\":{\"Send\":{\"End\":true,\"Parameters\":{\"MessageAttributes\":{\"job\":{\"DataType\":\"String\",\"StringValue.$\":\"$.job\"},\"workload\":{\"DataType\":\"String\",\"StringValue\":\"email\"}},\"MessageBody.$\":\"$.body\",\"MessageGroupId.$\":\"$.group\",\"QueueUrl\":\"https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email\"},\"Resource\":\"arn:aws:states:::sqs:sendMessage\",\"Retry\":[{\"BackoffRate\":2,\"ErrorEquals\":[\"States.TaskFailed\",\"States.Timeout\"],\"IntervalSeconds\":2,\"JitterStrategy\":\"FULL\",\"MaxAttempts\":20,\"MaxDelaySeconds\":300}],\"TimeoutSeconds\":60,\"Type\":\"Task\"},\"Wait\":{\"Next\":\"Send\",\"TimestampPath\":\"$.at\",\"Type\":\"Wait\"}}}"
    error_message = "The definition has changed: ${aws_sfn_state_machine.this.definition}"
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.this.policy).Statement[0] == { Action = "sqs:SendMessage", Effect = "Allow", Resource = "arn:aws:sqs:eu-west-1:123456789012:shop-email", Sid = "OwnQueue" }
    error_message = "The permission has changed: ${aws_iam_role_policy.this.policy}"
  }
}

run "customer_key" {
  variables {
    kms_key            = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    log_retention_days = 90
  }

  assert {
    condition     = aws_sfn_state_machine.this.encryption_configuration[0].type == "CUSTOMER_MANAGED_KMS_KEY" && aws_sfn_state_machine.this.encryption_configuration[0].kms_key_id == "arn:aws:kms:eu-west-1:123456789012:key/1"
    error_message = "Waiting jobs are encrypted with the key, too."
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Resource if s.Sid == "QueueAndMachineKey"] == ["arn:aws:kms:eu-west-1:123456789012:key/1"] && [for s in output.access.statements : s.sid] == ["StartDelay", "CompareDelay", "DelayKey"]
    error_message = "The machine and its callers need the key: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = [for s in output.kms_key_policy_statements : [s.Principal.Service, s.Action, s.Condition.StringLike["kms:EncryptionContext:SourceArn"]]] == [["delivery.logs.amazonaws.com", "kms:Decrypt", "arn:aws:logs:eu-west-1:123456789012:*"]]
    error_message = "Log delivery reads events with the key: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.retention_in_days == 90
    error_message = "Retention as asked."
  }
}

run "refuses_a_name_that_no_role_may_have" {
  command = plan
  variables {
    name = "shop-a-very-long-name-of-a-workload-that-nobody-can-remember-any-more"
  }
  expect_failures = [var.name]
}

run "refuses_logs_for_ever" {
  command = plan
  variables {
    log_retention_days = 0
  }
  expect_failures = [var.log_retention_days]
}

run "refuses_an_alias" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/jobs" }
  }
  expect_failures = [var.kms_key]
}

run "refuses_neither_queue_nor_topic" {
  command = plan
  variables {
    queue = null
  }
  expect_failures = [var.topic]
}

run "refuses_queue_and_topic" {
  command = plan
  variables {
    topic = { arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }
  }
  expect_failures = [var.topic]
}
