resource "aws_iam_role" "this" {
  name = "${var.name}-schedules"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowSchedulesOfThisGroup"
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        # The group's ARN: Scheduler refuses the ARN of a schedule here.
        ArnEquals    = { "aws:SourceArn" = aws_scheduler_schedule_group.this.arn }
        StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.this.account_id }
      }
    }]
  })
  tags = var.tags
}

# One policy per workload, so that a schedule of one touches no other.
resource "aws_iam_role_policy" "send" {
  for_each = local.workloads

  name = each.key
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      for sid, grant in {
        ToQueue = { action = "sqs:SendMessage", arns = [for s in values(var.schedules) : s.queue.arn if s.workload == each.key && s.queue != null] }
        ToTopic = { action = "sns:Publish", arns = [for s in values(var.schedules) : s.topic_arn if s.workload == each.key && s.topic_arn != null] }
        } : {
        Sid      = sid
        Effect   = "Allow"
        Action   = grant.action
        Resource = distinct(grant.arns)
      } if length(grant.arns) > 0
    ]
  })
}

resource "aws_iam_role_policy" "dead_letters" {
  name = "dead_letters" # no key of a workload holds an underscore
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid      = "OwnDeadLetters"
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = aws_sqs_queue.dlq.arn
      }],
      [for key in [var.kms_key] : {
        Sid      = "QueueAndTopicKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = key.arn
      } if key != null],
    )
  })
}
