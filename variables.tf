variable "name" {
  description = "Name of the stack, first part of every resource's name. Choose it so that no other stack of the account has a name that continues it with a hyphen (`shop` and `shop-eu`)."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", var.name))
    error_message = "name is \"${var.name}\": use 1 to 50 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen."
  }
}

variable "workloads" {
  description = "The workloads: one queue, one consumer, one ceiling each; `lambda`, `ecs` or `direct` is the consumer. The key is the identity, the name suffix and the value of the message attribute `workload`."
  type = map(object({
    name    = optional(string)
    fifo    = optional(bool, false)
    enabled = optional(bool, true)
    lambda = optional(object({
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
    }))
    ecs = optional(object({
      cluster_arn          = string
      image                = string
      command              = optional(list(string))
      health_check_command = optional(list(string))
      cpu                  = optional(number, 256)
      memory_mb            = optional(number, 512)
      architecture         = optional(string, "arm64")
      subnet_ids           = list(string)
      security_group_ids   = list(string)
      assign_public_ip     = optional(bool, false)
      user                 = optional(string, "10001:10001")
      readonly_root        = optional(bool, true)
      spot                 = optional(bool, false)
      slots                = optional(number, 1)
      min_tasks            = optional(number, 0)
      max_tasks            = number
      job_seconds          = number
      max_latency_seconds  = optional(number, 900)
      idle_minutes         = optional(number, 10)
      lease_seconds        = optional(number, 120)
      stop_timeout_seconds = optional(number, 120)
      environment          = optional(map(string), {})
      secrets              = optional(map(string), {})
      log_retention_days   = optional(number, 30)
      log_level            = optional(string, "INFO")
      policy_arns          = optional(map(string), {})
    }))
    direct = optional(object({
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
      policy_arns           = optional(map(string), {})
      recursive_loop        = optional(string, "Terminate")
      max_event_age_seconds = optional(number, 21600)
    }))
    ceiling = optional(object({
      max_concurrency = optional(number)
      pollers = optional(object({
        min = number
        max = number
      }))
    }), {})
    reserved_concurrency = optional(number)
    delay                = optional(bool, false)
    pause_on_open        = optional(bool, false)
    queue = optional(object({
      max_receive_count          = optional(number, 10)
      retention_seconds          = optional(number, 345600)
      visibility_timeout_seconds = optional(number)
      batch_size                 = optional(number, 10)
      batch_window_seconds       = optional(number, 0)
    }), {})
    alarms = optional(object({
      enabled                = optional(bool, true)
      max_age_seconds        = optional(number)
      max_depth              = optional(number)
      max_end_to_end_seconds = optional(number)
      error_rate_percent     = optional(number, 5)
      max_discarded          = optional(number, 0)
    }), {})
  }))
  nullable = false

  validation {
    condition     = alltrue([for key in keys(var.workloads) : can(regex("^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$", key)) && !endswith(key, "-dlq")])
    error_message = join("\n", [for key in keys(var.workloads) : "Workload \"${key}\": a key has 1 to 64 lower-case letters, digits and hyphens, starts with a letter, does not end with a hyphen, nor with -dlq (that is its neighbour's dead-letter queue). Rename it." if !can(regex("^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$", key)) || endswith(key, "-dlq")])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.name == null ? true : can(regex("^[A-Za-z0-9_-]{1,64}$", w.name)) && !endswith(w.name, "-dlq")])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": name is \"${coalesce(w.name, "-")}\", it must have 1 to 64 letters, digits, hyphens and underscores (the limit of a Lambda function and of an IAM role) and not end in -dlq. Leave it out to have one computed." if w.name == null ? false : !can(regex("^[A-Za-z0-9_-]{1,64}$", w.name)) || endswith(w.name, "-dlq")])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : length([for kind in [w.lambda != null, w.ecs != null, w.direct != null] : kind if kind]) == 1])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": it has ${length([for kind in [w.lambda != null, w.ecs != null, w.direct != null] : kind if kind])} consumers, it needs exactly one of lambda (a function behind the queue), ecs (tasks behind the queue, for jobs of minutes and hours) and direct (a function without a queue)." if length([for kind in [w.lambda != null, w.ecs != null, w.direct != null] : kind if kind]) != 1])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : length([for kind in [w.lambda.artifact.filename, w.lambda.artifact.s3_bucket, w.lambda.artifact.image_uri] : kind if kind != null]) == 1 if w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": lambda.artifact needs exactly one of filename, s3_bucket (with s3_key) and image_uri." if w.lambda == null ? false : length([for kind in [w.lambda.artifact.filename, w.lambda.artifact.s3_bucket, w.lambda.artifact.image_uri] : kind if kind != null]) != 1])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.lambda.artifact.filename == null ? true : try(fileexists(w.lambda.artifact.filename), false) if w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": artifact ${coalesce(w.lambda.artifact.filename, "-")} ${can(fileexists(w.lambda.artifact.filename)) ? "does not exist" : "is a folder, not a zip file"}. Build it first (`make package` in the consumer's project) and give its path." if w.lambda == null ? false : w.lambda.artifact.filename == null ? false : !try(fileexists(w.lambda.artifact.filename), false)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.lambda.timeout_seconds >= 1 && w.lambda.timeout_seconds <= 900 if w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": lambda.timeout_seconds is ${w.lambda.timeout_seconds}, Lambda allows 1 to 900. Split longer work into several jobs, or run it on ECS." if w.lambda == null ? false : !(w.lambda.timeout_seconds >= 1 && w.lambda.timeout_seconds <= 900)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.visibility_timeout_seconds == null ? true : w.queue.visibility_timeout_seconds >= 6 * w.lambda.timeout_seconds + w.queue.batch_window_seconds && w.queue.visibility_timeout_seconds <= 43200 if w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.visibility_timeout_seconds is ${coalesce(w.queue.visibility_timeout_seconds, 0)}, it must be from ${6 * w.lambda.timeout_seconds + w.queue.batch_window_seconds} (6 x lambda.timeout_seconds ${w.lambda.timeout_seconds} + window ${w.queue.batch_window_seconds}) to 43200. Below that a slow job is delivered a second time while it still runs. Leave it out to have it computed." if w.lambda == null ? false : w.queue.visibility_timeout_seconds == null ? false : !(w.queue.visibility_timeout_seconds >= 6 * w.lambda.timeout_seconds + w.queue.batch_window_seconds && w.queue.visibility_timeout_seconds <= 43200)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.max_receive_count >= 3 && w.queue.max_receive_count <= 1000])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.max_receive_count is ${w.queue.max_receive_count}, it must be from 3 to 1000. Throttling uses up receives, so 1 and 2 dead-letter messages that never ran; for \"run at most once\" use a job policy with max_attempts = 1." if !(w.queue.max_receive_count >= 3 && w.queue.max_receive_count <= 1000)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.retention_seconds >= 60 && w.queue.retention_seconds < 1209600])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.retention_seconds is ${w.queue.retention_seconds}, it must be at least 60 and below 1209600, the 14 days of the dead-letter queue: the age of a message goes on counting there, so with equal retention a dead letter may vanish on arrival. Lower it." if !(w.queue.retention_seconds >= 60 && w.queue.retention_seconds < 1209600)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.batch_size >= 1 && w.queue.batch_size <= (w.fifo ? 10 : 10000)])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.batch_size is ${w.queue.batch_size}, Lambda allows 1 to ${w.fifo ? "10 on a FIFO queue" : "10000 on a standard queue"}." if !(w.queue.batch_size >= 1 && w.queue.batch_size <= (w.fifo ? 10 : 10000))])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.batch_window_seconds >= 0 && w.queue.batch_window_seconds <= (w.fifo ? 0 : 300)])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.batch_window_seconds is ${w.queue.batch_window_seconds}, Lambda allows ${w.fifo ? "none on a FIFO queue: set it to 0" : "0 to 300"}." if !(w.queue.batch_window_seconds >= 0 && w.queue.batch_window_seconds <= (w.fifo ? 0 : 300))])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.queue.batch_size <= 10 || w.queue.batch_window_seconds >= 1])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": queue.batch_size ${w.queue.batch_size} is above 10 and needs queue.batch_window_seconds of at least 1, it is ${w.queue.batch_window_seconds}. Set a window or lower the size." if !(w.queue.batch_size <= 10 || w.queue.batch_window_seconds >= 1)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ceiling.max_concurrency == null || w.ceiling.pollers == null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ceiling has both max_concurrency and pollers, Lambda allows one of them. Remove one." if !(w.ceiling.max_concurrency == null || w.ceiling.pollers == null)])
  }

  # No upper bound: the quota can be raised.
  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ceiling.max_concurrency == null ? true : w.ceiling.max_concurrency >= 2])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ceiling.max_concurrency is ${coalesce(w.ceiling.max_concurrency, 0)}, Lambda allows 2 and more. For one at a time use fifo = true and one message group; reserved concurrency 1 is no substitute, its throttled pollers use up receives." if w.ceiling.max_concurrency == null ? false : w.ceiling.max_concurrency < 2])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ceiling.pollers == null ? true : w.ceiling.pollers.min >= 2 && w.ceiling.pollers.max >= w.ceiling.pollers.min])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ceiling.pollers is ${try(w.ceiling.pollers.min, 0)} to ${try(w.ceiling.pollers.max, 0)}; SQS needs min of at least 2 and max of at least min." if w.ceiling.pollers == null ? false : !(w.ceiling.pollers.min >= 2 && w.ceiling.pollers.max >= w.ceiling.pollers.min)])
  }

  # Pollers do not look at the reservation: what they get throttled away comes back with one more receive on it.
  validation {
    condition     = alltrue([for w in values(var.workloads) : w.reserved_concurrency == null ? true : w.reserved_concurrency >= try(w.ceiling.pollers.max * 10, coalesce(w.ceiling.max_concurrency, 10)) if w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": reserved_concurrency ${coalesce(w.reserved_concurrency, 0)} is below the ceiling ${try(w.ceiling.pollers.max * 10, coalesce(w.ceiling.max_concurrency, 10))} (max_concurrency, by default 10, or pollers.max x 10): throttled messages would use up their receives. Lower the ceiling or raise the reservation." if w.lambda == null || w.reserved_concurrency == null ? false : w.reserved_concurrency < try(w.ceiling.pollers.max * 10, coalesce(w.ceiling.max_concurrency, 10))])
  }

  # What only a queue or a poller has.
  validation {
    condition     = alltrue([for w in values(var.workloads) : !w.fifo && w.enabled && w.ceiling.max_concurrency == null && w.ceiling.pollers == null if w.direct != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": direct has no queue, so it can have neither fifo = true, nor enabled = false, nor a ceiling: reserved_concurrency is its ceiling, and what must wait or keep its order needs lambda or ecs." if w.direct == null ? false : w.fifo || !w.enabled || w.ceiling.max_concurrency != null || w.ceiling.pollers != null])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.reserved_concurrency == null ? false : w.reserved_concurrency >= 1 if w.direct != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": direct needs reserved_concurrency of at least 1, it is ${w.reserved_concurrency == null ? "not set" : w.reserved_concurrency}. Nothing else keeps a burst of jobs from taking all functions of the account." if w.direct == null ? false : w.reserved_concurrency == null ? true : w.reserved_concurrency < 1])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ceiling.max_concurrency == null && w.ceiling.pollers == null && w.reserved_concurrency == null && w.queue.visibility_timeout_seconds == null if w.ecs != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ceiling, reserved_concurrency and queue.visibility_timeout_seconds belong to functions. The ceiling of ecs is max_tasks x slots, and its visibility is ecs.lease_seconds. Remove them." if w.ecs == null ? false : w.ceiling.max_concurrency != null || w.ceiling.pollers != null || w.reserved_concurrency != null || w.queue.visibility_timeout_seconds != null])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ecs.max_tasks >= 1 && w.ecs.max_tasks <= 5000 && w.ecs.min_tasks >= 0 && w.ecs.min_tasks <= w.ecs.max_tasks && w.ecs.slots >= 1 && w.ecs.slots <= 100 if w.ecs != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ecs has min_tasks ${w.ecs.min_tasks}, max_tasks ${w.ecs.max_tasks} and slots ${w.ecs.slots}. max_tasks must be from 1 to 5000, min_tasks from 0 to max_tasks, slots from 1 to 100. To pause a workload use enabled = false." if w.ecs == null ? false : !(w.ecs.max_tasks >= 1 && w.ecs.max_tasks <= 5000 && w.ecs.min_tasks >= 0 && w.ecs.min_tasks <= w.ecs.max_tasks && w.ecs.slots >= 1 && w.ecs.slots <= 100)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ecs.job_seconds > 0 && w.ecs.job_seconds <= 43200 && w.ecs.max_latency_seconds >= 180 && w.ecs.max_latency_seconds <= 86400 if w.ecs != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ecs.job_seconds is ${w.ecs.job_seconds} and ecs.max_latency_seconds ${w.ecs.max_latency_seconds}. A job may take up to 43200 s (SQS lets a message be worked on for 12 hours), the latency must be from 180 (a metric, an alarm and the start of a task take a minute each) to 86400. Split longer jobs; what must start sooner runs on lambda." if w.ecs == null ? false : !(w.ecs.job_seconds > 0 && w.ecs.job_seconds <= 43200 && w.ecs.max_latency_seconds >= 180 && w.ecs.max_latency_seconds <= 86400)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : w.ecs.lease_seconds >= 30 && w.ecs.lease_seconds <= 43000 && w.ecs.stop_timeout_seconds >= 30 && w.ecs.stop_timeout_seconds <= 120 if w.ecs != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": ecs.lease_seconds is ${w.ecs.lease_seconds} and ecs.stop_timeout_seconds ${w.ecs.stop_timeout_seconds}. The lease must be from 30 (a renewal must arrive in time) to 43000 (SQS keeps a message invisible for 12 hours at most), the stop timeout from 30 (a long poll takes 20 s and giving back 5) to 120, the most Fargate allows. Jobs report progress to keep their lease, so it need not be as long as a job." if w.ecs == null ? false : !(w.ecs.lease_seconds >= 30 && w.ecs.lease_seconds <= 43000 && w.ecs.stop_timeout_seconds >= 30 && w.ecs.stop_timeout_seconds <= 120)])
  }

  validation {
    condition     = alltrue([for w in values(var.workloads) : !w.pause_on_open || w.lambda != null])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": pause_on_open switches the event source mapping of lambda off; ${w.ecs != null ? "an ecs worker stops polling by itself while a dependency is down" : "direct has no mapping"}. Leave it out." if w.pause_on_open && w.lambda == null])
  }
}

