"""Where Terraform gets the AWS provider from, on a machine with a registry and on one that only has an unpacked mirror.

1. A CLI configuration that exists (TF_CLI_CONFIG_FILE or ~/.terraformrc) is the user's choice and is left alone.
2. PROVIDER_MIRROR, or the first folder with this provider under the places where mirrors usually lie.
3. The registry, with a plugin cache: the provider has 700 MB.

A TF_CLI_CONFIG_FILE that names a missing file is taken out, or Terraform warns on every command.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from .paths import CACHE

PROVIDER = "registry.terraform.io/hashicorp/aws"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def environment(env: Mapping[str, str] | None = None) -> tuple[dict[str, str], str]:
    """The variables Terraform needs, and in a few words why."""
    found = dict(os.environ if env is None else env)
    configured = Path(found.get("TF_CLI_CONFIG_FILE") or Path.home() / ".terraformrc")
    if configured.is_file():
        return found, f"the CLI configuration {configured}"
    found.pop("TF_CLI_CONFIG_FILE", None)
    mirror = next(_mirrors(found), None)
    if mirror is not None:
        found["TF_CLI_CONFIG_FILE"] = str(_configuration_for(mirror))
        return found, f"the mirror {mirror}"
    cache = Path(found.setdefault("TF_PLUGIN_CACHE_DIR", str(CACHE / "terraform-plugins")))
    cache.mkdir(parents=True, exist_ok=True)
    return found, f"the registry, with the plugin cache {cache}"


def _mirrors(env: Mapping[str, str]) -> Iterator[Path]:
    system = platform.system().lower()
    machine = platform.machine()
    target = f"{system}_{ARCHITECTURES.get(machine, machine)}"
    for root in _roots(env):
        unpacked, packed = root.glob(f"{PROVIDER}/*/{target}"), root.glob(f"{PROVIDER}/*_{target}.zip")
        if next(unpacked, None) or next(packed, None):
            yield root.resolve()


def _roots(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("PROVIDER_MIRROR"):
        yield Path(env["PROVIDER_MIRROR"])
    yield from (Path.home() / ".terraform.d" / name for name in ("plugins", "mirror", "plugin-cache"))
    data = [env.get("XDG_DATA_HOME") or Path.home() / ".local/share"]
    data += (env.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    yield from (Path(folder) / "terraform" / "plugins" for folder in data)
    for base in ("/opt", "/usr/local", "/usr/local/lib", "/usr/local/share", "/var/lib", "/srv"):
        yield from sorted(Path(base).glob("*"))  # one level down only: cheap


def _configuration_for(mirror: Path) -> Path:
    text = (
        "provider_installation {\n"
        f'  filesystem_mirror {{\n    path    = "{mirror}"\n    include = ["{PROVIDER}"]\n  }}\n'
        f'  direct {{\n    exclude = ["{PROVIDER}"]\n  }}\n'
        "}\n"
    )
    path = CACHE / f"mirror-{hashlib.sha256(text.encode()).hexdigest()[:12]}.tfrc"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.replace(path)  # two test processes may get here at once
    return path
