data "aws_partition" "this" {}

module "names" {
  source = "./modules/names"

  stack     = var.name
  workloads = { for key, workload in var.workloads : key => workload.name }
}

locals {
  # Other accounts also need the queues: a job delayed by up to 900 s goes straight to its queue.
  publisher_accounts = [
    for id in sort(var.publishers.account_ids) : "arn:${data.aws_partition.this.partition}:iam::${id}:root"
  ]
  topic_statements = length(local.publisher_accounts) == 0 ? {} : {
    PublisherAccounts = { aws = local.publisher_accounts, actions = ["sns:Publish"] }
  }
  queue_statements = length(local.publisher_accounts) == 0 ? {} : {
    PublisherAccounts = { aws = local.publisher_accounts, actions = ["sqs:SendMessage"] }
  }

  # Records belong to the stack, not to the project that publishes or runs a job: both sides must compute the same key.
  app = { environment = { JOBS_APP = var.name }, statements = [] }

  consumer_access = merge(
    { for table in module.job_state : "job_state" => table.access },
    { for table in module.job_state : "app" => local.app },
    { for claims in module.claim_check : "claim_check" => claims.consumer_access },
  )

  # A consumer knows the delay machine of its own workload alone: removing another one must not touch it.
  workload_access = {
    for key in keys(var.workloads) : key => merge(
      local.consumer_access,
      { for machine in [for delayed, machine in module.delay : machine if delayed == key] : "delay" => machine.access },
    )
  }

  publisher_access = concat(
    [for table in module.job_state : table.access],
    [for table in module.job_state : local.app],
    [for claims in module.claim_check : claims.publisher_access],
  )
  publisher_environment = merge(
    { for name, value in { JOBS_DELAY_MACHINES = jsonencode({ for key, delay in module.delay : key => delay.state_machine.arn }) } : name => value if length(module.delay) > 0 },
    merge([for access in local.publisher_access : access.environment]...),
  )
  # A policy may have a statement id once: the machines' statements become one each.
  publisher_granted = {
    for s in flatten([for access in concat(local.publisher_access, values(module.delay)[*].access) : access.statements]) : s.sid => s...
  }
  publisher_statements = [
    for sid, granted in local.publisher_granted : merge(
      { Sid = sid, Effect = "Allow", Action = granted[0].actions, Resource = distinct(flatten(granted[*].resources)) },
      { for name, value in { Condition = granted[0].conditions } : name => value if length(value) > 0 },
    )
  ]
}

# Both topics always exist, so that adding or removing a workload touches nothing but that workload.
module "topic" {
  source = "./modules/topic"

  name              = module.names.topic
  kms_key           = var.kms_key
  policy_statements = local.topic_statements
  tags              = var.tags
}

module "fifo_topic" {
  source = "./modules/topic"

  name              = module.names.fifo_topic
  fifo              = true
  kms_key           = var.kms_key
  policy_statements = local.topic_statements
  tags              = var.tags
}

module "queue" {
  source   = "./modules/queue"
  for_each = { for key, workload in var.workloads : key => workload if workload.direct == null }

  name                     = module.names.names[each.key]
  fifo                     = each.value.fifo
  consumer_timeout_seconds = each.value.ecs == null ? each.value.lambda.timeout_seconds : null
  batch_window_seconds     = each.value.ecs == null ? each.value.queue.batch_window_seconds : 0
  # A worker holds a message by its lease, and renews it while the job makes progress.
  visibility_timeout_seconds = each.value.ecs == null ? each.value.queue.visibility_timeout_seconds : each.value.ecs.lease_seconds
  max_receive_count          = each.value.queue.max_receive_count
  retention_seconds          = each.value.queue.retention_seconds
  subscription = {
    topic_arn = each.value.fifo ? module.fifo_topic.topic.arn : module.topic.topic.arn
    filter    = { workload = [each.key] }
  }
  kms_key           = var.kms_key
  policy_statements = local.queue_statements
  tags              = var.tags
}

module "job_state" {
  source = "./modules/job-state"
  count  = var.job_state == null ? 0 : 1

  name                = module.names.table
  deletion_protection = var.job_state.deletion_protection
  kms_key             = var.kms_key
  tags                = var.tags
}

module "claim_check" {
  source = "./modules/claim-check"
  count  = var.claim_check == null ? 0 : 1

