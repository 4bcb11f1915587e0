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

run "defaults" {
  assert {
    condition     = aws_ecs_service.this.name == "shop-reports" && aws_ecs_task_definition.this.family == "shop-reports" && aws_iam_role.task.name == "shop-reports" && aws_iam_role.execution.name == "shop-reports-exec" && aws_cloudwatch_log_group.this.name == "/ecs/shop-reports" && aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "Names follow the workload's."
  }

  assert {
    condition     = aws_ecs_task_definition.this.requires_compatibilities == toset(["FARGATE"]) && aws_ecs_task_definition.this.cpu == "256" && aws_ecs_task_definition.this.memory == "512" && aws_ecs_task_definition.this.runtime_platform[0].cpu_architecture == "ARM64"
    error_message = "The smallest task of Fargate, on ARM."
  }

  assert {
    condition = { for pair in jsondecode(aws_ecs_task_definition.this.container_definitions)[0].environment : pair.name => pair.value } == {
      JOBS_WORKLOAD                = "reports"
      JOBS_QUEUE_URL               = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports"
      JOBS_DLQ_URL                 = "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-reports-dlq"
      JOBS_MAX_RECEIVE_COUNT       = "10"
      JOBS_TOPIC_ARN               = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
      JOBS_FIFO_TOPIC_ARN          = "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"
      JOBS_MAX_MESSAGE_BYTES       = "262144"
      JOBS_SLOTS                   = "1"
      JOBS_LEASE_SECONDS           = "120"
      JOBS_STOP_TIMEOUT_SECONDS    = "120"
      POWERTOOLS_SERVICE_NAME      = "shop-reports"
      POWERTOOLS_METRICS_NAMESPACE = "BackgroundJobs"
      POWERTOOLS_LOG_LEVEL         = "INFO"
    }
    error_message = "What the worker's runtime reads: ${jsonencode(jsondecode(aws_ecs_task_definition.this.container_definitions)[0].environment)}"
  }

  assert {
    condition     = length(jsondecode(aws_ecs_task_definition.this.container_definitions)) == 1 && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].command == ["worker"] && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].stopTimeout == 120 && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].linuxParameters.initProcessEnabled
    error_message = "One container, told to stop in time, with an init process."
  }

  assert {
    condition     = jsondecode(aws_ecs_task_definition.this.container_definitions)[0].user == "10001:10001" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].readonlyRootFilesystem && one(aws_ecs_task_definition.this.volume).name == "tmp" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].mountPoints == [{ sourceVolume = "tmp", containerPath = "/tmp", readOnly = false }]
    error_message = "Not root, and nothing to write to but /tmp."
  }

  assert {
    condition     = slice(jsondecode(aws_ecs_task_definition.this.container_definitions)[0].healthCheck.command, 0, 3) == ["CMD", "python", "-c"]
    error_message = "A worker that hangs is replaced."
  }

  assert {
    condition     = jsondecode(aws_ecs_task_definition.this.container_definitions)[0].logConfiguration.options["awslogs-group"] == "/ecs/shop-reports" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].logConfiguration.options["awslogs-region"] == "eu-west-1"
    error_message = "Logs go to the group that Terraform made."
  }

  assert {
    condition     = one(aws_ecs_service.this.capacity_provider_strategy).capacity_provider == "FARGATE" && aws_ecs_service.this.platform_version == "1.4.0" && aws_ecs_service.this.desired_count == 0
    error_message = "On demand; and no task before there is a message."
  }

  assert {
    condition     = aws_ecs_service.this.deployment_maximum_percent == 100 && aws_ecs_service.this.deployment_minimum_healthy_percent == 0 && aws_ecs_service.this.deployment_circuit_breaker[0].rollback && aws_ecs_service.this.availability_zone_rebalancing == "DISABLED"
    error_message = "Never more tasks than the ceiling, not while deploying either."
  }

  assert {
    condition     = aws_ecs_service.this.propagate_tags == "SERVICE" && aws_ecs_service.this.enable_ecs_managed_tags
    error_message = "Tasks have the tags of their service."
  }

  assert {
    condition     = !one(aws_ecs_service.this.network_configuration).assign_public_ip
    error_message = "No address that anybody can reach."
  }
}