variable "job_state" {
  description = "The table of job records: what makes a job run once, and what parked jobs, status, cancelling, unique jobs and shared breakers live in. Null: no table, jobs may run twice."
  type = object({
    deletion_protection = optional(bool, true)
  })
  default = null

  # The breaker that opens is a record.
  validation {
    condition     = var.job_state != null || !anytrue([for w in values(var.workloads) : w.pause_on_open])
    error_message = join("\n", [for key, w in var.workloads : "Workload \"${key}\": pause_on_open is true, but the stack has no job_state, in which breakers are kept. Set job_state = {}, or leave pause_on_open out." if w.pause_on_open])
  }
}

variable "claim_check" {
  description = "The bucket for payloads too large for a message. `expire_days` covers the longest queue retention, 14 days in a dead-letter queue and one day to redrive; what exceeds 29 days is how long a job with such a payload may be delayed. Null: no bucket, large jobs are refused when published."
  type = object({
    bucket_name   = optional(string)
    expire_days   = optional(number, 30)
    force_destroy = optional(bool, false)
  })
  default = null

  # In whole days, with the 14 days of the dead-letter queue and one to redrive.
  validation {
    condition     = var.claim_check == null ? true : alltrue([for w in values(var.workloads) : var.claim_check.expire_days * 86400 >= w.queue.retention_seconds + 1209600 + 86400])
    error_message = var.claim_check == null ? "" : join("\n", [for key, w in var.workloads : "Workload \"${key}\": claim_check.expire_days is ${var.claim_check.expire_days}, it must be at least ${ceil((w.queue.retention_seconds + 1209600 + 86400) / 86400)}: a message may be queue.retention_seconds ${w.queue.retention_seconds} in its queue and 14 days in the dead-letter queue, and needs its payload for a day more, to be redriven. Raise expire_days or lower the retention." if var.claim_check.expire_days * 86400 < w.queue.retention_seconds + 1209600 + 86400])
  }
}

