variable "region" {
  description = "AWS region."
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "Name of the stack, first part of every resource's name."
  type        = string
  default     = "reporting"
}

variable "image" {
  description = "Image of the worker: what `docker build` makes of the generated project, under a tag that never moves."
  type        = string
}

variable "architecture" {
  description = "Architecture the image was built for: arm64 or x86_64."
  type        = string
  default     = "arm64"
}

variable "subnet_ids" {
  description = "Subnets of the tasks, with a way to AWS's services: a NAT gateway or VPC endpoints."
  type        = list(string)
}

variable "security_group_ids" {
  description = "Security groups of the tasks. They need nothing inbound."
  type        = list(string)
}

variable "max_tasks" {
  description = "Most tasks, one report each: decides how long the night takes."
  type        = number
  default     = 40
}

variable "spot" {
  description = "Whether tasks run on Fargate Spot: cheaper, and interrupted now and then, which costs a report the page it was at."
  type        = bool
  default     = true
}

variable "protected" {
  description = "Whether job records and pages are protected against being destroyed with the stack. False is for trying this out."
  type        = bool
  default     = true
}

variable "alarm_email" {
  description = "E-mail address that alarms go to, or null: then nobody is told until something else subscribes to the topic of alarms."
  type        = string
  default     = null
}
