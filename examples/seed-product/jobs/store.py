"""The product's own table. One table for everything, told apart by `pk`:

    account            <account>            email, plan (trial, paid), balance, renews_on (day of the month, 1 to 28)
    booking#<account>  <booking>            credits, balance after it
    usage#<account>    <moment>#<id>        calls
    day#<account>      <day>                calls of the day
    reservation        <reservation>        account, credits, expires_at, state (open, used, expired)
    invoice#<account>  <month>              calls, cents, state (open, paid)

Every read is consistent: a job often starts milliseconds after the write that caused it.
"""

from functools import cache
from typing import Any

from ..settings import settings

Row = dict[str, Any]


class UnknownAccountError(Exception):
    """No such account, now or later: trying again cannot help."""


def row(pk: str, sk: str) -> Row | None:
    found: Row | None = _table().get_item(Key={"pk": pk, "sk": sk}, ConsistentRead=True).get("Item")
    return found


def rows(pk: str, first: str = "", last: str = "~") -> list[Row]:
    """All rows of a `pk`, by default, or those whose `sk` lies between two texts."""
    from boto3.dynamodb.conditions import Key

    asked = {"KeyConditionExpression": Key("pk").eq(pk) & Key("sk").between(first or " ", last), "ConsistentRead": True}
    answer = _table().query(**asked)
    found: list[Row] = answer["Items"]
    while "LastEvaluatedKey" in answer:  # DynamoDB API "Query": a megabyte an answer
        answer = _table().query(**asked, ExclusiveStartKey=answer["LastEvaluatedKey"])
        found += answer["Items"]
    return found


def put(item: Row) -> None:
    _table().put_item(Item=item)


def accounts() -> list[Row]:
    return rows("account")


def account(name: str) -> Row:
    found = row("account", name)
    if found is None:
        raise UnknownAccountError(name)
    return found


def table() -> str:
    """Its name, for `ctx.put` and `ctx.update`."""
    return settings().table


@cache
def _table() -> Any:
    import boto3

    return boto3.resource("dynamodb").Table(table())
