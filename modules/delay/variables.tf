variable "name" {
  description = "Name of the state machine, its role and its log group (`/aws/vendedlogs/states/<name>`)."
  type        = string
  nullable    = false

  # A state machine may have 80 characters, its role 64.
  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "State machine name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 64 letters, digits, hyphens and underscores (Step Functions allows 80 characters, the IAM role of the same name 64). Shorten it; modules/names does it safely."
  }
}

variable "workload" {
  description = "Workload key: value of the message attribute `workload` of what is sent."
  type        = string
  nullable    = false
}

variable "queue" {
  description = "The queue to deliver to: output `queue` of modules/queue. Null: `topic` is given."
  type = object({
    arn  = string
    url  = string
    fifo = bool
  })
  default = null
}

variable "topic" {
  description = "The standard topic to publish to, for a workload without a queue (modules/direct-consumer): output `topic` of modules/topic. Null: `queue` is given."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = (var.queue == null) != (var.topic == null)
    error_message = "${var.name}: queue and topic are ${var.queue == null ? "both null" : "both given"}, the machine delivers to exactly one of them. Give the queue of the workload, or the standard topic if its function has none."
  }
}

variable "log_retention_days" {
  description = "How long the log of failed executions is kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "${var.name}: log_retention_days is ${var.log_retention_days}, CloudWatch Logs offers 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 and 3653. \"For ever\" (0) is not offered here."
  }
}

variable "kms_key" {
  description = "Customer managed KMS key of the queue or topic, or null. The machine then encrypts waiting jobs with it, too."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}."
  }
}

variable "tags" {
  description = "Tags of the state machine, role and log group."
  type        = map(string)
  default     = {}
  nullable    = false
}
