"""What the number of job types costs a running process: ``main(FEW, COUNT, MANY, COUNT, ROUNDS, RESULT)``.

FEW and MANY are generated packages, COUNT the number of job types in each.
"""

import json
import random
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from .events import QUEUE_ARN, body, job_name
from .rounds import interleaved

MESSAGES = 3_000


def dispatch(package: str, arriving: int) -> Callable[[], float]:
    """Decode, find the class, validate its payload: of messages spread over so many types, each met before."""
    decode: Any = import_module(f"{package}.runtime.envelope").decode
    registry: Any = import_module(f"{package}.app").app.registry
    chosen = random.Random(1).choices(range(arriving), k=MESSAGES)
    bodies = [body(job_name(number), number) for number in chosen]

    def once() -> float:
        started = time.process_time()
        for text in bodies:
            envelope = decode(text)
            registry.find(envelope.job).payload_model.model_validate(envelope.payload)
        return time.process_time() - started

    return once


def unused_bytes(package: str) -> int:
    """Memory of a registry none of whose jobs has arrived yet."""
    registry: Any = import_module(f"{package}.runtime.registry").Registry
    tracemalloc.start()
    kept = registry(f"{package}.jobs")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size


def unknown_text(package: str) -> int:
    """Characters of all that is said about a job which no class claims: its log line's reason and its dead letter."""
    app: Any = import_module(f"{package}.app").app
    runtime = {name: import_module(f"{package}.runtime.{name}") for name in ("engine", "delivery", "deadletter")}
    modules: Any = runtime
    engine = modules["engine"].Engine(app.registry, prepare=None, publish=None, publish_all=None, instruments=None)
    long_ago = time.time() - 86_400
    delivery = modules["delivery"].Delivery(body("x" * 100), "m", receive_count=9, sent_at=long_ago, source=QUEUE_ARN)
    report = engine.handle(delivery)
    letter = modules["deadletter"].dead_letter(report, app.registry.code_version, 262_144)
    return len(letter["MessageAttributes"]["dead"]["StringValue"])


def main(few: str, few_count: str, many: str, many_count: str, rounds: str, result: str) -> None:
    few_types, many_types = int(few_count), int(many_count)
    memory = {name: unused_bytes(name) for name in (few, many)}
    unknown = {name: unknown_text(name) for name in (few, many)}
    sides = {
        "few": dispatch(few, few_types),
        "many": dispatch(many, many_types),
        "few of many": dispatch(many, few_types),
    }
    answer = {
        "samples": interleaved(sides, int(rounds)),
        "unknown_chars": unknown[many],
        "bytes_per_unused_type": (memory[many] - memory[few]) / (many_types - few_types),
    }
    Path(result).write_text(json.dumps(answer), encoding="ascii")
