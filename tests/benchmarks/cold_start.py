"""Goals 1 and 2: what a new environment pays before its first job.

Goal 1 compares the import of a generated consumer with three processes: one pydantic model (no consumer that uses
pydantic can be cheaper), the same with Powertools' Logger, Metrics and BatchProcessor (the usual consumer), and the
whole that collecting examples leads to. Goal 2 compares consumers of different size up to the end of their first
message, since only that one shows what finding its class costs.
"""

from pathlib import Path

from .child import Child
from .project import Workshop, has_xray, package_name
from .scale import Scale
from .sides.rounds import interleaved, ratios
from .table import Row


def start(workshop: Workshop, scale: Scale) -> list[Row]:
    few = scale.types[0]
    package, path = package_name(few), workshop.path(few)
    sides = {
        "import": Child(path, "sides.consumer", [package]),
        "first message": Child(path, "sides.consumer", [package, "message"]),
        "model": Child(path, "sides.one_model"),
        "powertools": Child(path, "sides.powertools_consumer"),
    }
    if has_xray():
        sides["whole"] = Child(path, "sides.naive_whole")
    samples = interleaved({name: side.cpu_seconds for name, side in sides.items()}, scale.process_rounds)
    what = f"import of the consumer, {few} job types"
    whole = "Tracer, idempotency, 4 clients"
    heavy = Child(path, "sides.consumer", [package, "message", "count-heavy"])
    return [
        Row(1, what, "one pydantic model", ratios(samples, "import", "model"), 1.10),
        Row(1, what, "Logger, Metrics, BatchProcessor", ratios(samples, "import", "powertools"), 0.60),
        Row(1, what, whole, ratios(samples, "import", "whole"), 0.18)
        if has_xray()
        else Row(1, what, whole, missing="aws-xray-sdk is not installed"),
        Row(1, "import and first message", "one pydantic model", ratios(samples, "first message", "model")),
        Row(1, "one pydantic model", "Logger, Metrics, BatchProcessor", ratios(samples, "model", "powertools")),
        Row(1, "SDK, asyncio, Powertools imported after a message", "", [heavy.last_line_as_number()], 0),
    ]


def discovery(workshop: Workshop, scale: Scale) -> list[Row]:
    few, many, very_many = scale.types
    sides = {str(types): _first_message(workshop.path(types), types) for types in scale.types}
    sides["scan"] = _first_message(_without_index(workshop, many), many)
    samples = interleaved({name: side.cpu_seconds for name, side in sides.items()}, scale.process_rounds)
    against = f"{few} job types"
    return [
        Row(2, f"first message, {many} job types", against, ratios(samples, str(many), str(few)), 1.03),
        Row(2, f"first message, {very_many} job types", against, ratios(samples, str(very_many), str(few)), 1.10),
        Row(2, f"same without the index, {many} job types", against, ratios(samples, "scan", str(few))),
    ]


def _first_message(path: list[Path], types: int) -> Child:
    return Child(path, "sides.consumer", [package_name(types), "message"])


def _without_index(workshop: Workshop, types: int) -> list[Path]:
    """The same consumer as a checkout runs it: every module of ``jobs`` is imported."""
    artifact, *rest = workshop.path(types)
    copy = workshop.copy(artifact, "scan")
    (copy / package_name(types) / "_jobs_index.json").unlink()
    return [copy, *rest]
