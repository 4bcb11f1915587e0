data "aws_region" "this" {}

locals {
  width      = 6 # four graphs a row, each with its text below
  height     = 6
  text       = 4
  per_row    = 24 / local.width
  per_load   = 2 + 2 * (local.height + local.text) # a heading and two rows
  opening    = 4
  keys       = sort(keys(var.workloads))
  stack_from = local.opening + local.per_load * length(local.keys)

  # What a graph shows, and in words what to see in it. Of what a workload does not have there is no graph.
  graphs = {
    for key, load in var.workloads : key => flatten([
      [for queue in load.queue[*] : {
        title = "How long work waits"
        text  = "**Age** of the oldest message against what is promised (${load.thresholds.max_age_seconds} s), and how many wait. Age that grows while many wait: too few runs, or none. Age that grows while few wait: a job that fails and comes back. A message that was received three times counts in depth only."
        metrics = [
          ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", queue.name, { label = "age, s", stat = "Maximum" }],
          ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", queue.name, { label = "waiting", stat = "Maximum", yAxis = "right" }],
          ["AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName", queue.name, { label = "in flight", stat = "Maximum", yAxis = "right" }],
        ]
        line = load.thresholds.max_age_seconds
      }],
      [for function in load.function[*] : {
        title = "How long work waits"
        text  = "**Age** of events that Lambda keeps in front of the function. There is no queue to look into: age above ${load.thresholds.max_age_seconds * 1000} ms means that the reserved concurrency is too low."
        metrics = [
          ["AWS/Lambda", "AsyncEventAge", "FunctionName", function.name, { label = "age, ms", stat = "Maximum" }],
          ["AWS/Lambda", "AsyncEventsReceived", "FunctionName", function.name, { label = "received", stat = "Sum", yAxis = "right" }],
        ]
        line = load.thresholds.max_age_seconds * 1000
      } if function.asynchronous],
      [{
        title   = "What became of jobs"
        text    = "**Outcomes**. Retried and deferred jobs come back; dead, parked and discarded ones need somebody. Started without an outcome: killed in mid-job, the next run counts it as crashed."
        metrics = [for name in ["JobSucceeded", "JobRetried", "JobDeferred", "JobDead", "JobParked", "JobDiscarded", "JobCancelled", "JobDuplicate", "JobLost", "JobCrashed", "JobStalled"] : concat(local.runtime[key], [name], local.dimensions[key], [{ label = name }])]
        line    = null
        }, {
        title = "How long jobs take"
        text  = "From when a job was due to its end (95 % of them), and its parts: time in the queue before a run, and the run itself. Attempts are not parts of it: a job that is retried waits in between."
        metrics = [
          concat(local.runtime[key], ["EndToEndMs"], local.dimensions[key], [{ label = "due to end, p95", stat = "p95" }]),
          concat(local.runtime[key], ["QueueDelayMs"], local.dimensions[key], [{ label = "in the queue, p95", stat = "p95" }]),
          concat(local.runtime[key], ["RunMs"], local.dimensions[key], [{ label = "run, p95", stat = "p95" }]),
        ]
        line = load.thresholds.max_end_to_end_seconds == null ? null : load.thresholds.max_end_to_end_seconds * 1000
      }],
      [{
        title = "Dead letters"
        text  = "Jobs that will not run again by themselves (the reason is in the attribute `dead` of each), and jobs that SNS could not deliver. Both queues keep them for 14 days. The line should lie on zero."
        metrics = concat(
          [for dlq in load.dlq[*] : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", dlq.name, { label = "dead letters", stat = "Maximum" }]],
          [for dlq in load.subscription_dlq[*] : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", dlq.name, { label = "undelivered", stat = "Maximum" }]],
        )
        line = null
        }, {
        title = "Second tries"
        text  = "The highest **attempt** of a run, and how many deliveries were put off because a dependency is down. Attempts that climb come before dead letters do: there is still time."
        metrics = [
          concat(local.runtime[key], ["Attempt"], local.dimensions[key], [{ label = "highest attempt", stat = "Maximum" }]),
          concat(local.runtime[key], ["CircuitOpen"], local.dimensions[key], [{ label = "dependency down", yAxis = "right" }]),
        ]
        line = null
      }],
      [for function in load.function[*] : [{
        title = "Concurrency"
        text  = "Runs at the same time against the ceiling (${function.ceiling}). At the line while age grows: raise it. Throttles use up receives of innocent messages; there should be none."
        metrics = [
          ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", function.name, { label = "runs", stat = "Maximum" }],
          ["AWS/Lambda", "Throttles", "FunctionName", function.name, { label = "throttled", stat = "Sum", yAxis = "right" }],
        ]
        line = function.ceiling
        }, {
        title = "The function itself"
        text  = "The slowest invocations against the timeout (${function.timeout_seconds * 1000} ms), and invocations that failed as a whole. A failed job is no error here: an error is a timeout, memory that ran out, or code that does not import."
        metrics = [
          ["AWS/Lambda", "Duration", "FunctionName", function.name, { label = "p99, ms", stat = "p99" }],
          ["AWS/Lambda", "Errors", "FunctionName", function.name, { label = "errors", stat = "Sum", yAxis = "right" }],
        ]
        line = function.timeout_seconds * 1000
      }]],
      [for service in load.service[*] : {
        title   = "Tasks"
        text    = "Running tasks against the most there may be (${service.max_tasks}): ECS samples the processor of each once a minute. At the line while age grows: raise it. None at all while messages wait: the service cannot start any."
        metrics = [["AWS/ECS", "CPUUtilization", "ClusterName", service.cluster_name, "ServiceName", service.service_name, { label = "tasks", stat = "SampleCount", period = 60 }]]
        line    = service.max_tasks
      }],
      [for machine in load.delay_machine[*] : {
        title   = "Delayed jobs"
        text    = "Jobs that began and ended their wait. A failed, timed-out or aborted execution is a job that was not sent: redrive it."
        metrics = [for name in ["ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"] : ["AWS/States", name, "StateMachineArn", machine.arn, { label = name }]]
        line    = null
      }],
    ])
  }
  runtime    = { for key, load in var.workloads : key => [load.jobs.namespace] }
  dimensions = { for key, load in var.workloads : key => ["service", load.jobs.service, "workload", load.jobs.workload] }

  stack_graphs = concat(
    [for title, topic in var.topics : {
      title   = "Topic ${title}"
      text    = "What was published and delivered, and what failed. **No attributes** counts what reached no workload at all. A message of another workload is filtered out too; that is how routing works, so it is not shown."
      metrics = [for name, label in { NumberOfMessagesPublished = "published", NumberOfNotificationsDelivered = "delivered", NumberOfNotificationsFailed = "failed", NumberOfNotificationsRedrivenToDlq = "kept in a dead-letter queue", NumberOfNotificationsFailedToRedriveToDlq = "lost", "NumberOfNotificationsFilteredOut-NoMessageAttributes" = "no attributes" } : ["AWS/SNS", name, "TopicName", topic, { label = label }]]
      line    = null
    }],
    [for schedule in var.schedule[*] : {
      title = "Schedules"
      text  = "Occurrences that were sent, tried again, given up, and kept in the dead-letter queue. Given up means that this run will not happen by itself."
      metrics = concat(
        [for name, label in { InvocationAttemptCount = "tried", TargetErrorCount = "errors", InvocationDroppedCount = "given up", InvocationsFailedToBeSentToDeadLetterCount = "lost" } : ["AWS/Scheduler", name, "ScheduleGroup", schedule.group_name, { label = label }]],
        [["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", schedule.dlq_name, { label = "in the dead-letter queue", stat = "Maximum" }]],
      )
      line = null
    }],
  )

  placed = concat(
    flatten([for number, key in local.keys : [for position, graph in local.graphs[key] : merge(graph, { number = position, from = local.opening + number * local.per_load + 2 })]]),
    [for position, graph in local.stack_graphs : merge(graph, { number = position, from = local.stack_from + 2 })],
  )

  headings = concat(
    [{ from = 0, height = local.opening, text = "# ${var.name}: background jobs\nEach workload has its own rows. Read from the left: does work wait, what becomes of it, how long does it take, what is lost. An alarm that is on is named `${var.name}-WORKLOAD-KIND`; what to do stands in its description and in `docs/runbooks/KIND.md` of the project." }],
    [for number, key in local.keys : { from = local.opening + number * local.per_load, height = 2, text = "## Workload ${key}" }],
    [{ from = local.stack_from, height = 2, text = "## Topics and schedules" }],
  )
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  dashboard_body = jsonencode({
    widgets = concat(
      [for heading in local.headings : {
        type       = "text"
        x          = 0
        y          = heading.from
        width      = 24
        height     = heading.height
        properties = { markdown = heading.text }
      }],
      flatten([for graph in local.placed : [
        {
          type   = "metric"
          x      = graph.number % local.per_row * local.width
          y      = graph.from + floor(graph.number / local.per_row) * (local.height + local.text)
          width  = local.width
          height = local.height
          properties = {
            title       = graph.title
            region      = data.aws_region.this.id
            view        = "timeSeries"
            period      = 60
            stat        = "Sum"
            metrics     = graph.metrics
            yAxis       = { left = { min = 0 }, right = { min = 0 } }
            annotations = { horizontal = [for value in graph.line[*] : { value = value, label = "limit" }] }
          }
        },
        {
          type       = "text"
          x          = graph.number % local.per_row * local.width
          y          = graph.from + floor(graph.number / local.per_row) * (local.height + local.text) + local.height
          width      = local.width
          height     = local.text
          properties = { markdown = graph.text }
        },
      ]]),
    )
  })
}
