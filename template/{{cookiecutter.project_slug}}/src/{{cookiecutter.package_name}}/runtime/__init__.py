"""The consumer's runtime: everything between a queue message and a job's ``run``.

Read in this order: ``engine`` (the seven steps of one delivery), ``outcome``, ``policy``, ``job``, ``envelope``; then
the two ends, ``lambda_entry`` with ``settlement`` and ``publisher``. The same bytes are in every generated project:
change behaviour through the job's class attributes, not here (``python -m <package>.runtime.manifest`` tells an edited
file).
"""

# ruff: noqa: E402
# Everything imported here stays for the life of the process: collecting garbage in between only makes a cold start
# longer.
import gc

_collecting = gc.isenabled()
gc.disable()

from .app import App
from .context import JobContext
from .job import Job, upcast
from .outcome import Defer, Discard, Outcome, Park, Permanent, Retry
from .policy import direct_retry, fixed, full_jitter, linear
from .version import __version__

if _collecting:
    gc.enable()

__all__ = [
    "App",
    "Defer",
    "Discard",
    "Job",
    "JobContext",
    "Outcome",
    "Park",
    "Permanent",
    "Retry",
    "__version__",
    "direct_retry",
    "fixed",
    "full_jitter",
    "linear",
    "upcast",
]
