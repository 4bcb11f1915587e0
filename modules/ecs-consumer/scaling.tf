module "scaling" {
  source = "../ecs-scaling"

  name                = var.name
  min_tasks           = var.scaling.min_tasks
  max_tasks           = var.scaling.max_tasks
  job_seconds         = var.scaling.job_seconds
  max_latency_seconds = var.scaling.max_latency_seconds
  slots               = var.scaling.slots
  idle_minutes        = var.scaling.idle_minutes
}

locals {
  scaling = module.scaling.scaling

  # SQS reports messages in flight only while there are some. Without the visible ones there is no data: the queue sleeps.
  backlog = {
    visible   = { metric = "ApproximateNumberOfMessagesVisible", expression = null }
    in_flight = { metric = "ApproximateNumberOfMessagesNotVisible", expression = null }
    backlog   = { metric = null, expression = "visible + FILL(in_flight, 0)" }
  }

  # Both look at the same minutes: any with a backlog, or none. So they never hold at the same time.
  rules = {
    work = {
      comparison = "GreaterThanOrEqualToThreshold"
      minutes    = 1
      steps      = local.scaling.steps
      meaning    = "has messages, visible or in flight, or had some in the last ${local.scaling.idle_minutes} minutes: it gets the tasks that the deepest of these minutes needs"
    }
    idle = {
      comparison = "LessThanThreshold"
      minutes    = local.scaling.idle_minutes
      steps      = [{ tasks = local.scaling.min_tasks, lower = null, upper = 0 }]
      meaning    = "has had no message, visible or in flight, for ${local.scaling.idle_minutes} minutes: it goes down to its minimum of tasks, ${local.scaling.min_tasks}"
    }
  }
}

# Paused: no task at all, and what the policies ask for is cut to that.
resource "aws_appautoscaling_target" "this" {
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/${local.cluster_name}/${aws_ecs_service.this.name}"
  min_capacity       = var.enabled ? local.scaling.min_tasks : 0
  max_capacity       = var.enabled ? local.scaling.max_tasks : 0
  tags               = var.tags
}

resource "aws_appautoscaling_policy" "this" {
  for_each = local.rules

  name               = each.key
  policy_type        = "StepScaling"
  service_namespace  = aws_appautoscaling_target.this.service_namespace
  scalable_dimension = aws_appautoscaling_target.this.scalable_dimension
  resource_id        = aws_appautoscaling_target.this.resource_id

  step_scaling_policy_configuration {
    adjustment_type         = "ExactCapacity"
    metric_aggregation_type = "Maximum" # of the alarm's minutes
    cooldown                = 60

    dynamic "step_adjustment" {
      for_each = each.value.steps
      content {
        scaling_adjustment          = step_adjustment.value.tasks
        metric_interval_lower_bound = step_adjustment.value.lower
        metric_interval_upper_bound = step_adjustment.value.upper
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.rules

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "Not an incident, this alarm scales: ${var.name} ${each.value.meaning}."
  comparison_operator = each.value.comparison
  threshold           = local.scaling.threshold
  evaluation_periods  = local.scaling.idle_minutes
  datapoints_to_alarm = each.value.minutes
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_appautoscaling_policy.this[each.key].arn]

  dynamic "metric_query" {
    for_each = local.backlog
    content {
      id          = metric_query.key
      expression  = metric_query.value.expression
      return_data = metric_query.value.expression != null

      dynamic "metric" {
        for_each = metric_query.value.metric[*]
        content {
          namespace   = "AWS/SQS"
          metric_name = metric.value
          dimensions  = { QueueName = var.queue.name }
          period      = 60
          stat        = "Maximum"
        }
      }
    }
  }

  tags = var.tags
}
