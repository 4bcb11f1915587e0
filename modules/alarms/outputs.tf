output "alarms" {
  description = "Every alarm: `<kind>` (of a topic `<key>-<kind>`) => name, ARN and severity."
  value = {
    for key, alarm in aws_cloudwatch_metric_alarm.this : key => {
      name     = alarm.alarm_name
      arn      = alarm.arn
      severity = local.alarms[key].severity
    }
  }
}

output "composite_alarm" {
  description = "The alarm that pages, or null if nothing here does."
  value = one([for alarm in aws_cloudwatch_composite_alarm.this : {
    name = alarm.alarm_name
    arn  = alarm.arn
  }])
}

output "alarm_arns" {
  description = "ARNs of all alarms, the composite one included."
  value       = concat([for alarm in aws_cloudwatch_metric_alarm.this : alarm.arn], aws_cloudwatch_composite_alarm.this[*].arn)
}
