"""Goal 6: a running process hardly notices how many job types exist.

A discriminated union over all payload models would grow with every type, in memory and in the text of its error for an
unknown one; two steps (header, then the model of the job that arrived) do not. The ratio with a goal is the worst case:
messages spread evenly over all types, each of whose models lies elsewhere in memory.
"""

import json

from .child import Child
from .project import Workshop, package_name
from .scale import Scale
from .sides.rounds import ratios
from .table import Row


def growth(workshop: Workshop, scale: Scale) -> list[Row]:
    few, _, many = scale.types
    result = workshop.folder / "registry.json"
    path = [workshop.artifact(few), *workshop.path(many)]
    arguments = [package_name(few), str(few), package_name(many), str(many), str(scale.warm_rounds), str(result)]
    Child(path, "sides.registry", arguments).run_quietly()
    answer = json.loads(result.read_text(encoding="ascii"))
    return [
        Row(
            6, f"dispatch and validate, {many} job types", f"{few} types", ratios(answer["samples"], "many", "few"), 1.5
        ),
        Row(6, f"same, {few} of them arrive", f"{few} types", ratios(answer["samples"], "few of many", "few")),
        Row(6, f"characters about an unknown job, {many} types", "", [answer["unknown_chars"]], 300),
        Row(6, "bytes of memory per unused job type", "", [answer["bytes_per_unused_type"]], 1024),
    ]
