variable "name" {
  description = "First part of every alarm's name: `<name>-<kind>`. For a workload its physical name, such as `shop-email`."
  type        = string
  nullable    = false

  # CloudWatch allows 255 characters, the longest ending has about 40.
  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,200}$", var.name))
    error_message = "Name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 200 letters, digits, hyphens and underscores (an alarm's name may have 255, with its kind). Shorten it."
  }
}

variable "subject" {
  description = "What the alarms are about, in words for their descriptions: `workload email of shop`."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.subject) >= 1 && length(var.subject) <= 150
    error_message = "${var.name}: subject has ${length(var.subject)} characters, use 1 to 150: it stands in every alarm's description, which may have 1024."
  }
}

variable "queue" {
  description = "The queue: output `queue` of modules/queue, or null."
  type = object({
    name = string
  })
  default = null
}

variable "dlq" {
  description = "The dead-letter queue, or null. How long its source keeps messages decides how long a dead letter lives."
  type = object({
    name                     = string
    fifo                     = optional(bool, false)
    source_retention_seconds = optional(number, 345600)
  })
  default = null
}

variable "subscription_dlq" {
  description = "The dead-letter queue of the subscription, or null."
  type = object({
    name = string
  })
  default = null
}

variable "function" {
  description = "The function, or null. `ceiling` is the concurrency it may reach; `asynchronous` means that SNS invokes it directly, without a queue."
  type = object({
    name            = string
    timeout_seconds = number
    ceiling         = number
    asynchronous    = optional(bool, false)
  })
  default = null
}

variable "delay_machine" {
  description = "The delay machine: output `state_machine` of modules/delay, or null."
  type = object({
    arn = string
  })
  default = null
}

variable "service" {
  description = "The ECS service that works the queue off, or null."
  type = object({
    cluster_name = string
    service_name = string
    max_tasks    = number
  })
  default = null

  validation {
    condition     = var.service == null ? true : var.queue != null && var.jobs != null
    error_message = "${var.name}: service needs queue and jobs: a service is behind when its queue's oldest message grows older, and stalled jobs are a metric of the runtime."
  }
}

variable "jobs" {
  description = "Where the runtime writes the metrics of the jobs: namespace, and its two dimensions. Null: not watched."
  type = object({
    namespace = optional(string, "BackgroundJobs")
    service   = string
    workload  = string
  })
  default = null
}

variable "topics" {
  description = "Topics by a key of the caller's, which is part of the alarms' names: `{ standard = \"shop-jobs\" }`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.topics) : can(regex("^[a-z][a-z0-9-]{0,19}$", key))])
    error_message = "${var.name}: topics has the keys ${join(", ", keys(var.topics))}; a key has 1 to 20 lower-case letters, digits and hyphens. Rename it."
  }
}

variable "schedule" {
  description = "Schedule group and the dead-letter queue of its schedules, or null."
  type = object({
    group_name = string
    dlq_name   = string
  })
  default = null
}

variable "thresholds" {
  description = "What is promised. `max_age_seconds`: how long a message may wait. `max_depth`: how many may wait. `max_end_to_end_seconds`: from when a job is due to its end, for 95 %. `error_rate_percent`: of invocations. `max_discarded`: dropped jobs an hour."
  type = object({
    max_age_seconds        = optional(number, 900)
    max_depth              = optional(number)
    max_end_to_end_seconds = optional(number)
    error_rate_percent     = optional(number, 5)
    max_discarded          = optional(number, 0)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.thresholds.max_age_seconds >= 60
    error_message = "${var.name}: alarms.max_age_seconds is ${var.thresholds.max_age_seconds}, it must be at least 60: SQS measures age once a minute. Raise it."
  }

  # An alarm that can never go off is worse than none.
  validation {
    condition     = var.dlq == null || var.queue == null ? true : var.thresholds.max_age_seconds < var.dlq.source_retention_seconds
    error_message = "${var.name}: alarms.max_age_seconds is ${var.thresholds.max_age_seconds}, but the queue deletes messages after retention_seconds ${try(var.dlq.source_retention_seconds, 0)}: none would ever get that old. Lower it."
  }

  validation {
    condition     = var.thresholds.max_depth == null ? true : var.thresholds.max_depth >= 1
    error_message = "${var.name}: alarms.max_depth is ${coalesce(var.thresholds.max_depth, 0)}, it must be at least 1. Leave it out for no alarm on depth."
  }

  validation {
    condition     = var.thresholds.max_end_to_end_seconds == null ? true : var.thresholds.max_end_to_end_seconds > 0
    error_message = "${var.name}: alarms.max_end_to_end_seconds is ${coalesce(var.thresholds.max_end_to_end_seconds, 0)}, it must be above 0. Leave it out for no alarm on latency."
  }

  validation {
    condition     = var.thresholds.error_rate_percent > 0 && var.thresholds.error_rate_percent < 100
    error_message = "${var.name}: alarms.error_rate_percent is ${var.thresholds.error_rate_percent}, it must be above 0 and below 100."
  }

  validation {
    condition     = var.thresholds.max_discarded >= 0
    error_message = "${var.name}: alarms.max_discarded is ${var.thresholds.max_discarded}, it must be 0 (one dropped job is worth a ticket) or more."
  }
}

variable "actions" {
  description = "Where alarms go, by severity: ARNs, usually of SNS topics. A severity without any goes to the other one. Notified when an alarm goes on and when it goes off."
  type = object({
    page   = optional(list(string), [])
    ticket = optional(list(string), [])
  })
  default  = {}
  nullable = false

  # CloudWatch's own limit for one state.
  validation {
    condition     = length(var.actions.page) <= 5 && length(var.actions.ticket) <= 5
    error_message = "${var.name}: actions has ${length(var.actions.page)} for page and ${length(var.actions.ticket)} for ticket, CloudWatch takes 5 per alarm and state. Subscribe several places to one SNS topic instead."
  }
}

variable "suppressor" {
  description = "An alarm (name or ARN) that keeps the composite alarm from paging while it is on, such as one that is set during deployments, or null. After it went off pages stay off for `extension_seconds`."
  type = object({
    alarm             = string
    wait_seconds      = optional(number, 60)
    extension_seconds = optional(number, 60)
  })
  default = null
}

variable "tags" {
  description = "Tags of the alarms."
  type        = map(string)
  default     = {}
  nullable    = false
}
