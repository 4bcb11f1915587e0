"""Goal 3: the zip as Lambda unpacks it starts like a freshly compiled tree, and compiles nothing.

The usual bytecode is tied to its source's modification time. A reproducible zip holds 1980 for every file and the code
folder is read-only, so that such bytecode is stale for ever and every cold start compiles everything. The third row
shows this trap, with the usual bytecode in the same folder.
"""

import os

from .child import Child
from .project import Workshop, compile_tree, package_name
from .scale import Scale
from .sides.rounds import interleaved, ratios
from .table import Row


def unpacked(workshop: Workshop, scale: Scale) -> list[Row]:
    few = scale.types[0]
    artifact = workshop.artifact(few, complete=True)
    fresh = workshop.copy(artifact, "fresh")
    compile_tree(fresh, "timestamp")
    trap = workshop.copy(fresh, "trap")
    for path in trap.rglob("*.py"):
        os.utime(path, (0, 0))
    sides = {
        name: Child([tree, workshop.provided], "sides.consumer", [package_name(few)])
        for name, tree in (("artifact", artifact), ("fresh", fresh), ("trap", trap))
    }
    samples = interleaved({name: side.cpu_seconds for name, side in sides.items()}, scale.process_rounds)
    compiled = Child([artifact, workshop.provided], "sides.consumer", [package_name(few), "message", "count-compiled"])
    against = "freshly compiled tree"
    return [
        Row(3, "import from the unpacked zip", against, ratios(samples, "artifact", "fresh"), 1.05),
        Row(3, "modules compiled up to the first message", "", [compiled.last_line_as_number()], 0),
        Row(3, "same folder with the usual bytecode", against, ratios(samples, "trap", "fresh")),
    ]
