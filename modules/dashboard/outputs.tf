output "name" {
  description = "Name of the dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}

output "dashboard_arn" {
  description = "ARN of the dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_arn
}
