"""An example's jobs pass the checks of a generated project, and their own tests in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.template.baking import Project
from tests.template.test_checks import check

from . import reader


@pytest.mark.parametrize("example", sorted(reader.ANSWERS))
def test_an_examples_jobs_pass_the_checks_of_a_project_and_their_own_tests(example: str, tmp_path: Path) -> None:
    made = Project(reader.make(example, tmp_path).folder)
    assert re.search(r"^\d+ passed in", check(made), re.MULTILINE)
