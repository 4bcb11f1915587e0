"""The ledger's table in DynamoDB: one request per change, the old item returned when a condition fails."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .conditions import Expression
from .table import KEY, ConditionFailedError, Update


class DynamoTable:
    """Args: the table's name, and a function that returns the boto3 ``dynamodb`` client (low level)."""

    def __init__(self, name: str, client: Callable[[], Any]) -> None:
        self._name, self._client = name, client

    def update(self, update: Update) -> dict[str, Any]:
        client = self._client()
        try:
            answer = client.update_item(**self._request(update), ReturnValues="ALL_NEW")
        except client.exceptions.ConditionalCheckFailedException as error:
            raise ConditionFailedError(_plain_item(error.response.get("Item", {}))) from None
        return _plain_item(answer["Attributes"])

    def get(self, key: str) -> dict[str, Any] | None:
        answer = self._client().get_item(TableName=self._name, Key={KEY: {"S": key}}, ConsistentRead=True)
        return _plain_item(answer["Item"]) if "Item" in answer else None

    def transact(self, update: Update, others: Sequence[Mapping[str, Any]], token: str) -> None:
        client = self._client()
        items = [{"Update": self._request(update)}, *others]
        try:
            client.transact_write_items(TransactItems=items, ClientRequestToken=token)
        except client.exceptions.TransactionCanceledException as error:
            own = error.response.get("CancellationReasons", [{}])[0]
            if own.get("Code") == "ConditionalCheckFailed":
                raise ConditionFailedError(_plain_item(own.get("Item", {}))) from None
            raise

    def _request(self, update: Update) -> dict[str, Any]:
        expression = Expression()
        sets = [f"{expression.name(n)} = {expression.value(v)}" for n, v in update.sets.items()]
        for name, value in update.defaults.items():
            placeholder = expression.name(name)
            sets.append(f"{placeholder} = if_not_exists({placeholder}, {expression.value(value)})")
        clauses = [f"SET {', '.join(sets)}"] if sets else []
        if update.adds:
            adds = (f"{expression.name(n)} {expression.value(v)}" for n, v in update.adds.items())
            clauses.append("ADD " + ", ".join(adds))
        if update.removes:
            clauses.append("REMOVE " + ", ".join(expression.name(n) for n in update.removes))
        request: dict[str, Any] = {
            "TableName": self._name,
            "Key": {KEY: {"S": update.key}},
            "UpdateExpression": " ".join(clauses),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if update.condition is not None:
            request["ConditionExpression"] = expression.write(update.condition)
        request["ExpressionAttributeNames"] = {placeholder: name for name, placeholder in expression.names.items()}
        if expression.values:
            request["ExpressionAttributeValues"] = {name: _typed(value) for name, value in expression.values.items()}
        return request


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case list() | tuple():
            return {"L": [_typed(part) for part in value]}
    raise TypeError(f"the ledger keeps texts, whole numbers, booleans and lists of them, not {type(value).__name__}")


def _plain(value: Mapping[str, Any]) -> Any:
    (kind, content), *_ = value.items()
    match kind:
        case "N":
            return int(content)
        case "L":
            return [_plain(part) for part in content]
    return content


def _plain_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in item.items()}
