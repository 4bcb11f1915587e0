terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7.0"
    }
  }

  # State lives in this folder until you name a shared place for it, which you need as soon as two people deploy:
  # backend "s3" { ... }
}

provider "aws" {
  region = var.aws_region
}
