mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name                      = "shop-claims"
  message_retention_seconds = 345600
}

run "defaults" {
  assert {
    condition     = aws_s3_bucket.this.bucket == "shop-claims-123456789012-eu-west-1" && aws_s3_bucket.this.force_destroy == false
    error_message = "A name nobody else has, and payloads are not deleted with the stack."
  }

  assert {
    condition     = aws_s3_bucket_public_access_block.this.block_public_acls && aws_s3_bucket_public_access_block.this.block_public_policy && aws_s3_bucket_public_access_block.this.ignore_public_acls && aws_s3_bucket_public_access_block.this.restrict_public_buckets
    error_message = "Never public."
  }

  assert {
    condition     = aws_s3_bucket_ownership_controls.this.rule[0].object_ownership == "BucketOwnerEnforced"
    error_message = "No ACLs."
  }

  assert {
    condition     = [for r in aws_s3_bucket_server_side_encryption_configuration.this.rule : one(r.apply_server_side_encryption_by_default).sse_algorithm] == ["AES256"]
    error_message = "Encrypted."
  }

  assert {
    condition     = length(jsondecode(aws_s3_bucket_policy.this.policy).Statement) == 1 && jsondecode(aws_s3_bucket_policy.this.policy).Statement[0] == { Sid = "DenyInsecureTransport", Effect = "Deny", Principal = { AWS = "*" }, Action = "s3:*", Resource = ["arn:aws:s3:::shop-claims-123456789012-eu-west-1", "arn:aws:s3:::shop-claims-123456789012-eu-west-1/*"], Condition = { Bool = { "aws:SecureTransport" = "false" } } }
    error_message = "Plain HTTP is denied, nobody is allowed: ${aws_s3_bucket_policy.this.policy}"
  }

  assert {
    condition     = { for r in aws_s3_bucket_lifecycle_configuration.this.rule : one(r.filter).prefix => one(r.expiration).days if r.status == "Enabled" } == { "claims/" = 30, "results/" = 30 }
    error_message = "Only the lifecycle deletes."
  }

  assert {
    condition     = alltrue([for r in aws_s3_bucket_lifecycle_configuration.this.rule : one(r.abort_incomplete_multipart_upload).days_after_initiation == 1])
    error_message = "Half an upload is no object, but it costs."
  }

  assert {
    condition     = output.consumer_access.environment == { JOBS_CLAIM_BUCKET = "shop-claims-123456789012-eu-west-1", JOBS_CLAIM_PREFIX = "claims/", JOBS_CLAIM_MAX_DELAY_SECONDS = "86400" } && output.publisher_access.environment == output.consumer_access.environment
    error_message = "Both sides are told the same: ${jsonencode(output.consumer_access.environment)}"
  }

  assert {
    condition     = [for s in output.consumer_access.statements : [s.sid, s.actions, s.resources]] == [["ClaimCheck", ["s3:GetObject", "s3:PutObject"], ["arn:aws:s3:::mock/claims/*", "arn:aws:s3:::mock/results/*"]]]
    error_message = "Consumers neither delete nor list: ${jsonencode(output.consumer_access)}"
  }

  assert {
    condition     = [for s in output.publisher_access.statements : [s.sid, s.actions, s.resources]] == [["StoreClaims", ["s3:PutObject"], ["arn:aws:s3:::mock/claims/*"]], ["ReadResults", ["s3:GetObject"], ["arn:aws:s3:::mock/results/*"]]]
    error_message = "Producers store payloads and cannot read them: ${jsonencode(output.publisher_access)}"
  }

  assert {
    condition     = output.bucket == { arn = "arn:aws:s3:::mock", name = "shop-claims-123456789012-eu-west-1" } && output.bucket_arn == output.bucket.arn
    error_message = "The bucket: ${jsonencode(output.bucket)}"
  }
}

