output "scaling" {
  description = "The numbers of a step scaling policy with adjustments of exact capacity: `steps` (from `lower` to below `upper` messages above `threshold`: that many `tasks`), `backlog_per_task`, `idle_minutes`, `min_tasks`, `max_tasks`, and `largest_burst`, the most messages at once that still start in time."
  value = {
    min_tasks        = var.min_tasks
    max_tasks        = var.max_tasks
    backlog_per_task = local.target
    threshold        = 1
    steps            = local.steps
    idle_minutes     = var.idle_minutes
    largest_burst    = local.largest_burst
  }
}
