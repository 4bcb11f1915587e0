output "names" {
  description = "Workload key => physical name: function, role, queue and log group are named from it."
  value       = local.names

  precondition {
    condition     = length(distinct(values(local.names))) == length(local.names)
    error_message = "Two workloads would get the same physical name: ${join(", ", [for key, name in local.names : "\"${key}\" => ${name}" if length([for other in values(local.names) : other if other == name]) > 1])}. Rename one of the keys, or give one a `name` of its own."
  }

  precondition {
    condition     = length(setintersection(values(local.names), flatten([for names in values(local.derived) : values(names)]))) == 0
    error_message = join("\n", flatten([for suffix, names in local.derived : [for owner, derived in names : [for key, name in local.names : "Workload \"${key}\" would be called ${name}, the name that \"${owner}\" has for its ${suffix} role. Rename one of the keys, or give one a `name` of its own." if name == derived]]]))
  }
}

output "delays" {
  description = "Workload key => name of its delay machine, that machine's role and log group."
  value       = local.derived.delay
}

output "resumes" {
  description = "Workload key => name of the role that resumes the workload after a pause."
  value       = local.derived.resume
}

output "executions" {
  description = "Workload key => name of the role that starts the workload's tasks on ECS."
  value       = local.derived.exec
}

output "topic" {
  description = "Name of the stack's standard topic."
  value       = "${var.stack}-jobs"
}

output "fifo_topic" {
  description = "Name of the stack's FIFO topic, without the suffix `.fifo`, which modules/topic adds."
  value       = "${var.stack}-jobs"
}

output "table" {
  description = "Name of the stack's table of job records."
  value       = "${var.stack}-jobs"
}

output "claims" {
  description = "Name of the stack's claim check, from which modules/claim-check computes its bucket's."
  value       = "${var.stack}-claims"
}
