"""Stop receiving while a dependency is down: a Lambda function cannot, but its event source mapping can be disabled.

Without it every message is received, put off and counted as a receive again and again during an outage.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import to_json

from .breaker_state import Dependency, State

# EventBridge Scheduler is accurate to the minute (user guide, "Schedule types"): pauses are rounded up to the minute.
# Since disabling a mapping takes some seconds, a shorter pause would be over before it began.
SHORTEST_PAUSE = timedelta(seconds=30)
# Too close to its end a pause is not begun: taking effect after the schedule has run, it would never end.
LATEST_START = timedelta(seconds=15)
SCHEDULE_EVENT_AGE_SECONDS = 3600
SCHEDULE_RETRIES = 30


class MappingPause:
    """Disables one event source mapping when a breaker opens, until its next probe: ``Breakers(on_open=...)``.

    First a one-time schedule is made that enables the mapping again, then the mapping is disabled: a process that dies
    in between leaves a mapping that works. The schedule's name follows from the time at which it runs, so that a second
    call makes no second one, and it deletes itself.

    Two API calls each time a circuit opens or its probe fails, and one more the first time. Needs
    ``ssm:GetParameter`` for the parameter, ``scheduler:CreateSchedule`` in the group, ``iam:PassRole`` for the role and
    ``lambda:UpdateEventSourceMapping`` on the mapping, for the function and for the role.

    Args:
        parameter: name of the Systems Manager parameter that holds the UUID of the mapping. The function's environment
            cannot hold it: a mapping is made after its function.
        role_arn: what the schedule acts as.
        group: the schedule group.
        client: returns the boto3 client of a service.
        now: the clock; aware, UTC.
    """

    def __init__(
        self, parameter: str, role_arn: str, group: str, client: Callable[[str], Any], now: Callable[[], datetime]
    ) -> None:
        self._parameter, self._role_arn, self._group = parameter, role_arn, group
        self._client, self._now = client, now
        self._uuid = ""

    @classmethod
    def from_environment(
        cls, client: Callable[[str], Any], now: Callable[[], datetime], environ: Mapping[str, str] | None = None
    ) -> "MappingPause | None":
        """From what the stack sets for a workload with ``pause_on_open``; None without it."""
        env = os.environ if environ is None else environ
        parameter, role_arn = env.get("JOBS_MAPPING_PARAMETER", ""), env.get("JOBS_SCHEDULER_ROLE_ARN", "")
        if not parameter or not role_arn:
            return None
        return cls(parameter, role_arn, env.get("JOBS_SCHEDULE_GROUP") or "default", client, now)

    def __call__(self, dependency: Dependency, state: State) -> None:  # noqa: ARG002
        """Pause until the next probe or for ``SHORTEST_PAUSE``, whichever is later, to the full minute.

        Raises:
            Exception: AWS refused. The mapping is enabled then, or a schedule stands that will enable it.
        """
        probe_at = datetime.fromtimestamp(state.next_at / 1000, UTC)
        resume_at = _full_minute(max(probe_at, self._now() + SHORTEST_PAUSE))
        mapping = self._mapping()
        self._schedule(mapping, resume_at)
        if self._now() <= resume_at - LATEST_START:
            self._client("lambda").update_event_source_mapping(UUID=mapping, Enabled=False)

    def _mapping(self) -> str:
        if not self._uuid:
            answer = self._client("ssm").get_parameter(Name=self._parameter)
            self._uuid = answer["Parameter"]["Value"]
        return self._uuid

    def _schedule(self, mapping: str, resume_at: datetime) -> None:
        scheduler = self._client("scheduler")
        partition = self._role_arn.split(":")[1]
        # A universal target takes the parameter names of the Java SDK: Uuid, where the API itself says UUID.
        resume = to_json({"Uuid": mapping, "Enabled": True}).decode()
        try:
            scheduler.create_schedule(
                Name=f"resume-{mapping}-{int(resume_at.timestamp())}",
                GroupName=self._group,
                ScheduleExpression=f"at({resume_at:%Y-%m-%dT%H:%M:%S})",
                ScheduleExpressionTimezone="UTC",
                FlexibleTimeWindow={"Mode": "OFF"},
                ActionAfterCompletion="DELETE",
                Target={
                    "Arn": f"arn:{partition}:scheduler:::aws-sdk:lambda:updateEventSourceMapping",
                    "RoleArn": self._role_arn,
                    "Input": resume,
                    # The mapping may still be changing when the schedule runs: it must not give up.
                    "RetryPolicy": {
                        "MaximumEventAgeInSeconds": SCHEDULE_EVENT_AGE_SECONDS,
                        "MaximumRetryAttempts": SCHEDULE_RETRIES,
                    },
                },
            )
        except scheduler.exceptions.ConflictException:
            return  # made before, for the same moment


def _full_minute(moment: datetime) -> datetime:
    return moment + timedelta(seconds=-moment.timestamp() % 60)
