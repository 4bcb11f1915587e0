locals {
  queue_names = {
    dlq              = "${var.name}-dlq"
    subscription_dlq = "${var.name}-sub-dlq"
  }
  # ARNs are built, not referenced: a policy inside its own queue would be a cycle.
  # `id` is the region's name in provider 5 and 6 (`name` is deprecated in 6, `region` missing in 5).
  queue_arns = {
    for role, name in local.queue_names : role =>
    "arn:${data.aws_partition.this.partition}:sqs:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:${name}"
  }

  from_topic = {
    Effect    = "Allow"
    Principal = { Service = "sns.amazonaws.com" }
    Action    = "sqs:SendMessage"
    Condition = {
      ArnEquals    = { "aws:SourceArn" = var.topics.standard_arn }
      StringEquals = { "aws:SourceAccount" = split(":", var.topics.standard_arn)[4] }
    }
  }

  # The function, and Lambda on its behalf, send to `dlq` with the function's role: no statement of its own.
  allow = {
    dlq              = []
    subscription_dlq = [merge(local.from_topic, { Sid = "AllowUndelivered" })]
  }

  # One expression for all queues, so that none can miss the TLS rule or carry the policy of another.
  policies = {
    for role, arn in local.queue_arns : role => jsonencode({
      Version = "2012-10-17" # without it the provider waits for ever for SQS to return the same document
      Statement = concat(
        [{
          Sid       = "DenyInsecureTransport"
          Effect    = "Deny"
          Principal = { AWS = "*" }
          Action    = "sqs:*"
          Resource  = arn
          Condition = { Bool = { "aws:SecureTransport" = "false" } }
        }],
        [for statement in local.allow[role] : merge(statement, { Resource = arn })],
      )
    })
  }
}

# Dead letters with their reason, and Lambda's records of runs that ended without a word: one place to look. Standard,
# because Lambda takes no FIFO queue as a destination.
resource "aws_sqs_queue" "dlq" {
  name                      = local.queue_names.dlq
  message_retention_seconds = 1209600
  receive_wait_time_seconds = 20
  max_message_size          = 262144

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  policy = local.policies.dlq
  tags   = var.tags
}

# What SNS could not hand to Lambda (function gone, permission broken). Apart from the DLQ: no run ever saw these.
resource "aws_sqs_queue" "subscription_dlq" {
  name                      = local.queue_names.subscription_dlq
  message_retention_seconds = 1209600
  receive_wait_time_seconds = 20
  max_message_size          = 262144

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  policy = local.policies.subscription_dlq
  tags   = var.tags
}
