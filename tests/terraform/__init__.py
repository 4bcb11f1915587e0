"""The Terraform modules, tested offline: no account, no endpoint, the provider is mocked."""
