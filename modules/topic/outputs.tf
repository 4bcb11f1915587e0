output "topic" {
  description = "The topic, as modules/queue and modules/lambda-consumer take it."
  value = {
    arn  = aws_sns_topic.this.arn
    name = aws_sns_topic.this.name
    fifo = var.fifo
  }
}

output "topic_arn" {
  description = "ARN of the topic."
  value       = aws_sns_topic.this.arn
}
