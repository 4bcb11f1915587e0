mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name     = "shop-email"
  workload = "email"
  queue = {
    arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
    url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
    fifo                       = false
    visibility_timeout_seconds = 360
    max_receive_count          = 10
  }
  dlq = {
    arn = "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq"
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email-dlq"
  }
  topics = {
    standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
  }
  function = {
    artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
    handler  = "app.handler"
  }
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
    condition     = aws_lambda_function.this.timeout == 60 && aws_lambda_function.this.memory_size == 512 && aws_lambda_function.this.reserved_concurrent_executions == -1 && aws_lambda_function.this.tracing_config[0].mode == "PassThrough" && length(aws_lambda_function.this.vpc_config) == 0
    error_message = "Defaults: 60 s, 512 MB, no reservation, no tracing, no network."
  }

  assert {
    condition = aws_lambda_function.this.environment[0].variables == tomap({
      JOBS_WORKLOAD                = "email"
      JOBS_QUEUE_URL               = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      JOBS_DLQ_URL                 = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email-dlq"
      JOBS_MAX_RECEIVE_COUNT       = "10"
      JOBS_TOPIC_ARN               = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      JOBS_FIFO_TOPIC_ARN          = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
      JOBS_MAX_MESSAGE_BYTES       = "262144"
      POWERTOOLS_SERVICE_NAME      = "shop-email"
      POWERTOOLS_METRICS_NAMESPACE = "BackgroundJobs"
      POWERTOOLS_LOG_LEVEL         = "INFO"
    })
    error_message = "The environment is the runtime's contract: ${jsonencode(aws_lambda_function.this.environment[0].variables)}"
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.function_response_types == toset(["ReportBatchItemFailures"])
    error_message = "Partial batch response is not an option."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.scaling_config[0].maximum_concurrency == 10 && length(aws_lambda_event_source_mapping.this.provisioned_poller_config) == 0 && output.event_source_mapping.max_concurrency == 10
    error_message = "There is a ceiling even if none is asked for."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.enabled && aws_lambda_event_source_mapping.this.batch_size == 10 && aws_lambda_event_source_mapping.this.maximum_batching_window_in_seconds == 0
    error_message = "Ten at a time, without waiting."
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/lambda/shop-email" && aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "The log group has a retention."
  }

  assert {
    condition     = length(aws_lambda_function_recursion_config.this) == 0
    error_message = "Terminate is Lambda's own default."
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid => s } == {
      OwnQueue     = { Sid = "OwnQueue", Effect = "Allow", Action = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage"], Resource = "arn:aws:sqs:eu-west-1:123456789012:shop-email" }
      DeadLetter   = { Sid = "DeadLetter", Effect = "Allow", Action = "sqs:SendMessage", Resource = "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq" }
      FollowUpJobs = { Sid = "FollowUpJobs", Effect = "Allow", Action = "sns:Publish", Resource = ["arn:aws:sns:eu-west-1:123456789012:shop-jobs", "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"] }
      OwnLogs      = { Sid = "OwnLogs", Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/mock:*" }
    }
    error_message = "The role may do this and no more: ${aws_iam_role_policy.this.policy}"
  }
}

