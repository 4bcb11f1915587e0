resource "aws_iam_role" "this" {
  name = var.name
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowLambda"
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "this" {
  name = "consume"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          # For the function's own letters, and for Lambda, which delivers to a destination with the function's role.
          Sid      = "DeadLetter"
          Effect   = "Allow"
          Action   = "sqs:SendMessage"
          Resource = aws_sqs_queue.dlq.arn
        },
        {
          Sid      = "FollowUpJobs"
          Effect   = "Allow"
          Action   = "sns:Publish"
          Resource = [var.topics.standard_arn, var.topics.fifo_arn]
        },
        {
          # No logs:CreateLogGroup: the group and its retention belong to Terraform.
          Sid      = "OwnLogs"
          Effect   = "Allow"
          Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
          Resource = "${aws_cloudwatch_log_group.this.arn}:*"
        },
      ],
      var.kms_key == null ? [] : [{
        Sid      = "QueueAndTopicKey"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = var.kms_key.arn
      }],
      var.function.tracing ? [{
        Sid      = "Tracing"
        Effect   = "Allow"
        Action   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        Resource = "*" # X-Ray has no resources for these actions
      }] : [],
      var.function.vpc == null ? [] : [{
        Sid    = "NetworkInterfaces"
        Effect = "Allow"
        Action = [
          "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
          "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
        ]
        Resource = "*" # the interfaces do not exist yet, and Lambda checks these permissions on "*"
      }],
      flatten([for access in values(local.access) : [for s in access.statements : merge(
        { Sid = s.sid, Effect = "Allow", Action = s.actions, Resource = s.resources },
        { for name, value in { Condition = s.conditions } : name => value if length(value) > 0 },
      )]]),
    )
  })
}

# Keyed by a name the caller chose: the ARN may be unknown until apply.
resource "aws_iam_role_policy_attachment" "this" {
  for_each = var.function.policy_arns

  role       = aws_iam_role.this.name
  policy_arn = each.value
}
