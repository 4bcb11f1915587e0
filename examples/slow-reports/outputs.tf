output "workloads" {
  description = "Queues, service and log group of each workload."
  value       = module.jobs.workloads
}

output "publisher" {
  description = "What a producer needs: environment variables and an IAM policy document."
  value       = module.jobs.publisher
}

output "bucket" {
  description = "Where the pages are: `reports/<report>/<number>.txt`."
  value       = aws_s3_bucket.reports.bucket
}
