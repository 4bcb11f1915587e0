variable "name" {
  description = "Name of the service, its task family, the worker's role and its log group (`/ecs/<name>`)."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "Service name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 64 letters, digits, hyphens and underscores (the limit of an IAM role). Shorten it; modules/names does it safely."
  }
}

variable "execution_role_name" {
  description = "Name of the role that starts the tasks. modules/names makes one that fits."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.execution_role_name)) && var.execution_role_name != var.name
    error_message = "${var.name}: execution_role_name is \"${var.execution_role_name}\", it must have 1 to 64 letters, digits, hyphens and underscores (the limit of an IAM role) and differ from the worker's own role. modules/names makes such a name."
  }
}

variable "workload" {
  description = "Workload key: the worker learns it as JOBS_WORKLOAD."
  type        = string
  nullable    = false
}

variable "cluster_arn" {
  description = "ARN of the ECS cluster. It must have the capacity provider FARGATE, or FARGATE_SPOT with `spot`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[^:]+:ecs:[^:]+:[0-9]{12}:cluster/[A-Za-z0-9_-]+$", var.cluster_arn))
    error_message = "${var.name}: cluster_arn is \"${var.cluster_arn}\", it must be the ARN of an ECS cluster (arn:aws:ecs:region:account:cluster/name): the name alone does not say in which account the roles are to be trusted."
  }
}

variable "queue" {
  description = "The queue to consume: output `queue` of modules/queue, whose visibility timeout is `lease_seconds`."
  type = object({
    arn                        = string
    url                        = string
    name                       = string
    fifo                       = bool
    visibility_timeout_seconds = number
    max_receive_count          = number
  })
  nullable = false
}

variable "dlq" {
  description = "Its dead-letter queue: output `dlq` of modules/queue. The worker sends dead letters there with a reason."
  type = object({
    arn = string
    url = string
  })
  nullable = false
}

variable "topics" {
  description = "The two topics the worker may publish follow-up jobs to."
  type = object({
    standard_arn = string
    fifo_arn     = string
  })
  nullable = false
}

