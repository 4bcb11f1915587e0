# One run per rule that is refused at plan. The legal neighbours of a limit stand in the runs named "accepts".
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name                = "shop-reports"
  execution_role_name = "shop-reports-exec"
  workload            = "reports"
  cluster_arn         = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
  queue = {
    arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-reports"
    url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports"
    name                       = "shop-reports"
    fifo                       = false
    visibility_timeout_seconds = 120
    max_receive_count          = 10
  }
  dlq = {
    arn = "arn:aws:sqs:eu-west-1:123456789012:shop-reports-dlq"
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports-dlq"
  }
  topics = {
    standard_arn = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    fifo_arn     = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
  }
  task    = { image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/reports:1.4.0" }
  network = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
  scaling = { max_tasks = 8, job_seconds = 240, max_latency_seconds = 1800 }
}

run "a_minimum_from_the_start" {
  command = plan
  variables {
    scaling = { min_tasks = 2, max_tasks = 8, job_seconds = 240 }
  }

  assert {
    condition     = aws_ecs_service.this.desired_count == 2
    error_message = "Afterwards it is the autoscaler's: ${aws_ecs_service.this.desired_count}"
  }
}

run "paused_from_the_start" {
  command = plan
  variables {
    enabled = false
    scaling = { min_tasks = 2, max_tasks = 8, job_seconds = 240 }
  }

  assert {
    condition     = aws_ecs_service.this.desired_count == 0
    error_message = "No task: ${aws_ecs_service.this.desired_count}"
  }
}

run "accepts_the_limits_themselves" {
  command = plan
  variables {
    name                 = "n234567890123456789012345678901234567890123456789012345678901234" # 64
    lease_seconds        = 43000
    stop_timeout_seconds = 30
    queue = {
      arn                        = "arn:aws:sqs:eu-west-1:123456789012:shop-reports"
      url                        = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports"
      name                       = "shop-reports"
      fifo                       = false
      visibility_timeout_seconds = 43000
      max_receive_count          = 3
    }
    task = { image = "example.org:5000/reports:1", cpu = 16384, memory_mb = 122880, user = "1" }
  }
}

run "accepts_the_smallest_memory" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", cpu = 8192, memory_mb = 16384 }
  }
}

run "refuses_a_name_that_no_role_may_have" {
  command = plan
  variables {
    name = "shop-a-very-long-name-of-a-workload-that-nobody-can-remember-any-more"
  }
  expect_failures = [var.name]
}

run "refuses_one_role_for_both" {
  command = plan
  variables {
    execution_role_name = "shop-reports"
  }
  expect_failures = [var.execution_role_name]
}

run "refuses_a_cluster_without_an_account" {
  command = plan
  variables {
    cluster_arn = "jobs"
  }
  expect_failures = [var.cluster_arn]
}

run "refuses_an_image_without_a_name" {
  command = plan
  variables {
    task = { image = "" }
  }
  expect_failures = [var.task]
}

run "refuses_an_empty_command" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", command = [] }
  }
  expect_failures = [var.task]
}

run "refuses_a_health_check_that_is_no_command" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", health_check_command = ["python", "-m", "my_jobs"] }
  }
  expect_failures = [var.task]
}

run "refuses_a_health_check_that_checks_nothing" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", health_check_command = ["CMD"] }
  }
  expect_failures = [var.task]
}

run "refuses_too_much_memory_for_the_processor" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", cpu = 256, memory_mb = 3072 }
  }
  expect_failures = [var.task]
}

run "refuses_too_little_memory_for_the_processor" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", cpu = 4096, memory_mb = 4096 }
  }
  expect_failures = [var.task]
}

run "refuses_memory_between_two_sizes" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", cpu = 8192, memory_mb = 17408 }
  }
  expect_failures = [var.task]
}

run "refuses_a_processor_that_fargate_does_not_have" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", cpu = 300 }
  }
  expect_failures = [var.task]
}

run "refuses_another_architecture" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", architecture = "amd64" }
  }
  expect_failures = [var.task]
}

run "refuses_root" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", user = "0" }
  }
  expect_failures = [var.task]
}

