locals {
  sqs_dead_letters_seconds = 1209600 # the longest retention of SQS, and that of every dead-letter queue here
  day                      = 86400

  # A letter that SQS moved from a standard queue keeps the time its message was sent, and is deleted 14 days after that; the age of the
  # dead-letter queue counts from the move (SQS developer guide, "Setting-up dead-letter queue retention"). So what it can have waited in
  # its queue comes off, and a day to act. On FIFO queues both count from the move.
  expiring_seconds = [
    for dlq in var.dlq[*] : min(10 * local.day, max(3600, local.sqs_dead_letters_seconds - local.day - (dlq.fifo ? 0 : dlq.source_retention_seconds)))
  ]

  # Built by input: what is not there has no alarms. The keys are known at plan, the values need not be.
  of_queue = [for queue in var.queue[*] : {
    queue-age = {
      metrics   = [merge(local.sqs, { name = "ApproximateAgeOfOldestMessage", dimensions = { QueueName = queue.name } })]
      threshold = var.thresholds.max_age_seconds
      period    = 60
      of        = 5
      at_least  = 3
    }
    queue-in-flight = {
      metrics   = [merge(local.sqs, { name = "ApproximateNumberOfMessagesNotVisible", dimensions = { QueueName = queue.name } })]
      threshold = 96000 # of the 120,000 that standard and FIFO queues allow alike
      at_least  = 1
    }
  }]

  of_queue_depth = [for depth in var.thresholds.max_depth[*] : {
    queue-depth = {
      metrics   = [merge(local.sqs, { name = "ApproximateNumberOfMessagesVisible", dimensions = { QueueName = var.queue.name } })]
      threshold = depth
      of        = 3
      at_least  = 3
    }
  } if var.queue != null]

  of_dlq = [for dlq in var.dlq[*] : {
    dead-letters = {
      metrics = [merge(local.sqs, { name = "ApproximateNumberOfMessagesVisible", dimensions = { QueueName = dlq.name } })]
      period  = 60
    }
    # m - DIFF(m) is what lay there a period ago: the first dead letters are no growth.
    dead-letters-growing = {
      metrics    = [merge(local.sqs, { id = "letters", name = "ApproximateNumberOfMessagesVisible", dimensions = { QueueName = dlq.name } })]
      expression = "IF(letters - DIFF(letters) > 0, DIFF(letters), 0)"
      period     = 900
      of         = 2 # so that there is a value to compare with
    }
    dead-letters-expiring = {
      metrics   = [merge(local.sqs, { name = "ApproximateAgeOfOldestMessage", dimensions = { QueueName = dlq.name } })]
      threshold = local.expiring_seconds[0]
    }
  }]

  of_subscription_dlq = [for dlq in var.subscription_dlq[*] : {
    subscription-failed = {
      metrics = [merge(local.sqs, { name = "ApproximateNumberOfMessagesVisible", dimensions = { QueueName = dlq.name } })]
      period  = 60
    }
  }]

  of_function = [for function in var.function[*] : {
    # Below ten invocations a rate says nothing. Lambda sends Errors, 0 included, with every invocation, so both always have data.
    function-errors = {
      metrics = [
        merge(local.lambda, { id = "errors", name = "Errors", dimensions = { FunctionName = function.name } }),
        merge(local.lambda, { id = "invocations", name = "Invocations", dimensions = { FunctionName = function.name } }),
      ]
      expression = "IF(invocations >= 10, 100 * errors / invocations, 0)"
      threshold  = var.thresholds.error_rate_percent
      of         = 3
      at_least   = 2
    }
    function-near-timeout = {
      metrics    = [merge(local.lambda, { name = "Duration", stat = "p99", dimensions = { FunctionName = function.name } })]
      threshold  = function.timeout_seconds * 800 # milliseconds
      comparison = "GreaterThanOrEqualToThreshold"
      of         = 3
      at_least   = 3
    }
    function-recursion = {
      metrics = [merge(local.lambda, { name = "RecursiveInvocationsDropped", dimensions = { FunctionName = function.name } })]
    }
  }]

  of_polled_function = [for function in var.function[*] : {
    function-throttled = {
      metrics  = [merge(local.lambda, { name = "Throttles", dimensions = { FunctionName = function.name } })]
      of       = 3
      at_least = 2
    }
    function-at-ceiling = {
      metrics    = [merge(local.lambda, { name = "ConcurrentExecutions", stat = "Maximum", dimensions = { FunctionName = function.name } })]
      threshold  = function.ceiling * 9 / 10
      comparison = "GreaterThanOrEqualToThreshold"
      of         = 3
      at_least   = 3
    }
  } if !function.asynchronous]

  # An asynchronous function has no queue that anybody could look at, and throttling is how it waits.
  of_asynchronous_function = [for function in var.function[*] : {
    event-age = {
      metrics   = [merge(local.lambda, { name = "AsyncEventAge", stat = "Maximum", dimensions = { FunctionName = function.name } })]
      threshold = var.thresholds.max_age_seconds * 1000
      period    = 60
      of        = 5
      at_least  = 3
    }
    events-lost = {
      metrics = [merge(local.lambda, { name = "DestinationDeliveryFailures", dimensions = { FunctionName = function.name } })]
    }
  } if function.asynchronous]

  of_jobs = [for jobs in var.jobs[*] : {
    jobs-parked    = { metrics = [merge(local.runtime, { name = "JobParked" })] }
    jobs-discarded = { metrics = [merge(local.runtime, { name = "JobDiscarded" })], threshold = var.thresholds.max_discarded, period = 3600 }
    jobs-crashed   = { metrics = [merge(local.runtime, { name = "JobCrashed" })] }
  }]

  of_end_to_end = [for seconds in var.thresholds.max_end_to_end_seconds[*] : {
    jobs-late = {
      metrics   = [merge(local.runtime, { name = "EndToEndMs", stat = "p95" })]
      threshold = seconds * 1000
      of        = 3
      at_least  = 2
    }
  } if var.jobs != null]

  of_delay_machine = [for machine in var.delay_machine[*] : {
    delay-failed    = { metrics = [merge(local.states, { name = "ExecutionsFailed", dimensions = { StateMachineArn = machine.arn } })] }
    delay-timed-out = { metrics = [merge(local.states, { name = "ExecutionsTimedOut", dimensions = { StateMachineArn = machine.arn } })] }
    delay-aborted   = { metrics = [merge(local.states, { name = "ExecutionsAborted", dimensions = { StateMachineArn = machine.arn } })] }
    delay-throttled = { metrics = [merge(local.states, { name = "ExecutionThrottled", dimensions = { StateMachineArn = machine.arn } })], of = 3, at_least = 2 }
  }]

  # The number of running tasks without Container Insights, which costs extra: ECS samples the processor of each once a minute.
  of_service = [for service in var.service[*] : merge(
    { for name in ["service-behind"] : name => {
      metrics = [
        { id = "age", namespace = "AWS/SQS", name = "ApproximateAgeOfOldestMessage", stat = "Maximum", dimensions = { QueueName = var.queue.name } },
        { id = "tasks", namespace = "AWS/ECS", name = "CPUUtilization", stat = "SampleCount", dimensions = { ClusterName = service.cluster_name, ServiceName = service.service_name } },
      ]
      expression = "IF(tasks >= ${service.max_tasks}, DIFF(age), 0)"
      period     = 60
      of         = 15
      at_least   = 12
    } if var.queue != null },
    { for name in ["jobs-stalled"] : name => { metrics = [merge(local.runtime, { name = "JobStalled" })] } if var.jobs != null },
  )]

  of_topics = [for key, topic in var.topics : {
    for kind, name in {
      topic-failed   = "NumberOfNotificationsFailed"
      topic-lost     = "NumberOfNotificationsFailedToRedriveToDlq"
      topic-unrouted = "NumberOfNotificationsFilteredOut-NoMessageAttributes"
      } : "${key}-${kind}" => {
      kind    = kind
      metrics = [{ namespace = "AWS/SNS", name = name, stat = "Sum", dimensions = { TopicName = topic } }]
    }
  }]

  of_schedule = [for schedule in var.schedule[*] : {
    schedule-dropped     = { metrics = [merge(local.scheduler, { name = "InvocationDroppedCount", dimensions = { ScheduleGroup = schedule.group_name } })] }
    schedule-lost        = { metrics = [merge(local.scheduler, { name = "InvocationsFailedToBeSentToDeadLetterCount", dimensions = { ScheduleGroup = schedule.group_name } })] }
    schedule-errors      = { metrics = [merge(local.scheduler, { name = "TargetErrorCount", dimensions = { ScheduleGroup = schedule.group_name } })] }
    schedule-undelivered = { metrics = [merge(local.sqs, { name = "ApproximateNumberOfMessagesVisible", dimensions = { QueueName = schedule.dlq_name } })], period = 60 }
  }]

  sqs       = { namespace = "AWS/SQS", stat = "Maximum" }
  lambda    = { namespace = "AWS/Lambda", stat = "Sum" }
  states    = { namespace = "AWS/States", stat = "Sum" }
  scheduler = { namespace = "AWS/Scheduler", stat = "Sum" }
  runtime = {
    namespace  = try(var.jobs.namespace, "")
    stat       = "Sum"
    dimensions = { service = try(var.jobs.service, ""), workload = try(var.jobs.workload, "") }
  }

  made = merge(concat(
    local.of_queue, local.of_queue_depth, local.of_dlq, local.of_subscription_dlq, local.of_function, local.of_polled_function,
    local.of_asynchronous_function, local.of_jobs, local.of_end_to_end, local.of_delay_machine, local.of_service, local.of_topics, local.of_schedule,
  )...)

  # One datapoint above nothing, of five minutes, unless the alarm says otherwise.
  defaults = { expression = null, threshold = 0, comparison = "GreaterThanThreshold", period = 300, of = 1, at_least = 1 }
  alarms = {
    for key, alarm in local.made : key => merge(
      local.defaults,
      { kind = key, alone = false },
      alarm,
      local.kinds[try(alarm.kind, key)],
    )
  }
  paged = [for key, alarm in local.alarms : key if alarm.severity == "page" && !alarm.alone]

  # A severity nobody is named for goes to the other one: an alarm must reach somebody.
  page   = length(var.actions.page) > 0 ? var.actions.page : var.actions.ticket
  ticket = length(var.actions.ticket) > 0 ? var.actions.ticket : var.actions.page
  # What pages through the composite alarm also leaves a ticket, where tickets have a place of their own: a second thing that breaks
  # while the composite alarm is on already pages nobody again.
  through_composite = length(var.actions.page) > 0 ? var.actions.ticket : []

  actions = {
    for key, alarm in local.alarms : key => alarm.severity == "ticket" ? local.ticket : alarm.alone ? local.page : local.through_composite
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name        = "${var.name}-${each.key}"
  alarm_description = "${each.value.says} ${each.value.remedy} Runbook: docs/runbooks/${each.value.kind}.md. Severity: ${each.value.severity}. Of ${var.subject}."

  # Either the metric itself ...
  namespace          = each.value.expression == null ? each.value.metrics[0].namespace : null
  metric_name        = each.value.expression == null ? each.value.metrics[0].name : null
  dimensions         = each.value.expression == null ? each.value.metrics[0].dimensions : null
  period             = each.value.expression == null ? each.value.period : null
  statistic          = each.value.expression == null && !startswith(each.value.metrics[0].stat, "p") ? each.value.metrics[0].stat : null
  extended_statistic = each.value.expression == null && startswith(each.value.metrics[0].stat, "p") ? each.value.metrics[0].stat : null

  # ... or an expression over several.
  dynamic "metric_query" {
    for_each = each.value.expression == null ? [] : each.value.metrics
    content {
      id = metric_query.value.id
      metric {
        namespace   = metric_query.value.namespace
        metric_name = metric_query.value.name
        dimensions  = metric_query.value.dimensions
        period      = each.value.period
        stat        = metric_query.value.stat
      }
    }
  }
  dynamic "metric_query" {
    for_each = each.value.expression[*]
    content {
      id          = "value"
      label       = each.value.kind
      expression  = metric_query.value
      return_data = true
    }
  }

  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  evaluation_periods  = each.value.of
  datapoints_to_alarm = each.value.at_least
  # Not an input. Almost all of these metrics have data only when something happens: with `missing` an alarm would sit in
  # INSUFFICIENT_DATA, with `breaching` it would go off on a quiet night.
  treat_missing_data = "notBreaching"

  alarm_actions = local.actions[each.key]
  ok_actions    = local.actions[each.key]
  tags          = var.tags

  # CloudWatch refuses to delete an alarm that a composite alarm still names: with this the composite alarm is changed first.
  lifecycle {
    create_before_destroy = true
  }
}

# One page for all of it: five alarms of one outage are one interruption. The notification's reason names the alarm that was first.
resource "aws_cloudwatch_composite_alarm" "this" {
  count = length(local.paged) > 0 ? 1 : 0

  alarm_name        = "${var.name}-attention"
  alarm_description = "Somebody is needed now for ${var.subject}: an alarm of severity page is on. The reason names it (${var.name}-KIND); read docs/runbooks/KIND.md. Others that join it do not page again."
  alarm_rule        = join(" OR ", [for key in local.paged : "ALARM(\"${aws_cloudwatch_metric_alarm.this[key].alarm_name}\")"])

  alarm_actions = local.page
  ok_actions    = local.page
  tags          = var.tags

  dynamic "actions_suppressor" {
    for_each = var.suppressor[*]
    content {
      alarm            = actions_suppressor.value.alarm
      wait_period      = actions_suppressor.value.wait_seconds
      extension_period = actions_suppressor.value.extension_seconds
    }
  }
}