variable "task" {
  description = "The task: one container, `worker`. `image` runs `python -m <package>` (its ENTRYPOINT); `command` is what follows, by default [\"worker\"]. `secrets` are environment variables with the ARN of a Secrets Manager secret or an SSM parameter."
  type = object({
    image                = string
    command              = optional(list(string))
    health_check_command = optional(list(string))
    cpu                  = optional(number, 256)
    memory_mb            = optional(number, 512)
    architecture         = optional(string, "arm64")
    user                 = optional(string, "10001:10001")
    readonly_root        = optional(bool, true)
    spot                 = optional(bool, false)
    environment          = optional(map(string), {})
    secrets              = optional(map(string), {})
    log_retention_days   = optional(number, 30)
    log_level            = optional(string, "INFO")
    policy_arns          = optional(map(string), {})
  })
  nullable = false

  validation {
    condition     = length(var.task.image) > 0 && !can(regex("\\s", var.task.image))
    error_message = "${var.name}: image is \"${var.task.image}\", it must be the name of an image with its tag or digest (123456789012.dkr.ecr.eu-west-1.amazonaws.com/jobs:1.4.0)."
  }

  validation {
    condition     = try(var.task.command == null ? true : length(var.task.command) > 0, false)
    error_message = "${var.name}: command is empty; leave it out for [\"worker\"]."
  }

  # ECS itself refuses it, when a task is to start: then there is a service without tasks.
  validation {
    condition     = var.task.health_check_command == null ? true : length(var.task.health_check_command) > 1 && contains(["CMD", "CMD-SHELL"], element(concat(var.task.health_check_command, [""]), 0))
    error_message = "${var.name}: health_check_command is ${jsonencode(var.task.health_check_command)}, it must start with CMD or CMD-SHELL and have a command after it, such as [\"CMD\", \"python\", \"-m\", \"my_jobs\", \"worker\", \"--check\"]. Leave it out for this command with the package of the running worker."
  }

  validation {
    condition     = contains(lookup(local.fargate_memory, tostring(var.task.cpu), []), var.task.memory_mb)
    error_message = "${var.name}: Fargate has no task of cpu ${var.task.cpu} and memory_mb ${var.task.memory_mb}. ${contains(keys(local.fargate_memory), tostring(var.task.cpu)) ? "With cpu ${var.task.cpu} memory_mb may be ${join(", ", lookup(local.fargate_memory, tostring(var.task.cpu), []))}" : "cpu may be 256, 512, 1024, 2048, 4096, 8192 and 16384"}. Choose one of these."
  }

  validation {
    condition     = contains(["arm64", "x86_64"], var.task.architecture)
    error_message = "${var.name}: architecture is \"${var.task.architecture}\", it must be arm64 or x86_64, the one the image was built for."
  }

  validation {
    condition     = can(regex("^[1-9][0-9]*(:[1-9][0-9]*)?$", var.task.user))
    error_message = "${var.name}: user is \"${var.task.user}\", it must be a number that is not 0, with or without a group (10001:10001): the worker needs nothing of root's, and only a number shows that it is not root."
  }

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.task.log_retention_days)
    error_message = "${var.name}: log_retention_days is ${var.task.log_retention_days}, CloudWatch Logs offers 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 and 3653. \"For ever\" (0) is not offered here."
  }

  validation {
    condition     = contains(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], var.task.log_level)
    error_message = "${var.name}: log_level is \"${var.task.log_level}\", it must be DEBUG, INFO, WARNING, ERROR or CRITICAL."
  }

  validation {
    condition = alltrue([for key in concat(keys(var.task.environment), keys(var.task.secrets)) : can(regex("^[A-Za-z][A-Za-z0-9_]+$", key)) && !can(regex("^(JOBS_|ECS_|AWS_CONTAINER_)", key)) && !contains([
      "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_LOG_LEVEL",
      "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    ], key)])
    error_message = "${var.name}: environment and secrets have ${join(", ", concat(keys(var.task.environment), keys(var.task.secrets)))}. Names must match ^[A-Za-z][A-Za-z0-9_]+$ and must not be JOBS_*, one of the POWERTOOLS_ names this module sets (use log_level, service_name, metrics_namespace), or one that ECS sets or that would hide the task's role (ECS_*, AWS_CONTAINER_*, AWS_REGION, AWS_ACCESS_KEY_ID and its like). Rename the variable."
  }

  validation {
    condition     = length(setintersection(keys(var.task.environment), keys(var.task.secrets))) == 0
    error_message = "${var.name}: ${join(", ", setintersection(keys(var.task.environment), keys(var.task.secrets)))} is in environment and in secrets. ECS refuses a name that has two values: remove one."
  }

  validation {
    condition     = alltrue([for arn in values(var.task.secrets) : can(regex("^arn:[^:]+:(secretsmanager:[^:]+:[0-9]{12}:secret:[^*]+|ssm:[^:]+:[0-9]{12}:parameter/[^*]+)$", arn))])
    error_message = "${var.name}: secrets must hold ARNs of Secrets Manager secrets (arn:aws:secretsmanager:...:secret:name-AbCdEf) or SSM parameters (arn:aws:ssm:...:parameter/name), never the secret itself: look at ${join(", ", [for key, arn in var.task.secrets : key if !can(regex("^arn:[^:]+:(secretsmanager:[^:]+:[0-9]{12}:secret:[^*]+|ssm:[^:]+:[0-9]{12}:parameter/[^*]+)$", arn))])}."
  }

  validation {
    condition     = alltrue([for arn in values(var.task.policy_arns) : can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.", arn))])
    error_message = "${var.name}: policy_arns must hold ARNs of IAM policies (arn:aws:iam::123456789012:policy/name): ${join(", ", [for key, arn in var.task.policy_arns : "${key} is \"${arn}\"" if !can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.", arn))])}."
  }
}

variable "network" {
  description = "Where the tasks run. They need a way to SQS, SNS, ECR, CloudWatch Logs and, with them, DynamoDB and S3: a NAT gateway, VPC endpoints, or a public subnet with `assign_public_ip`."
  type = object({
    subnet_ids         = list(string)
    security_group_ids = list(string)
    assign_public_ip   = optional(bool, false)
  })
  nullable = false

  validation {
    condition     = length(var.network.subnet_ids) >= 1 && length(var.network.subnet_ids) <= 16 && length(var.network.security_group_ids) >= 1 && length(var.network.security_group_ids) <= 5
    error_message = "${var.name}: network has ${length(var.network.subnet_ids)} subnets and ${length(var.network.security_group_ids)} security groups; ECS allows 1 to 16 subnets and up to 5 groups, and without a group the tasks would be in the VPC's default one. Name at least one of each."
  }
}

variable "scaling" {
  description = "How many tasks: inputs of modules/ecs-scaling, which computes the steps from them."
  type = object({
    min_tasks           = optional(number, 0)
    max_tasks           = number
    job_seconds         = number
    max_latency_seconds = optional(number, 900)
    slots               = optional(number, 1)
    idle_minutes        = optional(number, 10)
  })
  nullable = false
}

variable "lease_seconds" {
  description = "How long a message stays with a worker that shows no progress. Each ctx.progress of its job renews it; the queue's visibility timeout must be the same."
  type        = number
  default     = 120
  nullable    = false

  validation {
    condition     = var.lease_seconds >= 30 && var.lease_seconds <= 43000 && floor(var.lease_seconds) == var.lease_seconds
    error_message = "${var.name}: lease_seconds is ${var.lease_seconds}, it must be a whole number from 30 (a renewal must arrive in time) to 43000 (SQS keeps a message invisible for 43200 seconds at most, and the worker needs some of them to let go of it)."
  }

  # The worker names its lease with every receive. Whoever receives otherwise (a console, a script) gets the queue's own.
  validation {
    condition     = var.lease_seconds == var.queue.visibility_timeout_seconds
    error_message = "${var.name}: lease_seconds is ${var.lease_seconds}, but the queue's visibility timeout is ${var.queue.visibility_timeout_seconds} s. They are one thing: give modules/queue visibility_timeout_seconds = ${var.lease_seconds} and no consumer_timeout_seconds."
  }
}

variable "stop_timeout_seconds" {
  description = "What a task has between SIGTERM and SIGKILL: to finish its jobs and, in the last 5 seconds, to give the others back."
  type        = number
  default     = 120
  nullable    = false

  validation {
    condition     = var.stop_timeout_seconds >= 30 && var.stop_timeout_seconds <= 120 && floor(var.stop_timeout_seconds) == var.stop_timeout_seconds
    error_message = "${var.name}: stop_timeout_seconds is ${var.stop_timeout_seconds}, it must be a whole number from 30 (a long poll takes 20 and giving back 5) to 120, the most Fargate allows. Jobs that take longer are given back and start again elsewhere: let them keep what they have done."
  }
}

variable "enabled" {
  description = "Whether tasks may run. False pauses the workload: idle tasks stop, busy ones when they are done, and messages wait in the queue."
  type        = bool
  default     = true
  nullable    = false
}

variable "service_name" {
  description = "Powertools service name, for logs and metrics. By default the service's name."
  type        = string
  default     = null
}

variable "metrics_namespace" {
  description = "CloudWatch namespace of the jobs' metrics."
  type        = string
  default     = "BackgroundJobs"
  nullable    = false

  validation {
    condition     = !startswith(var.metrics_namespace, "AWS/")
    error_message = "${var.name}: metrics_namespace is \"${var.metrics_namespace}\": namespaces that start with AWS/ belong to AWS's services, and CloudWatch takes no metric of others into them. Choose another name."
  }
}

variable "kms_key" {
  description = "Customer managed KMS key of the queues and topics, or null. The task's role may then use it."
  type = object({
    arn = string
  })
  default = null
}

variable "access" {
  description = "What other modules of this collection give the worker, keyed by a name of the caller's: the outputs `access` of modules/job-state and modules/delay, `consumer_access` of modules/claim-check. Environment variables and IAM statements."
  type = map(object({
    environment = map(string)
    statements = list(object({
      sid        = string
      actions    = list(string)
      resources  = list(string)
      conditions = optional(map(map(string)), {})
    }))
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue(flatten([for a in values(var.access) : [for s in a.statements : !contains(s.resources, "*") && alltrue([for action in s.actions : !strcontains(action, "*")])]]))
    error_message = "${var.name}: access may not hold the resource \"*\" nor a wildcard action: ${join(", ", [for key, a in var.access : key if anytrue([for s in a.statements : contains(s.resources, "*") || anytrue([for action in s.actions : strcontains(action, "*")])])])}. Name the resource; permissions of another kind belong into task.policy_arns."
  }
}

variable "tags" {
  description = "Tags of the service, its tasks, their definition, roles, log group and alarms."
  type        = map(string)
  default     = {}
  nullable    = false
}
