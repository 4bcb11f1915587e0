"""API calls per job in full batches of ten, counted, and the cost per million jobs that follows from them, which the
README states.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from runtime import Job, JobContext, Permanent, fixed
from runtime.app import App
from runtime.job import JobClass

from .bill import Bill, Services, run_batches, services
from .helpers import NOW, ROOT, Work, app_of, body, job_of, nothing, raising, stack

JOBS = 40
LABELS = [str(number) for number in range(JOBS)]
MAPPING = {"sqs.delete by the mapping": 0.1, "sqs.receive by the mapping": 0.1}


class Child(Job[Work, None]):
    name = "child"

    def run(self, args: Work, ctx: JobContext) -> None:
        pass


def commit(args: Work, ctx: JobContext) -> None:
    ctx.commit(ctx.put("orders", {"pk": args.label, "state": "paid"}), ctx.follow_up(Child, Work()))


def consumer(aws: Services, *jobs: JobClass, table: str = "jobs") -> App:
    # A name and an id as long as those of a real stack: the size of a record is billed.
    return app_of(aws, *jobs, config=stack(table=table, app="shop-of-some-length"), now=NOW)


def bodies() -> list[str]:
    return [body(label, id=f"01890a5d-ac96-774b-bcce-{int(label):012d}") for label in LABELS]


def bill_of(job: JobClass, *others: JobClass, table: str = "jobs", **options: Any) -> Bill:
    with services("jobs", "orders") as aws:
        return run_batches(consumer(aws, job, *others, table=table), aws, bodies(), **options)


RETRY = fixed(timedelta(seconds=30), max_attempts=3)
SCENARIOS: dict[str, tuple[JobClass, dict[str, Any], dict[str, float]]] = {
    "with the ledger": (job_of(nothing), {}, {"dynamodb.update_item": 2, **MAPPING}),
    "the same, committing a write of its own and one follow-up job": (
        job_of(commit),
        {},
        {"dynamodb.transact_write_items": 1, "dynamodb.update_item": 2, "sns.publish_batch": 1, **MAPPING},
    ),
    "the same, dead-lettered": (
        job_of(raising(Permanent("no"))),
        {},
        {"dynamodb.update_item": 2, "sqs.send_message": 1, **MAPPING},
    ),
    "each retry, with the ledger": (
        job_of(raising(OSError()), retry=RETRY),
        {},
        {"dynamodb.update_item": 2, "sqs.change_message_visibility_batch": 0.1, "sqs.receive by the mapping": 0.1},
    ),
    "without a ledger": (job_of(nothing, ledger=False), {}, {"sqs.delete_message": 0.9, **MAPPING}),
    'without a ledger, `acknowledge="batch"`': (
        job_of(nothing, ledger=False),
        {"acknowledge": "batch"},
        MAPPING,
    ),
    "each retry, without a ledger": (
        job_of(raising(OSError()), retry=RETRY, ledger=False),
        {},
        {"sqs.change_message_visibility_batch": 0.1, "sqs.receive by the mapping": 0.1},
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_job_costs_these_calls_and_the_readme_says_so(name: str) -> None:
    job, options, calls = SCENARIOS[name]
    bill = bill_of(job, Child, **options)
    assert bill.per_job == calls
    if "retry" not in name:  # a retry is published by nobody
        bill.units["sns"] += JOBS // 10
    assert readme()[name] == (f"{bill.calls_per_job:.1f}", f"{bill.dollars_per_million_jobs:.2f}")


def readme() -> dict[str, tuple[str, str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Cost\n")[2].partition("\n## ")[0]
    return {
        what: (calls, cost) for what, calls, cost in re.findall(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \|$", text, re.M)
    }


def test_the_readme_prices_nothing_else() -> None:
    assert readme().keys() == SCENARIOS.keys()


def test_the_ledger_stays_within_its_budget_at_saturation() -> None:
    assert bill_of(job_of(nothing)).calls_per_job <= 2.25


def test_a_stack_without_a_table_and_a_job_without_a_ledger_cost_the_same() -> None:
    assert bill_of(job_of(nothing), table="") == bill_of(job_of(nothing, ledger=False))


def test_a_closed_breaker_adds_one_read_per_process_and_no_write() -> None:
    guarded = bill_of(job_of(nothing, dependencies=("smtp",)))
    assert guarded.calls - bill_of(job_of(nothing)).calls == {"dynamodb.get_item": 1}


def test_a_producer_sends_ten_jobs_a_call_and_registers_a_unique_one_with_one_write() -> None:
    unique = job_of(nothing, key="label")
    with services("jobs") as aws:
        app = consumer(aws, unique)
        app.enqueue_many(unique, [Work(label=label) for label in LABELS])
        assert aws.bill.calls == {"sns.publish_batch": JOBS / 10}
        aws.bill.calls.clear()
        app.enqueue(unique, Work(label="1"), unique="refuse")
        assert aws.bill.calls == {"dynamodb.update_item": 1, "sns.publish_batch": 1}