variable "kms_key" {
  description = "Customer managed KMS key for all queues, topics, delay machines, the table and the bucket, or null for the services' own keys. Its key policy needs the statements of the output `kms_key_policy_statements`."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. With an AWS managed key (alias/aws/sqs, alias/aws/sns) SNS cannot deliver and the messages vanish."
  }
}

variable "account_concurrency_budget" {
  description = "Most concurrent executions all workloads together may take from the account, or null for no check."
  type        = number
  default     = null

  validation {
    condition     = var.account_concurrency_budget == null ? true : sum(concat([0], [for w in values(var.workloads) : coalesce(w.reserved_concurrency, try(w.ceiling.pollers.max * 10, null), w.ceiling.max_concurrency, 10) if w.ecs == null])) <= var.account_concurrency_budget
    error_message = "account_concurrency_budget is ${coalesce(var.account_concurrency_budget, 0)}, but the workloads may take ${sum(concat([0], [for w in values(var.workloads) : coalesce(w.reserved_concurrency, try(w.ceiling.pollers.max * 10, null), w.ceiling.max_concurrency, 10) if w.ecs == null]))}: ${join(", ", [for key, w in var.workloads : "${key} ${coalesce(w.reserved_concurrency, try(w.ceiling.pollers.max * 10, null), w.ceiling.max_concurrency, 10)}" if w.ecs == null])} (reservation, else pollers.max x 10, else max_concurrency, by default 10). Lower ceilings or raise the budget."
  }
}

