# Everything that belongs to the stack and not to a workload (topics, table, bucket) is on, so that a plan can leave it alone.
# The plans of these runs are read by test_change.py: Terraform itself cannot assert on what a plan leaves alone.
mock_provider "aws" {
  source = "./tests/terraform/mocks"
}

variables {
  name          = "shop"
  alarm_actions = { page = ["arn:aws:sns:eu-west-1:123456789012:pager"] }
  job_state     = {}
  claim_check   = {}
  schedules = {
    nightly = { workload = "c", job = "report.build", expression = "rate(1 day)" }
  }
  workloads = {
    a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
    b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
    c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
  }
}

run "apply_a_b_c" {}

run "remove_a" {
  command = plan
  variables {
    workloads = {
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    }
  }
}

run "reorder" {
  command = plan
  variables {
    workloads = {
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
      a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
    }
  }
}

run "add_d" {
  command = plan
  variables {
    workloads = {
      a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
      d = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true, delay = true, pause_on_open = true }
    }
  }
}

run "rename_b" {
  command = plan
  variables {
    workloads = {
      a  = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      b2 = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
      c  = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" } }
    }
  }
}

run "turn_c_into_fifo" {
  command = plan
  variables {
    workloads = {
      a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, fifo = true }
    }
  }
}

run "turn_delay_of_c_on" {
  command = plan
  variables {
    workloads = {
      a = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true, pause_on_open = true }
      b = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
      c = { lambda = { artifact = { filename = "tests/terraform/fixtures/artifact.zip" }, handler = "app.handler" }, delay = true }
    }
  }
}

run "add_a_schedule" {
  command = plan
  variables {
    schedules = {
      nightly = { workload = "c", job = "report.build", expression = "rate(1 day)" }
      hourly  = { workload = "a", job = "report.build", expression = "rate(1 hour)" }
    }
  }
}
