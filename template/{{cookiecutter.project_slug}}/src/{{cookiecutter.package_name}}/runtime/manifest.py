"""Tell an edited runtime from an original one: ``python -m <package>.runtime.manifest``.

The runtime is the template's. An update replaces it, so that a change made here would be lost or, worse, half kept.
"""

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "MANIFEST.sha256"


def current() -> dict[str, str]:
    """File name to SHA-256 of everything in the runtime; line ends do not count, since a checkout may change them."""
    files = sorted(path for path in HERE.iterdir() if path.suffix in (".py", ".json"))
    return {path.name: hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest() for path in files}


def problems() -> list[str]:
    """What differs from the manifest; empty if nothing does."""
    lines = (line.split("  ", 1) for line in MANIFEST.read_text(encoding="ascii").splitlines())
    recorded = {name: digest for digest, name in lines}
    now = current()
    return [
        *(f"{name} was edited" for name in sorted(now.keys() & recorded.keys()) if now[name] != recorded[name]),
        *(f"{name} was added" for name in sorted(now.keys() - recorded.keys())),
        *(f"{name} is missing" for name in sorted(recorded.keys() - now.keys())),
    ]


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        MANIFEST.write_text(
            "".join(f"{digest}  {name}\n" for name, digest in current().items()), encoding="ascii", newline="\n"
        )
        return 0
    found = problems()
    if not found:
        print("runtime: unedited")
        return 0
    print(
        "The runtime folder differs from its manifest:\n  " + "\n  ".join(found) + "\n"
        "It belongs to the template, and an update would overwrite the change. Restore it, and use an extension\n"
        "point instead: a job's class attributes (retry, on, timeout, ttl, group), a retry policy of your own (any\n"
        "object with max_attempts and delay), a base class of your own between Job and your jobs, or settings.py.\n"
        "If none serves, propose the change to the template."
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
