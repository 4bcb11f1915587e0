# Who is told when something needs somebody: dead letters, jobs that wait too long, a function that fails. AWS sends a
# confirmation to the address first. Replace the address by what your team uses (a pager, a chat) when you have it.
resource "aws_sns_topic" "alarms" {
  name = "${var.name}-alarms"
}

resource "aws_sns_topic_subscription" "email" {
  count = var.alarm_email == null ? 0 : 1

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.alarm_email
}