run "customer_key_and_other_accounts" {
  variables {
    kms_key       = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    publishers    = ["arn:aws:iam::444455556666:root"]
    bucket_name   = "acme-payloads"
    expire_days   = 90
    force_destroy = true
  }

  assert {
    condition     = aws_s3_bucket.this.bucket == "acme-payloads" && aws_s3_bucket.this.force_destroy
    error_message = "An exact name is used as it is."
  }

  assert {
    condition     = [for r in aws_s3_bucket_server_side_encryption_configuration.this.rule : [one(r.apply_server_side_encryption_by_default).sse_algorithm, one(r.apply_server_side_encryption_by_default).kms_master_key_id, r.bucket_key_enabled]] == [["aws:kms", "arn:aws:kms:eu-west-1:123456789012:key/1", true]]
    error_message = "The customer's key, once per bucket and a while."
  }

  assert {
    condition     = [for s in jsondecode(aws_s3_bucket_policy.this.policy).Statement : [s.Principal.AWS, s.Action, s.Resource] if s.Effect == "Allow"] == [[["arn:aws:iam::444455556666:root"], "s3:PutObject", "arn:aws:s3:::acme-payloads/claims/*"]]
    error_message = "Other accounts store payloads, no more: ${aws_s3_bucket_policy.this.policy}"
  }

  assert {
    condition     = alltrue([for a in [output.consumer_access, output.publisher_access] : [for s in a.statements : [s.resources, s.conditions] if s.sid == "ClaimKey"] == [[["arn:aws:kms:eu-west-1:123456789012:key/1"], { StringLike = { "kms:ViaService" = "s3.*" } }]]])
    error_message = "Both sides need the key, through S3: ${jsonencode(output.consumer_access)}"
  }

  assert {
    condition     = output.consumer_access.environment["JOBS_CLAIM_MAX_DELAY_SECONDS"] == tostring(61 * 86400)
    error_message = "What exceeds 29 days is for delays."
  }
}

run "exactly_long_enough" {
  command = plan

  variables {
    expire_days = 19
  }

  assert {
    condition     = output.consumer_access.environment["JOBS_CLAIM_MAX_DELAY_SECONDS"] == "0"
    error_message = "4 + 14 + 1 days are legal and leave nothing for a delay."
  }
}

run "long_names_stay_legal_and_apart" {
  command = plan

  variables {
    name = "acme-payments-international-europe-production-claims"
  }

  assert {
    condition     = can(regex("^acme-payments-[a-z-]+-[0-9a-f]{8}-123456789012-eu-west-1$", aws_s3_bucket.this.bucket)) && length(aws_s3_bucket.this.bucket) <= 63
    error_message = "A readable head and a hash: ${aws_s3_bucket.this.bucket}"
  }
}

run "refuses_payloads_that_expire_before_their_message" {
  command = plan
  variables {
    expire_days = 18
  }
  expect_failures = [var.expire_days]
}

run "refuses_half_days" {
  command = plan
  variables {
    expire_days = 30.5
  }
  expect_failures = [var.expire_days]
}

run "refuses_seven_days_for_the_longest_retention" {
  command = plan
  variables {
    message_retention_seconds = 1209600
    expire_days               = 7
  }
  expect_failures = [var.expire_days]
}

run "refuses_retention_that_sqs_does_not_have" {
  command = plan
  variables {
    message_retention_seconds = 59
  }
  expect_failures = [var.message_retention_seconds]
}

run "refuses_an_illegal_name" {
  command = plan
  variables {
    name = "Shop_claims"
  }
  expect_failures = [var.name]
}

run "refuses_dots_in_the_bucket_name" {
  command = plan
  variables {
    bucket_name = "acme.payloads"
  }
  expect_failures = [var.bucket_name]
}

run "refuses_a_reserved_bucket_name" {
  command = plan
  variables {
    bucket_name = "payloads-s3alias"
  }
  expect_failures = [var.bucket_name]
}

run "refuses_everybody" {
  command = plan
  variables {
    publishers = ["*"]
  }
  expect_failures = [var.publishers]
}

run "refuses_the_aws_managed_key" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/s3" }
  }
  expect_failures = [var.kms_key]
}
