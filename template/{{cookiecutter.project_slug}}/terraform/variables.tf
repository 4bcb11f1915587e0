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
