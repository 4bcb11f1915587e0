output "state_machine" {
  description = "The state machine. The ARN is also the dimension `StateMachineArn` of its metrics."
  value = {
    arn  = aws_sfn_state_machine.this.arn
    name = aws_sfn_state_machine.this.name
  }
}

output "access" {
  description = "What whoever delays a job of this workload needs: environment variables and IAM statements, as modules/lambda-consumer takes them."
  value = {
    environment = { JOBS_DELAY_MACHINE_ARN = aws_sfn_state_machine.this.arn }
    statements = concat(
      [
        {
          sid        = "StartDelay"
          actions    = ["states:StartExecution"]
          resources  = [aws_sfn_state_machine.this.arn]
          conditions = {}
        },
        {
          # A start that finds its name taken looks whether it is the same job.
          sid        = "CompareDelay"
          actions    = ["states:DescribeExecution"]
          resources  = ["${replace(aws_sfn_state_machine.this.arn, ":stateMachine:", ":execution:")}:*"]
          conditions = {}
        },
      ],
      [for key in [var.kms_key] : {
        sid        = "DelayKey"
        actions    = ["kms:Decrypt", "kms:GenerateDataKey"]
        resources  = [key.arn]
        conditions = { StringLike = { "kms:ViaService" = "states.*" } }
      } if key != null],
    )
  }
}

output "log_group_name" {
  description = "Name of the log group: failed executions, without their data."
  value       = aws_cloudwatch_log_group.this.name
}

output "state_machine_arn" {
  description = "ARN of the state machine."
  value       = aws_sfn_state_machine.this.arn
}

output "kms_key_policy_statements" {
  description = "Statements the key policy of `kms_key` needs so that failed executions can be logged, empty without a key. Roles are served by their IAM policies, which the key policy must admit (the default one does)."
  value = [
    for statement in [{
      Sid       = "AllowLogDeliveryToUseKey"
      Effect    = "Allow"
      Principal = { Service = "delivery.logs.amazonaws.com" }
      Action    = "kms:Decrypt"
      Resource  = "*" # in a key policy "*" means this key
      Condition = { StringLike = { "kms:EncryptionContext:SourceArn" = "arn:${data.aws_partition.this.partition}:logs:${data.aws_region.this.id}:${data.aws_caller_identity.this.account_id}:*" } }
    }] : statement if var.kms_key != null
  ]
}