run "refuses_root_by_name" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", user = "root" }
  }
  expect_failures = [var.task]
}

run "refuses_the_group_of_root" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", user = "10001:0" }
  }
  expect_failures = [var.task]
}

run "refuses_logs_for_ever" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", log_retention_days = 0 }
  }
  expect_failures = [var.task]
}

run "refuses_an_unknown_log_level" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", log_level = "TRACE" }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_of_this_modules" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "JOBS_QUEUE_URL" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_that_ecs_sets" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "ECS_AGENT_URI" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_that_hides_the_role" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "AWS_ACCESS_KEY_ID" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_that_redirects_the_role" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "AWS_CONTAINER_CREDENTIALS_FULL_URI" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_that_no_shell_may_have" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "my-name" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_of_powertools" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { "POWERTOOLS_LOG_LEVEL" = "x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_secret_with_a_name_of_this_modules" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", secrets = { JOBS_TABLE = "arn:aws:ssm:eu-west-1:123456789012:parameter/x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_name_with_two_values" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", environment = { FLAGS = "x" }, secrets = { FLAGS = "arn:aws:ssm:eu-west-1:123456789012:parameter/x" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_secret_itself" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", secrets = { PASSWORD = "hunter2" } }
  }
  expect_failures = [var.task]
}

run "refuses_all_secrets" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", secrets = { PASSWORD = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:*" } }
  }
  expect_failures = [var.task]
}

run "refuses_a_policy_that_is_no_arn" {
  command = plan
  variables {
    task = { image = "example.org/reports:1", policy_arns = { mail = "mail-policy" } }
  }
  expect_failures = [var.task]
}

run "refuses_no_subnet" {
  command = plan
  variables {
    network = { subnet_ids = [], security_group_ids = ["sg-1"] }
  }
  expect_failures = [var.network]
}

run "refuses_the_default_security_group" {
  command = plan
  variables {
    network = { subnet_ids = ["subnet-1"], security_group_ids = [] }
  }
  expect_failures = [var.network]
}

run "refuses_a_lease_that_no_renewal_can_keep" {
  command = plan
  variables {
    lease_seconds = 29
  }
  expect_failures = [var.lease_seconds]
}

run "refuses_a_lease_above_12_hours" {
  command = plan
  variables {
    lease_seconds = 43001
  }
  expect_failures = [var.lease_seconds]
}

run "refuses_a_lease_that_is_not_the_queues" {
  command = plan
  variables {
    lease_seconds = 300
  }
  expect_failures = [var.lease_seconds]
}

run "refuses_a_stop_shorter_than_a_long_poll" {
  command = plan
  variables {
    stop_timeout_seconds = 29
  }
  expect_failures = [var.stop_timeout_seconds]
}

run "refuses_a_stop_longer_than_fargate_waits" {
  command = plan
  variables {
    stop_timeout_seconds = 121
  }
  expect_failures = [var.stop_timeout_seconds]
}

run "refuses_a_namespace_of_aws" {
  command = plan
  variables {
    metrics_namespace = "AWS/Jobs"
  }
  expect_failures = [var.metrics_namespace]
}

run "refuses_access_to_everything" {
  command = plan
  variables {
    access = {
      other = {
        environment = {}
        statements  = [{ sid = "Other", actions = ["s3:GetObject"], resources = ["*"] }]
      }
    }
  }
  expect_failures = [var.access]
}

run "refuses_access_by_any_action" {
  command = plan
  variables {
    access = {
      other = {
        environment = {}
        statements  = [{ sid = "Other", actions = ["s3:*"], resources = ["arn:aws:s3:::x/*"] }]
      }
    }
  }
  expect_failures = [var.access]
}

run "warns_of_an_image_without_a_version" {
  command = plan
  variables {
    task = { image = "example.org:5000/reports" }
  }
  expect_failures = [check.image_names_a_version]
}

run "warns_of_the_latest_image" {
  command = plan
  variables {
    task = { image = "example.org/reports:latest" }
  }
  expect_failures = [check.image_names_a_version]
}
