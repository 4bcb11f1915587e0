locals {
  # What a consumer of its kind does not have is null, and has no alarm and no graph.
  watched = {
    for key, workload in var.workloads : key => {
      queue = workload.direct == null ? { name = module.queue[key].queue.name } : null
      dlq = {
        name                     = workload.direct == null ? module.queue[key].dlq.name : module.direct_consumer[key].dlq.name
        fifo                     = workload.fifo
        source_retention_seconds = workload.direct == null ? workload.queue.retention_seconds : 60 # nothing waits in a queue before
      }
      subscription_dlq = { name = workload.direct == null ? module.queue[key].subscription_dlq.name : module.direct_consumer[key].subscription_dlq.name }
      function = (
        workload.lambda != null ? {
          name            = module.consumer[key].function.name
          timeout_seconds = workload.lambda.timeout_seconds
          ceiling         = module.consumer[key].event_source_mapping.max_concurrency
          asynchronous    = false
        } :
        workload.direct != null ? {
          name            = module.direct_consumer[key].function.name
          timeout_seconds = workload.direct.timeout_seconds
          ceiling         = workload.reserved_concurrency
          asynchronous    = true
        } : null
      )
      service = workload.ecs == null ? null : {
        cluster_name = module.ecs_consumer[key].service.cluster_name
        service_name = module.ecs_consumer[key].service.name
        max_tasks    = workload.ecs.max_tasks
      }
      delay_machine = workload.delay || workload.direct != null ? { arn = module.delay[key].state_machine.arn } : null
      jobs          = { namespace = var.metrics_namespace, service = var.name, workload = key }
      # What the tasks are scaled for is what is promised, unless something else is.
      thresholds = merge(workload.alarms, { max_age_seconds = coalesce(workload.alarms.max_age_seconds, try(workload.ecs.max_latency_seconds, null), 900) })
    }
  }
  watched_schedules = length(var.schedules) == 0 ? null : {
    group_name = module.schedule[0].group.name
    dlq_name   = module.schedule[0].dlq.name
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
  service          = each.value.service
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
  subject    = "topics and schedules of ${var.name}"
  topics     = local.watched_topics
  schedule   = local.watched_schedules
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
  schedule  = local.watched_schedules
}
