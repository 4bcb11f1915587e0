module "jobs" {
  source = "../.."

  name = var.name

  alarm_actions = { page = [aws_sns_topic.alarms.arn] }

  workloads = {
    email = {
      lambda = {
        artifact     = { filename = var.artifact }
        handler      = var.handler
        runtime      = var.runtime
        architecture = var.architecture
      }
    }
  }
}

# Who is told. Somebody must confirm the e-mail subscription; a pager or chat takes the place of the address later.
resource "aws_sns_topic" "alarms" {
  name = "${var.name}-alarms"
}

resource "aws_sns_topic_subscription" "email" {
  count = var.alarm_email == null ? 0 : 1

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.alarm_email
}
