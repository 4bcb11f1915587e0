"""Your own settings, read from environment variables that start with APP_.
{%- if cookiecutter.__lambda %}

Import this module in the jobs that need it, not in app.py or lambda_function.py: importing pydantic-settings takes
about 40 ms, which every cold start would pay, also those whose first job needs no setting. Terraform sets the variables
of a workload with `lambda = { environment = { APP_... = "..." } }` in terraform/workloads.tf.
{%- else %}

Import this module in the jobs that need it, not in app.py, which producers import as well. Terraform sets the variables
of a workload with `ecs = { environment = { APP_... = "..." } }` in terraform/workloads.tf.
{%- endif %}
"""

from functools import cache

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")

    webhook_timeout_seconds: float = 10
    invoices_table: str = "invoices"  # of your own; give the {{ "function" if cookiecutter.__lambda else "task" }} leave to write to it, see terraform/workloads.tf


@cache
def settings() -> Settings:
    """The settings, read once per process."""
    return Settings()