run "everything_switched_on" {
  variables {
    function = {
      artifact           = { s3_bucket = "artifacts", s3_key = "email.zip", s3_object_version = "v1" }
      handler            = "app.handler"
      runtime            = "python3.12"
      architecture       = "x86_64"
      memory_mb          = 1024
      environment        = { SMTP_HOST = "mail.example.com" }
      log_retention_days = 90
      log_level          = "DEBUG"
      tracing            = true
      vpc                = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
      policy_arns        = { mail = "arn:aws:iam::123456789012:policy/mail" }
      recursive_loop     = "Allow"
    }
    ceiling              = { max_concurrency = 1500 }
    reserved_concurrency = 1500
    enabled              = false
    service_name         = "shop"
    kms_key              = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
  }

  assert {
    condition     = aws_lambda_function.this.s3_object_version == "v1" && aws_lambda_function.this.architectures == tolist(["x86_64"]) && aws_lambda_function.this.reserved_concurrent_executions == 1500
    error_message = "An object in a bucket instead of a file."
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables["SMTP_HOST"] == "mail.example.com" && aws_lambda_function.this.environment[0].variables["POWERTOOLS_LOG_LEVEL"] == "DEBUG" && aws_lambda_function.this.environment[0].variables["POWERTOOLS_SERVICE_NAME"] == "shop"
    error_message = "Own variables stand beside the module's."
  }

  assert {
    condition     = aws_lambda_function.this.tracing_config[0].mode == "Active" && aws_lambda_function.this.vpc_config[0].subnet_ids == toset(["subnet-1"])
    error_message = "Tracing and network."
  }

  # Accounts with a raised quota exist: there is no upper bound.
  assert {
    condition     = aws_lambda_event_source_mapping.this.scaling_config[0].maximum_concurrency == 1500 && !aws_lambda_event_source_mapping.this.enabled
    error_message = "A ceiling above 1000 is legal, and a paused mapping stays a mapping."
  }

  assert {
    condition     = sort([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid]) == tolist(["DeadLetter", "FollowUpJobs", "NetworkInterfaces", "OwnLogs", "OwnQueue", "QueueAndTopicKey", "Tracing"])
    error_message = "Each option brings its own statement: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = sort([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid if s.Resource == "*"]) == tolist(["NetworkInterfaces", "Tracing"])
    error_message = "Only where AWS has nothing finer may the resource be *: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = alltrue([for action in flatten([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Action]) : !strcontains(action, "*") && action != "logs:CreateLogGroup"])
    error_message = "No wildcard action, and no second log group: ${aws_iam_role_policy.this.policy}"
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
    condition     = aws_lambda_function.this.package_type == "Image" && aws_lambda_function.this.runtime == null && aws_lambda_function.this.handler == null && aws_lambda_function.this.image_uri == "123456789012.dkr.ecr.eu-west-1.amazonaws.com/email:1"
    error_message = "An image has neither handler nor runtime."
  }
}

run "provisioned_pollers" {
  variables {
    ceiling              = { pollers = { min = 2, max = 5 } }
    reserved_concurrency = 50
  }

  assert {
    condition     = length(aws_lambda_event_source_mapping.this.scaling_config) == 0 && aws_lambda_event_source_mapping.this.provisioned_poller_config[0].minimum_pollers == 2 && aws_lambda_event_source_mapping.this.provisioned_poller_config[0].maximum_pollers == 5 && output.event_source_mapping.max_concurrency == 50
    error_message = "Pollers instead of a maximum, each up to ten runs."
  }
}

run "large_batches" {
  variables {
    batch = { size = 10000, window_seconds = 300 }
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = false
      visibility_timeout_seconds = 660
      max_receive_count          = 10
    }
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.batch_size == 10000 && aws_lambda_event_source_mapping.this.maximum_batching_window_in_seconds == 300
    error_message = "The limits themselves are legal."
  }
}

