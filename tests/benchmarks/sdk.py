"""Goal 4: a process that does need the AWS SDK makes one session, with all four clients.

Each boto3 session parses the 1.25 MB endpoint table again; the number of reads is exact.
"""

from .child import Child
from .project import Workshop, has_xray, package_name
from .scale import Scale
from .sides.rounds import interleaved, ratios
from .table import Row


def clients(workshop: Workshop, scale: Scale) -> list[Row]:
    few = scale.types[0]
    path = workshop.path(few)
    ours = Child(path, "sides.consumer", [package_name(few), "clients"])
    reads = Child(path, "sides.consumer", [package_name(few), "clients", "count-endpoints"]).last_line_as_number()
    what, against = "consumer with 4 AWS clients", "Tracer, idempotency, 4 clients"
    if has_xray():
        sides = {"ours": ours.cpu_seconds, "whole": Child(path, "sides.naive_whole").cpu_seconds}
        ratio = Row(4, what, against, ratios(interleaved(sides, scale.process_rounds), "ours", "whole"), 0.50)
    else:
        ratio = Row(4, what, against, missing="aws-xray-sdk is not installed")
    return [ratio, Row(4, "reads of the SDK's endpoint table", "", [reads], 1)]
