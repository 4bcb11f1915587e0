data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  dlq_name = "${var.name}-schedules-dlq"
  # Built, not referenced: a policy inside its own queue would be a cycle. `id` is the region's name in provider 5 and 6.
  dlq_arn = "arn:${data.aws_partition.this.partition}:sqs:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:${local.dlq_name}"

  # Scheduler puts the time in for which it sends: the same one in every attempt and every delivery of one occurrence. So the job's id, which
  # comes from it, names the occurrence.
  time = "<aws.scheduler.scheduled-time>"
  ids  = { for key in keys(var.schedules) : key => "${var.name}:${key}:${local.time}" }

  # A complete envelope. Not by jsonencode as a whole, which writes "<" and ">" as escapes, in which Scheduler does not find its keyword.
  bodies = {
    for key, s in var.schedules : key => join(",", [
      "{\"id\":\"${local.ids[key]}\"",
      "\"job\":\"${s.job}\"",
      "\"v\":${s.version}",
      "\"enqueued_at\":\"${local.time}\"",
      "\"occurrence\":\"${local.time}\"",
      "\"payload\":${jsonencode(jsondecode(s.payload_json))}}",
    ])
  }

  attributes = {
    for key, s in var.schedules : key => {
      workload = { DataType = "String", StringValue = s.workload }
      job      = { DataType = "String", StringValue = s.job }
    }
  }

  # Universal targets: Scheduler's own target for SQS knows no attributes, and for a FIFO queue asks for deduplication by content.
  calls = {
    for key, s in var.schedules : key => s.queue == null ? jsonencode({
      TopicArn          = s.topic_arn
      Message           = local.bodies[key]
      MessageAttributes = local.attributes[key]
      }) : jsonencode(merge(
      {
        QueueUrl          = s.queue.url
        MessageBody       = local.bodies[key]
        MessageAttributes = local.attributes[key]
      },
      { for name, value in { MessageGroupId = coalesce(s.message_group_id, key), MessageDeduplicationId = local.ids[key] } : name => value if s.queue.fifo },
    ))
  }

  workloads = toset(values(var.schedules)[*].workload)
}

# A group of its own: its name is the dimension of Scheduler's metrics, its ARN what the role trusts.
resource "aws_scheduler_schedule_group" "this" {
  name = "${var.name}-schedules"
  tags = var.tags
}

resource "aws_scheduler_schedule" "this" {
  for_each = var.schedules

  name       = each.key
  group_name = aws_scheduler_schedule_group.this.name
  state      = each.value.enabled ? "ENABLED" : "DISABLED"

  schedule_expression          = each.value.expression
  schedule_expression_timezone = each.value.timezone
  start_date                   = each.value.start
  end_date                     = each.value.end

  flexible_time_window {
    mode                      = each.value.flexible_window_minutes == null ? "OFF" : "FLEXIBLE"
    maximum_window_in_minutes = each.value.flexible_window_minutes
  }

  target {
    arn      = "arn:${data.aws_partition.this.partition}:scheduler:::aws-sdk:${each.value.queue == null ? "sns:publish" : "sqs:sendMessage"}"
    role_arn = aws_iam_role.this.arn
    # "<" and ">" again: the body is JSON within JSON. Those of the payload are escaped twice by now and stay as they are.
    input = replace(local.calls[each.key], trim(jsonencode(local.time), "\""), local.time)

    retry_policy {
      maximum_retry_attempts       = each.value.retry.max_attempts
      maximum_event_age_in_seconds = each.value.retry.max_age_seconds
    }

    dead_letter_config {
      arn = aws_sqs_queue.dlq.arn
    }
  }

  # Scheduler tries the role when a schedule is created.
  depends_on = [aws_iam_role_policy.send, aws_iam_role_policy.dead_letters]
}

# What Scheduler could not send. A standard queue also for FIFO targets: Scheduler takes no other.
resource "aws_sqs_queue" "dlq" {
  name                      = local.dlq_name
  message_retention_seconds = 1209600
  receive_wait_time_seconds = 20
  max_message_size          = 262144

  sqs_managed_sse_enabled = var.kms_key == null ? true : null
  kms_master_key_id       = var.kms_key == null ? null : var.kms_key.arn

  # Inside the queue: the provider waits 25 s for each SQS attribute resource.
  policy = jsonencode({
    Version = "2012-10-17" # without it the provider waits for ever for SQS to return the same document
    Statement = [{
      Sid       = "DenyInsecureTransport"
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Action    = "sqs:*"
      Resource  = local.dlq_arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })

  tags = var.tags
}

locals {
  # Of schedules with certain hours only: one that runs every hour misses nothing when there is no such hour.
  skipped = {
    for key, s in var.schedules : key => [
      for hour in compact(split(",", try(regex("^cron\\([^ ]+ +([0-9,]+) ", s.expression)[0], ""))) : tonumber(hour)
      if contains(try(local.time_zones[s.timezone], []), tonumber(hour))
    ]
  }
}

# The clocks are put forward over it: on that day Scheduler sends nothing.
check "skipped_local_time" {
  assert {
    condition = length(flatten(values(local.skipped))) == 0
    error_message = join("\n", [
      for key, hours in local.skipped :
      "Schedule \"${key}\": ${var.schedules[key].expression} in ${var.schedules[key].timezone} lies in an hour of which the clocks skip a part when summer time begins (from ${format("%02d", hours[0])}:00). On that day it may not be sent. Choose another hour, or UTC, if no day may be missed."
      if length(hours) > 0
    ])
  }
}
