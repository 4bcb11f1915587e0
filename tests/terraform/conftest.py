from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import harness


@pytest.fixture(scope="session")
def tf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[harness.Terraform]:
    """One copy and one provider per test process. The space in the name stays: a checkout may lie in such a folder."""
    with harness.session(tmp_path_factory.mktemp("a copy")) as terraform:
        terraform.init(tests="tests/terraform")
        yield terraform
