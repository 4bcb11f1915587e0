output "workloads" {
  description = "Everything of one workload, by workload key."
  value = {
    # What a consumer of its kind does not have is null: direct has no queue, ecs no function.
    for key, workload in var.workloads : key => {
      queue                = workload.direct == null ? module.queue[key].queue : null
      dlq                  = workload.direct == null ? module.queue[key].dlq : module.direct_consumer[key].dlq
      subscription_dlq     = workload.direct == null ? module.queue[key].subscription_dlq : module.direct_consumer[key].subscription_dlq
      function             = workload.lambda != null ? module.consumer[key].function : workload.direct != null ? module.direct_consumer[key].function : null
      service              = workload.ecs != null ? module.ecs_consumer[key].service : null
      role                 = workload.lambda != null ? module.consumer[key].role : workload.direct != null ? module.direct_consumer[key].role : module.ecs_consumer[key].role
      log_group_name       = workload.lambda != null ? module.consumer[key].log_group_name : workload.direct != null ? module.direct_consumer[key].log_group_name : module.ecs_consumer[key].log_group_name
      event_source_mapping = workload.lambda != null ? module.consumer[key].event_source_mapping : null
      delay_machine        = workload.delay || workload.direct != null ? module.delay[key].state_machine : null
      alarms               = workload.alarms.enabled ? module.alarms[key].alarms : {}
      composite_alarm      = workload.alarms.enabled ? module.alarms[key].composite_alarm : null
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
        length(module.queue) == 0 ? [] : [{
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
  description = "ARN of each workload's queue; a direct one has none."
  value       = { for key, queue in module.queue : key => queue.queue.arn }
}

output "dlq_arns" {
  description = "ARN of each workload's dead-letter queue."
  value = merge(
    { for key, queue in module.queue : key => queue.dlq.arn },
    { for key, direct in module.direct_consumer : key => direct.dlq.arn },
  )
}

output "function_arns" {
  description = "ARN of each workload's function; one that runs on ECS has none."
  value = merge(
    { for key, consumer in module.consumer : key => consumer.function.arn },
    { for key, direct in module.direct_consumer : key => direct.function.arn },
  )
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

output "schedules" {
  description = "The schedules: their group, the queue of what could not be sent, their role, and each by key; null without any."
  value = one([for schedule in module.schedule : {
    group     = schedule.group
    dlq       = schedule.dlq
    role      = schedule.role
    schedules = schedule.schedules
  }])
}
