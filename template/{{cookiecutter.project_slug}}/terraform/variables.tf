variable "aws_region" {
  description = "AWS region to deploy to."
  type        = string
  nullable    = false
  default     = "{{ cookiecutter.aws_region }}"
}

variable "name" {
  description = "Name of this stack and prefix of every AWS name in it. Give each environment its own, such as {{ cookiecutter.project_slug }}-dev."
  type        = string
  nullable    = false
  default     = "{{ cookiecutter.project_slug }}"
}
