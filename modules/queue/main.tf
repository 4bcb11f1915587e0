data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  suffix = var.fifo ? ".fifo" : ""
  names = {
    source           = "${var.name}${local.suffix}"
    dlq              = "${var.name}-dlq${local.suffix}"
    subscription_dlq = "${var.name}-sub-dlq${local.suffix}"
  }
  # ARNs are built, not referenced: a policy inside its own queue, and a dead-letter queue that names its source, would be cycles.
  # `id` is the region's name in provider 5 and 6 (`name` is deprecated in 6, `region` missing in 5).
  arns = {
    for role, name in local.names : role =>
    "arn:${data.aws_partition.this.partition}:sqs:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:${name}"
  }

  visibility_timeout_seconds = var.visibility_timeout_seconds != null ? var.visibility_timeout_seconds : 6 * var.consumer_timeout_seconds + var.batch_window_seconds
  dlq_retention_seconds      = 1209600

  from_topic = var.subscription == null ? [] : [{
    Effect    = "Allow"
    Principal = { Service = "sns.amazonaws.com" }
    Action    = "sqs:SendMessage"
    Condition = {
      ArnEquals    = { "aws:SourceArn" = var.subscription.topic_arn }
      StringEquals = { "aws:SourceAccount" = split(":", var.subscription.topic_arn)[4] }
    }
  }]

  allow = {
    source = concat(
      [for s in local.from_topic : merge(s, { Sid = "AllowTopic" })],
      [
        for sid, s in var.policy_statements : {
          Sid       = sid
          Effect    = "Allow"
          Principal = { for kind, ids in { AWS = s.aws, Service = s.services } : kind => ids if length(ids) > 0 }
          Action    = s.actions
          Condition = s.conditions
        }
      ],
    )
    dlq              = []
    subscription_dlq = [for s in local.from_topic : merge(s, { Sid = "AllowUndelivered" })]
  }

  # One expression for all queues, so that none can miss the TLS rule or carry the policy of another.
  policies = {
    for role, arn in local.arns : role => jsonencode({
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

# Policies and redrive permission stand inside the queues: the provider waits 25 s for each SQS attribute resource, on create, update and destroy.
resource "aws_sqs_queue" "this" {
  name                       = local.names.source
  fifo_queue                 = var.fifo
  visibility_timeout_seconds = local.visibility_timeout_seconds
  message_retention_seconds  = var.retention_seconds
  receive_wait_time_seconds  = 20     # long polling for every consumer
  max_message_size           = 262144 # what SNS carries; larger payloads do not fit through the topic

  # The job id is the deduplication id; per group is what FIFO's high throughput asks for.
  content_based_deduplication = var.fifo ? false : null
  deduplication_scope         = var.fifo ? "messageGroup" : null
  fifo_throughput_limit       = var.fifo ? "perMessageGroupId" : null

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  policy = local.policies.source
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dlq.arn
    maxReceiveCount     = var.max_receive_count # a number: SQS returns a number, a string would differ on every plan
  })

  tags = var.tags
}

resource "aws_sqs_queue" "dlq" {
  name                      = local.names.dlq
  fifo_queue                = var.fifo
  message_retention_seconds = local.dlq_retention_seconds
  receive_wait_time_seconds = 20
  max_message_size          = 262144

  content_based_deduplication = var.fifo ? false : null
  deduplication_scope         = var.fifo ? "messageGroup" : null
  fifo_throughput_limit       = var.fifo ? "perMessageGroupId" : null

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  policy = local.policies.dlq
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [local.arns.source]
  })

  tags = var.tags
}

# What SNS could not deliver (queue gone, key unusable, policy broken). Apart from the DLQ: these messages were never received.
# No redrive_allow_policy: it speaks of source queues, and the source here is a subscription.
resource "aws_sqs_queue" "subscription_dlq" {
  count = var.subscription == null ? 0 : 1

  name                      = local.names.subscription_dlq
  fifo_queue                = var.fifo
  message_retention_seconds = local.dlq_retention_seconds
  receive_wait_time_seconds = 20
  max_message_size          = 262144

  content_based_deduplication = var.fifo ? false : null
  deduplication_scope         = var.fifo ? "messageGroup" : null
  fifo_throughput_limit       = var.fifo ? "perMessageGroupId" : null

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  policy = local.policies.subscription_dlq
  tags   = var.tags
}

# The policies are part of the queues, so they stand before the first message can arrive.
resource "aws_sns_topic_subscription" "this" {
  count = var.subscription == null ? 0 : 1

  topic_arn            = var.subscription.topic_arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.this.arn
  raw_message_delivery = true

  # A scope without a policy is refused by SNS, so the two come and go together.
  filter_policy       = var.subscription.filter == null ? null : jsonencode(var.subscription.filter)
  filter_policy_scope = var.subscription.filter == null ? null : "MessageAttributes"

  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.subscription_dlq[0].arn })
}

# A message older than the retention is deleted, not dead-lettered.
check "retry_horizon" {
  assert {
    condition     = var.max_receive_count * local.visibility_timeout_seconds <= var.retention_seconds
    error_message = "${var.name}: ${var.max_receive_count} receives x ${local.visibility_timeout_seconds} s visibility can take longer than retention_seconds (${var.retention_seconds}): such a message is deleted instead of dead-lettered. Raise retention_seconds or lower max_receive_count."
  }
}
