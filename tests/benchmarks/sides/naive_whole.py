"""What collecting the usual examples leads to: Tracer, Logger, Metrics, batch, parser, idempotency on DynamoDB (which
opens a boto3 session of its own) and four clients.
"""

import boto3
from aws_lambda_powertools import Tracer
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig
from aws_lambda_powertools.utilities.parser.models import SqsModel

from . import powertools_consumer

tracer = Tracer(service="bench")
persistence = DynamoDBPersistenceLayer(table_name="bench")
config = IdempotencyConfig(event_key_jmespath="messageId")
clients = [boto3.client(service) for service in ("sqs", "sns", "dynamodb", "s3")]
parts = (powertools_consumer.handler, SqsModel)
