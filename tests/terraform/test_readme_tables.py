"""The tables in the READMEs say what the HCL says, and the usage blocks use inputs that exist."""

from __future__ import annotations

import re
from pathlib import Path

import hcl2
import pytest

from tests.local_aws.paths import MODULES, REPOSITORY

from . import readme_tables

NAMES = [str(path.relative_to(REPOSITORY)) for path in readme_tables.readmes()]


def test_every_module_has_tables() -> None:
    expected = {f"modules/{path.parent.name}/README.md" for path in MODULES.glob("*/variables.tf")}
    assert expected <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_current(name: str) -> None:
    path = REPOSITORY / name
    assert path.read_text() == readme_tables.rendered(path), "run python -m tests.terraform.readme_tables"


@pytest.mark.parametrize("path", sorted(MODULES.glob("*/README.md")), ids=lambda path: path.parent.name)
def test_usage_names_real_inputs(path: Path) -> None:
    usage = re.search(r"## Usage\n.*?```hcl\n(.*?)```", path.read_text(), re.DOTALL)
    assert usage, "a Usage section with an hcl block"
    blocks = hcl2.loads(usage[1])["module"]
    inputs = {name for name, _ in readme_tables._blocks((path.parent / "variables.tf").read_text(), "variable")}
    for block in blocks:
        for body in block.values():
            if body["source"].strip('"').endswith(f"/{path.parent.name}"):
                assert set(body) - {"source", "version", "for_each"} - {k for k in body if k.startswith("__")} <= inputs
