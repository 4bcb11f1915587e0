# Provider-free on purpose: pure arithmetic on strings, tested without a cloud.
terraform {
  required_version = ">= 1.9"
}
