# "This schedule has not been heard of." No metric of Scheduler's is about one schedule, and silence leaves no metric at all: so it is the
# queue that is watched, and missing data is what breaches.
locals {
  heartbeats = {
    for key, s in var.schedules : key => merge(s.heartbeat, {
      queue_name = s.queue.name
      seconds    = ceil(s.heartbeat.period_seconds * 1.5 / 60) * 60
    }) if s.heartbeat != null && s.enabled
  }
}

resource "aws_cloudwatch_metric_alarm" "heartbeat" {
  for_each = local.heartbeats

  alarm_name        = "${var.name}-${each.key}-silent"
  alarm_description = "Nothing was sent to ${each.value.queue_name} for one and a half periods of the schedule ${each.key}. Look at the schedule (enabled? past its end?), at ${local.dlq_name}, and at the metrics of the schedule group."
  namespace         = "AWS/SQS"
  metric_name       = "NumberOfMessagesSent"
  dimensions        = { QueueName = each.value.queue_name }
  statistic         = "Sum"

  # CloudWatch: beyond a day of looking back, a period has an hour or more.
  period              = each.value.seconds <= 86400 ? each.value.seconds : 3600
  evaluation_periods  = each.value.seconds <= 86400 ? 1 : ceil(each.value.seconds / 3600)
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  treat_missing_data  = "breaching"

  alarm_actions = each.value.actions
  ok_actions    = each.value.actions
  tags          = var.tags
}
