"""Where cookiecutter puts its temporary files: it runs its hooks from copies that it never removes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let everything that this process calls temporary go into a folder of its own, and remove that afterwards."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        tempfile.tempdir = temporary
        try:
            yield
        finally:
            tempfile.tempdir = before
