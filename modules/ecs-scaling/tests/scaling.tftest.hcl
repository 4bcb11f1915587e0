variables {
  name        = "shop-reports"
  max_tasks   = 4
  job_seconds = 60
}

run "few_tasks" {
  # 720 s are left of 900 when a task has started, and for 600 of them the fleet keeps its size: 600 / 60. All start 4 x 720 / 60 in time.
  assert {
    condition = jsonencode(output.scaling) == jsonencode({
      min_tasks        = 0
      max_tasks        = 4
      backlog_per_task = 10
      threshold        = 1
      idle_minutes     = 10
      largest_burst    = 48
      steps = [
        { tasks = 1, lower = 0, upper = 10 },
        { tasks = 2, lower = 10, upper = 20 },
        { tasks = 3, lower = 20, upper = 30 },
        { tasks = 4, lower = 30, upper = null },
      ]
    })
    error_message = "1 to 5 messages are one task: ${jsonencode(output.scaling)}"
  }
}

run "slots_take_as_many_times_more" {
  variables {
    slots = 3
  }
  assert {
    condition     = output.scaling.backlog_per_task == 30
    error_message = "Three slots, three times the backlog: ${output.scaling.backlog_per_task}"
  }
}

run "a_long_latency_starts_few_tasks" {
  variables {
    max_latency_seconds = 14400
  }
  # Levels 1, 2, 3, 4 take 1 + 1/2 + 1/3 + 1/4 = 25/12 shares, 13/12 more than one: (14400 - 180) / 4 / (13/12) / 60 = 54.7.
  assert {
    condition     = output.scaling.backlog_per_task == 54 && output.scaling.largest_burst == 4 * 177
    error_message = "A quarter of four hours for shrinking, three for the burst: ${jsonencode(output.scaling)}"
  }
}

run "a_latency_shorter_than_the_idle_minutes" {
  variables {
    max_latency_seconds = 420
  }
  assert {
    condition     = output.scaling.backlog_per_task == 4
    error_message = "(420 - 180) / 60: ${output.scaling.backlog_per_task}"
  }
}

run "jobs_longer_than_the_latency_get_a_slot_each" {
  variables {
    job_seconds = 14400
    slots       = 2
  }
  assert {
    condition     = output.scaling.backlog_per_task == 2
    error_message = "What waits behind a job of four hours does not start within 15 minutes: ${output.scaling.backlog_per_task}"
  }
}

run "a_minimum_is_the_first_step" {
  variables {
    min_tasks = 2
  }
  assert {
    condition     = [for step in output.scaling.steps : step.tasks] == [2, 3, 4] && output.scaling.steps[0].lower == 0
    error_message = "Never below the minimum: ${jsonencode(output.scaling.steps)}"
  }
}

run "always_the_same_number" {
  variables {
    min_tasks = 4
  }
  assert {
    condition     = jsonencode(output.scaling.steps) == jsonencode([{ tasks = 4, lower = 0, upper = null }])
    error_message = "One step without an end: ${jsonencode(output.scaling.steps)}"
  }
}

run "twenty_levels_are_exact" {
  variables {
    max_tasks = 20
  }
  assert {
    condition     = jsonencode([for step in output.scaling.steps : step.tasks]) == jsonencode(range(1, 21))
    error_message = "Every number of tasks: ${jsonencode(output.scaling.steps)}"
  }
}

run "many_tasks_in_at_most_twenty_steps" {
  variables {
    max_tasks = 5000
  }
  assert {
    condition     = length(output.scaling.steps) <= 20 && output.scaling.steps[0].tasks == 1 && output.scaling.steps[length(output.scaling.steps) - 1].tasks == 5000
    error_message = "AWS allows 20 steps: ${jsonencode(output.scaling.steps)}"
  }
  assert {
    condition     = alltrue([for i, step in output.scaling.steps : i == 0 ? true : step.lower == output.scaling.steps[i - 1].upper && step.tasks > output.scaling.steps[i - 1].tasks])
    error_message = "No gap, no overlap, always upwards: ${jsonencode(output.scaling.steps)}"
  }
}

run "refuses_a_minimum_above_the_maximum" {
  command = plan
  variables {
    min_tasks = 5
  }
  expect_failures = [var.min_tasks]
}

run "refuses_no_task_at_all" {
  command = plan
  variables {
    max_tasks = 0
  }
  expect_failures = [var.max_tasks]
}

run "refuses_a_job_of_no_time" {
  command = plan
  variables {
    job_seconds = 0
  }
  expect_failures = [var.job_seconds]
}

run "refuses_a_job_longer_than_sqs_waits" {
  command = plan
  variables {
    job_seconds = 43201
  }
  expect_failures = [var.job_seconds]
}

run "refuses_a_latency_that_no_start_can_keep" {
  command = plan
  variables {
    max_latency_seconds = 179
  }
  expect_failures = [var.max_latency_seconds]
}

run "refuses_half_a_slot" {
  command = plan
  variables {
    slots = 0.5
  }
  expect_failures = [var.slots]
}

run "refuses_to_stop_at_the_first_gap" {
  command = plan
  variables {
    idle_minutes = 1
  }
  expect_failures = [var.idle_minutes]
}
