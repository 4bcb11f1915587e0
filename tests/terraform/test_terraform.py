"""Format, validity and `terraform test` of every module, the root and the examples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.local_aws.paths import EXAMPLES, MODULES, REPOSITORY

from .harness import Terraform, report

ROOT = [path.name for path in REPOSITORY.glob("*.tf")]
FOLDERS = [f"modules/{path.parent.name}" for path in sorted(MODULES.glob("*/versions.tf"))]
FOLDERS += [f"examples/{path.parent.name}" for path in sorted(EXAMPLES.glob("*/versions.tf"))]


def test_format(tf: Terraform) -> None:
    tf.checked("fmt", "-check", "-diff", "-recursive", *ROOT, "modules", "examples", "tests/terraform")


@pytest.mark.parametrize(("folder", "tests"), [(".", "tests/terraform"), *((folder, "tests") for folder in FOLDERS)])
def test_module(folder: str, tests: str, tf: Terraform, record_property: Callable[[str, object], None]) -> None:
    tf.init(folder, tests)
    tf.checked("validate", "-no-color", folder=folder)
    runs = tf.test(folder, tests)
    failed = [run for run in runs if run.status != "pass"]
    assert not failed, report(failed)
    record_property("terraform_runs", len(runs))
    print(f"{len(runs)} terraform runs passed in {folder}")


@pytest.mark.parametrize("folder", FOLDERS)
def test_module_has_its_files(folder: str) -> None:
    files = {path.name for path in (REPOSITORY / folder).iterdir()}
    assert {"main.tf", "variables.tf", "outputs.tf", "versions.tf", "README.md"} <= files
    assert list((REPOSITORY / folder / "tests").glob("*.tftest.hcl")), f"{folder} has no tests"
