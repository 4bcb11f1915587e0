mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name     = "shop-email"
  workload = "email"
  topics = {
    standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
  }
  function = {
    artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
    handler  = "app.handler"
  }
  reserved_concurrency = 5
  delay_machine = {
    environment = { JOBS_DELAY_MACHINE_ARN = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay" }
    statements  = [{ sid = "StartDelay", actions = ["states:StartExecution"], resources = ["arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"] }]
  }
}

override_resource {
  target = aws_sqs_queue.dlq
  values = { arn = "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq", url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email-dlq" }
}

override_resource {
  target = aws_sqs_queue.subscription_dlq
  values = { arn = "arn:aws:sqs:eu-west-1:123456789012:shop-email-sub-dlq" }
}

run "defaults" {
  assert {
    condition     = aws_lambda_function.this.function_name == "shop-email" && aws_lambda_function.this.package_type == "Zip" && aws_lambda_function.this.handler == "app.handler" && aws_lambda_function.this.runtime == "python3.13" && aws_lambda_function.this.architectures == tolist(["arm64"])
    error_message = "The function as given, Python 3.13 on arm64 by default."
  }

  assert {
    condition     = aws_lambda_function.this.source_code_hash == filebase64sha256("../../tests/terraform/fixtures/artifact.zip")
    error_message = "A new zip must be a change."
  }

  assert {
    condition     = aws_lambda_function.this.timeout == 60 && aws_lambda_function.this.memory_size == 512 && aws_lambda_function.this.reserved_concurrent_executions == 5 && aws_lambda_function.this.tracing_config[0].mode == "PassThrough" && length(aws_lambda_function.this.vpc_config) == 0
    error_message = "The reservation is the ceiling."
  }

  assert {
    condition = aws_lambda_function.this.environment[0].variables == tomap({
      JOBS_WORKLOAD                = "email"
      JOBS_DLQ_URL                 = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email-dlq"
      JOBS_DELAY_MACHINE_ARN       = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"
      JOBS_TOPIC_ARN               = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      JOBS_FIFO_TOPIC_ARN          = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
      JOBS_MAX_MESSAGE_BYTES       = "262144"
      POWERTOOLS_SERVICE_NAME      = "shop-email"
      POWERTOOLS_METRICS_NAMESPACE = "BackgroundJobs"
      POWERTOOLS_LOG_LEVEL         = "INFO"
    })
    error_message = "The environment is the runtime's contract, and has no queue: ${jsonencode(aws_lambda_function.this.environment[0].variables)}"
  }

  assert {
    condition     = aws_lambda_function_event_invoke_config.this.maximum_retry_attempts == 0 && aws_lambda_function_event_invoke_config.this.maximum_event_age_in_seconds == 21600 && aws_lambda_function_event_invoke_config.this.destination_config[0].on_failure[0].destination == "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq"
    error_message = "Lambda tries nothing again, and what failed goes to the dead-letter queue."
  }

  assert {
    condition     = aws_lambda_permission.topic.action == "lambda:InvokeFunction" && aws_lambda_permission.topic.principal == "sns.amazonaws.com" && aws_lambda_permission.topic.source_arn == "arn:aws:sns:eu-west-1:123456789012:shop-jobs" && aws_lambda_permission.topic.source_account == "123456789012"
    error_message = "This topic of this account may invoke it, nobody else."
  }

  assert {
    condition     = aws_sns_topic_subscription.this.protocol == "lambda" && aws_sns_topic_subscription.this.topic_arn == "arn:aws:sns:eu-west-1:123456789012:shop-jobs" && jsondecode(aws_sns_topic_subscription.this.filter_policy) == { workload = ["email"] } && aws_sns_topic_subscription.this.filter_policy_scope == "MessageAttributes" && jsondecode(aws_sns_topic_subscription.this.redrive_policy) == { deadLetterTargetArn = "arn:aws:sqs:eu-west-1:123456789012:shop-email-sub-dlq" }
    error_message = "Its own jobs only, and what SNS cannot hand over is kept."
  }

  assert {
    condition     = aws_sqs_queue.dlq.name == "shop-email-dlq" && aws_sqs_queue.subscription_dlq.name == "shop-email-sub-dlq" && alltrue([for queue in [aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq] : queue.message_retention_seconds == 1209600 && queue.sqs_managed_sse_enabled && !coalesce(queue.fifo_queue, false)])
    error_message = "Two standard queues that keep what they get for 14 days, encrypted."
  }

  assert {
    condition     = { for s in jsondecode(aws_sqs_queue.dlq.policy).Statement : s.Sid => [s.Effect, s.Resource] } == { DenyInsecureTransport = ["Deny", "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq"] }
    error_message = "The role's own permission is enough: ${aws_sqs_queue.dlq.policy}"
  }

  assert {
    condition = { for s in jsondecode(aws_sqs_queue.subscription_dlq.policy).Statement : s.Sid => [s.Resource, s.Condition] } == {
      DenyInsecureTransport = ["arn:aws:sqs:eu-west-1:123456789012:shop-email-sub-dlq", { Bool = { "aws:SecureTransport" = "false" } }]
      AllowUndelivered      = ["arn:aws:sqs:eu-west-1:123456789012:shop-email-sub-dlq", { ArnEquals = { "aws:SourceArn" = "arn:aws:sns:eu-west-1:123456789012:shop-jobs" }, StringEquals = { "aws:SourceAccount" = "123456789012" } }]
    }
    error_message = "Only this topic may write there: ${aws_sqs_queue.subscription_dlq.policy}"
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/lambda/shop-email" && aws_cloudwatch_log_group.this.retention_in_days == 30 && length(aws_lambda_function_recursion_config.this) == 0
    error_message = "The log group has a retention, and Terminate is Lambda's own default."
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid => s } == {
      DeadLetter   = { Sid = "DeadLetter", Effect = "Allow", Action = "sqs:SendMessage", Resource = "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq" }
      FollowUpJobs = { Sid = "FollowUpJobs", Effect = "Allow", Action = "sns:Publish", Resource = ["arn:aws:sns:eu-west-1:123456789012:shop-jobs", "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"] }
      OwnLogs      = { Sid = "OwnLogs", Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/mock:*" }
      StartDelay   = { Sid = "StartDelay", Effect = "Allow", Action = ["states:StartExecution"], Resource = ["arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"] }
    }
    error_message = "The role may do this and no more: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = output.function == { arn = output.function_arn, name = "shop-email" } && output.dlq.name == "shop-email-dlq" && output.dlq.arn == output.dlq_arn && output.subscription_dlq.name == "shop-email-sub-dlq" && output.role.name == "shop-email" && output.log_group_name == "/aws/lambda/shop-email" && length(output.kms_key_policy_statements) == 0
    error_message = "One typed object per thing."
  }
}

run "everything_switched_on" {
  variables {
    function = {
      artifact           = { s3_bucket = "artifacts", s3_key = "email.zip", s3_object_version = "v1" }
      handler            = "app.handler"
      runtime            = "python3.12"
      architecture       = "x86_64"
      environment        = { SMTP_HOST = "mail.example.com" }
      log_retention_days = 90
      log_level          = "DEBUG"
      tracing            = true
      vpc                = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
      policy_arns        = { mail = "arn:aws:iam::123456789012:policy/mail" }
      recursive_loop     = "Allow"
    }
    reserved_concurrency  = 1
    max_event_age_seconds = 60
    service_name          = "shop"
    kms_key               = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    access = {
      job_state = {
        environment = { JOBS_TABLE = "shop-jobs" }
        statements  = [{ sid = "JobRecords", actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = ["arn:aws:dynamodb:eu-west-1:123456789012:table/shop-jobs"] }]
      }
    }
  }

  assert {
    condition     = aws_lambda_function.this.s3_object_version == "v1" && aws_lambda_function.this.reserved_concurrent_executions == 1 && aws_lambda_function_event_invoke_config.this.maximum_event_age_in_seconds == 60
    error_message = "One at a time is legal here: nothing polls."
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables["SMTP_HOST"] == "mail.example.com" && aws_lambda_function.this.environment[0].variables["JOBS_TABLE"] == "shop-jobs" && aws_lambda_function.this.environment[0].variables["POWERTOOLS_SERVICE_NAME"] == "shop" && contains(keys(aws_lambda_function.this.environment[0].variables), "JOBS_DELAY_MACHINE_ARN")
    error_message = "Own variables and those of other modules stand beside the module's."
  }

  assert {
    condition     = sort([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid]) == tolist(["DeadLetter", "FollowUpJobs", "JobRecords", "NetworkInterfaces", "OwnLogs", "QueueAndTopicKey", "StartDelay", "Tracing"])
    error_message = "Each option brings its own statement: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = sort([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid if s.Resource == "*"]) == tolist(["NetworkInterfaces", "Tracing"]) && alltrue([for action in flatten([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Action]) : !strcontains(action, "*")])
    error_message = "Only where AWS has nothing finer may the resource be *, and no action: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = alltrue([for queue in [aws_sqs_queue.dlq, aws_sqs_queue.subscription_dlq] : queue.kms_master_key_id == "arn:aws:kms:eu-west-1:123456789012:key/1"]) && [for s in output.kms_key_policy_statements : [s.Sid, s.Condition.ArnEquals["aws:SourceArn"]]] == [["AllowTopicToUseKey", "arn:aws:sns:eu-west-1:123456789012:shop-jobs"]]
    error_message = "Both queues use the key, and SNS needs it for one of them: ${jsonencode(output.kms_key_policy_statements)}"
  }

  assert {
    condition     = aws_iam_role_policy_attachment.this["mail"].policy_arn == "arn:aws:iam::123456789012:policy/mail" && aws_lambda_function_recursion_config.this[0].recursive_loop == "Allow"
    error_message = "Extra policies are keyed by a name of the caller's."
  }
}

run "image" {
  variables {
    function = { artifact = { image_uri = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/email:1" } }
  }

  assert {
    condition     = aws_lambda_function.this.package_type == "Image" && aws_lambda_function.this.runtime == null && aws_lambda_function.this.handler == null
    error_message = "An image has neither handler nor runtime."
  }
}
