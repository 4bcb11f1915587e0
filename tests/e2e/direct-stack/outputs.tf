output "workloads" {
  description = "What a stack says of its workloads."
  value = {
    alerts = {
      dlq              = module.alerts.dlq
      subscription_dlq = module.alerts.subscription_dlq
      function         = module.alerts.function
      log_group_name   = module.alerts.log_group_name
      delay_machine    = module.delay.state_machine
    }
  }
}

output "publisher" {
  description = "What a producer needs."
  value = {
    environment = merge(module.job_state.access.environment, {
      JOBS_APP               = var.name
      JOBS_TOPIC_ARN         = module.topic.topic.arn
      JOBS_FIFO_TOPIC_ARN    = module.fifo_topic.topic.arn
      JOBS_MAX_MESSAGE_BYTES = "262144"
      JOBS_DELAY_MACHINES    = jsonencode({ alerts = module.delay.state_machine.arn })
    })
  }
}
