mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

variables {
  name = "shop"
  workloads = {
    email = {
      queue            = { name = "shop-email" }
      dlq              = { name = "shop-email-dlq" }
      subscription_dlq = { name = "shop-email-sub-dlq" }
      function         = { name = "shop-email", timeout_seconds = 60, ceiling = 20 }
      delay_machine    = { arn = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay" }
      jobs             = { service = "shop", workload = "email" }
      thresholds       = { max_end_to_end_seconds = 300 }
    }
    direct = {
      dlq      = { name = "shop-direct-dlq" }
      function = { name = "shop-direct", timeout_seconds = 60, ceiling = 5, asynchronous = true }
      jobs     = { service = "shop", workload = "direct" }
    }
    report = {
      queue   = { name = "shop-report" }
      dlq     = { name = "shop-report-dlq" }
      service = { cluster_name = "shop", service_name = "shop-report", max_tasks = 4 }
      jobs    = { service = "shop", workload = "report" }
    }
  }
  topics   = { standard = "shop-jobs", fifo = "shop-jobs.fifo" }
  schedule = { group_name = "shop", dlq_name = "shop-schedules-dlq" }
}

run "every_graph_is_explained" {
  assert {
    condition     = length([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w if w.type == "metric"]) == 8 + 7 + 6 + 3
    error_message = "Graphs of what is there, and no others: ${jsonencode([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w.properties.title if w.type == "metric"])}"
  }

  # The text of a graph lies right below it.
  assert {
    condition = alltrue([
      for graph in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : length([
        for text in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : text
        if text.type == "text" && text.x == graph.x && text.y == graph.y + graph.height && text.width == graph.width && try(length(text.properties.markdown), 0) > 60
      ]) == 1 if graph.type == "metric"
    ])
    error_message = "A graph without its text."
  }

  assert {
    condition     = length(distinct([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : "${w.x}/${w.y}"])) == length(jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets)
    error_message = "Two widgets in one place."
  }

  assert {
    condition     = alltrue([for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w.x + w.width <= 24]) && output.name == "shop"
    error_message = "CloudWatch's grid is 24 wide."
  }
}

run "without_workloads" {
  command = plan
  variables {
    workloads = {}
    schedule  = null
  }

  assert {
    condition     = [for w in jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets : w.properties.title if w.type == "metric"] == ["Topic fifo", "Topic standard"]
    error_message = "The topics remain."
  }
}

run "refuses_an_illegal_name" {
  command = plan
  variables {
    name = "shop.eu"
  }
  expect_failures = [var.name]
}
