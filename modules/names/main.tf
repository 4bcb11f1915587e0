locals {
  # The tightest limit of all that is derived from a name: Lambda function, IAM role and schedule 64;
  # queue 80, of which "-sub-dlq.fifo" takes 13; state machine 80; log group 512; topic 256.
  max_length  = 64
  hash_length = 8
  head_length = local.max_length - local.hash_length - 1

  full = { for key in keys(var.workloads) : key => "${var.stack}-${key}" }

  # The slash keeps ("shop", "eu-email") and ("shop-eu", "email") apart: their full names are equal, their hashes are not.
  short = {
    for key, full in local.full : key => join("-", [
      replace(substr(full, 0, local.head_length), "/-+$/", ""),
      substr(sha256("${var.stack}/${key}"), 0, local.hash_length),
    ])
  }

  # A name that fits is never hashed: adding this rule to an existing stack changes nothing.
  names = {
    for key, fixed in var.workloads : key =>
    fixed != null ? fixed : length(local.full[key]) <= local.max_length ? local.full[key] : local.short[key]
  }

  # Names derived for roles, which have the limit of 64 too. The hash is of the name, so that a fixed name keeps them when its key is renamed.
  derived = {
    for suffix in ["delay", "exec", "resume"] : suffix => {
      for key, name in local.names : key =>
      length("${name}-${suffix}") <= local.max_length ? "${name}-${suffix}" : join("-", [
        replace(substr(name, 0, local.head_length - length(suffix) - 1), "/-+$/", ""),
        substr(sha256(name), 0, local.hash_length),
        suffix,
      ])
    }
  }
}
