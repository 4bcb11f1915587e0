output "workloads" {
  description = "Queues, function and log group of each workload."
  value       = module.jobs.workloads
}

output "publisher" {
  description = "What a producer needs: environment variables and an IAM policy document."
  value       = module.jobs.publisher
}

output "schedules" {
  description = "The schedules, their group, and the queue of what could not be sent."
  value       = module.jobs.schedules
}
