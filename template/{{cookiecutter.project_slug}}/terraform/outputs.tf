output "publisher_environment" {
  description = "Environment variables of anything that publishes jobs."
  value       = module.jobs.publisher.environment
}

output "publisher_policy_json" {
  description = "IAM policy that lets a role publish jobs."
  value       = module.jobs.publisher.policy_json
}

output "workloads" {
  description = "Queue, dead-letter queue, {{ {'lambda': 'function', 'ecs': 'service', 'both': 'function or service'}[cookiecutter.consumer] }} and log group of each workload."
  value       = module.jobs.workloads
}

output "job_state" {
  description = "The table of job records: where parked jobs are."
  value       = module.jobs.job_state
}

output "worker_environment" {
  description = "Environment variables of a worker that is started elsewhere (make worker), by workload."
  value = {
    for key, workload in module.jobs.workloads : key => merge(
      module.jobs.publisher.environment,
      {
        AWS_DEFAULT_REGION      = var.aws_region
        JOBS_WORKLOAD           = key
        JOBS_QUEUE_URL          = workload.queue.url
        JOBS_DLQ_URL            = workload.dlq.url
        JOBS_MAX_RECEIVE_COUNT  = tostring(workload.queue.max_receive_count)
        POWERTOOLS_SERVICE_NAME = var.name
      },
      workload.delay_machine == null ? {} : { JOBS_DELAY_MACHINE_ARN = workload.delay_machine.arn },
    ) if workload.queue != null # a worker needs something to receive from
  }
}
