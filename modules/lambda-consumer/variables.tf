variable "name" {
  description = "Name of the function, its role and its log group (`/aws/lambda/<name>`)."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "Function name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 64 letters, digits, hyphens and underscores (the limit of a Lambda function and of an IAM role). Shorten it; modules/names does it safely."
  }
}

variable "workload" {
  description = "Workload key: the function learns it as JOBS_WORKLOAD."
  type        = string
  nullable    = false
}

variable "queue" {
  description = "The queue to consume: output `queue` of modules/queue."
  type = object({
    arn                        = string
    url                        = string
    fifo                       = bool
    visibility_timeout_seconds = number
    max_receive_count          = number
  })
  nullable = false
}

variable "dlq" {
  description = "Its dead-letter queue: output `dlq` of modules/queue. The function sends dead letters there with a reason."
  type = object({
    arn = string
    url = string
  })
  nullable = false
}

variable "topics" {
  description = "The two topics the function may publish follow-up jobs to."
  type = object({
    standard_arn = string
    fifo_arn     = string
  })
  nullable = false
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

  # Lambda checks the bare timeout, and only when the mapping is created or updated; the guidance is six times.
  validation {
    condition     = var.queue.visibility_timeout_seconds >= 6 * var.function.timeout_seconds + var.batch.window_seconds
    error_message = "${var.name}: the queue's visibility timeout is ${var.queue.visibility_timeout_seconds} s, this function needs at least ${6 * var.function.timeout_seconds + var.batch.window_seconds} (6 x timeout ${var.function.timeout_seconds} + window ${var.batch.window_seconds}). Give the queue module the same timeout and window."
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

variable "ceiling" {
  description = "Most concurrent runs: `max_concurrency` (default 10) or provisioned `pollers` (each up to 10 concurrent runs), never both."
  type = object({
    max_concurrency = optional(number)
    pollers = optional(object({
      min = number
      max = number
    }))
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.ceiling.max_concurrency == null || var.ceiling.pollers == null
    error_message = "${var.name}: ceiling has both max_concurrency and pollers, Lambda allows one of them. Remove one."
  }

  # No upper bound: the quota can be raised.
  validation {
    condition     = var.ceiling.max_concurrency == null ? true : var.ceiling.max_concurrency >= 2 && floor(var.ceiling.max_concurrency) == var.ceiling.max_concurrency
    error_message = "${var.name}: ceiling.max_concurrency is ${coalesce(var.ceiling.max_concurrency, 0)}, Lambda allows whole numbers from 2. For one at a time use fifo = true and one message group; reserved concurrency 1 is no substitute, its throttled pollers use up receives."
  }

  validation {
    condition     = var.ceiling.pollers == null ? true : var.ceiling.pollers.min >= 2 && var.ceiling.pollers.max >= var.ceiling.pollers.min
    error_message = "${var.name}: ceiling.pollers is ${try(var.ceiling.pollers.min, 0)} to ${try(var.ceiling.pollers.max, 0)}; SQS needs min of at least 2 and max of at least min."
  }
}

variable "reserved_concurrency" {
  description = "Reserved concurrency of the function, or null. It takes this much from the account's pool, and must not be below the ceiling."
  type        = number
  default     = null

  # Pollers do not look at the reservation: what they get throttled away comes back with one more receive on it.
  validation {
    condition     = var.reserved_concurrency == null ? true : var.reserved_concurrency >= (var.ceiling.pollers == null ? coalesce(var.ceiling.max_concurrency, 10) : try(var.ceiling.pollers.max, 0) * 10)
    error_message = "${var.name}: reserved_concurrency ${coalesce(var.reserved_concurrency, 0)} is below the ceiling ${var.ceiling.pollers == null ? coalesce(var.ceiling.max_concurrency, 10) : try(var.ceiling.pollers.max, 0) * 10} (max_concurrency, by default 10, or pollers.max x 10): throttled messages would use up their receives. Lower the ceiling or raise the reservation."
  }
}

variable "batch" {
  description = "Batch size and batching window of the event source mapping."
  type = object({
    size           = optional(number, 10)
    window_seconds = optional(number, 0)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.batch.size >= 1 && var.batch.size <= (var.queue.fifo ? 10 : 10000) && floor(var.batch.size) == var.batch.size
    error_message = "${var.name}: batch size is ${var.batch.size}, Lambda allows whole numbers from 1 to 10 on a FIFO queue and to 10000 on a standard one (this one is ${var.queue.fifo ? "FIFO" : "standard"})."
  }

  validation {
    condition     = var.batch.window_seconds >= 0 && var.batch.window_seconds <= (var.queue.fifo ? 0 : 300)
    error_message = "${var.name}: batch window is ${var.batch.window_seconds} s, Lambda allows 0 to 300 on a standard queue and none on a FIFO queue (this one is ${var.queue.fifo ? "FIFO" : "standard"})."
  }

  validation {
    condition     = var.batch.size <= 10 || var.batch.window_seconds >= 1
    error_message = "${var.name}: batch size ${var.batch.size} is above 10 and needs a batch window of at least 1 s, it is ${var.batch.window_seconds}. Set a window or lower the size."
  }
}

variable "enabled" {
  description = "Whether the mapping polls. False pauses the workload: messages wait in the queue."
  type        = bool
  default     = true
  nullable    = false
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
  description = "Customer managed KMS key of the queues and topics, or null. The role may then use it."
  type = object({
    arn = string
  })
  default = null
}

variable "access" {
  description = "What other modules of this collection give the function, keyed by a name of the caller's: the outputs `access` of modules/job-state and modules/delay, `consumer_access` of modules/claim-check. Environment variables and IAM statements."
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

variable "pause" {
  description = "Whether the function may pause its own workload (switch its event source mapping off, and have a one-time schedule switch it on again), and the name of the role for the schedule. Null: it may not."
  type = object({
    resume_role_name = string
  })
  default = null

  validation {
    condition     = var.pause == null ? true : can(regex("^[A-Za-z0-9_-]{1,64}$", var.pause.resume_role_name)) && var.pause.resume_role_name != var.name
    error_message = "${var.name}: pause.resume_role_name is \"${try(var.pause.resume_role_name, "")}\", it must have 1 to 64 letters, digits, hyphens and underscores (the limit of an IAM role) and differ from the function's own role. modules/names makes such a name."
  }
}

variable "tags" {
  description = "Tags of the function, role, log group and mapping."
  type        = map(string)
  default     = {}
  nullable    = false
}
