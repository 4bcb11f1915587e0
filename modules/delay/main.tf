data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  # Built, not referenced: the role names the machine that assumes it, and the machine names the role.
  # `id` is the region's name in provider 5 and 6 (`name` is deprecated in 6, `region` missing in 5).
  arn = "arn:${data.aws_partition.this.partition}:states:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:stateMachine:${var.name}"

  # Values under names that end in ".$" are paths into the input. HCL leaves "$." and "$$." alone, only "${" is a template.
  # Exactly one of the two exists.
  delivery = concat(
    [for queue in [var.queue] : {
      comment  = "the queue"
      resource = "sqs:sendMessage"
      parameters = merge(
        {
          QueueUrl        = queue.url # fixed: an input must not choose where a job goes
          "MessageBody.$" = "$.body"  # a string, sent as it is
          MessageAttributes = {
            workload = { DataType = "String", StringValue = var.workload }
            job      = { DataType = "String", "StringValue.$" = "$.job" }
          }
          # On a standard queue the group keeps one tenant from starving the others, on a FIFO queue it is the order.
          "MessageGroupId.$" = "$.group"
        },
        # SQS refuses it on a standard queue.
        { for name, path in { "MessageDeduplicationId.$" = "$.dedup" } : name => path if queue.fifo },
      )
      permission = { Sid = "OwnQueue", Effect = "Allow", Action = "sqs:SendMessage", Resource = queue.arn }
      key_sid    = "QueueAndMachineKey"
    } if queue != null],
    # For a workload without a queue. No group: nobody behind a standard topic that invokes a function looks at it.
    [for topic in [var.topic] : {
      comment  = "the topic"
      resource = "sns:publish"
      parameters = {
        TopicArn    = topic.arn # fixed, too
        "Message.$" = "$.body"
        MessageAttributes = {
          workload = { DataType = "String", StringValue = var.workload }
          job      = { DataType = "String", "StringValue.$" = "$.job" }
        }
      }
      permission = { Sid = "OwnTopic", Effect = "Allow", Action = "sns:Publish", Resource = topic.arn }
      key_sid    = "TopicAndMachineKey"
    } if topic != null],
  )[0]
}

resource "aws_sfn_state_machine" "this" {
  name     = var.name
  type     = "STANDARD" # EXPRESS ends after five minutes
  role_arn = aws_iam_role.this.arn

  definition = jsonencode({
    Comment = "Keeps a job until its time, then sends it to ${local.delivery.comment} of workload ${var.workload}."
    StartAt = "Wait"
    States = {
      Wait = {
        Type          = "Wait"
        TimestampPath = "$.at"
        Next          = "Send"
      }
      Send = {
        Type       = "Task"
        Resource   = "arn:${data.aws_partition.this.partition}:states:::${local.delivery.resource}"
        Parameters = local.delivery.parameters
        # About an hour of trying. States.TaskFailed is every answer of SQS or SNS that is no success, because Step Functions has no
        # one name for throttling and service faults there. A broken input (States.Runtime) is not among them and fails at once.
        # FULL jitter: jobs delayed to the same hour would meet again on every try.
        Retry = [{
          ErrorEquals     = ["States.TaskFailed", "States.Timeout"]
          IntervalSeconds = 2
          BackoffRate     = 2
          MaxDelaySeconds = 300
          MaxAttempts     = 20
          JitterStrategy  = "FULL"
        }]
        TimeoutSeconds = 60
        End            = true
      }
    }
  })

  # Failures are logged, payloads never are. The input stays readable in the execution itself, so that a failed one can be redriven.
  logging_configuration {
    log_destination        = "${aws_cloudwatch_log_group.this.arn}:*" # Step Functions refuses the ARN without ":*"
    level                  = "ERROR"
    include_execution_data = false
  }

  dynamic "encryption_configuration" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      type                              = "CUSTOMER_MANAGED_KMS_KEY"
      kms_key_id                        = encryption_configuration.value.arn
      kms_data_key_reuse_period_seconds = 300
    }
  }

  tags = var.tags

  # Step Functions tries the log delivery when the machine is created.
  depends_on = [aws_iam_role_policy.this]
}

# The prefix keeps the account's log resource policy from growing with each machine: CloudWatch Logs limits it to 5120 characters.
resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/vendedlogs/states/${var.name}"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}
