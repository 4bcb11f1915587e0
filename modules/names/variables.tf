variable "stack" {
  description = "Name of the stack. Part of every name and of every hash, so that two stacks cannot shorten to the same name."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", var.stack))
    error_message = "Stack name \"${var.stack}\" is not legal: use 1 to 50 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen. Choose another name."
  }
}

variable "workloads" {
  description = "Workload key => null, or a fixed physical name that is used as it is (to keep resources when a key is renamed)."
  type        = map(string)
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.workloads) : can(regex("^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$", key))])
    error_message = join("\n", [for key in keys(var.workloads) : "Workload key \"${key}\" is not legal: use 1 to 64 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen. The key is also the value of the message attribute `workload`. Rename it." if !can(regex("^[a-z]([a-z0-9-]{0,62}[a-z0-9])?$", key))])
  }

  # "<name>-dlq" would be the dead-letter queue of the workload "<name>".
  validation {
    condition     = alltrue([for key, fixed in var.workloads : !endswith(fixed == null ? key : fixed, "-dlq")])
    error_message = join("\n", [for key, fixed in var.workloads : "Workload \"${key}\": the ending -dlq of \"${fixed == null ? key : fixed}\" is reserved for dead-letter queues, the two would be one queue. Rename it." if endswith(fixed == null ? key : fixed, "-dlq")])
  }

  validation {
    condition     = alltrue([for fixed in values(var.workloads) : fixed == null ? true : can(regex("^[A-Za-z0-9_-]{1,64}$", fixed))])
    error_message = join("\n", [for key, fixed in var.workloads : "Workload \"${key}\": physical name \"${fixed}\" is not legal: use 1 to 64 letters, digits, hyphens and underscores (64 is the limit of a Lambda function and of an IAM role)." if fixed == null ? false : !can(regex("^[A-Za-z0-9_-]{1,64}$", fixed))])
  }
}
