# One run per rule that is refused at plan.
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name     = "shop-email"
  workload = "email"
  queue = {
    arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
    url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
    fifo                       = false
    visibility_timeout_seconds = 360
    max_receive_count          = 10
  }
  dlq = {
    arn = "arn:aws:sqs:eu-west-1:123456789012:shop-email-dlq"
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email-dlq"
  }
  topics = {
    standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
  }
  function = {
    artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
    handler  = "app.handler"
  }
}

run "refuses_a_name_of_65_characters" {
  command = plan
  variables {
    name = "n2345678901234567890123456789012345678901234567890123456789012345"
  }
  expect_failures = [var.name]
}

run "refuses_no_artifact" {
  command = plan
  variables {
    function = {
      artifact = {}
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_two_artifacts" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures/artifact.zip", s3_bucket = "b", s3_key = "k" }
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_bucket_without_a_key" {
  command = plan
  variables {
    function = {
      artifact = { s3_bucket = "b" }
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_zip_without_a_handler" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
    }
  }
  expect_failures = [var.function]
}

run "refuses_an_image_with_a_handler" {
  command = plan
  variables {
    function = {
      artifact = { image_uri = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/email:1" }
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_zip_that_was_not_built" {
  command = plan
  variables {
    function = {
      artifact = { filename = "no-such.zip" }
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_an_unknown_architecture" {
  command = plan
  variables {
    function = {
      artifact     = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler      = "app.handler"
      architecture = "amd64"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_timeout_of_901_seconds" {
  command = plan
  variables {
    function = {
      artifact        = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler         = "app.handler"
      timeout_seconds = 901
    }
  }
  expect_failures = [var.function]
}

run "refuses_127_mb" {
  command = plan
  variables {
    function = {
      artifact  = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler   = "app.handler"
      memory_mb = 127
    }
  }
  expect_failures = [var.function]
}

run "refuses_logs_for_ever" {
  command = plan
  variables {
    function = {
      artifact           = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler            = "app.handler"
      log_retention_days = 0
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_retention_cloudwatch_does_not_offer" {
  command = plan
  variables {
    function = {
      artifact           = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler            = "app.handler"
      log_retention_days = 31
    }
  }
  expect_failures = [var.function]
}

run "refuses_an_unknown_log_level" {
  command = plan
  variables {
    function = {
      artifact  = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler   = "app.handler"
      log_level = "info"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_variable_of_the_runtime" {
  command = plan
  variables {
    function = {
      artifact    = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler     = "app.handler"
      environment = { JOBS_QUEUE_URL = "https://elsewhere" }
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_variable_lambda_reserves" {
  command = plan
  variables {
    function = {
      artifact    = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler     = "app.handler"
      environment = { AWS_REGION = "eu-west-1" }
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_network_without_subnets" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler  = "app.handler"
      vpc      = { subnet_ids = [], security_group_ids = ["sg-1"] }
    }
  }
  expect_failures = [var.function]
}

run "refuses_an_unknown_recursion_mode" {
  command = plan
  variables {
    function = {
      artifact       = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler        = "app.handler"
      recursive_loop = "allow"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_queue_with_too_short_a_visibility" {
  command = plan
  variables {
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = false
      visibility_timeout_seconds = 359
      max_receive_count          = 10
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_queue_whose_visibility_forgets_the_window" {
  command = plan
  variables {
    batch = { window_seconds = 1 }
  }
  expect_failures = [var.function]
}

run "refuses_concurrency_1" {
  command = plan
  variables {
    ceiling = { max_concurrency = 1 }
  }
  expect_failures = [var.ceiling]
}

run "refuses_two_kinds_of_ceiling" {
  command = plan
  variables {
    ceiling = { max_concurrency = 20, pollers = { min = 2, max = 4 } }
  }
  expect_failures = [var.ceiling]
}

run "refuses_one_poller" {
  command = plan
  variables {
    ceiling = { pollers = { min = 1, max = 4 } }
  }
  expect_failures = [var.ceiling]
}

run "refuses_more_pollers_at_least_than_at_most" {
  command = plan
  variables {
    ceiling = { pollers = { min = 5, max = 4 } }
  }
  expect_failures = [var.ceiling]
}

run "refuses_a_reservation_below_the_ceiling" {
  command = plan
  variables {
    ceiling              = { max_concurrency = 20 }
    reserved_concurrency = 19
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_a_reservation_below_the_default_ceiling" {
  command = plan
  variables {
    reserved_concurrency = 9
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_a_reservation_below_what_pollers_start" {
  command = plan
  variables {
    ceiling              = { pollers = { min = 2, max = 5 } }
    reserved_concurrency = 49
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_a_batch_of_100_without_a_window" {
  command = plan
  variables {
    batch = { size = 100 }
  }
  expect_failures = [var.batch]
}

run "refuses_a_batch_of_11_on_fifo" {
  command = plan
  variables {
    batch = { size = 11 }
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = true
      visibility_timeout_seconds = 360
      max_receive_count          = 10
    }
  }
  expect_failures = [var.batch]
}

run "refuses_a_window_on_fifo" {
  command = plan
  variables {
    batch = { window_seconds = 5 }
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = true
      visibility_timeout_seconds = 400
      max_receive_count          = 10
    }
  }
  expect_failures = [var.batch]
}

run "refuses_a_batch_of_10001" {
  command = plan
  variables {
    batch = { size = 10001, window_seconds = 300 }
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = false
      visibility_timeout_seconds = 660
      max_receive_count          = 10
    }
  }
  expect_failures = [var.batch]
}

run "refuses_a_window_of_301_seconds" {
  command = plan
  variables {
    batch = { window_seconds = 301 }
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-email"
      fifo                       = false
      visibility_timeout_seconds = 661
      max_receive_count          = 10
    }
  }
  expect_failures = [var.batch]
}

run "refuses_an_empty_batch" {
  command = plan
  variables {
    batch = { size = 0 }
  }
  expect_failures = [var.batch]
}

run "refuses_access_to_everything" {
  command = plan
  variables {
    access = { wide = { environment = {}, statements = [{ sid = "Wide", actions = ["s3:GetObject"], resources = ["*"] }] } }
  }
  expect_failures = [var.access]
}

run "refuses_access_with_wildcard_actions" {
  command = plan
  variables {
    access = { wide = { environment = {}, statements = [{ sid = "Wide", actions = ["s3:*"], resources = ["arn:aws:s3:::b/claims/*"] }] } }
  }
  expect_failures = [var.access]
}

run "refuses_one_role_for_two_purposes" {
  command = plan
  variables {
    pause = { resume_role_name = "shop-email" }
  }
  expect_failures = [var.pause]
}

run "refuses_an_artifact_that_is_a_folder" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures" }
      handler  = "app.handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_handler_without_a_dot" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler  = "handler"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_runtime_before_python_311" {
  command = plan
  variables {
    function = {
      artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler  = "app.handler"
      runtime  = "python3.10"
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_policy_that_is_no_arn" {
  command = plan
  variables {
    function = {
      artifact    = { filename = "../../tests/terraform/fixtures/artifact.zip" }
      handler     = "app.handler"
      policy_arns = { mail = "mail" }
    }
  }
  expect_failures = [var.function]
}

run "refuses_a_metrics_namespace_of_aws" {
  command = plan
  variables {
    metrics_namespace = "AWS/Jobs"
  }
  expect_failures = [var.metrics_namespace]
}
