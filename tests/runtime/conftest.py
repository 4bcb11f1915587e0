"""Settings of the property tests, and the consumer that most tests talk to."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from runtime.config import Config
from runtime.job import JobClass

from .helpers import NOW, Aws, app_of, failures, invocation, lines_of

# The same examples on every machine and in every run; no deadline, since the machine may be busy.
settings.register_profile("runtime", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("runtime")


@pytest.fixture(autouse=True)
def settling_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits count from the outcome: with a clock that stands still, a busy machine does not shorten them."""
    monkeypatch.setattr("runtime.settlement.time", SimpleNamespace(monotonic=lambda: 100.0))


@pytest.fixture
def aws() -> Aws:
    return Aws()


class Consumer:
    """Invokes the Lambda handler of an app with the given jobs and keeps what it answered and wrote."""

    def __init__(self, aws: Aws, output: Callable[[], str]) -> None:
        self.aws, self._output = aws, output
        self.lines: list[dict[str, Any]] = []
        self.emf: list[dict[str, Any]] = []
        self.text = ""

    def handler(self, *jobs: JobClass, config: Config | None = None, **options: Any) -> Callable[[Any, Any], Any]:
        return app_of(self.aws, *jobs, config=config, now=NOW).lambda_handler(**options)

    def run(
        self,
        records: list[Any],
        *jobs: JobClass,
        context: Any = None,
        config: Config | None = None,
        **options: Any,
    ) -> list[str]:
        """Run one batch; returns the ids that the answer lists as failed."""
        answer = self.handler(*jobs, config=config, **options)({"Records": records}, context or invocation())
        self.read()
        return failures(answer)

    def read(self) -> None:
        self.text = self._output()
        content = lines_of(self.text)
        self.lines = [line for line in content if "_aws" not in line]
        self.emf = [line for line in content if "_aws" in line]

    def outcomes(self) -> dict[str, str]:
        return {line["message_id"]: line["outcome"] for line in self.lines if "outcome" in line}


@pytest.fixture
def consumer(aws: Aws, capfd: pytest.CaptureFixture[str]) -> Consumer:
    return Consumer(aws, lambda: capfd.readouterr().out)
