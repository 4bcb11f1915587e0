"""What the stack tells the code through the environment.

Read with the standard library: the project's own ``settings.py`` uses pydantic-settings, which costs a cold start 40 ms
and is therefore loaded by the jobs that need it, not by the runtime.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .observability import DEFAULT_NAMESPACE

# A message as the SNS topic and the SQS queues of the stack accept it (SNS default maximum; queues are created with the
# same).
DEFAULT_MAX_MESSAGE_BYTES = 262_144


class ConfigurationError(Exception):
    """The environment lacks something or holds something unusable; the text names the variable and who sets it."""


@dataclass(frozen=True, slots=True)
class Config:
    """The variables of README section "Environment", read once per process."""

    service: str
    app: str = ""
    namespace: str = DEFAULT_NAMESPACE
    workload: str = ""
    queue_url: str = ""
    dlq_url: str = ""
    max_receive_count: int = 0
    table: str = ""
    topic_arn: str = ""
    fifo_topic_arn: str = ""
    queue_urls: Mapping[str, str] = field(default_factory=dict)
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    claim_bucket: str = ""
    claim_prefix: str = ""
    claim_max_delay: timedelta | None = None
    delay_machine_arn: str = ""
    delay_machines: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, service: str, environ: Mapping[str, str] | None = None) -> "Config":
        """Raises ConfigurationError for a number that is none, or a malformed JOBS_QUEUE_URLS or
        JOBS_DELAY_MACHINES.
        """
        env = os.environ if environ is None else environ
        return cls(
            service=env.get("POWERTOOLS_SERVICE_NAME") or service,
            app=env.get("JOBS_APP") or service,
            namespace=env.get("POWERTOOLS_METRICS_NAMESPACE") or DEFAULT_NAMESPACE,
            workload=env.get("JOBS_WORKLOAD", ""),
            queue_url=env.get("JOBS_QUEUE_URL", ""),
            dlq_url=env.get("JOBS_DLQ_URL", ""),
            max_receive_count=_number(env, "JOBS_MAX_RECEIVE_COUNT", 0),
            table=env.get("JOBS_TABLE", ""),
            topic_arn=env.get("JOBS_TOPIC_ARN", ""),
            fifo_topic_arn=env.get("JOBS_FIFO_TOPIC_ARN", ""),
            queue_urls=_by_workload(env, "JOBS_QUEUE_URLS"),
            max_message_bytes=_number(env, "JOBS_MAX_MESSAGE_BYTES", DEFAULT_MAX_MESSAGE_BYTES),
            claim_bucket=env.get("JOBS_CLAIM_BUCKET", ""),
            claim_prefix=env.get("JOBS_CLAIM_PREFIX", ""),
            claim_max_delay=_seconds(env, "JOBS_CLAIM_MAX_DELAY_SECONDS"),
            delay_machine_arn=env.get("JOBS_DELAY_MACHINE_ARN", ""),
            delay_machines=_by_workload(env, "JOBS_DELAY_MACHINES"),
        )

    def url_of(self, workload: str) -> str:
        """The queue of a workload if this process knows it: producers know all, a consumer knows its own."""
        return self.queue_urls.get(workload) or (self.queue_url if workload == self.workload else "")

    def machine_of(self, workload: str) -> str:
        """The delay machine of a workload if it has one and this process knows it; as ``url_of``."""
        return self.delay_machines.get(workload) or (self.delay_machine_arn if workload == self.workload else "")

    def require(self, **values: str) -> None:
        """Raises ConfigurationError if one of the named variables is empty."""
        for variable, value in values.items():
            if not value:
                raise ConfigurationError(
                    f"the environment variable {variable} is not set. A consumer gets it from the Terraform module; "
                    "a producer from the module's output `publisher.environment`."
                )


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise ConfigurationError(f"{name}={text!r} is not a whole number") from None


def _seconds(env: Mapping[str, str], name: str) -> timedelta | None:
    return timedelta(seconds=_number(env, name, 0)) if env.get(name) else None


def _by_workload(env: Mapping[str, str], name: str) -> dict[str, str]:
    text = env.get(name, "")
    if not text:
        return {}
    from pydantic_core import from_json

    try:
        content: Any = from_json(text)
    except ValueError:
        content = None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise ConfigurationError(
            f"{name} is not a JSON object of workload to text; copy it from `publisher.environment`"
        )
    return content
