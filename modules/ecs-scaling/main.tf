locals {
  reaction_seconds = 180 # a metric, an alarm and the start of a task: a minute each
  most_steps       = 20  # what Application Auto Scaling allows in one step scaling policy

  # The numbers of tasks a fleet may have: every one if they are few, else with equal ratios between them.
  first  = max(1, var.min_tasks)
  spread = local.most_steps - 1
  levels = var.max_tasks - local.first < local.most_steps ? range(local.first, var.max_tasks + 1) : distinct([
    for i in range(local.most_steps) : i == local.spread ? var.max_tasks :
    max(local.first + i, floor(local.first * pow(var.max_tasks / local.first, i / local.spread)))
  ])

  # The fleet shrinks with the backlog, so that no task waits without work. While the backlog falls from one level to the next, it is
  # worked off at the rate of that level; all levels together take this many times as long as one task takes for its own share.
  drain = sum([for i, tasks in local.levels : 1 - (i == 0 ? 0 : local.levels[i - 1] / tasks)])

  # How long a task may take for its share. As long as the fleet keeps its size anyway: then it does not shrink before it is done. Longer
  # if the latency is long, so that few messages start few tasks, but of the time at hand shrinking may cost a quarter only.
  left   = var.max_latency_seconds - local.reaction_seconds
  kept   = 60 * var.idle_minutes
  share  = min(local.left, local.drain == 1 ? local.left : max(local.kept, local.left / 4 / (local.drain - 1)))
  rounds = max(1, floor(local.share / var.job_seconds)) # jobs that one slot runs one after the other
  target = local.rounds * var.slots

  # What all tasks together start in time if it comes at once.
  shrinking     = local.share > local.kept && local.drain > 1 ? (local.drain - 1) * local.share : 0
  largest_burst = var.max_tasks * var.slots * max(1, floor((local.left - local.shrinking) / var.job_seconds))

  # Relative to the alarm's threshold, which is one message: a backlog of 1 to target messages is 0 to target - 1 above it.
  steps = [
    for i, tasks in local.levels : {
      tasks = tasks
      lower = i == 0 ? 0 : local.levels[i - 1] * local.target
      upper = tasks == var.max_tasks ? null : tasks * local.target
    }
  ]
}
