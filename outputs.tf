output "workloads" {
  description = "Everything of one workload, by workload key."
  value = {
    for key in keys(var.workloads) : key => {
      queue                = module.queue[key].queue
      dlq                  = module.queue[key].dlq
      subscription_dlq     = module.queue[key].subscription_dlq
      function             = module.consumer[key].function
      role                 = module.consumer[key].role
      log_group_name       = module.consumer[key].log_group_name
      event_source_mapping = module.consumer[key].event_source_mapping
      delay_machine        = var.workloads[key].delay ? module.delay[key].state_machine : null
      alarms               = var.workloads[key].alarms.enabled ? module.alarms[key].alarms : {}
      composite_alarm      = var.workloads[key].alarms.enabled ? module.alarms[key].composite_alarm : null
    }
  }
}

output "topic" {
  description = "The standard topic."
  value       = module.topic.topic
}

output "fifo_topic" {
  description = "The FIFO topic."
  value       = module.fifo_topic.topic
}

output "job_state" {
  description = "The table of job records, or null."
  value       = one(module.job_state[*].table)
}

output "claim_check" {
  description = "The bucket of large payloads, or null."
  value       = one(module.claim_check[*].bucket)
}

output "publisher" {
  description = "Everything a producer needs: environment variables, and an IAM policy document for its role."
  value = {
    environment = merge(local.publisher_environment, {
      JOBS_TOPIC_ARN         = module.topic.topic.arn
      JOBS_FIFO_TOPIC_ARN    = module.fifo_topic.topic.arn
      JOBS_MAX_MESSAGE_BYTES = "262144"
      JOBS_QUEUE_URLS        = jsonencode({ for key, queue in module.queue : key => queue.queue.url })
    })
    policy_json = jsonencode({
      Version = "2012-10-17"
      Statement = concat(
        [{
          Sid      = "PublishJobs"
          Effect   = "Allow"
          Action   = "sns:Publish"
          Resource = [module.topic.topic.arn, module.fifo_topic.topic.arn]
        }],
        # Jobs delayed by up to 900 s go straight to their queue: SNS has no delay.
        length(var.workloads) == 0 ? [] : [{
          Sid      = "SendDelayedJobs"
          Effect   = "Allow"
          Action   = "sqs:SendMessage"
          Resource = [for queue in module.queue : queue.queue.arn]
        }],
        var.kms_key == null ? [] : [{
          Sid      = "QueueAndTopicKey"
          Effect   = "Allow"
          Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
          Resource = var.kms_key.arn
        }],
        local.publisher_statements,
      )
    })
  }
}

output "stack_alarms" {
  description = "The alarms of the topics, by `<topic>-<kind>`, and the composite alarm that pages for them."
  value = {
    alarms          = module.stack_alarms.alarms
    composite_alarm = module.stack_alarms.composite_alarm
  }
}

output "dashboard" {
  description = "Name of the dashboard, or null."
  value       = one(module.dashboard[*].name)
}

output "topic_arn" {
  description = "ARN of the standard topic."
  value       = module.topic.topic.arn
}

output "fifo_topic_arn" {
  description = "ARN of the FIFO topic."
  value       = module.fifo_topic.topic.arn
}

output "queue_arns" {
  description = "ARN of each workload's queue."
  value       = { for key, queue in module.queue : key => queue.queue.arn }
}

output "dlq_arns" {
  description = "ARN of each workload's dead-letter queue."
  value       = { for key, queue in module.queue : key => queue.dlq.arn }
}

output "function_arns" {
  description = "ARN of each workload's function."
  value       = { for key, consumer in module.consumer : key => consumer.function.arn }
}

output "kms_key_policy_statements" {
  description = "Statements the key policy of `kms_key` needs, empty without a key: SNS delivers to encrypted queues, failed delays are logged, and publishers of other accounts use the key. Principals of this account are served by their IAM policies, which the key policy must admit (the default one does)."
  value = [for statement in concat(
    [{
      Sid       = "AllowTopicsToUseKey"
      Effect    = "Allow"
      Principal = { Service = "sns.amazonaws.com" }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
      Resource  = "*" # in a key policy "*" means this key
      Condition = {
        ArnEquals    = { "aws:SourceArn" = [module.topic.topic.arn, module.fifo_topic.topic.arn] }
        StringEquals = { "aws:SourceAccount" = split(":", module.topic.topic.arn)[4] }
      }
    }],
    length(local.publisher_accounts) == 0 ? [] : [{
      Sid       = "AllowPublisherAccountsToUseKey"
      Effect    = "Allow"
      Principal = { AWS = local.publisher_accounts }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = "*"
      # Only through the services, never with the key itself.
      Condition = { StringLike = { "kms:ViaService" = concat(["sns.*", "sqs.*"], [for claims in module.claim_check : "s3.*"]) } }
    }],
    # The same for every machine of the account and region.
    flatten([for key in slice(keys(module.delay), 0, min(1, length(module.delay))) : module.delay[key].kms_key_policy_statements]),
  ) : statement if var.kms_key != null]
}
