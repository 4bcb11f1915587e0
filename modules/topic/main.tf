data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  name = var.fifo ? "${var.name}.fifo" : var.name
  # `id` is the region's name in provider 5 and 6 (`name` is deprecated in 6, `region` missing in 5).
  arn = "arn:${data.aws_partition.this.partition}:sns:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:${local.name}"

  # SNS refuses "sns:*" in a topic policy ("action out of service scope"): these are all actions a topic policy may name.
  deny_insecure_transport = {
    Sid       = "DenyInsecureTransport"
    Effect    = "Deny"
    Principal = { AWS = "*" }
    Action = [
      "sns:AddPermission", "sns:DeleteTopic", "sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic",
      "sns:Publish", "sns:RemovePermission", "sns:SetTopicAttributes", "sns:Subscribe",
    ]
    Resource  = local.arn
    Condition = { Bool = { "aws:SecureTransport" = "false" } }
  }

  extra = [
    for sid, s in var.policy_statements : {
      Sid       = sid
      Effect    = "Allow"
      Principal = { for kind, ids in { AWS = s.aws, Service = s.services } : kind => ids if length(ids) > 0 }
      Action    = s.actions
      Resource  = local.arn
      Condition = s.conditions
    }
  ]
}

# No Allow for this account: identity policies suffice inside an account, and `publisher.policy_json` is one.
resource "aws_sns_topic" "this" {
  name                        = local.name
  fifo_topic                  = var.fifo
  content_based_deduplication = var.fifo ? false : null # the job id is the deduplication id
  kms_master_key_id           = var.kms_key == null ? null : var.kms_key.arn
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat([local.deny_insecure_transport], local.extra)
  })
  tags = var.tags
}
