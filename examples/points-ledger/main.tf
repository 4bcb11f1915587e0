# Two workloads for one kind of work: what comes in, and what has to wait for a partner.
locals {
  lambda = {
    artifact     = { filename = var.artifact }
    handler      = var.handler
    runtime      = var.runtime
    architecture = var.architecture
    environment = {
      APP_POINTS_TABLE = aws_dynamodb_table.points.name
      APP_PARTNERS_URL = var.partners_url
    }
    policy_arns = { points = aws_iam_policy.points.arn }
  }
}

module "jobs" {
  source = "../.."

  name      = var.name
  job_state = { deletion_protection = var.protected }

  alarm_actions = { page = [aws_sns_topic.alarms.arn] }

  workloads = {
    # Quick or not at all: a partner gets two seconds, once.
    points = {
      lambda  = merge(local.lambda, { timeout_seconds = var.timeout_seconds })
      ceiling = { max_concurrency = 20 }
      alarms  = { max_age_seconds = 300 } # an incident
    }

    # Two at a time, one by one, for two days. Whatever is slow here holds up nothing but itself.
    points-retry = {
      lambda  = merge(local.lambda, { timeout_seconds = var.timeout_seconds })
      ceiling = { max_concurrency = 2 }
      queue = {
        batch_size        = 1
        max_receive_count = 50 # of 20 attempts; being early, throttled or killed uses up receives as well
      }
      alarms = { max_age_seconds = 259200 } # one that is two days old is what this workload is for
    }
  }

  tags = { product = var.name }
}

# The system of record. Yours, not the runtime's: it stays when the jobs' own records have expired.
resource "aws_dynamodb_table" "points" {
  name                        = "${var.name}-points"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  deletion_protection_enabled = var.protected

  attribute {
    name = "pk"
    type = "S"
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled = true
  }

  tags = { product = var.name }
}

# What the jobs themselves may do: nothing that removes an entry.
resource "aws_iam_policy" "points" {
  name = "${var.name}-points"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "BookPoints"
      Effect   = "Allow"
      Action   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
      Resource = aws_dynamodb_table.points.arn
    }]
  })
  tags = { product = var.name }
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
