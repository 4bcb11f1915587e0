"""`python -m {{ cookiecutter.package_name }} worker`: takes jobs from a queue. See docs/worker.md."""

from .app import app
from .runtime.worker_cli import main

if __name__ == "__main__":  # a process of its own, that a job asked for, imports this file again
    raise SystemExit(main(app))
