variables {
  stack     = "shop"
  workloads = { email = null }
}

run "a_name_that_fits_is_not_touched" {
  command = plan

  variables {
    workloads = {
      email = null
      a     = null
      # "shop-" and 59 characters are exactly 64
      "k2345678901234567890123456789012345678901234567890123456789" = null
    }
  }

  assert {
    condition     = output.names["email"] == "shop-email" && output.names["a"] == "shop-a"
    error_message = "Short names must be <stack>-<key>: ${jsonencode(output.names)}"
  }

  assert {
    condition     = alltrue([for key, name in output.names : name == "shop-${key}"])
    error_message = "A name of up to 64 characters must stay as it is: ${jsonencode(output.names)}"
  }

  assert {
    condition     = output.topic == "shop-jobs" && output.fifo_topic == "shop-jobs"
    error_message = "Topics are called <stack>-jobs."
  }
}

run "long_names_that_differ_at_the_end_stay_apart" {
  command = plan

  variables {
    stack = "acme-payments-eu-west-1"
    workloads = {
      "invoice-reconciliation-high-priority-retry-a" = null
      "invoice-reconciliation-high-priority-retry-b" = null
    }
  }

  assert {
    condition     = length(distinct(values(output.names))) == 2 && alltrue([for name in values(output.names) : length(name) <= 64])
    error_message = "Two workloads, two legal names: ${jsonencode(output.names)}"
  }

  # Written out: a change of the rule would replace the queues of everyone who has a long name.
  assert {
    condition     = output.names["invoice-reconciliation-high-priority-retry-a"] == "acme-payments-eu-west-1-invoice-reconciliation-high-pri-53d938c6"
    error_message = "Names must be stable: ${jsonencode(output.names)}"
  }
}

run "longest_stack_and_longest_key" {
  command = plan

  variables {
    stack = "s2345678901234567890123456789012345678901234567890"
    workloads = {
      "k23456789012345678901234567890123456789012345678901234567890123a" = null
      "k23456789012345678901234567890123456789012345678901234567890123b" = null
      "x"                                                                = null
    }
  }

  assert {
    condition     = length(distinct(values(output.names))) == 3 && alltrue([for name in values(output.names) : can(regex("^[a-z][a-z0-9-]{0,62}[a-z0-9]$", name))])
    error_message = "Every name must be legal and different: ${jsonencode(output.names)}"
  }

  # 80 characters are SQS's limit; the subscription's dead-letter queue has the longest suffix.
  assert {
    condition     = alltrue([for name in values(output.names) : length("${name}-sub-dlq.fifo") <= 80])
    error_message = "The longest derived queue name must fit: ${jsonencode(output.names)}"
  }
}

run "first_of_two_stacks_with_equal_full_names" {
  command = plan

  variables {
    stack     = "shop"
    workloads = { "eu-k2345678901234567890123456789012345678901234567890123456789" = null }
  }
}

run "the_hash_covers_the_stack" {
  command = plan

  variables {
    stack     = "shop-eu"
    workloads = { "k2345678901234567890123456789012345678901234567890123456789" = null }
  }

  assert {
    condition     = length(setintersection(values(output.names), values(run.first_of_two_stacks_with_equal_full_names.names))) == 0
    error_message = "Shortened names of two stacks must differ: ${jsonencode(output.names)}"
  }
}

run "no_hyphen_before_the_hash_is_doubled" {
  command = plan

  variables {
    stack     = "shop"
    workloads = { "k234567890123456789012345678901234567890123456789---long-enough" = null }
  }

  assert {
    condition     = alltrue([for name in values(output.names) : can(regex("[0-9]-[0-9a-f]{8}$", name))])
    error_message = "The head must end readably: ${jsonencode(output.names)}"
  }
}

run "a_fixed_name_is_used_as_it_is" {
  command = plan

  variables {
    workloads = { mail = "shop-email" }
  }

  assert {
    condition     = output.names["mail"] == "shop-email"
    error_message = "A renamed key keeps the physical name it is given."
  }
}

run "refuses_two_equal_names" {
  command = plan

  variables {
    workloads = {
      email = null
      mail  = "shop-email"
    }
  }

  expect_failures = [output.names]
}

run "refuses_an_illegal_key" {
  command = plan

  variables {
    workloads = { "E-mail" = null }
  }

  expect_failures = [var.workloads]
}

run "refuses_a_key_of_65_characters" {
  command = plan

  variables {
    workloads = { "k2345678901234567890123456789012345678901234567890123456789012345" = null }
  }

  expect_failures = [var.workloads]
}

run "refuses_the_name_of_a_neighbours_dead_letter_queue" {
  command = plan

  variables {
    workloads = {
      email     = null
      email-dlq = null
    }
  }

  expect_failures = [var.workloads]
}

run "refuses_an_illegal_fixed_name" {
  command = plan

  variables {
    workloads = { email = "shop.email" }
  }

  expect_failures = [var.workloads]
}

run "refuses_an_illegal_stack" {
  command = plan

  variables {
    stack = "Shop-"
  }

  expect_failures = [var.stack]
}

run "derived_names_are_legal_too" {
  command = plan

  variables {
    workloads = {
      email                                                         = null
      "k2345678901234567890123456789012345678901234567890123456789" = null
      "k234567890123456789012345678901234567890123456789012345678a" = null
    }
  }

  assert {
    condition     = output.delays["email"] == "shop-email-delay" && output.resumes["email"] == "shop-email-resume" && output.executions["email"] == "shop-email-exec" && output.table == "shop-jobs" && output.claims == "shop-claims"
    error_message = "A name that fits is not touched: ${jsonencode([output.delays, output.resumes, output.executions])}"
  }

  assert {
    condition     = alltrue([for name in concat(values(output.delays), values(output.resumes), values(output.executions)) : length(name) <= 64 && can(regex("-(delay|exec|resume)$", name))]) && length(distinct(concat(values(output.delays), values(output.resumes), values(output.executions), values(output.names)))) == 12
    error_message = "Legal and different: ${jsonencode([output.delays, output.resumes, output.executions])}"
  }
}

run "derived_names_follow_a_fixed_name" {
  command = plan

  variables {
    workloads = { mail = "shop-email" }
  }

  assert {
    condition     = output.delays["mail"] == "shop-email-delay" && output.resumes["mail"] == "shop-email-resume"
    error_message = "Renaming a key with a fixed name keeps the machine with its waiting jobs: ${jsonencode(output.delays)}"
  }
}

run "refuses_the_name_of_a_neighbours_delay_machine" {
  command = plan

  variables {
    workloads = {
      email       = null
      email-delay = null
    }
  }

  expect_failures = [output.names]
}
