output "workloads" {
  description = "Queues, function and log group of each workload."
  value       = module.jobs.workloads
}

output "publisher" {
  description = "What a producer needs: environment variables and an IAM policy document."
  value       = module.jobs.publisher
}

output "points_table" {
  description = "The points: an entry per booking (`booking#<id>`), a sum per member (`member#<id>`)."
  value = {
    arn  = aws_dynamodb_table.points.arn
    name = aws_dynamodb_table.points.name
  }
}
