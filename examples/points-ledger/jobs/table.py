"""The two things that a job wants to know of DynamoDB beside what `ctx.commit` does for it."""

from functools import cache
from typing import Any


@cache
def _tables() -> Any:
    import boto3  # most bookings are made without reading anything: a cold start does not wait for it

    return boto3.resource("dynamodb")


def read_item(table: str, pk: str) -> dict[str, Any]:
    """The item as it is now, empty if there is none."""
    answer = _tables().Table(table).get_item(Key={"pk": pk}, ConsistentRead=True)
    return dict(answer.get("Item", {}))


def condition_failed(error: Exception) -> bool:
    """Whether a commit was refused because a condition of one of its writes did not hold, and for no other reason."""
    response = getattr(error, "response", {})
    codes = {reason.get("Code") for reason in response.get("CancellationReasons", [])}
    return "ConditionalCheckFailed" in codes and codes <= {"ConditionalCheckFailed", "None"}
