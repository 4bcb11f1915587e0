# One run per rule that is refused at plan.
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name     = "shop-email"
  workload = "email"
  topics = {
    standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
  }
  function = {
    artifact = { filename = "../../tests/terraform/fixtures/artifact.zip" }
    handler  = "app.handler"
  }
  reserved_concurrency = 5
  delay_machine = {
    environment = { JOBS_DELAY_MACHINE_ARN = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay" }
    statements  = [{ sid = "StartDelay", actions = ["states:StartExecution"], resources = ["arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"] }]
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

run "refuses_no_workload" {
  command = plan
  variables {
    workload = ""
  }
  expect_failures = [var.workload]
}

run "refuses_a_fifo_topic" {
  command = plan
  variables {
    topics = {
      standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
      fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
    }
  }
  expect_failures = [var.topics]
}

run "refuses_no_concurrency" {
  command = plan
  variables {
    reserved_concurrency = 0
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_half_a_run" {
  command = plan
  variables {
    reserved_concurrency = 1.5
  }
  expect_failures = [var.reserved_concurrency]
}

run "refuses_an_event_age_of_a_day" {
  command = plan
  variables {
    max_event_age_seconds = 86400
  }
  expect_failures = [var.max_event_age_seconds]
}

run "refuses_an_event_age_of_59_seconds" {
  command = plan
  variables {
    max_event_age_seconds = 59
  }
  expect_failures = [var.max_event_age_seconds]
}

run "refuses_something_else_as_the_delay_machine" {
  command = plan
  variables {
    delay_machine = {
      environment = { JOBS_TABLE = "shop-jobs" }
      statements  = []
    }
  }
  expect_failures = [var.delay_machine]
}

run "refuses_an_alias" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs" }
  }
  expect_failures = [var.kms_key]
}
