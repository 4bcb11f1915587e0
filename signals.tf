locals {
  watched = {
    for key, workload in var.workloads : key => {
      queue            = { name = module.queue[key].queue.name }
      dlq              = { name = module.queue[key].dlq.name, fifo = workload.fifo, source_retention_seconds = workload.queue.retention_seconds }
      subscription_dlq = { name = module.queue[key].subscription_dlq.name }
      function = {
        name            = module.consumer[key].function.name
        timeout_seconds = workload.lambda.timeout_seconds
        ceiling         = module.consumer[key].event_source_mapping.max_concurrency
      }
      delay_machine = workload.delay ? { arn = module.delay[key].state_machine.arn } : null
      jobs          = { namespace = var.metrics_namespace, service = var.name, workload = key }
      thresholds    = workload.alarms
    }
  }
  watched_topics = { standard = module.topic.topic.name, fifo = module.fifo_topic.topic.name }
}

module "alarms" {
  source   = "./modules/alarms"
  for_each = { for key, workload in var.workloads : key => local.watched[key] if workload.alarms.enabled }

  name             = module.names.names[each.key]
  subject          = "workload ${each.key} of ${var.name}"
  queue            = each.value.queue
  dlq              = each.value.dlq
  subscription_dlq = each.value.subscription_dlq
  function         = each.value.function
  delay_machine    = each.value.delay_machine
  jobs             = each.value.jobs
  thresholds       = each.value.thresholds
  actions          = var.alarm_actions
  suppressor       = var.alarm_suppressor
  tags             = var.tags
}

module "stack_alarms" {
  source = "./modules/alarms"

  name       = var.name
  subject    = "the topics of ${var.name}"
  topics     = local.watched_topics
  actions    = var.alarm_actions
  suppressor = var.alarm_suppressor
  tags       = var.tags
}

module "dashboard" {
  source = "./modules/dashboard"
  count  = var.dashboard ? 1 : 0

  name      = var.name
  workloads = local.watched
  topics    = local.watched_topics
}
