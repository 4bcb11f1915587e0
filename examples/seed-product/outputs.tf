output "workloads" {
  description = "Queues, function and log group of each workload."
  value       = module.jobs.workloads
}

output "schedules" {
  description = "The schedules, their group, and the queue of what could not be sent."
  value       = module.jobs.schedules
}

output "publisher" {
  description = "What a producer needs: environment variables and an IAM policy document."
  value       = module.jobs.publisher
}

output "table" {
  description = "Name of the product's own table."
  value       = aws_dynamodb_table.product.name
}

output "alarm_topics" {
  description = "ARN of the topic of each severity."
  value       = { for severity, topic in aws_sns_topic.alarms : severity => topic.arn }
}
