variable "region" {
  description = "AWS region."
  type        = string
  default     = "eu-central-1"
}

variable "name" {
  description = "Name of the stack, first part of every resource's name."
  type        = string
  default     = "seed"
}

variable "artifact" {
  description = "Path of the zip that holds the jobs of all workloads."
  type        = string
  default     = "dist/lambda.zip"
}

variable "handler" {
  description = "Handler of the workloads with a queue: <package>.lambda_function.handler."
  type        = string
  default     = "seed_jobs.lambda_function.handler"
}

variable "direct_handler" {
  description = "Handler of the workload without one: <package>.direct_function.handler."
  type        = string
  default     = "seed_jobs.direct_function.handler"
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

variable "apis" {
  description = "Base URLs of the servers that the jobs call: the mail provider, the payment provider, the cache."
  type = object({
    mail     = optional(string, "https://mail.example")
    payments = optional(string, "https://payments.example")
    cache    = optional(string, "https://cache.example")
  })
  default  = {}
  nullable = false
}

variable "alarm_emails" {
  description = "E-mail addresses that alarms go to, by severity, or null: then nobody is told until something else subscribes to the topics of the output `alarm_topics`."
  type = object({
    page   = optional(string)
    ticket = optional(string)
  })
  default  = {}
  nullable = false
}

variable "protected" {
  description = "Whether the product's table and the job records are protected against being destroyed with the stack. False is for trying this out."
  type        = bool
  default     = true
}
