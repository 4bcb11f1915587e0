output "publisher_environment" {
  description = "Environment variables of anything that publishes jobs."
  value       = module.jobs.publisher.environment
}

output "publisher_policy_json" {
  description = "IAM policy that lets a role publish jobs."
  value       = module.jobs.publisher.policy_json
}

output "workloads" {
  description = "Queue, dead-letter queue, function and log group of each workload."
  value       = module.jobs.workloads
}

output "job_state" {
  description = "The table of job records: where parked jobs are."
  value       = module.jobs.job_state
}
