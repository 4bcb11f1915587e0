# The product's own table, of which jobs/store.py says what stands in it. Not the table of job records: that one belongs to the module.
resource "aws_dynamodb_table" "product" {
  name                        = "${var.name}-product"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = var.protected

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled = true
  }

  tags = { product = var.name }
}

# What the jobs themselves may do. `ctx.commit` writes with the same permissions, in one transaction with the job's record.
resource "aws_iam_policy" "product" {
  name        = "${var.name}-product"
  description = "Read and write the table of the product."

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "ProductTable"
      Effect   = "Allow"
      Action   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
      Resource = aws_dynamodb_table.product.arn
    }]
  })

  tags = { product = var.name }
}
