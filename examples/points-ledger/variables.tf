variable "region" {
  description = "AWS region."
  type        = string
  default     = "eu-west-1"
}

variable "name" {
  description = "Name of the stack, first part of every resource's name."
  type        = string
  default     = "loyalty"
}

variable "artifact" {
  description = "Path of the zip that holds the jobs of both workloads."
  type        = string
  default     = "dist/lambda.zip"
}

variable "handler" {
  description = "Handler inside the zip: <package>.lambda_function.handler."
  type        = string
  default     = "loyalty_jobs.lambda_function.handler"
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

variable "timeout_seconds" {
  description = "Timeout of the functions: ten bookings of two seconds in the one, one of ten in the other. Visibility is six times that, so it also decides how soon the work of a crashed process comes back."
  type        = number
  default     = 30
}

variable "partners_url" {
  description = "Where partners are asked: the jobs append `/<partner>/purchases/<booking>`."
  type        = string
  default     = "https://partners.example.com"
}

variable "protected" {
  description = "Whether the points and the job records are protected against being destroyed with the stack. False is for trying this out."
  type        = bool
  default     = true
}

variable "alarm_email" {
  description = "E-mail address that alarms go to, or null: then nobody is told until something else subscribes to the topic of alarms."
  type        = string
  default     = null
}
