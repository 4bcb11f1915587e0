# A direct workload put together from the modules, without the root: topic, delay machine, function, job records.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region
}

module "topic" {
  source = "../../../modules/topic"

  name = "${var.name}-jobs"
}

module "fifo_topic" {
  source = "../../../modules/topic"

  name = "${var.name}-jobs"
  fifo = true
}

module "job_state" {
  source = "../../../modules/job-state"

  name                = "${var.name}-jobs"
  deletion_protection = false
}

module "delay" {
  source = "../../../modules/delay"

  name     = "${var.name}-alerts-delay"
  workload = "alerts"
  topic    = module.topic.topic
}

module "alerts" {
  source = "../../../modules/direct-consumer"

  name     = "${var.name}-alerts"
  workload = "alerts"
  topics = {
    standard_arn = module.topic.topic.arn
    fifo_arn     = module.fifo_topic.topic.arn
  }
  function = {
    artifact        = { filename = var.artifact }
    handler         = var.handler
    architecture    = var.architecture
    timeout_seconds = 10
  }
  reserved_concurrency = 2
  delay_machine        = module.delay.access
  service_name         = var.name
  access = {
    job_state = module.job_state.access
    app       = { environment = { JOBS_APP = var.name }, statements = [] }
  }
}
