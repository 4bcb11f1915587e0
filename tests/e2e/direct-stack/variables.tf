variable "name" {
  description = "First part of every name."
  type        = string
  nullable    = false
}

variable "region" {
  description = "AWS region."
  type        = string
  nullable    = false
}

variable "artifact" {
  description = "Zip of the consumer."
  type        = string
  nullable    = false
}

variable "handler" {
  description = "What Lambda calls: app.direct_handler()."
  type        = string
  nullable    = false
}

variable "architecture" {
  description = "What the zip was built for."
  type        = string
  nullable    = false
}
