mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

override_resource {
  target = aws_ecs_cluster.this
  values = { arn = "arn:aws:ecs:eu-west-1:123456789012:cluster/reporting" }
}

variables {
  image              = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/report-jobs:1.0.0"
  subnet_ids         = ["subnet-0123456789abcdef0"]
  security_group_ids = ["sg-0123456789abcdef0"]
}

# tests/terraform/test_slow_reports.py simulates a night with what is planned here.
run "night" {
  command = plan
}
