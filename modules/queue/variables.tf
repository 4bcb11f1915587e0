variable "name" {
  description = "Name of the queue, without `.fifo`. The dead-letter queues are called `<name>-dlq` and `<name>-sub-dlq`."
  type        = string
  nullable    = false

  # 80 is the limit of a queue name, "-sub-dlq.fifo" takes 13 of it.
  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,67}$", var.name)) && !endswith(var.name, "-dlq")
    error_message = "Queue name \"${var.name}\" (${length(var.name)} characters) is not legal: use 1 to 67 letters, digits, hyphens and underscores, without .fifo, not ending in -dlq (SQS allows 80 characters, of which \"-sub-dlq.fifo\" takes 13). Shorten it; modules/names does it safely."
  }
}

variable "fifo" {
  description = "Whether the queue and both dead-letter queues are FIFO. Changing it replaces the queues: drain them first."
  type        = bool
  default     = false
  nullable    = false
}

variable "consumer_timeout_seconds" {
  description = "Timeout of a consumer that cannot renew its hold on a message: a function's timeout. Visibility is computed from it. Null for a worker that holds messages by leases (modules/ecs-consumer): then visibility_timeout_seconds is its lease."
  type        = number
  default     = null

  validation {
    condition     = var.consumer_timeout_seconds == null ? true : var.consumer_timeout_seconds >= 1 && var.consumer_timeout_seconds <= 7200 && floor(var.consumer_timeout_seconds) == var.consumer_timeout_seconds
    error_message = "${var.name}: consumer_timeout_seconds is ${coalesce(var.consumer_timeout_seconds, 0)}, it must be a whole number from 1 to 7200 (visibility is six times that, and SQS allows 43200). Shorten the job or split it."
  }
}

variable "batch_window_seconds" {
  description = "Batching window of the consumer. It is added to the visibility timeout."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.batch_window_seconds >= 0 && var.batch_window_seconds <= 300
    error_message = "${var.name}: batch_window_seconds is ${var.batch_window_seconds}, it must be from 0 to 300."
  }

  validation {
    condition     = !var.fifo || var.batch_window_seconds == 0
    error_message = "${var.name}: batch_window_seconds is ${var.batch_window_seconds}, but Lambda allows no batching window on a FIFO queue. Set it to 0."
  }
}

variable "visibility_timeout_seconds" {
  description = "Visibility timeout. Null computes 6 x consumer_timeout_seconds + batch_window_seconds; a value below that is refused. Without consumer_timeout_seconds it is required: the lease of the worker, 30 to 43200."
  type        = number
  default     = null

  validation {
    condition     = var.visibility_timeout_seconds == null || var.consumer_timeout_seconds == null ? true : var.visibility_timeout_seconds >= 6 * var.consumer_timeout_seconds + var.batch_window_seconds && var.visibility_timeout_seconds <= 43200
    error_message = "${var.name}: visibility_timeout_seconds is ${coalesce(var.visibility_timeout_seconds, 0)}, it must be from ${6 * coalesce(var.consumer_timeout_seconds, 0) + var.batch_window_seconds} (6 x consumer timeout ${coalesce(var.consumer_timeout_seconds, 0)} + window ${var.batch_window_seconds}) to 43200. Below that a slow job is delivered a second time while it still runs. Leave it null to have it computed."
  }

  # A lease is renewed while its job makes progress, so it need not be longer than the job; only longer than one renewal takes.
  validation {
    condition     = var.consumer_timeout_seconds != null ? true : var.visibility_timeout_seconds == null ? false : var.visibility_timeout_seconds >= 30 && var.visibility_timeout_seconds <= 43200 && floor(var.visibility_timeout_seconds) == var.visibility_timeout_seconds
    error_message = "${var.name}: visibility_timeout_seconds is ${var.visibility_timeout_seconds == null ? "not set" : var.visibility_timeout_seconds}, and neither is consumer_timeout_seconds. Give consumer_timeout_seconds for a function, or here the lease of a worker, a whole number from 30 to 43200."
  }
}

