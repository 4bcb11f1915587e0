"""The consumer under test, at its cold start: ``main(PACKAGE, [message], [clients], [count-...])``.

``message`` hands it its first batch, of one message; ``clients`` makes the four AWS clients. The ``count-`` words print
an exact number: of modules compiled from source, of reads of the SDK's endpoint table, of heavy modules that were
imported although nothing needed them.
"""

import sys

HEAVY = ("asyncio", "aws_lambda_powertools", "aws_xray_sdk", "boto3", "botocore")
SERVICES = ("sqs", "sns", "dynamodb", "s3")


def main(package: str, *words: str) -> None:
    counted = {"compile": 0, "open": 0}

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "compile" and str(arguments[1]).endswith(".py"):
            counted["compile"] += 1
        elif event == "open" and "endpoints.json" in str(arguments[0]):
            counted["open"] += 1

    if "count-compiled" in words or "count-endpoints" in words:
        sys.addaudithook(hook)
    __import__(f"{package}.lambda_function")
    function = sys.modules[f"{package}.lambda_function"]
    if "message" in words:
        from .events import LambdaContext, job_name, sqs_event

        answer = function.handler(sqs_event([job_name(0)]), LambdaContext())
        if answer != {"batchItemFailures": []}:
            raise SystemExit(f"the first message failed: {answer}")
    if "clients" in words:
        for service in SERVICES:
            function.app.client(service)
    if "count-compiled" in words:
        print(counted["compile"])
    if "count-endpoints" in words:
        print(counted["open"])
    if "count-heavy" in words:
        print(sum(name in sys.modules for name in HEAVY))
