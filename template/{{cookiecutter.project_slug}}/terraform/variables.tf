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
