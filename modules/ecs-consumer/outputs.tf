output "service" {
  description = "The service. `cluster_name` and `name` are the dimensions ClusterName and ServiceName of its metrics."
  value = {
    arn          = aws_ecs_service.this.id
    name         = aws_ecs_service.this.name
    cluster_name = local.cluster_name
  }
}

output "task_definition" {
  description = "The task definition: its family, and the ARN of this revision."
  value = {
    arn    = aws_ecs_task_definition.this.arn
    family = aws_ecs_task_definition.this.family
  }
}

output "role" {
  description = "The role of the worker, for policies of the caller's own."
  value = {
    arn  = aws_iam_role.task.arn
    name = aws_iam_role.task.name
  }
}

output "execution_role" {
  description = "The role that starts the tasks, for instance to let it use the key of a secret."
  value = {
    arn  = aws_iam_role.execution.arn
    name = aws_iam_role.execution.name
  }
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.this.name
}

output "scaling" {
  description = "The computed numbers, see modules/ecs-scaling: how many messages one task stands for, the steps, and the largest burst that starts in time."
  value       = local.scaling
}

output "service_arn" {
  description = "ARN of the service."
  value       = aws_ecs_service.this.id
}
