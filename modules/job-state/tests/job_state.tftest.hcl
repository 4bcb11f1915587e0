mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name = "shop-jobs"
}

run "defaults" {
  assert {
    condition     = aws_dynamodb_table.this.name == "shop-jobs" && aws_dynamodb_table.this.billing_mode == "PAY_PER_REQUEST" && aws_dynamodb_table.this.hash_key == "pk" && aws_dynamodb_table.this.range_key == null
    error_message = "One item per key, paid per request."
  }

  assert {
    condition     = aws_dynamodb_table.this.deletion_protection_enabled && aws_dynamodb_table.this.point_in_time_recovery[0].enabled
    error_message = "Parked jobs exist nowhere else."
  }

  assert {
    condition     = aws_dynamodb_table.this.ttl[0].attribute_name == "ttl" && aws_dynamodb_table.this.ttl[0].enabled
    error_message = "Records end."
  }

  assert {
    condition     = { for a in aws_dynamodb_table.this.attribute : a.name => a.type } == { pk = "S", listed = "S", outcome_at = "N" }
    error_message = "The attributes of the keys, with the types the runtime writes."
  }

  assert {
    condition     = [for i in aws_dynamodb_table.this.global_secondary_index : [i.name, i.hash_key, i.range_key]] == [["listed", "listed", "outcome_at"]]
    error_message = "One index, by list and time."
  }

  assert {
    condition     = [for i in aws_dynamodb_table.this.global_secondary_index : i.projection_type] == ["INCLUDE"] && !contains(flatten([for i in aws_dynamodb_table.this.global_secondary_index : i.non_key_attributes]), "body")
    error_message = "Bodies of parked jobs stay out of the index."
  }

  assert {
    condition     = length(aws_dynamodb_table.this.server_side_encryption) == 0
    error_message = "Encrypted with a key that AWS owns."
  }

  assert {
    condition     = output.table.index_arn == "${output.table.arn}/index/listed" && output.table.name == "shop-jobs" && output.table_arn == output.table.arn
    error_message = "What policies need: ${jsonencode(output.table)}"
  }

  assert {
    condition     = output.access.environment == { JOBS_TABLE = "shop-jobs" } && [for s in output.access.statements : [s.sid, s.actions, s.resources]] == [["JobRecords", ["dynamodb:GetItem", "dynamodb:UpdateItem"], [output.table.arn]]]
    error_message = "Single records by their key, nothing more: ${jsonencode(output.access)}"
  }
}

run "customer_key" {
  variables {
    kms_key             = { arn = "arn:aws:kms:eu-west-1:123456789012:key/1" }
    deletion_protection = false
  }

  assert {
    condition     = aws_dynamodb_table.this.server_side_encryption[0].enabled && aws_dynamodb_table.this.server_side_encryption[0].kms_key_arn == "arn:aws:kms:eu-west-1:123456789012:key/1"
    error_message = "The customer's key must be used."
  }

  assert {
    condition     = [for s in output.access.statements : s.sid] == ["JobRecords", "TableKey"] && output.access.statements[1].resources == ["arn:aws:kms:eu-west-1:123456789012:key/1"] && output.access.statements[1].conditions == { StringLike = { "kms:ViaService" = "dynamodb.*" } } && !strcontains(jsonencode(output.access.statements[*].actions), "*")
    error_message = "The key may be used through DynamoDB only: ${jsonencode(output.access)}"
  }

  assert {
    condition     = !aws_dynamodb_table.this.deletion_protection_enabled
    error_message = "Protection can be lifted on purpose."
  }
}

run "refuses_an_illegal_name" {
  command = plan
  variables {
    name = "shop jobs"
  }
  expect_failures = [var.name]
}

run "refuses_a_name_that_is_too_short" {
  command = plan
  variables {
    name = "ab"
  }
  expect_failures = [var.name]
}

run "refuses_an_alias" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/dynamodb" }
  }
  expect_failures = [var.kms_key]
}
