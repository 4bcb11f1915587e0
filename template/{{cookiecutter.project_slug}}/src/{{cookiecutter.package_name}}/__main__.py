"""`python -m {{ cookiecutter.package_name }} worker`: takes jobs from a queue. See docs/worker.md."""

from .app import app
from .runtime.worker_cli import main

main(app)  # ends the process with the exit code
