variable "name" {
  description = "Name of the claim check. The bucket is called `<name>-<account id>-<region>`, shortened with a hash if that has more than 63 characters."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?$", var.name)) && !can(regex("^(xn--|sthree-|amzn-s3-demo-)", var.name))
    error_message = "Claim check name \"${var.name}\" is not legal: use 1 to 62 lower-case letters, digits and hyphens, starting and ending with a letter or digit, and not with xn--, sthree- or amzn-s3-demo- (S3 reserves them). Choose another name."
  }
}

variable "bucket_name" {
  description = "Exact name of the bucket, or null to have it computed from `name`."
  type        = string
  default     = null

  # Dots are legal for S3, but the certificate of virtual-hosted requests does not cover them.
  validation {
    condition     = var.bucket_name == null ? true : can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket_name)) && !can(regex("^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|--x-s3|--table-s3)$", var.bucket_name))
    error_message = "${var.name}: bucket_name \"${coalesce(var.bucket_name, "-")}\" is not legal: use 3 to 63 lower-case letters, digits and hyphens, no dots (TLS does not cover them), starting and ending with a letter or digit, without the beginnings xn--, sthree-, amzn-s3-demo- and the endings -s3alias, --ol-s3, --x-s3, --table-s3 that S3 reserves. Leave it out to have one computed."
  }
}

variable "message_retention_seconds" {
  description = "Longest retention of the queues whose messages point into this bucket."
  type        = number
  nullable    = false

  validation {
    condition     = var.message_retention_seconds >= 60 && var.message_retention_seconds <= 1209600
    error_message = "${var.name}: message_retention_seconds is ${var.message_retention_seconds}, SQS keeps messages for 60 to 1209600 s. Give the longest retention of the queues."
  }
}

variable "expire_days" {
  description = "Days after which S3 deletes a payload. At least the queues' retention, 14 days in the dead-letter queue and one day to redrive; what exceeds 29 days is how long a job with such a payload may be delayed."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = floor(var.expire_days) == var.expire_days && var.expire_days * 86400 >= var.message_retention_seconds + 1209600 + 86400
    error_message = "${var.name}: expire_days is ${var.expire_days}, it must be a whole number of at least ${ceil((var.message_retention_seconds + 1209600 + 86400) / 86400)}: a message may be ${var.message_retention_seconds} s in its queue and 14 days in the dead-letter queue, and needs its payload for a day more, to be redriven. Raise expire_days."
  }
}

variable "force_destroy" {
  description = "Whether Terraform may delete the bucket while it holds payloads of jobs."
  type        = bool
  default     = false
  nullable    = false
}

variable "publishers" {
  description = "ARNs of IAM principals of other accounts that may store payloads. Publishers of this account need an IAM policy only, see the output `publisher_access`."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for principal in var.publishers : can(regex("^arn:[^:*]+:iam::[0-9]{12}:(root|(user|role)/[^*]+)$", principal))])
    error_message = "${var.name}: publishers holds ${join(", ", [for principal in var.publishers : "\"${principal}\"" if !can(regex("^arn:[^:*]+:iam::[0-9]{12}:(root|(user|role)/[^*]+)$", principal))])}: give ARNs of accounts, users or roles (arn:aws:iam::444455556666:root). \"*\" is not offered, it would let anybody store objects."
  }
}

variable "kms_key" {
  description = "Customer managed KMS key that encrypts the objects, or null for a key of S3. Whoever uses the bucket needs the key, too: the outputs have the statements. The key policy must admit IAM policies (the default one does)."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. With the AWS managed key (alias/aws/s3) publishers of other accounts cannot store anything."
  }
}

variable "tags" {
  description = "Tags of the bucket."
  type        = map(string)
  default     = {}
  nullable    = false
}
