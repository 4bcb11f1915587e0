"""Projects made as an example's README says."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.local_aws import project
from tests.local_aws.paths import EXAMPLES
from tests.local_aws.project import Project

SEED_PRODUCT = EXAMPLES / "seed-product"


def seed_product(into: Path) -> Project:
    """Generated, then changed by the README's own commands, which put the example in the place of the samples."""
    answers = {"project_name": "Seed Jobs", "package_name": "seed_jobs", "first_workload": "shared"}
    made = project.generate(into, answers)
    lines = (SEED_PRODUCT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = "\n".join(line for line in lines if line.startswith(("rm ", "cp ")))
    assert commands.count("\n") == 3, f"the README's commands have changed:\n{commands}"
    script = commands.replace("path/to/seed-product", shlex.quote(str(SEED_PRODUCT)))
    subprocess.run(["sh", "-ec", script], cwd=made.folder, check=True)
    return made
