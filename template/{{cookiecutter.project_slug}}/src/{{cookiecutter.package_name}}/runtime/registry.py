"""From a wire name to the class that runs it.

In a checkout the ``jobs`` package is scanned once: adding a class is enough. A packaged function carries an index
(``package.py`` writes it), so that a cold start imports only the module of the job that arrived and costs the same with
15 job types as with thousands.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from pydantic_core import from_json

from .job import Job, JobClass

INDEX_FILE = "_jobs_index.json"


class DuplicateJobNameError(Exception):
    """Two classes claim one wire name."""


class Registry:
    """The jobs of one package.

    Args:
        package: dotted name of the ``jobs`` package, such as ``"acme.jobs"``.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.code_version = ""
        self._index: Mapping[str, str] | None = None
        self._classes: dict[str, JobClass] = {}
        self._modules: set[str] = set()
        index = self._index_path()
        if index is not None:
            content = from_json(index.read_bytes())
            self.code_version, self._index = content["version"], content["jobs"]
        else:
            self.scan()

    def find(self, name: str) -> JobClass | None:
        """The class for a wire name or alias, or None.

        Raises:
            Exception: whatever importing the job's module raises.
        """
        found = self._classes.get(name)
        if found is None and self._index is not None and name in self._index:
            self._add_module(self._index[name])
            found = self._classes.get(name)
        return found

    def scan(self) -> list[JobClass]:
        """Import every module of the package and return its jobs, sorted by name.

        Raises:
            DuplicateJobNameError: naming both classes.
        """
        import pkgutil  # 18 ms of cold start that a packaged function need not pay

        root = import_module(self.package)
        self._add_module(self.package)
        for module in pkgutil.walk_packages(root.__path__, f"{self.package}."):
            self._add_module(module.name)
        return sorted(set(self._classes.values()), key=lambda job: job.name)

    @property
    def known(self) -> set[JobClass]:
        """The classes imported so far: all of them in a checkout, those that have arrived in a packaged function."""
        return set(self._classes.values())

    def names(self) -> dict[str, str]:
        """Wire name or alias to module: the content of the index."""
        return {name: job.__module__ for name, job in sorted(self._classes.items())}

    def _add_module(self, name: str) -> None:
        if name in self._modules:
            return
        module = import_module(name)
        for value in list(vars(module).values()):
            # Only what the module defines itself: a class imported from a neighbour is registered there.
            if isinstance(value, type) and issubclass(value, Job) and value.name and value.__module__ == name:
                self.add(value)
        self._modules.add(name)

    def add(self, job: JobClass) -> None:
        """Register one class. Raises DuplicateJobNameError."""
        for name in (job.name, *job.aliases):
            other = self._classes.setdefault(name, job)
            if other is not job:
                raise DuplicateJobNameError(
                    f"the job name {name!r} is declared twice: by {other.__module__}.{other.__qualname__} and by "
                    f"{job.__module__}.{job.__qualname__}. Rename one of them; a former name may stand in `aliases`."
                )

    def _index_path(self) -> Path | None:
        parent = self.package.rpartition(".")[0]
        if not parent:
            return None
        import_module(parent)
        path = Path(next(iter(sys.modules[parent].__path__))) / INDEX_FILE
        return path if path.is_file() else None
