locals {
  image = var.function.handler == null

  environment = merge(var.function.environment, merge(values(var.access)[*].environment...), local.pause_environment, {
    JOBS_WORKLOAD                = var.workload
    JOBS_QUEUE_URL               = var.queue.url
    JOBS_DLQ_URL                 = var.dlq.url
    JOBS_MAX_RECEIVE_COUNT       = tostring(var.queue.max_receive_count)
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

  reserved_concurrent_executions = var.reserved_concurrency == null ? -1 : var.reserved_concurrency # -1: share the account's pool

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

resource "aws_lambda_event_source_mapping" "this" {
  event_source_arn = var.queue.arn
  function_name    = aws_lambda_function.this.arn
  enabled          = var.enabled

  batch_size                         = var.batch.size
  maximum_batching_window_in_seconds = var.batch.window_seconds

  # Not an input: without it one failed job brings back the whole batch, and an unread answer loses failures.
  function_response_types = ["ReportBatchItemFailures"]

  dynamic "scaling_config" {
    for_each = var.ceiling.pollers == null ? [coalesce(var.ceiling.max_concurrency, 10)] : []
    content {
      maximum_concurrency = scaling_config.value
    }
  }

  dynamic "provisioned_poller_config" {
    for_each = var.ceiling.pollers == null ? [] : [var.ceiling.pollers]
    content {
      minimum_pollers = provisioned_poller_config.value.min
      maximum_pollers = provisioned_poller_config.value.max
    }
  }

  tags = var.tags

  # Lambda tries the role's access to the queue when the mapping is created.
  depends_on = [aws_iam_role_policy.this]
}