run "access_from_other_modules" {
  variables {
    access = {
      job_state = {
        environment = { JOBS_TABLE = "shop-jobs" }
        statements  = [{ sid = "JobRecords", actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = ["arn:aws:dynamodb:eu-west-1:123456789012:table/shop-jobs"] }]
      }
      claim_check = {
        environment = { JOBS_CLAIM_BUCKET = "shop-claims" }
        statements  = [{ sid = "ClaimKey", actions = ["kms:Decrypt"], resources = ["arn:aws:kms:eu-west-1:123456789012:key/1"], conditions = { StringLike = { "kms:ViaService" = "s3.*" } } }]
      }
    }
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables["JOBS_TABLE"] == "shop-jobs" && aws_lambda_function.this.environment[0].variables["JOBS_CLAIM_BUCKET"] == "shop-claims" && aws_lambda_function.this.environment[0].variables["JOBS_WORKLOAD"] == "email"
    error_message = "The function learns what it may use: ${jsonencode(aws_lambda_function.this.environment[0].variables)}"
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid => s if contains(["JobRecords", "ClaimKey"], s.Sid) } == {
      JobRecords = { Sid = "JobRecords", Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:UpdateItem"], Resource = ["arn:aws:dynamodb:eu-west-1:123456789012:table/shop-jobs"] }
      ClaimKey   = { Sid = "ClaimKey", Effect = "Allow", Action = ["kms:Decrypt"], Resource = ["arn:aws:kms:eu-west-1:123456789012:key/1"], Condition = { StringLike = { "kms:ViaService" = "s3.*" } } }
    }
    error_message = "As given, conditions too: ${aws_iam_role_policy.this.policy}"
  }

  assert {
    condition     = length(aws_iam_role.resume) == 0 && length(aws_ssm_parameter.mapping) == 0 && length(aws_iam_role_policy.pause) == 0
    error_message = "Nothing to pause with unless asked for."
  }
}

run "pause" {
  variables {
    pause = { resume_role_name = "shop-email-resume" }
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables["JOBS_MAPPING_PARAMETER"] == aws_ssm_parameter.mapping[0].name && aws_lambda_function.this.environment[0].variables["JOBS_SCHEDULE_GROUP"] == "shop-email" && aws_lambda_function.this.environment[0].variables["JOBS_SCHEDULER_ROLE_ARN"] == aws_iam_role.resume[0].arn
    error_message = "The function learns where to find its mapping, and what resumes it: ${jsonencode(aws_lambda_function.this.environment[0].variables)}"
  }

  assert {
    condition     = aws_ssm_parameter.mapping[0].name == "/jobs/shop-email/event-source-mapping" && aws_ssm_parameter.mapping[0].value == output.event_source_mapping.id
    error_message = "The parameter holds the mapping's id."
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.pause[0].policy).Statement : s.Sid => s } == {
      OwnMapping          = { Sid = "OwnMapping", Effect = "Allow", Action = "lambda:UpdateEventSourceMapping", Resource = "arn:aws:lambda:eu-west-1:123456789012:event-source-mapping:00000000-0000-0000-0000-000000000000" }
      FindOwnMapping      = { Sid = "FindOwnMapping", Effect = "Allow", Action = "ssm:GetParameter", Resource = "arn:aws:ssm:eu-west-1:123456789012:parameter/jobs/mock/event-source-mapping" }
      ScheduleResumption  = { Sid = "ScheduleResumption", Effect = "Allow", Action = "scheduler:CreateSchedule", Resource = "arn:aws:scheduler:eu-west-1:123456789012:schedule/mock/*" }
      HandRoleToScheduler = { Sid = "HandRoleToScheduler", Effect = "Allow", Action = "iam:PassRole", Resource = "arn:aws:iam::123456789012:role/mock", Condition = { StringEquals = { "iam:PassedToService" = "scheduler.amazonaws.com" } } }
    }
    error_message = "Its own mapping, its own group, one role for one service: ${aws_iam_role_policy.pause[0].policy}"
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.resume[0].policy).Statement == [{ Sid = "OwnMapping", Effect = "Allow", Action = "lambda:UpdateEventSourceMapping", Resource = "arn:aws:lambda:eu-west-1:123456789012:event-source-mapping:00000000-0000-0000-0000-000000000000" }]
    error_message = "The schedule may switch this mapping, no more: ${aws_iam_role_policy.resume[0].policy}"
  }

  assert {
    condition = aws_iam_role.resume[0].name == "shop-email-resume" && jsondecode(aws_iam_role.resume[0].assume_role_policy).Statement[0].Condition == {
      ArnEquals    = { "aws:SourceArn" = "arn:aws:scheduler:eu-west-1:123456789012:schedule-group/mock" }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }
    error_message = "Schedules of this group and account only: ${aws_iam_role.resume[0].assume_role_policy}"
  }
}
