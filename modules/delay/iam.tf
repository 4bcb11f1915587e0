resource "aws_iam_role" "this" {
  name = var.name
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowThisStateMachine"
      Effect    = "Allow"
      Principal = { Service = "states.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        ArnEquals    = { "aws:SourceArn" = local.arn }
        StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.this.account_id }
      }
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "this" {
  name = "deliver"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        local.delivery.permission,
        {
          Sid    = "LogDelivery"
          Effect = "Allow"
          Action = [
            "logs:CreateLogDelivery", "logs:DeleteLogDelivery", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies",
            "logs:GetLogDelivery", "logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:UpdateLogDelivery",
          ]
          Resource = "*" # CloudWatch Logs has no resources for the actions of log delivery
        },
      ],
      [for key in [var.kms_key] : {
        Sid      = local.delivery.key_sid
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = key.arn
      } if key != null],
    )
  })
}
