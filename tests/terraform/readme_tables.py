"""Write the inputs and outputs tables into the modules' READMEs, from the HCL.

    python -m tests.terraform.readme_tables          # write
    python -m tests.terraform.readme_tables --check  # say which are out of date, exit 1

A README holds the tables between two marker lines; everything else in it is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2

from tests.local_aws.paths import EXAMPLES, MODULES, REPOSITORY

BEGIN = "<!-- inputs and outputs: written by tests/terraform/readme_tables.py -->"
END = "<!-- end of inputs and outputs -->"


def readmes() -> list[Path]:
    """Every folder whose README has the markers; the root's README belongs to the whole product and may have none."""
    folders = [REPOSITORY, *sorted(MODULES.iterdir()), *sorted(EXAMPLES.iterdir())]
    found = [folder / "README.md" for folder in folders if (folder / "variables.tf").is_file()]
    return [path for path in found if path.is_file() and BEGIN in path.read_text()]


def rendered(readme: Path) -> str:
    text = readme.read_text()
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n\n{tables(readme.parent)}\n\n{END}{after}"


def tables(folder: Path) -> str:
    source = (folder / "variables.tf").read_text()
    lines = ["| Input | Description | Type | Default |", "|---|---|---|---|"]
    shapes = []
    for name, variable in _blocks(source, "variable"):
        shape = _type(source, name)
        lines.append(f"| `{name}` | {_cell(variable['description'])} | {_short(shape)} | {_default(variable)} |")
        if "\n" in shape:
            shapes.append(f"`{name}`:\n\n```hcl\n{shape}\n```")
    lines += ["", "| Output | Description |", "|---|---|"]
    for name, output in _blocks((folder / "outputs.tf").read_text(), "output"):
        lines.append(f"| `{name}` | {_cell(output['description'])} |")
    return "\n\n".join(["\n".join(lines), *shapes])


def _blocks(source: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for block in hcl2.loads(source).get(kind, []):
        for name, body in block.items():
            yield name.strip('"'), body


def _type(source: str, name: str) -> str:
    """The type as it is written in the file: the parser would give it back on one line."""
    body = source[source.index(f'variable "{name}"') :]
    start = re.search(r"^  type\s*= ", body, re.MULTILINE)
    assert start, f"variable {name} has no type"
    depth, end = 0, start.end()
    while depth or body[end] != "\n":
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(body[end], 0)
        end += 1
    return re.sub(r"^  ", "", body[start.end() : end], flags=re.MULTILINE)


def _short(shape: str) -> str:
    return f"`{shape}`" if "\n" not in shape else f"`{shape.split('{')[0]}{{…}}{')' * shape.split('{')[0].count('(')}`"


def _default(variable: dict[str, Any]) -> str:
    if "default" not in variable:
        return "required"
    value = variable["default"]
    if isinstance(value, str):
        return f"`{value}`"
    return f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    plain = json.loads(text) if text.startswith('"') else text
    return plain.replace("|", "\\|")


def main() -> int:
    stale = [path for path in readmes() if path.read_text() != rendered(path)]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(REPOSITORY)} is out of date: run python -m tests.terraform.readme_tables")
        return bool(stale)
    for path in stale:
        path.write_text(rendered(path))
        print(f"wrote {path.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
