# Shared by all tests. Naked mocks give random strings, which the provider's own ARN and JSON checks refuse.
mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012" }
}

mock_data "aws_partition" {
  defaults = { partition = "aws" }
}

mock_data "aws_region" {
  defaults = { id = "eu-west-1" }
}

mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-west-1:123456789012:mock" }
}

mock_resource "aws_sqs_queue" {
  defaults = {
    arn = "arn:aws:sqs:eu-west-1:123456789012:mock"
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/mock"
  }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/mock" }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
}

mock_resource "aws_iam_policy" {
  defaults = { arn = "arn:aws:iam::123456789012:policy/mock" }
}

mock_resource "aws_lambda_function" {
  defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mock" }
}

mock_resource "aws_kms_key" {
  defaults = { arn = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000" }
}

mock_resource "aws_lambda_event_source_mapping" {
  defaults = {
    arn  = "arn:aws:lambda:eu-west-1:123456789012:event-source-mapping:00000000-0000-0000-0000-000000000000"
    uuid = "00000000-0000-0000-0000-000000000000"
  }
}

mock_resource "aws_dynamodb_table" {
  defaults = { arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/mock" }
}

mock_resource "aws_s3_bucket" {
  defaults = { arn = "arn:aws:s3:::mock", policy = "" } # the deprecated attribute; policies are resources of their own
}

mock_resource "aws_sfn_state_machine" {
  defaults = { arn = "arn:aws:states:eu-west-1:123456789012:stateMachine:mock" }
}

mock_resource "aws_scheduler_schedule_group" {
  defaults = { arn = "arn:aws:scheduler:eu-west-1:123456789012:schedule-group/mock" }
}

mock_resource "aws_ssm_parameter" {
  defaults = { arn = "arn:aws:ssm:eu-west-1:123456789012:parameter/jobs/mock/event-source-mapping" }
}

mock_resource "aws_ecs_task_definition" {
  defaults = { arn = "arn:aws:ecs:eu-west-1:123456789012:task-definition/mock:1" }
}

mock_resource "aws_ecs_service" {
  defaults = { id = "arn:aws:ecs:eu-west-1:123456789012:service/mock/mock" }
}

mock_resource "aws_appautoscaling_policy" {
  defaults = { arn = "arn:aws:autoscaling:eu-west-1:123456789012:scalingPolicy:00000000-0000-0000-0000-000000000000:resource/ecs/service/mock/mock:policyName/mock" }
}
