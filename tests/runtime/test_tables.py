"""The ledger's rules are tried on a table in memory. Here the two tables are compared: the same change of the same item
gives the same item, or is refused showing the same one.
"""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from runtime import conditions
from runtime.conditions import Condition
from runtime.dynamodb import DynamoTable
from runtime.table import KEY, ConditionFailedError, MemoryTable, Table, Update

SETTINGS = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Every attribute has one type, as in the ledger. `state` and `owner` are reserved words of DynamoDB.
texts = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["RUNNING", "DONE"])
numbers = st.integers(-3, 3) | st.integers(-(10**15), 10**15)
lists = st.lists(texts, max_size=3)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "state": texts,
    "owner": texts,
    "lease": numbers,
    "starts": numbers,
    "cancel": st.booleans(),
    "effects": lists,
}
NUMBERS = ("lease", "starts")
items = st.fixed_dictionaries({}, optional=TYPES)


@st.composite
def comparisons(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(sorted(TYPES)))
    makers = [lambda: conditions.absent(name), lambda: conditions.equals(name, draw(TYPES[name]))]
    makers.append(lambda: conditions.one_of(name, *draw(st.lists(TYPES[name], min_size=1, max_size=3))))
    if name in NUMBERS:
        makers.append(lambda: conditions.below(name, draw(numbers)))
        makers.append(lambda: conditions.at_most(name, draw(numbers)))
        makers.append(lambda: conditions.above(name, draw(numbers)))
    return draw(st.sampled_from(makers))()


simple = comparisons() | st.just(conditions.absent(KEY))
rules: st.SearchStrategy[Condition] = st.recursive(
    simple,
    lambda inner: st.builds(
        lambda join, parts: join(*parts),
        st.sampled_from([conditions.all_of, conditions.any_of]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@st.composite
def updates(draw: st.DrawFn) -> Update:
    """A change as the ledger makes them: every attribute is named once, and there is at least one."""
    free = list(draw(st.permutations(sorted(TYPES))))
    sets = {name: draw(TYPES[name]) for name in (free.pop() for _ in range(draw(st.integers(0, 2))))}
    defaults = {name: draw(TYPES[name]) for name in (free.pop() for _ in range(draw(st.integers(0, 1))))}
    adds = {name: draw(st.integers(-2, 2)) for name in free if name in NUMBERS and draw(st.booleans())}
    removes = [name for name in free if name not in adds][: draw(st.integers(0, 2))]
    if not (sets or defaults or adds or removes):
        sets = {"state": "RUNNING"}
    return Update("k", draw(st.none() | rules), sets, defaults, adds, removes)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "test")
        environment.delenv("AWS_ENDPOINT_URL", raising=False)
        made = boto3.client("dynamodb", region_name="us-east-1")
        for table in ("ledger", "effects"):
            made.create_table(
                TableName=table,
                BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
            )
        yield made


def attempt(table: Table, update: Update, *, transact: bool) -> tuple[str, dict[str, Any] | None]:
    """What a change answers, in a form that can be compared."""
    try:
        if not transact:
            return "changed", table.update(update)
        table.transact(update, [], token=f"token-{id(update)}"[:36])
    except ConditionFailedError as failed:
        return "refused", dict(failed.item)
    return "changed", table.get("k")


def both(client: Any, item: dict[str, Any]) -> tuple[MemoryTable, DynamoTable]:
    memory, dynamo = MemoryTable(), DynamoTable("ledger", lambda: client)
    client.delete_item(TableName="ledger", Key={KEY: {"S": "k"}})
    if item:
        for table in (memory, dynamo):
            table.update(Update("k", sets=item))
    return memory, dynamo


@given(st.data(), items, st.booleans())
@SETTINGS
def test_both_tables_do_the_same(client: Any, data: st.DataObject, item: dict[str, Any], transact: bool) -> None:
    memory, dynamo = both(client, item)
    update = data.draw(updates())
    assert attempt(dynamo, update, transact=transact) == attempt(memory, update, transact=transact)
    assert dynamo.get("k") == memory.get("k")


def test_an_item_that_is_not_there(client: Any) -> None:
    for table in both(client, {}):
        assert table.get("k") is None
        with pytest.raises(ConditionFailedError) as refused:
            table.update(Update("k", conditions.equals("state", "RUNNING"), sets={"lease": 1}))
        assert refused.value.item == {}
        assert table.get("k") is None


def test_a_number_added_to_nothing_counts_from_zero(client: Any) -> None:
    for table in both(client, {}):
        assert table.update(Update("k", adds={"starts": 1})) == {KEY: "k", "starts": 1}
        assert table.update(Update("k", adds={"starts": -2})) == {KEY: "k", "starts": -1}


def test_a_transaction_is_all_or_nothing(client: Any) -> None:
    put = {
        "Put": {"TableName": "effects", "Item": {KEY: {"S": "e"}}, "ConditionExpression": "attribute_not_exists(pk)"}
    }
    _, table = both(client, {"state": "RUNNING"})
    mine = conditions.equals("state", "RUNNING")
    with pytest.raises(ConditionFailedError) as refused:
        table.transact(Update("k", conditions.equals("state", "DONE"), sets={"lease": 1}), [put], token="one")
    assert refused.value.item == {KEY: "k", "state": "RUNNING"}
    assert "Item" not in client.get_item(TableName="effects", Key={KEY: {"S": "e"}})

    table.transact(Update("k", mine, sets={"lease": 1}), [put], token="two")
    assert "Item" in client.get_item(TableName="effects", Key={KEY: {"S": "e"}})

    # A condition of the caller's own is no word about the claim.
    with pytest.raises(client.exceptions.TransactionCanceledException):
        table.transact(Update("k", mine, sets={"lease": 2}), [put], token="three")
    assert table.get("k") == {KEY: "k", "state": "RUNNING", "lease": 1}


def test_a_value_that_the_ledger_does_not_keep_is_refused(client: Any) -> None:
    _, table = both(client, {})
    with pytest.raises(TypeError, match="not float"):
        table.update(Update("k", sets={"lease": 1.5}))
