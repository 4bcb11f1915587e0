output "queue" {
  description = "The queue, as modules/lambda-consumer takes it."
  value = {
    arn                        = aws_sqs_queue.this.arn
    url                        = aws_sqs_queue.this.url
    name                       = aws_sqs_queue.this.name
    fifo                       = var.fifo
    visibility_timeout_seconds = local.visibility_timeout_seconds
    max_receive_count          = var.max_receive_count
  }
}

output "dlq" {
  description = "The dead-letter queue."
  value = {
    arn  = aws_sqs_queue.dlq.arn
    url  = aws_sqs_queue.dlq.url
    name = aws_sqs_queue.dlq.name
  }
}

output "subscription_dlq" {
  description = "The queue of messages SNS could not deliver, or null without a subscription."
  value = var.subscription == null ? null : {
    arn  = aws_sqs_queue.subscription_dlq[0].arn
    url  = aws_sqs_queue.subscription_dlq[0].url
    name = aws_sqs_queue.subscription_dlq[0].name
  }
}

output "queue_arn" {
  description = "ARN of the queue."
  value       = aws_sqs_queue.this.arn
}

output "dlq_arn" {
  description = "ARN of the dead-letter queue."
  value       = aws_sqs_queue.dlq.arn
}

output "kms_key_policy_statements" {
  description = "Statements the key policy of `kms_key` needs so that SNS can deliver; empty without a key or a subscription. Roles are served by their IAM policies, which the key policy must admit (the default one does)."
  value = [
    for s in local.from_topic : merge(s, {
      Sid      = "AllowTopicToUseKey"
      Action   = ["kms:Decrypt", "kms:GenerateDataKey*"]
      Resource = "*" # in a key policy "*" means this key
    }) if var.kms_key != null
  ]
}
