# Provider-free on purpose: pure arithmetic, tested without a cloud.
terraform {
  required_version = ">= 1.9"
}
