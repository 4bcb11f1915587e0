module "jobs" {
  source = "{{ cookiecutter.module_source }}"

  name      = var.name
  workloads = local.workloads
  tags      = { project = "{{ cookiecutter.project_slug }}" }
}
