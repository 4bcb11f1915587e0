variable "name" {
  description = "Name of the function, its role and its log group (`/aws/lambda/<name>`). The dead-letter queues are called `<name>-dlq` and `<name>-sub-dlq`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "Function name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 64 letters, digits, hyphens and underscores (the limit of a Lambda function and of an IAM role). Shorten it; modules/names does it safely."
  }
}

variable "workload" {
  description = "Workload key: value of the message attribute `workload` that the function is subscribed to, and JOBS_WORKLOAD."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.workload) >= 1
    error_message = "${var.name}: workload is empty, so nothing would ever be delivered. Give the key of the workload."
  }
}

variable "topics" {
  description = "The two topics the function may publish follow-up jobs to. It is subscribed to the standard one."
  type = object({
    standard_arn = string
    fifo_arn     = string
  })
  nullable = false

  # Lambda cannot subscribe to a FIFO topic.
  validation {
    condition     = !endswith(var.topics.standard_arn, ".fifo")
    error_message = "${var.name}: topics.standard_arn is ${var.topics.standard_arn}, a FIFO topic delivers to queues only. Give the standard topic; what needs an order needs a FIFO workload with a queue."
  }
}

variable "function" {
  description = "The function. `artifact` is already built: a zip file (`filename`), an object (`s3_bucket`, `s3_key`, `s3_object_version`) or an image (`image_uri`, then without `handler`)."
  type = object({
    artifact = object({
      filename          = optional(string)
      s3_bucket         = optional(string)
      s3_key            = optional(string)
      s3_object_version = optional(string)
      image_uri         = optional(string)
    })
    handler            = optional(string)
    runtime            = optional(string, "python3.13")
    architecture       = optional(string, "arm64")
    timeout_seconds    = optional(number, 60)
    memory_mb          = optional(number, 512)
    environment        = optional(map(string), {})
    log_retention_days = optional(number, 30)
    log_level          = optional(string, "INFO")
    tracing            = optional(bool, false)
    vpc = optional(object({
      subnet_ids         = list(string)
      security_group_ids = list(string)
    }))
    policy_arns    = optional(map(string), {})
    recursive_loop = optional(string, "Terminate")
  })
  nullable = false

  validation {
    condition     = length([for kind in [var.function.artifact.filename, var.function.artifact.s3_bucket, var.function.artifact.image_uri] : kind if kind != null]) == 1
    error_message = "${var.name}: artifact needs exactly one of filename, s3_bucket (with s3_key) and image_uri."
  }

  validation {
    condition     = (var.function.artifact.s3_bucket == null) == (var.function.artifact.s3_key == null)
    error_message = "${var.name}: artifact.s3_bucket and artifact.s3_key belong together, set both or neither."
  }

  # The handler, not the image's URI, tells the two kinds apart: the URI may be unknown until apply, and the kind must not be.
  validation {
    condition     = (var.function.handler == null) == (var.function.artifact.image_uri != null)
    error_message = "${var.name}: a zip needs a handler such as \"my_jobs.lambda_function.handler\", an image has none. Set handler, or artifact.image_uri."
  }

  validation {
    condition     = var.function.artifact.filename == null ? true : try(fileexists(var.function.artifact.filename), false)
    error_message = "${var.name}: artifact ${coalesce(var.function.artifact.filename, "-")} ${can(fileexists(var.function.artifact.filename)) ? "does not exist" : "is a folder, not a zip file"}. Build it first (`make package` in the consumer's project) and give its path."
  }

  validation {
    condition     = var.function.handler == null ? true : strcontains(var.function.handler, ".")
    error_message = "${var.name}: handler is \"${coalesce(var.function.handler, "-")}\", Lambda needs module and function with a dot between them, such as \"my_jobs.lambda_function.handler\"."
  }

  validation {
    condition     = !can(regex("^python(2\\.[0-9]+|3\\.([0-9]|10))$", var.function.runtime))
    error_message = "${var.name}: runtime is \"${var.function.runtime}\", the jobs' runtime needs python3.11 or newer. Package for a newer one, and name it here."
  }

  validation {
    condition     = contains(["arm64", "x86_64"], var.function.architecture)
    error_message = "${var.name}: architecture is \"${var.function.architecture}\", it must be arm64 or x86_64, the one the artifact was built for."
  }

  validation {
    condition     = var.function.timeout_seconds >= 1 && var.function.timeout_seconds <= 900 && floor(var.function.timeout_seconds) == var.function.timeout_seconds
    error_message = "${var.name}: timeout_seconds is ${var.function.timeout_seconds}, Lambda allows whole numbers from 1 to 900. Split longer work into several jobs, or run it on ECS."
  }

  validation {
    condition     = var.function.memory_mb >= 128 && var.function.memory_mb <= 10240
    error_message = "${var.name}: memory_mb is ${var.function.memory_mb}, Lambda allows 128 to 10240."
  }

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.function.log_retention_days)
    error_message = "${var.name}: log_retention_days is ${var.function.log_retention_days}, CloudWatch Logs offers 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 and 3653. \"For ever\" (0) is not offered here."
  }

  validation {
    condition     = contains(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], var.function.log_level)
    error_message = "${var.name}: log_level is \"${var.function.log_level}\", it must be DEBUG, INFO, WARNING, ERROR or CRITICAL."
  }

  validation {
    condition = alltrue([for key in keys(var.function.environment) : can(regex("^[A-Za-z][A-Za-z0-9_]+$", key)) && !startswith(key, "JOBS_") && !contains([
      "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_LOG_LEVEL",
      "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
      "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
      "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
      "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT",
    ], key)])
    error_message = "${var.name}: environment has ${join(", ", keys(var.function.environment))}. Names must match ^[A-Za-z][A-Za-z0-9_]+$ and must not be JOBS_*, one of the POWERTOOLS_ names this module sets (use log_level, service_name, metrics_namespace), or one that Lambda reserves (AWS_REGION and its like). Rename the variable."
  }

  validation {
    condition     = var.function.vpc == null ? true : length(var.function.vpc.subnet_ids) > 0 && length(var.function.vpc.security_group_ids) > 0
    error_message = "${var.name}: vpc needs at least one subnet and one security group, or leave vpc out."
  }

  validation {
    condition     = alltrue([for arn in values(var.function.policy_arns) : can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.", arn))])
    error_message = "${var.name}: policy_arns must hold ARNs of IAM policies (arn:aws:iam::123456789012:policy/name): ${join(", ", [for key, arn in var.function.policy_arns : "${key} is \"${arn}\"" if !can(regex("^arn:[^:]+:iam::([0-9]{12}|aws):policy/.", arn))])}."
  }

  validation {
    condition     = contains(["Allow", "Terminate"], var.function.recursive_loop)
    error_message = "${var.name}: recursive_loop is \"${var.function.recursive_loop}\", it must be Terminate (Lambda stops a chain of about 16 hops) or Allow (for jobs that enqueue their own next step)."
  }
}

