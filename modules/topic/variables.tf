variable "name" {
  description = "Name of the topic, without `.fifo`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,251}$", var.name))
    error_message = "Topic name \"${var.name}\" is not legal: use 1 to 251 letters, digits, hyphens and underscores, without .fifo (SNS allows 256 characters, of which .fifo takes 5)."
  }
}

variable "fifo" {
  description = "Whether this is a FIFO topic. It feeds FIFO queues and adds `.fifo` to the name."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key" {
  description = "Customer managed KMS key that encrypts messages at rest, or null. The alias alias/aws/sns is refused: other services cannot use it."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. With an AWS managed key (alias/aws/sns) other services cannot publish and nobody is told."
  }
}

variable "policy_statements" {
  description = "Extra Allow statements for this topic, keyed by statement id. Use it for publishers in other accounts; publishers of this account need an IAM policy only."
  type = map(object({
    actions    = optional(list(string), ["sns:Publish"])
    aws        = optional(list(string), [])
    services   = optional(list(string), [])
    conditions = optional(map(map(list(string))), {})
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for sid in keys(var.policy_statements) : can(regex("^[A-Za-z0-9]+$", sid))])
    error_message = "${var.name}: policy_statements are keyed by statement id, letters and digits only: ${join(", ", keys(var.policy_statements))}."
  }

  validation {
    condition     = alltrue([for s in values(var.policy_statements) : length(s.aws) + length(s.services) > 0 && alltrue([for p in concat(s.aws, s.services) : !strcontains(p, "*")])])
    error_message = "${var.name}: a policy statement must name its principals; \"*\" would let anybody publish. List account ids or ARNs in `aws`, or service principals in `services`."
  }

  validation {
    condition     = alltrue(flatten([for s in values(var.policy_statements) : [for a in s.actions : can(regex("^sns:[A-Za-z]+$", a))]]))
    error_message = "${var.name}: policy statement actions must be single SNS actions such as sns:Publish, without wildcards: ${join(", ", flatten([for s in values(var.policy_statements) : s.actions]))}."
  }

  # Without it any account could make the service publish here (confused deputy).
  validation {
    condition     = alltrue([for s in values(var.policy_statements) : length(s.services) == 0 ? true : anytrue([for keys in [for test in values(s.conditions) : [for key in keys(test) : lower(key)]] : length(setintersection(keys, ["aws:sourcearn", "aws:sourceaccount"])) > 0])])
    error_message = "${var.name}: a policy statement for a service principal needs a condition on aws:SourceArn or aws:SourceAccount, otherwise other accounts can use that service to publish here."
  }
}

variable "tags" {
  description = "Tags of the topic."
  type        = map(string)
  default     = {}
  nullable    = false
}