run "roles" {
  assert {
    condition = alltrue([for role in [aws_iam_role.task, aws_iam_role.execution] : jsondecode(role.assume_role_policy).Statement[0].Principal == { Service = "ecs-tasks.amazonaws.com" } && jsondecode(role.assume_role_policy).Statement[0].Condition == {
      ArnLike      = { "aws:SourceArn" = "arn:aws:ecs:eu-west-1:123456789012:*" }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }])
    error_message = "Only tasks of this account and region may take the roles: ${aws_iam_role.task.assume_role_policy}"
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.task.policy).Statement : s.Sid => flatten([s.Resource]) } == {
      OwnQueue         = ["arn:aws:sqs:eu-west-1:123456789012:shop-reports"]
      DeadLetter       = ["arn:aws:sqs:eu-west-1:123456789012:shop-reports-dlq"]
      FollowUpJobs     = ["arn:aws:sns:eu-west-1:123456789012:shop-jobs", "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo"]
      ProtectWhileBusy = ["arn:aws:ecs:eu-west-1:123456789012:task/jobs/*"]
    }
    error_message = "The worker may use its own queue, the topics, and protect tasks of its cluster: ${aws_iam_role_policy.task.policy}"
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.execution.policy).Statement : s.Sid => s.Resource } == {
      OwnLogs       = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/mock:*"
      RegistryToken = "*"
      OwnImage      = "arn:aws:ecr:eu-west-1:123456789012:repository/shop/reports"
    }
    error_message = "Starting a task needs its logs and its image: ${aws_iam_role_policy.execution.policy}"
  }

  assert {
    condition     = alltrue([for action in flatten([for policy in [aws_iam_role_policy.task.policy, aws_iam_role_policy.execution.policy] : [for s in jsondecode(policy).Statement : s.Action]]) : !strcontains(action, "*")])
    error_message = "No wildcard action."
  }
}

run "scaling" {
  # Two jobs of 240 s in ten minutes; eight tasks start six each in the 27 minutes that are left.
  assert {
    condition     = output.scaling.backlog_per_task == 2 && output.scaling.largest_burst == 48
    error_message = "The numbers of modules/ecs-scaling: ${jsonencode(output.scaling)}"
  }

  # The provider keeps bounds as text.
  assert {
    condition = jsonencode({ for s in aws_appautoscaling_policy.this["work"].step_scaling_policy_configuration[0].step_adjustment : s.scaling_adjustment => [
      tonumber(s.metric_interval_lower_bound), s.metric_interval_upper_bound == "" || s.metric_interval_upper_bound == null ? null : tonumber(s.metric_interval_upper_bound)
    ] }) == jsonencode({ for s in output.scaling.steps : s.tasks => [s.lower, s.upper] })
    error_message = "The policy has the steps of modules/ecs-scaling: ${jsonencode(aws_appautoscaling_policy.this["work"].step_scaling_policy_configuration[0].step_adjustment)}"
  }

  assert {
    condition     = alltrue([for policy in values(aws_appautoscaling_policy.this) : policy.step_scaling_policy_configuration[0].adjustment_type == "ExactCapacity" && policy.step_scaling_policy_configuration[0].metric_aggregation_type == "Maximum"])
    error_message = "Exact capacities for the deepest minute."
  }

  assert {
    condition     = [for s in aws_appautoscaling_policy.this["idle"].step_scaling_policy_configuration[0].step_adjustment : s.scaling_adjustment] == [0] && aws_appautoscaling_target.this.min_capacity == 0 && aws_appautoscaling_target.this.max_capacity == 8 && aws_appautoscaling_target.this.resource_id == "service/jobs/shop-reports"
    error_message = "From nothing to the maximum, and back to nothing."
  }

  assert {
    condition     = { for key, alarm in aws_cloudwatch_metric_alarm.this : key => [alarm.comparison_operator, alarm.threshold, alarm.datapoints_to_alarm, alarm.evaluation_periods, alarm.treat_missing_data] } == { work = ["GreaterThanOrEqualToThreshold", 1, 1, 10, "notBreaching"], idle = ["LessThanThreshold", 1, 10, 10, "notBreaching"] }
    error_message = "Any of ten minutes with a message, or all of them without: ${jsonencode(aws_cloudwatch_metric_alarm.this)}"
  }

  assert {
    condition     = alltrue([for alarm in values(aws_cloudwatch_metric_alarm.this) : { for q in alarm.metric_query : q.id => q.return_data } == { visible = false, in_flight = false, backlog = true } && alltrue(flatten([for q in alarm.metric_query : [for m in q.metric : m.namespace == "AWS/SQS" && m.dimensions == tomap({ QueueName = "shop-reports" }) && m.stat == "Maximum" && m.period == 60]]))])
    error_message = "Visible and in flight together, of this queue, minute by minute."
  }

  assert {
    condition     = alltrue([for key, alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_actions == toset([aws_appautoscaling_policy.this[key].arn]) && startswith(alarm.alarm_description, "Not an incident")])
    error_message = "An alarm scales and calls nobody."
  }
}

