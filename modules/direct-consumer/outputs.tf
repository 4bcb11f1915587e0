output "function" {
  description = "The function."
  value = {
    arn  = aws_lambda_function.this.arn
    name = aws_lambda_function.this.function_name
  }
}

output "role" {
  description = "The function's role, for policies of the caller's own."
  value = {
    arn  = aws_iam_role.this.arn
    name = aws_iam_role.this.name
  }
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.this.name
}

output "dlq" {
  description = "The dead-letter queue: letters with a reason, and Lambda's records of runs that ended without a word."
  value = {
    arn  = aws_sqs_queue.dlq.arn
    url  = aws_sqs_queue.dlq.url
    name = aws_sqs_queue.dlq.name
  }
}

output "subscription_dlq" {
  description = "The queue of notifications SNS could not hand to Lambda."
  value = {
    arn  = aws_sqs_queue.subscription_dlq.arn
    url  = aws_sqs_queue.subscription_dlq.url
    name = aws_sqs_queue.subscription_dlq.name
  }
}

output "function_arn" {
  description = "ARN of the function."
  value       = aws_lambda_function.this.arn
}

output "dlq_arn" {
  description = "ARN of the dead-letter queue."
  value       = aws_sqs_queue.dlq.arn
}

output "kms_key_policy_statements" {
  description = "Statements the key policy of `kms_key` needs so that SNS can write to the subscription's dead-letter queue; empty without a key. Roles are served by their IAM policies, which the key policy must admit (the default one does)."
  value = [
    for s in [local.from_topic] : merge(s, {
      Sid      = "AllowTopicToUseKey"
      Action   = ["kms:Decrypt", "kms:GenerateDataKey*"]
      Resource = "*" # in a key policy "*" means this key
    }) if var.kms_key != null
  ]
}
