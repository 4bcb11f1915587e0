data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  # Bucket names are unique in the world, so the account and the region are part of it; a name that fits is never hashed.
  # `id` is the region's name in provider 5 and 6 (`name` is deprecated in 6, `region` missing in 5).
  place = "${data.aws_caller_identity.this.account_id}-${data.aws_region.this.id}"
  full  = "${var.name}-${local.place}"
  short = join("-", [
    replace(substr(var.name, 0, max(1, 63 - length(local.place) - 10)), "/-+$/", ""),
    substr(sha256(var.name), 0, 8),
    local.place,
  ])
  name = var.bucket_name != null ? var.bucket_name : length(local.full) <= 63 ? local.full : local.short
  arn  = "arn:${data.aws_partition.this.partition}:s3:::${local.name}"

  claims  = "claims/"
  results = "results/"

  # A result lives as long as the job's record in the ledger.
  results_expire_days = 30

  # 14 days: the most a queue of a stack keeps a message; 14 more in its dead-letter queue; one to redrive it. Not the retention of
  # this stack's queues, so that a change of one workload changes no other function's environment.
  max_delay_seconds = 86400 * max(0, var.expire_days - 29)

  environment = {
    JOBS_CLAIM_BUCKET            = aws_s3_bucket.this.bucket
    JOBS_CLAIM_PREFIX            = local.claims
    JOBS_CLAIM_MAX_DELAY_SECONDS = tostring(local.max_delay_seconds)
  }

  key_statements = [for key in [var.kms_key] : {
    sid        = "ClaimKey"
    actions    = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources  = [key.arn]
    conditions = { StringLike = { "kms:ViaService" = "s3.*" } } # through S3, never with the key itself
  } if key != null]
}

# Versioning stays off, the default: an object's name contains the hash of its content, and old versions would outlive the expiry.
resource "aws_s3_bucket" "this" {
  bucket        = local.name
  force_destroy = var.force_destroy
  tags          = var.tags
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket = aws_s3_bucket.this.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# No ACLs: objects that other accounts upload belong to this one.
resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = var.kms_key != null # one key per bucket and a while, instead of one KMS call per object

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key == null ? null : var.kms_key.arn
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid       = "DenyInsecureTransport"
        Effect    = "Deny"
        Principal = { AWS = "*" }
        Action    = "s3:*"
        Resource  = [local.arn, "${local.arn}/*"]
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      }],
      # No Allow for this account: identity policies suffice inside an account.
      length(var.publishers) == 0 ? [] : [{
        Sid       = "PublisherAccounts"
        Effect    = "Allow"
        Principal = { AWS = var.publishers }
        Action    = "s3:PutObject"
        Resource  = "${local.arn}/${local.claims}*"
      }],
    )
  })

  # S3 changes one thing of a bucket at a time, and refuses the second.
  depends_on = [aws_s3_bucket_public_access_block.this]
}

# The only thing that deletes: a redelivery, a redrive and a second subscriber need the same object again.
# The provider waits about a minute for S3 to return the same rules everywhere.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "claims"
    status = "Enabled"

    filter {
      prefix = local.claims
    }

    expiration {
      days = var.expire_days
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  rule {
    id     = "results"
    status = "Enabled"

    filter {
      prefix = local.results
    }

    expiration {
      days = local.results_expire_days
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}
