variable "aws_region" {
  description = "AWS region to deploy to."
  type        = string
  nullable    = false
  default     = "{{ cookiecutter.aws_region }}"
}

variable "name" {
  description = "Name of this stack and first part of every AWS name in it. Environments in one account need one each, such as dev-{{ cookiecutter.project_slug }}."
  type        = string
  nullable    = false
  default     = "{{ cookiecutter.project_slug }}"
}

variable "alarm_email" {
  description = "E-mail address that alarms go to. Null: nobody is told until something else subscribes to the topic of alarms."
  type        = string
  default     = null
}
{%- if cookiecutter.__ecs %}

variable "image" {
  description = "Image of the workers: what `make image` built and `docker push` uploaded, with a tag of its own each time."
  type        = string
  nullable    = false
}

variable "ecs_cluster_arn" {
  description = "ECS cluster that the workers run in. It has the capacity provider FARGATE (and FARGATE_SPOT for spot = true), and needs no machines."
  type        = string
  nullable    = false
}

variable "subnet_ids" {
  description = "Subnets of the workers, with a way to SQS, SNS, DynamoDB, S3, ECR and CloudWatch Logs: a NAT gateway or VPC endpoints."
  type        = list(string)
  nullable    = false
}

variable "security_group_ids" {
  description = "Security groups of the workers: outbound HTTPS and what the jobs talk to; nobody connects to a worker."
  type        = list(string)
  nullable    = false
}
{%- endif %}
