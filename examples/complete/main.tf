# Four failure domains of one small product. They share a zip: what separates them is their queue, ceiling and dead letters.
locals {
  lambda = {
    artifact        = { filename = var.artifact }
    handler         = var.handler
    runtime         = var.runtime
    architecture    = var.architecture
    timeout_seconds = var.timeout_seconds
  }
}

module "jobs" {
  source = "../.."

  name                       = var.name
  account_concurrency_budget = 50

  workloads = {
    # Propagate a changed appointment to the calendars of everyone invited: many small jobs, taken ten at a time.
    calendar = {
      lambda  = local.lambda
      ceiling = { max_concurrency = 20 }
      queue   = { batch_size = 10 }
    }

    # Call customers' endpoints: slow and unreliable by nature, so it must not take capacity from the others.
    webhooks = {
      lambda  = merge(local.lambda, { log_retention_days = 90 })
      ceiling = { max_concurrency = 10 }
    }

    # Prepare the plan for a call that starts in a minute: one at a time, no waiting behind a batch; worthless when late.
    calls = {
      lambda  = local.lambda
      ceiling = { max_concurrency = 10 }
      queue   = { batch_size = 1, max_receive_count = 5, retention_seconds = 3600 }
    }

    # Roll a change out account by account: order matters within an account, so the queue is FIFO and the account is the group.
    rollouts = {
      fifo    = true
      lambda  = local.lambda
      ceiling = { max_concurrency = 5 }
      queue   = { batch_size = 10 }
    }
  }

  tags = { product = var.name }
}
