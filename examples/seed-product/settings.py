"""The product's settings, from environment variables that start with APP_. Terraform gives each workload only those
that its jobs use.
"""

from functools import cache

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")

    table: str = "seed-product"
    mail_api: str = "https://mail.example"
    payment_api: str = "https://payments.example"
    cache_api: str = "https://cache.example"


@cache
def settings() -> Settings:
    """The settings, read once per process."""
    return Settings()
