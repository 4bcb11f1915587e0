variable "name" {
  description = "Whose numbers these are, for messages."
  type        = string
  nullable    = false
}

variable "min_tasks" {
  description = "Tasks that run also when there is nothing to do. 0: the first message starts one."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.min_tasks >= 0 && var.min_tasks <= var.max_tasks && floor(var.min_tasks) == var.min_tasks
    error_message = "${var.name}: min_tasks is ${var.min_tasks}, it must be a whole number from 0 to max_tasks (${var.max_tasks}). Lower it, or raise max_tasks."
  }
}

variable "max_tasks" {
  description = "Most tasks. With `slots` it is the ceiling: never more than max_tasks x slots jobs at the same time."
  type        = number
  nullable    = false

  validation {
    condition     = var.max_tasks >= 1 && var.max_tasks <= 5000 && floor(var.max_tasks) == var.max_tasks
    error_message = "${var.name}: max_tasks is ${var.max_tasks}, it must be a whole number from 1 to 5000 (ECS allows 5000 tasks in a service). To pause a workload use enabled = false."
  }
}

variable "job_seconds" {
  description = "How long a job takes, on average."
  type        = number
  nullable    = false

  validation {
    condition     = var.job_seconds > 0 && var.job_seconds <= 43200
    error_message = "${var.name}: job_seconds is ${var.job_seconds}, it must be above 0 and at most 43200, the 12 hours for which SQS lets a message be worked on. Split longer jobs."
  }
}

variable "max_latency_seconds" {
  description = "How long a job may wait in the queue before it starts."
  type        = number
  default     = 900
  nullable    = false

  # A depth is a metric after a minute, an alarm after another, a task of Fargate runs after a third.
  validation {
    condition     = var.max_latency_seconds >= 180 && var.max_latency_seconds <= 86400
    error_message = "${var.name}: max_latency_seconds is ${var.max_latency_seconds}, it must be from 180 to 86400: until CloudWatch has seen a message and a task has started, three minutes pass. For jobs that must start sooner use a function (modules/lambda-consumer)."
  }
}

variable "slots" {
  description = "Jobs that one task runs at the same time."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.slots >= 1 && var.slots <= 100 && floor(var.slots) == var.slots
    error_message = "${var.name}: slots is ${var.slots}, it must be a whole number from 1 to 100. For more jobs at the same time raise max_tasks."
  }
}

variable "idle_minutes" {
  description = "Minutes without a message, visible or in flight, after which only min_tasks remain; also how long a smaller backlog must last before tasks are stopped."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.idle_minutes >= 2 && var.idle_minutes <= 60 && floor(var.idle_minutes) == var.idle_minutes
    error_message = "${var.name}: idle_minutes is ${var.idle_minutes}, it must be a whole number from 2 to 60. One minute would stop a fleet at the first gap between two jobs; more than an hour pays for idle tasks: use min_tasks for tasks that stay."
  }
}
