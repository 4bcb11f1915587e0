# Reports of about four minutes, 2,030 of them every night, none in between: tasks from zero, and back to zero.
locals {
  # By way of the capacity providers, so that they are there first.
  cluster_arn = "${trimsuffix(aws_ecs_cluster.this.arn, var.name)}${aws_ecs_cluster_capacity_providers.this.cluster_name}"
}

module "jobs" {
  source = "../.."

  name      = var.name
  job_state = { deletion_protection = var.protected }

  alarm_actions = { page = [aws_sns_topic.alarms.arn] }

  workloads = {
    reports = {
      ecs = {
        cluster_arn        = local.cluster_arn
        image              = var.image
        architecture       = var.architecture
        cpu                = 1024
        memory_mb          = 2048
        subnet_ids         = var.subnet_ids
        security_group_ids = var.security_group_ids
        spot               = var.spot

        # One report at a time in a task: rendering takes the processor. So max_tasks is how many are rendered at once, and with
        # job_seconds how long the night's 2,030 take: see README.md.
        slots       = 1
        min_tasks   = 0
        max_tasks   = var.max_tasks
        job_seconds = 240
        # On other days a report starts within a quarter of an hour.
        max_latency_seconds = 900

        # A page comes every ten seconds and renews the lease. When a task dies, its report is taken over after this time.
        lease_seconds = 120
        # Less than a report takes, and the most that Fargate allows: an interrupted report is given back, with its pages.
        stop_timeout_seconds = 120

        environment = { APP_REPORTS_BUCKET = aws_s3_bucket.reports.bucket }
        policy_arns = { reports = aws_iam_policy.reports.arn }
      }
      queue  = { max_receive_count = 20 }     # of 5 attempts; each interruption is a receive too
      alarms = { max_age_seconds = 4 * 3600 } # the night's promise
    }
  }

  tags = { product = var.name }
}

resource "aws_ecs_cluster" "this" {
  name = var.name
  tags = { product = var.name }
}

# A cluster knows Spot only when it is told to, and a service on Spot can be made only after that.
resource "aws_ecs_cluster_capacity_providers" "this" {
  cluster_name       = aws_ecs_cluster.this.name
  capacity_providers = ["FARGATE", "FARGATE_SPOT"]
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
