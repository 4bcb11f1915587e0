# Where the pages are kept, the job's own: what an interrupted report goes on from, and what its reader gets.
data "aws_caller_identity" "this" {}

resource "aws_s3_bucket" "reports" {
  bucket        = "${var.name}-pages-${data.aws_caller_identity.this.account_id}-${var.region}"
  force_destroy = !var.protected
  tags          = { product = var.name }
}

resource "aws_s3_bucket_public_access_block" "reports" {
  bucket                  = aws_s3_bucket.reports.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "reports" {
  bucket = aws_s3_bucket.reports.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "DenyInsecureTransport"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.reports.arn, "${aws_s3_bucket.reports.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_iam_policy" "reports" {
  name = "${var.name}-pages"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "KeepPages"
        Effect   = "Allow"
        Action   = "s3:PutObject"
        Resource = "${aws_s3_bucket.reports.arn}/reports/*"
      },
      {
        Sid       = "ListPages"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = aws_s3_bucket.reports.arn
        Condition = { StringLike = { "s3:prefix" = "reports/*" } }
      },
    ]
  })
  tags = { product = var.name }
}
