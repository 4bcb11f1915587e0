variable "name" {
  description = "Name of the dashboard."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,255}$", var.name))
    error_message = "Dashboard name \"${var.name}\" is not legal: use 1 to 255 letters, digits, hyphens and underscores."
  }
}

variable "workloads" {
  description = "What is shown, by workload. The fields are those of modules/alarms; what a workload does not have is null."
  type = map(object({
    queue            = optional(object({ name = string }))
    dlq              = optional(object({ name = string }))
    subscription_dlq = optional(object({ name = string }))
    function = optional(object({
      name            = string
      timeout_seconds = number
      ceiling         = number
      asynchronous    = optional(bool, false)
    }))
    delay_machine = optional(object({ arn = string }))
    service = optional(object({
      cluster_name = string
      service_name = string
      max_tasks    = number
    }))
    jobs = object({
      namespace = optional(string, "BackgroundJobs")
      service   = string
      workload  = string
    })
    thresholds = optional(object({
      max_age_seconds        = optional(number, 900)
      max_end_to_end_seconds = optional(number)
    }), {})
  }))
  nullable = false

  # CloudWatch takes 500 widgets; a workload has up to 17, the topics and schedules 10.
  validation {
    condition     = length(var.workloads) <= 28
    error_message = "Dashboard ${var.name}: ${length(var.workloads)} workloads have more than the 500 widgets CloudWatch takes. Show at most 28 on one dashboard."
  }
}

variable "topics" {
  description = "Topics by the title they are shown under."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "schedule" {
  description = "Schedule group and the dead-letter queue of its schedules, or null."
  type = object({
    group_name = string
    dlq_name   = string
  })
  default = null
}
