data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  image = var.function.handler == null

  # A direct consumer without a delay machine could not come back to a job, so the machine is no option.
  access = merge(var.access, { delay = var.delay_machine })

  environment = merge(var.function.environment, merge(values(local.access)[*].environment...), {
    JOBS_WORKLOAD                = var.workload
    JOBS_DLQ_URL                 = aws_sqs_queue.dlq.url
    JOBS_TOPIC_ARN               = var.topics.standard_arn
    JOBS_FIFO_TOPIC_ARN          = var.topics.fifo_arn
    JOBS_MAX_MESSAGE_BYTES       = "262144"
    POWERTOOLS_SERVICE_NAME      = coalesce(var.service_name, var.name)
    POWERTOOLS_METRICS_NAMESPACE = var.metrics_namespace
    POWERTOOLS_LOG_LEVEL         = var.function.log_level
  })
}

# Before the function: a group that Lambda makes itself keeps logs for ever, and then blocks this one.
resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.function.log_retention_days
  tags              = var.tags
}

resource "aws_lambda_function" "this" {
  function_name = var.name
  role          = aws_iam_role.this.arn
  package_type  = local.image ? "Image" : "Zip"

  filename          = var.function.artifact.filename
  source_code_hash  = var.function.artifact.filename == null ? null : filebase64sha256(var.function.artifact.filename)
  s3_bucket         = var.function.artifact.s3_bucket
  s3_key            = var.function.artifact.s3_key
  s3_object_version = var.function.artifact.s3_object_version
  image_uri         = var.function.artifact.image_uri

  handler       = var.function.handler
  runtime       = local.image ? null : var.function.runtime
  architectures = [var.function.architecture]
  timeout       = var.function.timeout_seconds
  memory_size   = var.function.memory_mb

  # The ceiling: without a queue there is no mapping that could have one.
  reserved_concurrent_executions = var.reserved_concurrency

  environment {
    variables = local.environment
  }

  # Always written: leaving the block out would not switch tracing off again.
  tracing_config {
    mode = var.function.tracing ? "Active" : "PassThrough"
  }

  dynamic "vpc_config" {
    for_each = var.function.vpc == null ? [] : [var.function.vpc]
    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  tags = var.tags

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.this]
}

# Only "Allow" needs a resource: "Terminate" is what Lambda does by itself, and what removing this resource restores.
resource "aws_lambda_function_recursion_config" "this" {
  count = var.function.recursive_loop == "Allow" ? 1 : 0

  function_name  = aws_lambda_function.this.function_name
  recursive_loop = "Allow"
}

resource "aws_lambda_function_event_invoke_config" "this" {
  function_name = aws_lambda_function.this.function_name

  # Not an input: what is tried again, and when, is the job's policy. Lambda would run what may have had its effect.
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = var.max_event_age_seconds

  # What no code was left to settle: a run that was killed or timed out, one that could not put its job anywhere, an event
  # that found no free run until its age.
  destination_config {
    on_failure {
      destination = aws_sqs_queue.dlq.arn
    }
  }

  # Lambda tries the role's access to the destination when the configuration is made.
  depends_on = [aws_iam_role_policy.this]
}

resource "aws_lambda_permission" "topic" {
  statement_id   = "AllowTopic"
  action         = "lambda:InvokeFunction"
  function_name  = aws_lambda_function.this.function_name
  principal      = "sns.amazonaws.com"
  source_arn     = var.topics.standard_arn
  source_account = split(":", var.topics.standard_arn)[4]
}

# Raw delivery does not exist for functions: the job is the text in the notification's `Message`.
resource "aws_sns_topic_subscription" "this" {
  topic_arn = var.topics.standard_arn
  protocol  = "lambda"
  endpoint  = aws_lambda_function.this.arn

  filter_policy       = jsonencode({ workload = [var.workload] })
  filter_policy_scope = "MessageAttributes"

  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.subscription_dlq.arn })

  # The first notification needs both: the one to be let in, the other not to be lost if its run is killed.
  depends_on = [aws_lambda_permission.topic, aws_lambda_function_event_invoke_config.this]
}