variable "max_receive_count" {
  description = "Receives after which SQS itself moves a message to the dead-letter queue. It is the safety net behind the job's own retry policy, so keep it above that policy's attempts."
  type        = number
  default     = 10
  nullable    = false

  # Throttled Lambda pollers use up receives too: 1 or 2 would dead-letter innocent messages.
  validation {
    condition     = var.max_receive_count >= 3 && var.max_receive_count <= 1000 && floor(var.max_receive_count) == var.max_receive_count
    error_message = "${var.name}: max_receive_count is ${var.max_receive_count}, it must be a whole number from 3 to 1000. Throttling uses up receives, so 1 and 2 dead-letter messages that never ran; for \"run at most once\" use a job policy with max_attempts = 1."
  }
}

variable "retention_seconds" {
  description = "How long the queue keeps a message. The dead-letter queues keep it 14 days, which must be longer."
  type        = number
  default     = 345600
  nullable    = false

  # On a standard queue the clock starts at the first enqueue and goes on running in the dead-letter queue.
  validation {
    condition     = var.retention_seconds >= 60 && var.retention_seconds < 1209600
    error_message = "${var.name}: retention_seconds is ${var.retention_seconds}, it must be at least 60 and below 1209600, the 14 days of the dead-letter queue: the age of a message goes on counting there, so with equal retention a dead letter may vanish on arrival. Lower it."
  }
}

variable "subscription" {
  description = "Topic the queue subscribes to (raw delivery), with an optional filter on message attributes: attribute name => accepted values. Null: no subscription."
  type = object({
    topic_arn = string
    filter    = optional(map(list(string)))
  })
  default = null

  # Nested filters and body filters cannot be written with this type: a body filter would not see a payload kept outside the message.
  validation {
    condition     = try(var.subscription.filter, null) == null ? true : length(var.subscription.filter) >= 1 && length(var.subscription.filter) <= 5
    error_message = "${var.name}: subscription.filter has ${try(length(var.subscription.filter), 0)} attributes, SNS allows 1 to 5. Use null for \"every message\", or filter on fewer attributes."
  }

  # Terraform has no product(): the number of combinations is the number of elements of the Cartesian product.
  validation {
    condition     = try(var.subscription.filter, null) == null ? true : alltrue([for accepted in values(var.subscription.filter) : length(accepted) >= 1 && length(accepted) <= 150]) && (length(var.subscription.filter) < 2 ? true : length(setproduct(values(var.subscription.filter)...)) <= 150)
    error_message = "${var.name}: subscription.filter has ${try(join(" x ", [for accepted in values(var.subscription.filter) : length(accepted)]), "0")} value combinations, SNS allows at least one value per attribute and 150 combinations in all. Filter on fewer values."
  }
}

variable "kms_key" {
  description = "Customer managed KMS key for all queues of this module, or null for SSE-SQS. Its key policy needs the statements of the output `kms_key_policy_statements`."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. With an AWS managed key (alias/aws/sqs) SNS cannot deliver and the messages vanish."
  }
}

variable "policy_statements" {
  description = "Extra Allow statements for the queue, keyed by statement id (the policy is inline, so no other stack can add to it)."
  type = map(object({
    actions    = optional(list(string), ["sqs:SendMessage"])
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
    error_message = "${var.name}: a policy statement must name its principals; \"*\" would let anybody send. List account ids or ARNs in `aws`, or service principals in `services`."
  }

  validation {
    condition     = alltrue(flatten([for s in values(var.policy_statements) : [for a in s.actions : can(regex("^sqs:[A-Za-z]+$", a))]]))
    error_message = "${var.name}: policy statement actions must be single SQS actions such as sqs:SendMessage, without wildcards: ${join(", ", flatten([for s in values(var.policy_statements) : s.actions]))}."
  }

  # Without it any account could make the service send here (confused deputy).
  validation {
    condition     = alltrue([for s in values(var.policy_statements) : length(s.services) == 0 ? true : anytrue([for keys in [for test in values(s.conditions) : [for key in keys(test) : lower(key)]] : length(setintersection(keys, ["aws:sourcearn", "aws:sourceaccount"])) > 0])])
    error_message = "${var.name}: a policy statement for a service principal needs a condition on aws:SourceArn or aws:SourceAccount, otherwise other accounts can use that service to send here."
  }
}

variable "tags" {
  description = "Tags of all queues."
  type        = map(string)
  default     = {}
  nullable    = false
}
