"""Goal 5: what the runtime adds to each message of a warm function.

The real handler with real SQS events and no-op jobs, against the least a consumer can do (``json.loads``, a dict, the
list of failures) and against the same features with stock Powertools.
"""

import json

from .child import Child
from .project import Workshop, package_name
from .scale import Scale
from .sides.rounds import Samples, ratios
from .table import Row

GOALS = {10: (2.8, 1 / 7), 100: (2.0, 1 / 14)}


def messages(workshop: Workshop, scale: Scale) -> list[Row]:
    rows = []
    for batch, (floor, powertools) in GOALS.items():
        samples = _samples(workshop, scale, batch)
        what = f"message in a batch of {batch}"
        rows += [
            Row(5, what, "json.loads and a dict", ratios(samples, "runtime", "floor"), floor),
            Row(5, what, "Logger, Metrics, BatchProcessor", ratios(samples, "runtime", "powertools"), powertools),
        ]
    return rows


def _samples(workshop: Workshop, scale: Scale, batch: int) -> Samples:
    few = scale.types[0]
    result = workshop.folder / f"warm-{batch}.json"
    arguments = [package_name(few), str(batch), str(scale.warm_rounds), str(result)]
    Child(workshop.path(few), "sides.warm", arguments).run_quietly()
    samples: Samples = json.loads(result.read_text(encoding="ascii"))
    return samples