run "everything" {
  variables {
    name                 = "shop-a-name-of-sixty-four-characters-which-is-the-most-that-fit"
    service_name         = "shop"
    metrics_namespace    = "Acme"
    lease_seconds        = 120
    stop_timeout_seconds = 45
    kms_key              = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    task = {
      image                = "example.org/reports@sha256:0000000000000000000000000000000000000000000000000000000000000000"
      command              = ["worker", "--slots", "4"]
      health_check_command = ["CMD", "python", "-m", "my_jobs", "worker", "--check"]
      cpu                  = 1024
      memory_mb            = 3072
      architecture         = "x86_64"
      user                 = "4711"
      readonly_root        = false
      spot                 = true
      environment          = { REPORT_STYLE = "short" }
      secrets = {
        DATABASE = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/database-AbCdEf:password::"
        SIGNING  = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/signing-AbCdEf"
        FLAGS    = "arn:aws:ssm:eu-west-1:123456789012:parameter/shop/flags"
      }
      log_retention_days = 7
      log_level          = "DEBUG"
      policy_arns        = { mail = "arn:aws:iam::123456789012:policy/mail" }
    }
    network = { subnet_ids = ["subnet-1", "subnet-2"], security_group_ids = ["sg-1"], assign_public_ip = true }
    scaling = { min_tasks = 2, max_tasks = 100, job_seconds = 30, slots = 4, idle_minutes = 15 }
    access = {
      job_state = {
        environment = { JOBS_TABLE = "shop-jobs" }
        statements = [{
          sid        = "JobRecords"
          actions    = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
          resources  = ["arn:aws:dynamodb:eu-west-1:123456789012:table/shop-jobs"]
          conditions = { StringEquals = { "aws:ResourceAccount" = "123456789012" } }
        }]
      }
    }
    tags = { team = "reports" }
  }

  assert {
    condition     = one(aws_ecs_service.this.capacity_provider_strategy).capacity_provider == "FARGATE_SPOT" && one(aws_ecs_service.this.network_configuration).assign_public_ip
    error_message = "Spot, and an address of its own."
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.execution.policy).Statement : s.Sid => flatten([s.Resource]) if s.Sid != "OwnLogs" } == {
      OwnParameters = ["arn:aws:ssm:eu-west-1:123456789012:parameter/shop/flags"]
      OwnSecrets    = ["arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/database-AbCdEf", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/signing-AbCdEf"]
    }
    error_message = "These secrets and no ECR: ${aws_iam_role_policy.execution.policy}"
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.task.policy).Statement : s.Sid] == ["OwnQueue", "DeadLetter", "FollowUpJobs", "ProtectWhileBusy", "QueueAndTopicKey", "JobRecords"] && jsondecode(aws_iam_role_policy.task.policy).Statement[5].Condition == { StringEquals = { "aws:ResourceAccount" = "123456789012" } }
    error_message = "The key and what other modules give: ${aws_iam_role_policy.task.policy}"
  }

  assert {
    condition     = aws_iam_role_policy_attachment.task["mail"].policy_arn == "arn:aws:iam::123456789012:policy/mail" && aws_iam_role_policy_attachment.task["mail"].role == aws_iam_role.task.name
    error_message = "The caller's policy is the worker's, not the starter's."
  }

  assert {
    condition     = tomap({ for pair in jsondecode(aws_ecs_task_definition.this.container_definitions)[0].secrets : pair.name => pair.valueFrom }) == var.task.secrets
    error_message = "Secrets stay ARNs: their values are in no plan and no state."
  }

  assert {
    condition     = length(setintersection([for pair in jsondecode(aws_ecs_task_definition.this.container_definitions)[0].environment : "${pair.name}=${pair.value}"], ["REPORT_STYLE=short", "JOBS_TABLE=shop-jobs", "JOBS_SLOTS=4", "JOBS_STOP_TIMEOUT_SECONDS=45", "POWERTOOLS_SERVICE_NAME=shop", "POWERTOOLS_METRICS_NAMESPACE=Acme", "POWERTOOLS_LOG_LEVEL=DEBUG"])) == 7
    error_message = "The environment as asked: ${jsonencode(jsondecode(aws_ecs_task_definition.this.container_definitions)[0].environment)}"
  }

  assert {
    condition     = jsondecode(aws_ecs_task_definition.this.container_definitions)[0].healthCheck.command[3] == "my_jobs" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].command[1] == "--slots" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].user == "4711" && jsondecode(aws_ecs_task_definition.this.container_definitions)[0].stopTimeout == 45
    error_message = "The container as asked."
  }

  assert {
    condition     = length(aws_ecs_task_definition.this.volume) == 0 && !jsondecode(aws_ecs_task_definition.this.container_definitions)[0].readonlyRootFilesystem && aws_ecs_task_definition.this.runtime_platform[0].cpu_architecture == "X86_64"
    error_message = "Without a mount /tmp is the image's own."
  }

  assert {
    condition     = [for s in aws_appautoscaling_policy.this["idle"].step_scaling_policy_configuration[0].step_adjustment : s.scaling_adjustment] == [2] && length(aws_appautoscaling_policy.this["work"].step_scaling_policy_configuration[0].step_adjustment) <= 20 && aws_cloudwatch_metric_alarm.this["idle"].datapoints_to_alarm == 15
    error_message = "Down to two tasks after 15 minutes; at most the 20 steps that AWS allows."
  }
}

run "paused" {
  variables {
    enabled = false
    scaling = { min_tasks = 2, max_tasks = 8, job_seconds = 240 }
  }

  assert {
    condition     = aws_appautoscaling_target.this.min_capacity == 0 && aws_appautoscaling_target.this.max_capacity == 0
    error_message = "No task, whatever the queue holds."
  }
}

run "other_partition" {
  variables {
    cluster_arn = "arn:aws-cn:ecs:cn-north-1:123456789012:cluster/jobs"
    task        = { image = "210987654321.dkr.ecr.cn-northwest-1.amazonaws.com.cn/jobs:7" }
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.execution.policy).Statement : s.Resource if s.Sid == "OwnImage"] == ["arn:aws-cn:ecr:cn-northwest-1:210987654321:repository/jobs"] && jsondecode(aws_iam_role.task.assume_role_policy).Statement[0].Condition.ArnLike["aws:SourceArn"] == "arn:aws-cn:ecs:cn-north-1:123456789012:*"
    error_message = "Every ARN carries the partition: ${aws_iam_role_policy.execution.policy}"
  }
}
