output "table" {
  description = "The table, and the ARN of its index `listed`."
  value = {
    arn       = aws_dynamodb_table.this.arn
    name      = aws_dynamodb_table.this.name
    index_arn = "${aws_dynamodb_table.this.arn}/index/listed"
  }
}

output "access" {
  description = "What a consumer or producer needs to use the table: environment variables and IAM statements, as modules/lambda-consumer takes them."
  value = {
    environment = { JOBS_TABLE = aws_dynamodb_table.this.name }
    statements = concat(
      [{
        # A transaction needs the permissions of the operations in it. Nothing is put whole, deleted, queried or scanned.
        sid        = "JobRecords"
        actions    = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources  = [aws_dynamodb_table.this.arn]
        conditions = {}
      }],
      [for key in [var.kms_key] : {
        sid       = "TableKey"
        actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
        resources = [key.arn]
        # Through DynamoDB, never with the key itself.
        conditions = { StringLike = { "kms:ViaService" = "dynamodb.*" } }
      } if key != null],
    )
  }
}

output "table_arn" {
  description = "ARN of the table."
  value       = aws_dynamodb_table.this.arn
}
