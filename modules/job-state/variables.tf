variable "name" {
  description = "Name of the table."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.name))
    error_message = "Table name \"${var.name}\" is not legal: use 3 to 255 letters, digits, hyphens, underscores and dots (the limits of DynamoDB). Choose another name."
  }
}

variable "deletion_protection" {
  description = "Whether DynamoDB refuses to delete the table. It holds the only copy of parked jobs. To remove the table, set false, apply, and then remove it."
  type        = bool
  default     = true
  nullable    = false
}

variable "kms_key" {
  description = "Customer managed KMS key that encrypts the table, or null for a key that AWS owns. Whoever uses the table needs the key, too: the output `access` has the statement. The key policy must admit IAM policies (the default one does)."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}. Leave kms_key out to have the table encrypted with a key that AWS owns."
  }
}

variable "tags" {
  description = "Tags of the table."
  type        = map(string)
  default     = {}
  nullable    = false
}
