output "bucket" {
  description = "The bucket."
  value = {
    arn  = aws_s3_bucket.this.arn
    name = aws_s3_bucket.this.bucket
  }
}

output "consumer_access" {
  description = "What a consumer needs: environment variables and IAM statements, as modules/lambda-consumer takes them. It may read and store payloads and results, never delete or list."
  value = {
    environment = local.environment
    statements = concat(
      [{
        sid        = "ClaimCheck"
        actions    = ["s3:GetObject", "s3:PutObject"]
        resources  = ["${aws_s3_bucket.this.arn}/${local.claims}*", "${aws_s3_bucket.this.arn}/${local.results}*"]
        conditions = {}
      }],
      local.key_statements,
    )
  }
}

output "publisher_access" {
  description = "What a producer needs: environment variables and IAM statements. It may store payloads, and read results, which belong to `app.status`; not payloads."
  value = {
    environment = local.environment
    statements = concat(
      [
        {
          sid        = "StoreClaims"
          actions    = ["s3:PutObject"]
          resources  = ["${aws_s3_bucket.this.arn}/${local.claims}*"]
          conditions = {}
        },
        {
          sid        = "ReadResults"
          actions    = ["s3:GetObject"]
          resources  = ["${aws_s3_bucket.this.arn}/${local.results}*"]
          conditions = {}
        },
      ],
      local.key_statements,
    )
  }
}

output "bucket_arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.this.arn
}
