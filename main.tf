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
  for_each = var.workloads

  name                       = module.names.names[each.key]
  fifo                       = each.value.fifo
  consumer_timeout_seconds   = each.value.lambda.timeout_seconds
  batch_window_seconds       = each.value.queue.batch_window_seconds
  visibility_timeout_seconds = each.value.queue.visibility_timeout_seconds
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

module "consumer" {
  source   = "./modules/lambda-consumer"
  for_each = var.workloads

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
  service_name      = var.name
  metrics_namespace = var.metrics_namespace
  kms_key           = var.kms_key
  tags              = var.tags
}
