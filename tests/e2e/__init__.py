"""The product as a user meets it: a generated consumer, packaged, applied with Terraform, fed through the topic."""
