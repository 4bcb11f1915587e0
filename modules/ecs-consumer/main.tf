locals {
  # arn:partition:ecs:region:account:cluster/name
  cluster      = split(":", var.cluster_arn)
  cluster_name = split("/", var.cluster_arn)[1]

  # What Fargate offers, in MB by CPU units.
  fargate_memory = {
    "256"   = [512, 1024, 2048]
    "512"   = range(1024, 4097, 1024)
    "1024"  = range(2048, 8193, 1024)
    "2048"  = range(4096, 16385, 1024)
    "4096"  = range(8192, 30721, 1024)
    "8192"  = range(16384, 61441, 4096)
    "16384" = range(32768, 122881, 8192)
  }

  environment = merge(var.task.environment, merge(values(var.access)[*].environment...), {
    JOBS_WORKLOAD                = var.workload
    JOBS_QUEUE_URL               = var.queue.url
    JOBS_DLQ_URL                 = var.dlq.url
    JOBS_MAX_RECEIVE_COUNT       = tostring(var.queue.max_receive_count)
    JOBS_TOPIC_ARN               = var.topics.standard_arn
    JOBS_FIFO_TOPIC_ARN          = var.topics.fifo_arn
    JOBS_MAX_MESSAGE_BYTES       = "262144"
    JOBS_SLOTS                   = tostring(var.scaling.slots)
    JOBS_LEASE_SECONDS           = tostring(var.lease_seconds)
    JOBS_STOP_TIMEOUT_SECONDS    = tostring(var.stop_timeout_seconds)
    POWERTOOLS_SERVICE_NAME      = coalesce(var.service_name, var.name)
    POWERTOOLS_METRICS_NAMESPACE = var.metrics_namespace
    POWERTOOLS_LOG_LEVEL         = var.task.log_level
  })

  # `python -m <package> worker --check`, with the package of the running worker: only the image knows it. It stands in the command line of
  # process 1, which is the worker's, or that of the init process with the worker's behind it.
  check_running_package = join("\n", [
    "import runpy, sys",
    "command = open('/proc/1/cmdline').read().split(chr(0))",
    "package = command[command.index('-m') + 1]",
    "sys.argv = [package, 'worker', '--check']",
    "runpy.run_module(package, run_name='__main__', alter_sys=True)",
  ])
  health_check_command = coalescelist(coalesce(var.task.health_check_command, []), ["CMD", "python", "-c", local.check_running_package])
}

# Before the service: a group that is not there when a task starts keeps it from starting.
resource "aws_cloudwatch_log_group" "this" {
  name              = "/ecs/${var.name}"
  retention_in_days = var.task.log_retention_days
  tags              = var.tags
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.task.cpu
  memory                   = var.task.memory_mb
  task_role_arn            = aws_iam_role.task.arn
  execution_role_arn       = aws_iam_role.execution.arn

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = upper(var.task.architecture)
  }

  # The one place a worker may write to. Fargate has no tmpfs, and what it mounts belongs to root, unless the image declares
  # VOLUME ["/tmp"]: then it has the rights of the image's own /tmp.
  dynamic "volume" {
    for_each = var.task.readonly_root ? ["tmp"] : []
    content {
      name = volume.value
    }
  }

  container_definitions = jsonencode([{
    name                   = "worker"
    image                  = var.task.image
    essential              = true
    command                = coalesce(var.task.command, ["worker"])
    environment            = [for name, value in local.environment : { name = name, value = value }]
    secrets                = [for name, arn in var.task.secrets : { name = name, valueFrom = arn }]
    user                   = var.task.user
    readonlyRootFilesystem = var.task.readonly_root
    mountPoints            = var.task.readonly_root ? [{ sourceVolume = "tmp", containerPath = "/tmp", readOnly = false }] : []
    stopTimeout            = var.stop_timeout_seconds
    linuxParameters        = { initProcessEnabled = true } # reaps what a job leaves behind, and passes SIGTERM on
    healthCheck = {
      command     = local.health_check_command
      interval    = 30
      timeout     = 10
      retries     = 3
      startPeriod = 60
    }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.this.name
        awslogs-region        = local.cluster[3]
        awslogs-stream-prefix = "worker"
        mode                  = "non-blocking" # a job must not stand still because CloudWatch does
        max-buffer-size       = "25m"
      }
    }
    portMappings   = []
    systemControls = []
    volumesFrom    = []
  }])

  tags = var.tags
}

resource "aws_ecs_service" "this" {
  name                          = var.name
  cluster                       = var.cluster_arn
  task_definition               = aws_ecs_task_definition.this.arn
  desired_count                 = var.enabled ? var.scaling.min_tasks : 0
  platform_version              = "1.4.0"
  availability_zone_rebalancing = "DISABLED" # it stops tasks for balance alone
  enable_ecs_managed_tags       = true
  propagate_tags                = "SERVICE"

  # A strategy for on-demand too: between launch type and strategy a service would have to be replaced, and with this flag one
  # strategy takes the other's place.
  force_new_deployment = true
  capacity_provider_strategy {
    capacity_provider = var.task.spot ? "FARGATE_SPOT" : "FARGATE"
    weight            = 1
  }

  # Old tasks go before new ones come: the ceiling holds during a deployment too, and the queue keeps what arrives meanwhile.
  deployment_minimum_healthy_percent = 0
  deployment_maximum_percent         = 100
  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.network.subnet_ids
    security_groups  = var.network.security_group_ids
    assign_public_ip = var.network.assign_public_ip
  }

  tags = var.tags

  # A task must find its permissions.
  depends_on = [aws_iam_role_policy.task, aws_iam_role_policy.execution]

  lifecycle {
    ignore_changes = [desired_count] # the autoscaler's
  }
}

# A tag that moves: the plan sees no change when the image has changed.
check "image_names_a_version" {
  assert {
    condition     = strcontains(var.task.image, "@sha256:") || can(regex(":[^:/]+$", var.task.image)) && !endswith(var.task.image, ":latest")
    error_message = "${var.name}: image ${var.task.image} names no version. Terraform sees no difference when another image gets this name, and deploys nothing. Name a tag that never moves, or a digest."
  }
}
