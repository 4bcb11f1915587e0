"""What AWS would charge for: every call of a consumer counted where it leaves the process, in units that AWS bills.

DynamoDB is moto's, so that conditions and sizes are real; SQS and SNS only count. List prices of us-east-1 in dollars
per million: Lambda requests without their compute time, DynamoDB on demand since November 2024.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from moto import mock_aws
from runtime.app import App
from runtime.table import KEY

from .helpers import Aws, invocation, record

PRICES = {"sqs": 0.40, "sns": 0.50, "lambda": 0.20, "write unit": 0.625, "read unit": 0.125}
BATCH = 10


@dataclass
class Bill:
    """Sums over ``jobs`` jobs. ``calls`` are those of the consumer and its event source mapping, by name."""

    jobs: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)

    def call(self, name: str, unit: str = "", number: int = 1) -> None:
        self.calls[name] += 1
        self.units[unit or name.split(".")[0]] += number

    @property
    def per_job(self) -> dict[str, float]:
        return {name: number / self.jobs for name, number in sorted(self.calls.items())}

    @property
    def calls_per_job(self) -> float:
        return round(self.calls.total() / self.jobs, 4)

    @property
    def dollars_per_million_jobs(self) -> float:
        return sum(PRICES[unit] * number for unit, number in self.units.items()) / self.jobs


class Services(Aws):
    """The clients of one consumer."""

    def __init__(self, bill: Bill, tables: tuple[str, ...]) -> None:
        super().__init__()
        self.bill = bill
        self.dynamodb = boto3.client("dynamodb", region_name="us-east-1")
        self.exceptions = self.dynamodb.exceptions
        for name in tables:
            self.dynamodb.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )

    def _call(self, api: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.bill.call(("sns." if api.startswith("publish") else "sqs.") + api)
        return super()._call(api, arguments)

    def get_item(self, **request: Any) -> Any:
        answer = self.dynamodb.get_item(**request)
        kilobytes = -(-_size(answer.get("Item", {})) // 4096) or 1
        self.bill.call("dynamodb.get_item", "read unit", kilobytes)  # strongly consistent
        return answer

    def update_item(self, **request: Any) -> Any:
        before = self._item(request)
        answer = self.dynamodb.update_item(**request)
        self.bill.call("dynamodb.update_item", "write unit", _write_units(before, self._item(request)))
        return answer

    def transact_write_items(self, **request: Any) -> Any:
        actions = [(kind, action) for item in request["TransactItems"] for kind, action in item.items()]
        before = [self._item(action) for _, action in actions]
        answer = self.dynamodb.transact_write_items(**request)
        units = [_write_units(old, self._item(action)) for old, (_, action) in zip(before, actions, strict=True)]
        self.bill.call("dynamodb.transact_write_items", "write unit", 2 * sum(units))
        return answer

    def _item(self, action: dict[str, Any]) -> dict[str, Any]:
        key = action.get("Key") or {KEY: action["Item"][KEY]}
        item: dict[str, Any] = self.dynamodb.get_item(TableName=action["TableName"], Key=key).get("Item", {})
        return item


@contextmanager
def services(*tables: str) -> Iterator[Services]:
    with mock_aws():
        yield Services(Bill(), tables)


def run_batches(app: App, aws: Services, bodies: list[str], **options: Any) -> Bill:
    """Let the Lambda handler take the bodies ten at a time, as the mapping hands them over at saturation."""
    handler, bill = app.lambda_handler(**options), aws.bill
    for start in range(0, len(bodies), BATCH):
        records = [record(text, f"m{start + n}") for n, text in enumerate(bodies[start : start + BATCH])]
        bill.call("sqs.receive by the mapping")
        bill.units["lambda"] += 1
        failed = handler({"Records": records}, invocation())["batchItemFailures"]
        if len(failed) < len(records):
            bill.call("sqs.delete by the mapping")
        bill.jobs += len(records)
    return bill


def _write_units(before: dict[str, Any], after: dict[str, Any]) -> int:
    """One per kilobyte of the larger one, and one for the index that lists parked and dead jobs."""
    kilobytes = -(-max(_size(before), _size(after)) // 1024)
    return kilobytes + (before.get("listed") != after.get("listed"))


def _size(item: dict[str, Any]) -> int:
    """DynamoDB developer guide, "DynamoDB item sizes and formats"."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: dict[str, Any]) -> int:
    (kind, content), *_ = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "L":
            return 3 + sum(1 + _value_size(part) for part in content)
    return 1
