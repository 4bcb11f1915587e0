output "names" {
  description = "Workload key => physical name: function, role, queue and log group are named from it."
  value       = local.names

  precondition {
    condition     = length(distinct(values(local.names))) == length(local.names)
    error_message = "Two workloads would get the same physical name: ${join(", ", [for key, name in local.names : "\"${key}\" => ${name}" if length([for other in values(local.names) : other if other == name]) > 1])}. Rename one of the keys, or give one a `name` of its own."
  }
}

output "topic" {
  description = "Name of the stack's standard topic."
  value       = "${var.stack}-jobs"
}

output "fifo_topic" {
  description = "Name of the stack's FIFO topic, without the suffix `.fifo`, which modules/topic adds."
  value       = "${var.stack}-jobs"
}
