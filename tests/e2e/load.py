"""Publish twenty counting jobs a second through a generated project's own app, to both kinds of queue.

    python load.py PACKAGE TABLE SECONDS MARK > published.json

Prints one entry per publication: what was published, with which id, and what became of the call. MARK is the first
part of every label. Some jobs are published twice, as by a producer that did not get its answer: under the same
business key, or under the same job id.
"""

import importlib
import json
import sys
import time
from typing import Any

GROUPS = 100
# Fewer to the FIFO queue, because the local AWS works on one batch of it at a time.
PLAIN = {"standard": 10, "ordered": 2}
WORK_SECONDS = {"standard": 0.06, "ordered": 0.02}
# What is special about the jobs of one second, by their number.
FAILS, FOLLOWED = {1, 5}, {0, 5}


def main(package: str, table: str, seconds: int, mark: str) -> None:
    app: Any = importlib.import_module(f"{package}.app").app
    published: list[dict[str, Any]] = []
    start = time.monotonic()
    for second in range(seconds):
        time.sleep(max(0.0, start + second - time.monotonic()))
        for kind in PLAIN:
            published += one_second(app, kind, table, f"{mark}-{kind}-{second}")
    json.dump(published, sys.stdout)


def one_second(app: Any, kind: str, table: str, mark: str) -> list[dict[str, Any]]:
    """The plain jobs, one that is published twice under its id, and one twice under its key."""
    plain = app.registry.find(f"counting.{kind}")
    keyed = app.registry.find(f"counting.{kind}.keyed")

    def payload(job: Any, number: int) -> Any:
        return job.payload_model(
            table=table,
            label=f"{mark}-{number}",
            group=f"group-{(hash_of(mark) + number) % GROUPS}",
            work_seconds=WORK_SECONDS[kind] * (number % 3),
            fail_once=number in FAILS,
            followed=number in FOLLOWED,
        )

    def entries(payloads: list[Any], results: list[Any]) -> list[dict[str, Any]]:
        return [
            {"label": payload.label, "followed": payload.followed, "id": result.id, "ok": result.ok}
            for payload, result in zip(payloads, results, strict=True)
        ]

    many = [payload(plain, number) for number in range(PLAIN[kind])]
    found = entries(many, app.enqueue_many(plain, many))
    twice = [payload(plain, 11)] * 2
    found += entries(twice, [app.enqueue(plain, args, job_id=f"{mark}-again") for args in twice])
    pair = [payload(keyed, 12)] * 2
    return found + entries(pair, app.enqueue_many(keyed, pair))


def hash_of(mark: str) -> int:
    """The same in every process, other than Python's own."""
    return sum(map(ord, mark)) * 7


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
