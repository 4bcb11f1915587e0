"""The `jobs` fixture comes from the runtime's test plugin; it runs your jobs through the real engine, in memory."""

import pytest

from {{ cookiecutter.package_name }}.app import app as application
from {{ cookiecutter.package_name }}.runtime import App

pytest_plugins = ["{{ cookiecutter.package_name }}.runtime.testing"]


@pytest.fixture
def app() -> App:
    return application
