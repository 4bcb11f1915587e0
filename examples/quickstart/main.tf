module "jobs" {
  source = "../.."

  name = var.name

  workloads = {
    email = {
      lambda = {
        artifact     = { filename = var.artifact }
        handler      = var.handler
        runtime      = var.runtime
        architecture = var.architecture
      }
    }
  }
}
