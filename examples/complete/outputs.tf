output "workloads" {
  description = "Queues, function and log group of each workload."
  value       = module.jobs.workloads
}

output "publisher" {
  description = "What a producer needs: environment variables and an IAM policy document."
  value       = module.jobs.publisher
}
