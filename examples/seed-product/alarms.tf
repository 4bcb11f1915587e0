# Who is told: `page` at once, at night too; `ticket` in the morning. Each address must be confirmed by its owner.
resource "aws_sns_topic" "alarms" {
  for_each = toset(["page", "ticket"])

  name = "${var.name}-alarms-${each.key}"
  tags = { product = var.name }
}

resource "aws_sns_topic_subscription" "email" {
  for_each = { for severity, address in var.alarm_emails : severity => address if address != null }

  topic_arn = aws_sns_topic.alarms[each.key].arn
  protocol  = "email"
  endpoint  = each.value
}
