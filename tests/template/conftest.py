from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .baking import CONSUMERS, Baker, Project


@pytest.fixture(scope="session")
def baker(tmp_path_factory: pytest.TempPathFactory) -> Baker:
    return Baker.in_folder(tmp_path_factory.mktemp("baker"))


@pytest.fixture(scope="session")
def project(baker: Baker, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One project with the default answers, for tests that only read it."""
    return baker.bake(tmp_path_factory.mktemp("default"))


@pytest.fixture(scope="session")
def projects(baker: Baker, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Project]:
    """One project per answer to `consumer`, for tests that only read them."""
    others = {name: baker.bake(tmp_path_factory.mktemp(name), {"consumer": name}) for name in CONSUMERS[1:]}
    return {CONSUMERS[0]: project, **others}


@pytest.fixture(params=CONSUMERS)
def each(request: pytest.FixtureRequest, projects: Mapping[str, Project]) -> Project:
    """A test that takes this is run for every answer to `consumer`."""
    return projects[request.param]


@pytest.fixture
def bake(baker: Baker, tmp_path: Path) -> Callable[..., Project]:
    """Generate a project of this test's own: ``bake(python_version="3.12", ...)``."""

    def generate(**answers: str) -> Project:
        return baker.bake(tmp_path / "projects", answers)

    return generate
