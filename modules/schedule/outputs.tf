output "group" {
  description = "The schedule group. Its name is the dimension `ScheduleGroup` of the metrics in AWS/Scheduler."
  value = {
    arn  = aws_scheduler_schedule_group.this.arn
    name = aws_scheduler_schedule_group.this.name
  }
}

output "dlq" {
  description = "The queue of what Scheduler could not send."
  value = {
    arn  = aws_sqs_queue.dlq.arn
    url  = aws_sqs_queue.dlq.url
    name = aws_sqs_queue.dlq.name
  }
}

output "role" {
  description = "The role that Scheduler sends with."
  value = {
    arn  = aws_iam_role.this.arn
    name = aws_iam_role.this.name
  }
}

output "schedules" {
  description = "Each schedule by key. `id` is the id of its jobs, with the time of the occurrence in the place of `<aws.scheduler.scheduled-time>`."
  value = {
    for key, schedule in aws_scheduler_schedule.this : key => {
      arn       = schedule.arn
      name      = schedule.name
      id        = local.ids[key]
      heartbeat = try(aws_cloudwatch_metric_alarm.heartbeat[key].alarm_name, null)
    }
  }
}
