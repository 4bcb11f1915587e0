locals {
  # Fargate names the task it acts for; a cluster cannot be named here, so all tasks of this account and region.
  trust = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowTasks"
      Effect    = "Allow"
      Principal = { Service = "ecs-tasks.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        ArnLike      = { "aws:SourceArn" = "${join(":", slice(local.cluster, 0, 5))}:*" }
        StringEquals = { "aws:SourceAccount" = local.cluster[4] }
      }
    }]
  })

  # An image of another registry needs no permission: who may pull it is that registry's affair.
  ecr = try(regex("^(?P<account>[0-9]{12})\\.dkr\\.ecr(?:-fips)?\\.(?P<region>[a-z0-9-]+)\\.amazonaws\\.com(?:\\.cn)?/(?P<name>[^:@]+)", var.task.image), null)

  # A secret may be named with one of its keys, version stage and version behind it, which are not part of the resource.
  secret_arns    = [for arn in values(var.task.secrets) : join(":", slice(split(":", arn), 0, 7)) if strcontains(arn, ":secretsmanager:")]
  parameter_arns = [for arn in values(var.task.secrets) : arn if strcontains(arn, ":ssm:")]
}

# What the worker itself may do.
resource "aws_iam_role" "task" {
  name               = var.name
  assume_role_policy = local.trust
  tags               = var.tags
}

resource "aws_iam_role_policy" "task" {
  name = "consume"
  role = aws_iam_role.task.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          # SendMessage: a job that is deferred or retried later than visibility can express goes back to its own queue.
          Sid    = "OwnQueue"
          Effect = "Allow"
          Action = [
            "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage", "sqs:SendMessage",
          ]
          Resource = var.queue.arn
        },
        {
          Sid      = "DeadLetter"
          Effect   = "Allow"
          Action   = "sqs:SendMessage"
          Resource = var.dlq.arn
        },
        {
          Sid      = "FollowUpJobs"
          Effect   = "Allow"
          Action   = "sns:Publish"
          Resource = [var.topics.standard_arn, var.topics.fifo_arn]
        },
        {
          # A busy task asks ECS not to choose it when the fleet shrinks.
          Sid      = "ProtectWhileBusy"
          Effect   = "Allow"
          Action   = ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"]
          Resource = "${join(":", slice(local.cluster, 0, 5))}:task/${local.cluster_name}/*"
        },
      ],
      var.kms_key == null ? [] : [{
        Sid      = "QueueAndTopicKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = var.kms_key.arn
      }],
      flatten([for access in values(var.access) : [for s in access.statements : merge(
        { Sid = s.sid, Effect = "Allow", Action = s.actions, Resource = s.resources },
        { for name, value in { Condition = s.conditions } : name => value if length(value) > 0 },
      )]]),
    )
  })
}

# Keyed by a name the caller chose: the ARN may be unknown until apply.
resource "aws_iam_role_policy_attachment" "task" {
  for_each = var.task.policy_arns

  role       = aws_iam_role.task.name
  policy_arn = each.value
}

# What Fargate may do to start the container; the container has none of it.
resource "aws_iam_role" "execution" {
  name               = var.execution_role_name
  assume_role_policy = local.trust
  tags               = var.tags
}

resource "aws_iam_role_policy" "execution" {
  name = "start"
  role = aws_iam_role.execution.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        # No logs:CreateLogGroup: the group and its retention belong to Terraform.
        Sid      = "OwnLogs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.this.arn}:*"
      }],
      local.ecr == null ? [] : [
        {
          Sid      = "RegistryToken"
          Effect   = "Allow"
          Action   = ["ecr:GetAuthorizationToken"]
          Resource = "*" # a token is for the whole registry, ECR has no resource for it
        },
        {
          Sid      = "OwnImage"
          Effect   = "Allow"
          Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
          Resource = "arn:${local.cluster[1]}:ecr:${local.ecr.region}:${local.ecr.account}:repository/${local.ecr.name}"
        },
      ],
      length(local.secret_arns) == 0 ? [] : [{
        Sid      = "OwnSecrets"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = distinct(local.secret_arns)
      }],
      length(local.parameter_arns) == 0 ? [] : [{
        Sid      = "OwnParameters"
        Effect   = "Allow"
        Action   = "ssm:GetParameters"
        Resource = distinct(local.parameter_arns)
      }],
    )
  })
}