  name                      = module.names.claims
  bucket_name               = var.claim_check.bucket_name
  message_retention_seconds = max(60, [for workload in values(var.workloads) : workload.queue.retention_seconds]...)
  expire_days               = var.claim_check.expire_days
  force_destroy             = var.claim_check.force_destroy
  publishers                = local.publisher_accounts
  kms_key                   = var.kms_key
  tags                      = var.tags
}

module "delay" {
  source = "./modules/delay"
  # Without a queue nothing else can keep a job back until its next attempt.
  for_each = { for key, workload in var.workloads : key => workload if workload.delay || workload.direct != null }

  name               = module.names.delays[each.key]
  workload           = each.key
  queue              = each.value.direct == null ? module.queue[each.key].queue : null
  topic              = each.value.direct == null ? null : module.topic.topic
  log_retention_days = try(each.value.lambda.log_retention_days, each.value.direct.log_retention_days, each.value.ecs.log_retention_days)
  kms_key            = var.kms_key
  tags               = var.tags
}

module "consumer" {
  source   = "./modules/lambda-consumer"
  for_each = { for key, workload in var.workloads : key => workload if workload.lambda != null }

  name     = module.names.names[each.key]
  workload = each.key
  queue    = module.queue[each.key].queue
  dlq      = module.queue[each.key].dlq
  topics = {
    standard_arn = module.topic.topic.arn
    fifo_arn     = module.fifo_topic.topic.arn
  }
  function             = each.value.lambda
  ceiling              = each.value.ceiling
  reserved_concurrency = each.value.reserved_concurrency
  batch = {
    size           = each.value.queue.batch_size
    window_seconds = each.value.queue.batch_window_seconds
  }
  enabled           = each.value.enabled
  access            = local.workload_access[each.key]
  pause             = each.value.pause_on_open ? { resume_role_name = module.names.resumes[each.key] } : null
  service_name      = var.name
  metrics_namespace = var.metrics_namespace
  kms_key           = var.kms_key
  tags              = var.tags
}

module "ecs_consumer" {
  source   = "./modules/ecs-consumer"
  for_each = { for key, workload in var.workloads : key => workload if workload.ecs != null }

  name                = module.names.names[each.key]
  execution_role_name = module.names.executions[each.key]
  workload            = each.key
  cluster_arn         = each.value.ecs.cluster_arn
  queue               = module.queue[each.key].queue
  dlq                 = module.queue[each.key].dlq
  topics = {
    standard_arn = module.topic.topic.arn
    fifo_arn     = module.fifo_topic.topic.arn
  }
  # One object: what belongs to task, network and scaling is taken out of it by its type.
  task                 = each.value.ecs
  network              = each.value.ecs
  scaling              = each.value.ecs
  lease_seconds        = each.value.ecs.lease_seconds
  stop_timeout_seconds = each.value.ecs.stop_timeout_seconds
  enabled              = each.value.enabled
  access               = local.workload_access[each.key]
  service_name         = var.name
  metrics_namespace    = var.metrics_namespace
  kms_key              = var.kms_key
  tags                 = var.tags
}

module "direct_consumer" {
  source   = "./modules/direct-consumer"
  for_each = { for key, workload in var.workloads : key => workload if workload.direct != null }

  name     = module.names.names[each.key]
  workload = each.key
  topics = {
    standard_arn = module.topic.topic.arn
    fifo_arn     = module.fifo_topic.topic.arn
  }
  function              = each.value.direct
  reserved_concurrency  = each.value.reserved_concurrency
  max_event_age_seconds = each.value.direct.max_event_age_seconds
  delay_machine         = module.delay[each.key].access
  access                = local.consumer_access
  service_name          = var.name
  metrics_namespace     = var.metrics_namespace
  kms_key               = var.kms_key
  tags                  = var.tags
}

module "schedule" {
  source = "./modules/schedule"
  count  = length(var.schedules) == 0 ? 0 : 1

  name = var.name
  # Straight to the workload's queue, past the topic and its filter; a workload without a queue is reached through the topic.
  schedules = {
    for key, schedule in var.schedules : key => merge(schedule, {
      queue     = contains(keys(module.queue), schedule.workload) ? module.queue[schedule.workload].queue : null
      topic_arn = contains(keys(module.queue), schedule.workload) ? null : module.topic.topic.arn
    })
  }
  kms_key = var.kms_key
  tags    = var.tags
}
