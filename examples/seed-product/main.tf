# A small product that sells credits: 15 job types on five workloads, six schedules. All five run the same zip; what separates them is what
# they need: an order, a ceiling, a server that may be down, no queue at all.
locals {
  lambda = {
    artifact        = { filename = var.artifact }
    handler         = var.handler
    runtime         = var.runtime
    architecture    = var.architecture
    timeout_seconds = 20
    policy_arns     = { product = aws_iam_policy.product.arn }
    environment     = { APP_TABLE = aws_dynamodb_table.product.name }
  }
}

module "jobs" {
  source = "../.."

  name                       = var.name
  account_concurrency_budget = 30

  # What makes a job run once, per key and per occurrence of a schedule; keeps parked jobs and the mail provider's breaker.
  job_state = { deletion_protection = var.protected }

  alarm_actions = { for severity, topic in aws_sns_topic.alarms : severity => [topic.arn] }

  workloads = {
    # Everything that may wait for each other. A new job starts here, and moves out when it has a reason.
    shared = {
      lambda  = local.lambda
      ceiling = { max_concurrency = 10 }
      delay   = true # the reminder before a trial ends waits for eleven days
    }

    # Bookings, in the order in which they were made within each account. Short waits: a failure holds up its own account.
    credits = {
      fifo    = true
      lambda  = local.lambda
      ceiling = { max_concurrency = 5 }
      alarms  = { max_age_seconds = 120, max_end_to_end_seconds = 60 } # what customers are promised: booked within a minute
    }

    # Invoices and money. The payment provider bears two callers at a time, and a declined card is tried again tomorrow. One job a batch:
    # what a killed process had in hand is one charge to look at, not ten.
    billing = {
      lambda = merge(local.lambda, {
        log_retention_days = 365
        environment        = merge(local.lambda.environment, { APP_PAYMENT_API = var.apis.payments })
      })
      ceiling = { max_concurrency = 2 }
      delay   = true
      queue   = { batch_size = 1 }
    }

    # Mail. All of it needs one provider: while that is down the queue is not even read.
    mail = {
      lambda        = merge(local.lambda, { policy_arns = {}, environment = { APP_MAIL_API = var.apis.mail } }) # no table
      ceiling       = { max_concurrency = 5 }
      pause_on_open = true
      alarms        = { max_age_seconds = 3600 }
    }

    # Cache invalidation: rare, quick, urgent, and worthless after five minutes. The topic calls the function, there is no queue.
    cache = {
      direct = merge(local.lambda, {
        handler         = var.direct_handler
        timeout_seconds = 10
        policy_arns     = {}
        environment     = { APP_CACHE_API = var.apis.cache }
      })
      reserved_concurrency = 5
      alarms               = { max_age_seconds = 60 }
    }
  }

  # Each occurrence is one job, about its own time (`ctx.occurrence`). Delivered twice it runs once; late, it still is about that time.
  schedules = {
    # Five minutes after the hour: usage may be written a little late. By UTC, so that no hour is skipped in spring.
    recalculate-credits = {
      workload     = "shared"
      job          = "credits.recalculate"
      payload_json = jsonencode({ credits_per_call = 1 })
      expression   = "cron(5 * * * ? *)"
    }

    close-day = {
      workload   = "shared"
      job        = "usage.day.close"
      expression = "cron(0 0 * * ? *)"
    }

    # A minute later is not "after": both may run at once. What needs the other's end is its follow-up job, not its neighbour in time.
    renew-allowances = {
      workload     = "shared"
      job          = "credits.allowances.renew"
      payload_json = jsonencode({ credits = 1000 })
      expression   = "cron(1 0 * * ? *)"
    }

    # By the readers' clock, and far from the hour that summer time skips.
    weekly-digest = {
      workload     = "shared"
      job          = "digests.send"
      payload_json = jsonencode({ subject = "Your week" })
      expression   = "cron(0 8 ? * MON *)"
      timezone     = "Europe/Berlin"
    }

    # At four on the first of the month, when the last day has long been closed. It may start within half an hour: nobody waits for it.
    run-invoices = {
      workload                = "billing"
      job                     = "billing.invoices.run"
      payload_json            = jsonencode({ cents_per_call = 2 })
      expression              = "cron(0 4 1 * ? *)"
      flexible_window_minutes = 30
    }

    sweep-reservations = {
      workload   = "shared"
      job        = "credits.reservations.sweep"
      expression = "rate(15 minutes)"
    }
  }

  tags = { product = var.name }
}
