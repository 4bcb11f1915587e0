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

output "event_source_mapping" {
  description = "The event source mapping: its id (to pause and resume it) and the concurrency it may reach."
  value = {
    id              = aws_lambda_event_source_mapping.this.uuid
    max_concurrency = var.ceiling.pollers == null ? coalesce(var.ceiling.max_concurrency, 10) : var.ceiling.pollers.max * 10
  }
}

output "function_arn" {
  description = "ARN of the function."
  value       = aws_lambda_function.this.arn
}
