# The three kinds of consumer in one stack.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  job_state     = {}
  workloads = {
    email = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    reports = {
      ecs = {
        cluster_arn        = "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"
        image              = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/reports:1.4.0"
        subnet_ids         = ["subnet-1"]
        security_group_ids = ["sg-1"]
        max_tasks          = 8
        job_seconds        = 240
        lease_seconds      = 90
      }
    }
    cache = {
      direct               = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }
      reserved_concurrency = 5
    }
  }
}

run "each_has_what_its_kind_has" {
  assert {
    condition     = output.workloads["reports"].queue.visibility_timeout_seconds == 90 && output.workloads["reports"].service.name == "shop-reports" && output.workloads["reports"].function == null && output.workloads["reports"].event_source_mapping == null
    error_message = "ECS: a queue held by the lease, a service, no function: ${jsonencode(output.workloads["reports"])}"
  }

  assert {
    condition     = output.workloads["cache"].queue == null && output.workloads["cache"].function.name == "shop-cache" && output.workloads["cache"].dlq.name == "shop-cache-dlq" && output.workloads["cache"].delay_machine != null && output.workloads["cache"].service == null
    error_message = "Direct: a function, a dead-letter queue and a delay machine, no queue: ${jsonencode(output.workloads["cache"])}"
  }

  assert {
    condition     = keys(jsondecode(output.publisher.environment["JOBS_QUEUE_URLS"])) == ["email", "reports"] && keys(jsondecode(output.publisher.environment["JOBS_DELAY_MACHINES"])) == ["cache"]
    error_message = "A producer sends delayed jobs to queues, or through the machine where there is none: ${jsonencode(output.publisher.environment)}"
  }

  assert {
    condition     = keys(output.queue_arns) == ["email", "reports"] && keys(output.dlq_arns) == ["cache", "email", "reports"] && keys(output.function_arns) == ["cache", "email"]
    error_message = "Flat ARNs by workload, of what there is."
  }
}