variable "reserved_concurrency" {
  description = "Reserved concurrency of the function: the ceiling of the workload. It takes this much from the account's pool. What finds no free run waits in Lambda for up to `max_event_age_seconds`."
  type        = number
  nullable    = false

  # With 0 Lambda sends every event to the failure destination without a run.
  validation {
    condition     = var.reserved_concurrency >= 1 && floor(var.reserved_concurrency) == var.reserved_concurrency
    error_message = "${var.name}: reserved_concurrency is ${var.reserved_concurrency}, a direct workload needs a whole number from 1: it is its only ceiling, and with 0 Lambda sends every job to the dead-letter queue. To pause a workload it needs a queue: use `lambda` instead of `direct`."
  }
}

variable "max_event_age_seconds" {
  description = "How long an event may wait in Lambda for a free run before it goes to the dead-letter queue. The default is the longest Lambda offers."
  type        = number
  default     = 21600
  nullable    = false

  validation {
    condition     = var.max_event_age_seconds >= 60 && var.max_event_age_seconds <= 21600 && floor(var.max_event_age_seconds) == var.max_event_age_seconds
    error_message = "${var.name}: max_event_age_seconds is ${var.max_event_age_seconds}, Lambda allows whole numbers from 60 to 21600 (6 hours). A backlog that needs longer belongs into a queue: use `lambda` instead of `direct`."
  }
}

variable "delay_machine" {
  description = "What the workload's delay machine gives the function: output `access` of modules/delay, whose `topic` is the standard topic. Retries and deferrals wait there."
  type = object({
    environment = map(string)
    statements = list(object({
      sid        = string
      actions    = list(string)
      resources  = list(string)
      conditions = optional(map(map(string)), {})
    }))
  })
  nullable = false

  validation {
    condition     = contains(keys(var.delay_machine.environment), "JOBS_DELAY_MACHINE_ARN")
    error_message = "${var.name}: delay_machine has no JOBS_DELAY_MACHINE_ARN in its environment (it has ${join(", ", keys(var.delay_machine.environment))}). Give it the output `access` of modules/delay."
  }
}

variable "service_name" {
  description = "Powertools service name, for logs and metrics. By default the function's name."
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
  description = "Customer managed KMS key of the dead-letter queues and topics, or null. The role may then use it. Its key policy needs the statements of the output `kms_key_policy_statements`."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. With an AWS managed key (alias/aws/sqs) SNS cannot deliver and the messages vanish."
  }
}

variable "access" {
  description = "What other modules of this collection give the function, keyed by a name of the caller's: the outputs `access` of modules/job-state, `consumer_access` of modules/claim-check. Environment variables and IAM statements."
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
    error_message = "${var.name}: access may not hold the resource \"*\" nor a wildcard action: ${join(", ", [for key, a in var.access : key if anytrue([for s in a.statements : contains(s.resources, "*") || anytrue([for action in s.actions : strcontains(action, "*")])])])}. Name the resource; permissions of another kind belong into function.policy_arns."
  }
}

variable "tags" {
  description = "Tags of the function, role, log group and dead-letter queues."
  type        = map(string)
  default     = {}
  nullable    = false
}
