# A workload whose dependency is down switches its own mapping off, and a one-time schedule switches it on again.
# The function cannot learn the mapping's id from its environment: the mapping is created after the function. A parameter with a
# name known beforehand tells it. (lambda:ListEventSourceMappings would, too, but has no resources: it shows the whole account's.)
locals {
  mapping_parameter = "/jobs/${var.name}/event-source-mapping"

  pause_environment = var.pause == null ? {} : {
    JOBS_MAPPING_PARAMETER  = local.mapping_parameter
    JOBS_SCHEDULE_GROUP     = aws_scheduler_schedule_group.resume[0].name
    JOBS_SCHEDULER_ROLE_ARN = aws_iam_role.resume[0].arn
  }
}

# A group of its own: Scheduler checks a role's trust by the group, and removing a workload takes its schedules with it.
resource "aws_scheduler_schedule_group" "resume" {
  count = var.pause == null ? 0 : 1

  name = var.name
  tags = var.tags
}

resource "aws_iam_role" "resume" {
  count = var.pause == null ? 0 : 1

  name = var.pause.resume_role_name
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowSchedulesOfThisGroup"
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        # The group's ARN: Scheduler refuses the ARN of a schedule here.
        ArnEquals    = { "aws:SourceArn" = aws_scheduler_schedule_group.resume[0].arn }
        StringEquals = { "aws:SourceAccount" = split(":", aws_scheduler_schedule_group.resume[0].arn)[4] }
      }
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "resume" {
  count = var.pause == null ? 0 : 1

  name = "resume"
  role = aws_iam_role.resume[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "OwnMapping"
      Effect   = "Allow"
      Action   = "lambda:UpdateEventSourceMapping"
      Resource = aws_lambda_event_source_mapping.this.arn
    }]
  })
}

# Apart from the policy "consume": that one must exist before the mapping, this one names it.
resource "aws_iam_role_policy" "pause" {
  count = var.pause == null ? 0 : 1

  name = "pause"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "OwnMapping"
        Effect   = "Allow"
        Action   = "lambda:UpdateEventSourceMapping"
        Resource = aws_lambda_event_source_mapping.this.arn
      },
      {
        Sid      = "FindOwnMapping"
        Effect   = "Allow"
        Action   = "ssm:GetParameter"
        Resource = aws_ssm_parameter.mapping[0].arn
      },
      {
        Sid      = "ScheduleResumption"
        Effect   = "Allow"
        Action   = "scheduler:CreateSchedule"
        Resource = "${replace(aws_scheduler_schedule_group.resume[0].arn, ":schedule-group/", ":schedule/")}/*"
      },
      {
        Sid       = "HandRoleToScheduler"
        Effect    = "Allow"
        Action    = "iam:PassRole"
        Resource  = aws_iam_role.resume[0].arn
        Condition = { StringEquals = { "iam:PassedToService" = "scheduler.amazonaws.com" } }
      },
    ]
  })
}

resource "aws_ssm_parameter" "mapping" {
  count = var.pause == null ? 0 : 1

  name        = local.mapping_parameter
  description = "Id of the event source mapping of ${var.name}, which the function may switch off and on."
  type        = "String"
  value       = aws_lambda_event_source_mapping.this.uuid
  tags        = var.tags
}
