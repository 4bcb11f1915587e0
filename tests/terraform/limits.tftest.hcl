# One run per rule that is refused at plan; the wording of the refusals is tested in test_refusals.py.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  workloads = {
    email = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
  }
}

run "refuses_an_illegal_key" {
  command = plan
  variables {
    workloads = {
      "E_mail" = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_the_key_of_a_neighbours_dead_letter_queue" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
      }
      email-dlq = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_an_illegal_fixed_name" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        name   = "shop.email"
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_two_artifacts" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip", image_uri = "x" }, handler = "app.handler" }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_zip_that_was_not_built" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "no-such.zip" }, handler = "app.handler" }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_timeout_of_901_seconds" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler", timeout_seconds = 901 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_visibility_below_six_timeouts" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { visibility_timeout_seconds = 359 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_visibility_above_12_hours" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { visibility_timeout_seconds = 43201 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_two_receives" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { max_receive_count = 2 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_retention_of_59_seconds" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { retention_seconds = 59 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_retention_as_long_as_the_dead_letter_queues" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { retention_seconds = 1209600 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_retention_above_the_limit_of_sqs" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { retention_seconds = 1209601 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_batch_of_100_without_a_window" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { batch_size = 100 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_batch_of_11_on_fifo" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        fifo   = true
        queue  = { batch_size = 11 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_window_on_fifo" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        fifo   = true
        queue  = { batch_window_seconds = 5 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_batch_of_10001" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { batch_size = 10001, batch_window_seconds = 300 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_window_of_301_seconds" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { batch_window_seconds = 301 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_an_empty_batch" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        queue  = { batch_size = 0 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_concurrency_1" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda  = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        ceiling = { max_concurrency = 1 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_two_kinds_of_ceiling" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda  = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        ceiling = { max_concurrency = 20, pollers = { min = 2, max = 4 } }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_one_poller" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda  = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        ceiling = { pollers = { min = 1, max = 4 } }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_reservation_below_the_ceiling" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        ceiling              = { max_concurrency = 20 }
        reserved_concurrency = 19
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_an_illegal_stack_name" {
  command = plan
  variables {
    name = "Shop"
  }
  expect_failures = [var.name]
}

run "refuses_the_aws_managed_key" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs" }
  }
  expect_failures = [var.kms_key]
}

run "refuses_more_concurrency_than_the_budget" {
  command = plan
  variables {
    account_concurrency_budget = 9
  }
  expect_failures = [var.account_concurrency_budget]
}

run "refuses_everybody_as_publisher" {
  command = plan
  variables {
    publishers = { account_ids = ["*"] }
  }
  expect_failures = [var.publishers]
}

run "refuses_payloads_that_expire_before_their_message" {
  command = plan
  variables {
    claim_check = { expire_days = 18 }
  }
  expect_failures = [var.claim_check]
}

run "refuses_a_pause_without_a_place_for_breakers" {
  command = plan
  variables {
    workloads = {
      email = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, pause_on_open = true }
    }
  }
  expect_failures = [var.job_state]
}

run "refuses_an_artifact_that_is_a_folder" {
  command = plan
  variables {
    workloads = {
      email = { lambda = { artifact = { filename = "tests/terraform/fixtures" }, handler = "app.handler" } }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_metrics_namespace_of_aws" {
  command = plan
  variables {
    metrics_namespace = "AWS/Jobs"
  }
  expect_failures = [var.metrics_namespace]
}

run "refuses_a_workload_without_a_consumer" {
  command = plan
  variables {
    workloads = {
      email = {
        fifo = true
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_two_consumers" {
  command = plan
  variables {
    workloads = {
      email = {
        lambda               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        direct               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        reserved_concurrency = 5
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_order_without_a_queue" {
  command = plan
  variables {
    workloads = {
      email = {
        direct               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        reserved_concurrency = 5
        fifo                 = true
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_pause_without_a_queue" {
  command = plan
  variables {
    workloads = {
      email = {
        direct               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
        reserved_concurrency = 5
        enabled              = false
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_direct_without_a_reservation" {
  command = plan
  variables {
    workloads = {
      email = {
        direct = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_functions_ceiling_on_ecs" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 8
          job_seconds        = 240
        }
        ceiling = { max_concurrency = 5 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_functions_visibility_on_ecs" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 8
          job_seconds        = 240
        }
        queue = { visibility_timeout_seconds = 600 }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_pause_on_open_on_ecs" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 8
          job_seconds        = 240
        }
        pause_on_open = true
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_no_tasks" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 0
          job_seconds        = 240
        }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_job_of_a_day" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 8
          job_seconds        = 86400
        }
      }
    }
  }
  expect_failures = [var.workloads]
}

run "refuses_a_lease_of_seconds" {
  command = plan
  variables {
    workloads = {
      email = {
        ecs = {
          cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
          image              = "jobs:1"
          subnet_ids         = ["subnet-1"]
          security_group_ids = ["sg-1"]
          max_tasks          = 8
          job_seconds        = 240
          lease_seconds      = 5
        }
      }
    }
  }
  expect_failures = [var.workloads]
}
