variable "region" {
  description = "AWS region."
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "Name of the stack, first part of every resource's name."
  type        = string
  default     = "quickstart"
}

variable "artifact" {
  description = "Path of the zip that `make package` made in the generated project."
  type        = string
  default     = "dist/lambda.zip"
}

variable "handler" {
  description = "Handler inside the zip: <package>.lambda_function.handler."
  type        = string
  default     = "my_jobs.lambda_function.handler"
}

variable "runtime" {
  description = "Lambda runtime the zip was built for."
  type        = string
  default     = "python3.13"
}

variable "architecture" {
  description = "Architecture the zip was built for: arm64 or x86_64."
  type        = string
  default     = "arm64"
}

variable "alarm_email" {
  description = "E-mail address that alarms go to, or null: then nobody is told until something else subscribes to the topic of alarms."
  type        = string
  default     = null
}
