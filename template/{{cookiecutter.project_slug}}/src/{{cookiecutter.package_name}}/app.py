"""The application: the one object that publishes jobs and runs them.

Imported by every producer and at every cold start, so keep it light: no boto3, no pydantic-settings, no job modules.
"""

from .runtime import App

app = App(
    "{{ cookiecutter.project_slug }}",
    jobs=f"{__package__}.jobs",
    workload="{{ cookiecutter.first_workload }}",  # of every job that names none
)
