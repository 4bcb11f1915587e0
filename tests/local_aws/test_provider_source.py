from __future__ import annotations

import platform
from pathlib import Path

import pytest

from . import provider_source


@pytest.fixture(autouse=True)
def empty_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(provider_source, "CACHE", tmp_path / "cache")


def mirror(folder: Path) -> Path:
    machine = platform.machine()
    target = f"{platform.system().lower()}_{provider_source.ARCHITECTURES.get(machine, machine)}"
    (folder / provider_source.PROVIDER / "5.100.0" / target).mkdir(parents=True)
    return folder


def test_a_configuration_that_exists_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "own.tfrc"
    own.touch()
    env = {"TF_CLI_CONFIG_FILE": str(own), "PROVIDER_MIRROR": str(mirror(tmp_path / "mirror"))}
    assert provider_source.environment(env) == (env, f"the CLI configuration {own}")


def test_a_named_mirror_is_used_and_a_missing_configuration_is_taken_out(tmp_path: Path) -> None:
    folder = mirror(tmp_path / "a mirror")
    env, why = provider_source.environment(
        {"TF_CLI_CONFIG_FILE": str(tmp_path / "missing.tfrc"), "PROVIDER_MIRROR": str(folder)}
    )
    text = Path(env["TF_CLI_CONFIG_FILE"]).read_text()
    assert f'path    = "{folder}"' in text
    assert why == f"the mirror {folder}"


def test_without_a_mirror_the_registry_is_used_with_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provider_source, "_mirrors", lambda env: iter(()))
    env, why = provider_source.environment({"TF_CLI_CONFIG_FILE": str(tmp_path / "missing.tfrc")})
    assert "TF_CLI_CONFIG_FILE" not in env
    assert Path(env["TF_PLUGIN_CACHE_DIR"]).is_dir()
    assert why.startswith("the registry")
