mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name = "shop-jobs"
}

run "standard_topic" {
  assert {
    condition     = aws_sns_topic.this.name == "shop-jobs" && !aws_sns_topic.this.fifo_topic && aws_sns_topic.this.kms_master_key_id == null
    error_message = "A standard topic has no suffix, and no key unless one is given."
  }

  assert {
    condition     = jsondecode(aws_sns_topic.this.policy).Statement[0].Sid == "DenyInsecureTransport" && jsondecode(aws_sns_topic.this.policy).Statement[0].Effect == "Deny" && jsondecode(aws_sns_topic.this.policy).Statement[0].Condition.Bool["aws:SecureTransport"] == "false"
    error_message = "Plain HTTP must be denied: ${aws_sns_topic.this.policy}"
  }

  assert {
    condition     = jsondecode(aws_sns_topic.this.policy).Statement[0].Resource == "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    error_message = "The policy must name its own topic: ${aws_sns_topic.this.policy}"
  }

  assert {
    condition     = length(jsondecode(aws_sns_topic.this.policy).Statement) == 1 && !contains(jsondecode(aws_sns_topic.this.policy).Statement[0].Action, "sns:*")
    error_message = "Nobody is allowed by default, and SNS refuses sns:* in a topic policy: ${aws_sns_topic.this.policy}"
  }
}

run "fifo_topic" {
  variables {
    fifo = true
  }

  assert {
    condition     = aws_sns_topic.this.name == "shop-jobs.fifo" && aws_sns_topic.this.fifo_topic && output.topic.fifo
    error_message = "One flag must set name and type."
  }

  assert {
    condition     = aws_sns_topic.this.content_based_deduplication == false
    error_message = "The job id is the deduplication id, equal bodies are different jobs."
  }
}

run "customer_key" {
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:key/mrk-1" }
  }

  assert {
    condition     = aws_sns_topic.this.kms_master_key_id == "arn:aws:kms:eu-west-1:123456789012:key/mrk-1"
    error_message = "The customer's key must be used."
  }
}

run "publishers_of_other_accounts" {
  variables {
    policy_statements = {
      PublisherAccounts = { aws = ["arn:aws:iam::444455556666:root"] }
      Backups = {
        services   = ["backup.amazonaws.com"]
        conditions = { StringEquals = { "aws:SourceAccount" = ["123456789012"] } }
      }
    }
  }

  assert {
    condition = jsonencode([for s in jsondecode(aws_sns_topic.this.policy).Statement : s.Principal if s.Effect == "Allow"]) == jsonencode([
      { Service = ["backup.amazonaws.com"] }, { AWS = ["arn:aws:iam::444455556666:root"] },
    ])
    error_message = "Exactly the given principals are allowed: ${aws_sns_topic.this.policy}"
  }
}

run "refuses_an_illegal_name" {
  command = plan
  variables {
    name = "shop.jobs"
  }
  expect_failures = [var.name]
}

run "refuses_the_aws_managed_key" {
  command = plan
  variables {
    kms_key = { arn = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sns" }
  }
  expect_failures = [var.kms_key]
}

run "refuses_everybody" {
  command = plan
  variables {
    policy_statements = { Open = { aws = ["*"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_a_statement_without_principal" {
  command = plan
  variables {
    policy_statements = { Nobody = {} }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_wildcard_actions" {
  command = plan
  variables {
    policy_statements = { Wide = { aws = ["444455556666"], actions = ["sns:*"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_a_service_of_any_account" {
  command = plan
  variables {
    policy_statements = { Confused = { services = ["events.amazonaws.com"] } }
  }
  expect_failures = [var.policy_statements]
}

run "refuses_an_illegal_statement_id" {
  command = plan
  variables {
    policy_statements = { "Has space" = { aws = ["444455556666"] } }
  }
  expect_failures = [var.policy_statements]
}
