# One item per job record or breaker, found by its key alone: no sort key, so that every write can be one conditional update.
resource "aws_dynamodb_table" "this" {
  name         = var.name
  billing_mode = "PAY_PER_REQUEST" # jobs come in bursts, and a provisioned table throttles the first minutes of each
  hash_key     = "pk"

  deletion_protection_enabled = var.deletion_protection

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "listed"
    type = "S"
  }

  attribute {
    name = "outcome_at"
    type = "N"
  }

  # For "what is parked or dead, since when": only such records carry `listed`, so the index holds nothing of a job that succeeds
  # and costs nothing for it. DynamoDB bills each write to an index by the size of what is projected, per KB. A parked record holds
  # its message, up to 256 KB: with ALL, parking would cost twice 256 write units instead of 256 and one. The message is read
  # from the table, by key, when somebody looks at that one job.
  global_secondary_index {
    name               = "listed"
    hash_key           = "listed"
    range_key          = "outcome_at"
    projection_type    = "INCLUDE"
    non_key_attributes = ["error", "id", "job", "reason", "workload"]
  }

  # DynamoDB deletes within days of that time, not at it: the code compares, this only tidies up.
  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  # Without the block the table is encrypted with a key that AWS owns.
  dynamic "server_side_encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value.arn
    }
  }

  tags = var.tags
}