variable "publishers" {
  description = "Other accounts whose IAM principals may publish jobs. Publishers of this account need no entry, only the policy in the output `publisher`."
  type = object({
    account_ids = optional(set(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for id in var.publishers.account_ids : can(regex("^[0-9]{12}$", id))])
    error_message = "publishers.account_ids holds ${join(", ", [for id in var.publishers.account_ids : "\"${id}\"" if !can(regex("^[0-9]{12}$", id))])}: an account id has 12 digits. \"*\" is not offered, it would let anybody publish."
  }
}

variable "alarm_actions" {
  description = "Where alarms go, by severity: ARNs, usually of SNS topics. `page` is for what loses work or breaks a promise while nobody looks, `ticket` for what can wait until morning; a severity without any goes to the other one."
  type = object({
    page   = optional(list(string), [])
    ticket = optional(list(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.allow_silent_alarms || length(var.alarm_actions.page) + length(var.alarm_actions.ticket) > 0
    error_message = "Stack ${var.name}: alarm_actions names nobody, so dead letters and jobs that wait too long would be seen by nobody. Write alarm_actions = { page = [aws_sns_topic.alarms.arn] } with a topic that somebody is subscribed to; for a stack to try out or to test, allow_silent_alarms = true."
  }

  # CloudWatch's own limit for one state.
  validation {
    condition     = length(var.alarm_actions.page) <= 5 && length(var.alarm_actions.ticket) <= 5
    error_message = "Stack ${var.name}: alarm_actions has ${length(var.alarm_actions.page)} for page and ${length(var.alarm_actions.ticket)} for ticket, CloudWatch takes 5 per alarm and state. Subscribe several places to one SNS topic instead."
  }
}

variable "allow_silent_alarms" {
  description = "Whether the stack may have alarms that notify nobody: for trying out and for tests. They still show on the dashboard."
  type        = bool
  default     = false
  nullable    = false
}

variable "alarm_suppressor" {
  description = "An alarm (name or ARN) during which nobody is paged by a composite alarm, such as one that is set while a deployment runs, or null. Pages stay off for `extension_seconds` after it."
  type = object({
    alarm             = string
    wait_seconds      = optional(number, 60)
    extension_seconds = optional(number, 60)
  })
  default = null
}

variable "dashboard" {
  description = "Whether the stack has a dashboard. CloudWatch bills 3 USD a month for each beyond the account's first three."
  type        = bool
  default     = true
  nullable    = false
}

variable "metrics_namespace" {
  description = "CloudWatch namespace of the jobs' metrics."
  type        = string
  default     = "BackgroundJobs"
  nullable    = false

  validation {
    condition     = !startswith(var.metrics_namespace, "AWS/")
    error_message = "metrics_namespace is \"${var.metrics_namespace}\": namespaces that start with AWS/ belong to AWS's services, and CloudWatch takes no metric of others into them. Choose another name."
  }
}

variable "tags" {
  description = "Tags of everything."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "schedules" {
  description = "Jobs that are sent at certain times, by EventBridge Scheduler. The key is the schedule's name. An occurrence that is delivered twice runs once (with `job_state`), and each occurrence runs."
  type = map(object({
    workload     = string
    job          = string
    version      = optional(number, 1)
    payload_json = optional(string, "{}")

    expression              = string
    timezone                = optional(string, "UTC")
    flexible_window_minutes = optional(number)
    start                   = optional(string)
    end                     = optional(string)
    enabled                 = optional(bool, true)

    retry = optional(object({
      max_attempts    = optional(number, 185)
      max_age_seconds = optional(number, 86400)
    }), {})
    message_group_id = optional(string)
    heartbeat = optional(object({
      period_seconds = number
      actions        = optional(list(string), [])
    }))
  }))
  default  = {}
  nullable = false

  # Everything about one schedule is checked by modules/schedule.
  validation {
    condition     = alltrue([for s in values(var.schedules) : contains(keys(var.workloads), s.workload)])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": the stack has no workload \"${s.workload}\", it has ${join(", ", [for name in keys(var.workloads) : "\"${name}\""])}. Correct the schedule's workload, or add it to workloads." if !contains(keys(var.workloads), s.workload)])
  }

  # Queue, role and group of the schedules.
  validation {
    condition     = length(var.schedules) == 0 || alltrue([for key, w in var.workloads : coalesce(w.name, "${var.name}-${key}") != "${var.name}-schedules"])
    error_message = "A workload is called ${var.name}-schedules, which is the name of the stack's schedules. Rename its key, or give it a `name` of its own."
  }
}
