"""Schedules fire within a second of their time, in their own time zone, with the role they name, and say of which time
they speak.

MiniStack looks every ten seconds, takes every time as UTC, leaves `<aws.scheduler.scheduled-time>` and its like in the
input, asks for no role, and knows neither universal targets nor dead-letter queues. Simpler than AWS in two ways: what
fails is tried again at once, three times at most, and a flexible window is not used.
"""

import json
import os
import re
import sys
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.config import Config
from ministack.core import lambda_runtime
from ministack.services import eventbridge, iam, scheduler

from tests.local_aws.wall_clock import moment_of, next_moment, zone_of

Schedule = dict[str, Any]
Key = tuple[str, str, str]  # account, region, "group/name"

LOOK_SECONDS = 0.5
MOST_ATTEMPTS = 3
UNIVERSAL = re.compile(r"^arn:[^:]+:scheduler:::aws-sdk:(\w+):(\w+)$")

_done: dict[Key, tuple[float, datetime]] = {}  # when the schedule was last written, and up to when it has been sent
_session = botocore.session.get_session()


def install() -> None:
    scheduler._SCHEDULE_TICK_INTERVAL = LOOK_SECONDS
    scheduler._tick_schedules = _tick


def _tick() -> None:
    now = datetime.now(UTC)
    for key, schedule in list(scheduler._schedules._data.items()):
        written = float(schedule["LastModificationDate"])
        if _done.get(key, (0.0, now))[0] != written:
            _done[key] = (written, datetime.fromtimestamp(written, UTC))
        if schedule.get("State") != "ENABLED":
            continue
        moment = _next(schedule, _done[key][1], datetime.fromtimestamp(schedule["CreationDate"], UTC))
        if moment is None or moment > now:
            continue
        _done[key] = (written, moment)
        _send(key, schedule, moment)
        if schedule["ScheduleExpression"].startswith("at(") and schedule.get("ActionAfterCompletion") == "DELETE":
            scheduler._schedules._data.pop(key, None)


def _next(schedule: Schedule, after: datetime, created: datetime) -> datetime | None:
    """The next time of a schedule after another one."""
    expression, zone = schedule["ScheduleExpression"], zone_of(schedule.get("ScheduleExpressionTimezone") or "UTC")
    start, end = (scheduler._to_epoch(schedule.get(name)) for name in ("StartDate", "EndDate"))
    first = created if start is None else datetime.fromtimestamp(start, UTC)
    found: datetime | None
    if expression.startswith("at("):
        found = moment_of(datetime.fromisoformat(expression[3:-1]), zone)
        found = None if found is None or found <= after else found
    elif (seconds := eventbridge._parse_rate_seconds(expression)) is not None:
        first = first.replace(microsecond=0)
        period = timedelta(seconds=seconds)
        found = first if start is not None and first > after else first + period * ((after - first) // period + 1)
    else:
        fields = eventbridge._parse_cron_fields(expression)
        if fields is None:
            return None

        def next_wall(wall: datetime) -> datetime | None:
            following = eventbridge._cron_next_fire(fields, wall.replace(tzinfo=UTC))
            return None if following is None else following.replace(tzinfo=None)

        found = next_moment(max(after, first - timedelta(seconds=1)) if start is not None else after, zone, next_wall)
    if found is None or (end is not None and found.timestamp() > end):
        return None
    return found


def _send(key: Key, schedule: Schedule, moment: datetime) -> None:
    target = schedule["Target"]
    attempts = min(MOST_ATTEMPTS, 1 + int((target.get("RetryPolicy") or {}).get("MaximumRetryAttempts", 185)))
    error: Exception | None = None
    text = ""
    for attempt in range(1, attempts + 1):
        text = _filled_in(target.get("Input") or "{}", schedule, moment, attempt)
        try:
            _call(key, schedule, text)
            return
        except Exception as failure:  # of the call, of its role, of its input: all the same to Scheduler
            error = failure
            time.sleep(0.1)
    print(f"schedule {key[2]} not sent: {error!r}", file=sys.stderr)
    _dead_letter(key, schedule, moment, text, error, attempts)


def _filled_in(text: str, schedule: Schedule, moment: datetime, attempt: int) -> str:
    words = {
        "schedule-arn": schedule["Arn"],
        "scheduled-time": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "execution-id": uuid.uuid4().hex[:16],
        "attempt-number": str(attempt),
    }
    for word, value in words.items():
        text = text.replace(f"<aws.scheduler.{word}>", value)
    return text


def _call(key: Key, schedule: Schedule, text: str) -> None:
    target, (account, region, _) = schedule["Target"], key
    _check_trust(schedule, account)
    if universal := UNIVERSAL.match(target["Arn"]):
        service, action = universal.groups()
        client = _client(service, key, target["RoleArn"])
        name = action[0].upper() + action[1:]
        shape = client.meta.service_model.operation_model(name).input_shape
        spelt = {member.lower(): member for member in shape.members}  # the Java SDK's names: Uuid for UUID
        request = {spelt.get(given.lower(), given): value for given, value in json.loads(text).items()}
        getattr(client, xform_name(name))(**request)
        return
    scheduler.set_request_account_id(account)
    scheduler.set_request_region(region)
    event: dict[str, Any] = {
        "EventId": uuid.uuid4().hex,
        "Source": "aws.scheduler",
        "DetailType": "Scheduled Event",
        "Detail": "{}",
        "Time": time.time(),
        "Resources": [schedule["Arn"]],
        "Account": account,
        "Region": region,
    }
    eventbridge._invoke_target({**target, "Input": text}, event, schedule)


def _check_trust(schedule: Schedule, account: str) -> None:
    """The role must admit Scheduler, for this group of this account if it says so."""
    role = iam._roles._data.get((account, schedule["Target"]["RoleArn"].rsplit("/", 1)[-1]))
    if role is None:
        raise PermissionError("the role does not exist")
    group = schedule["Arn"].rsplit("/", 1)[0].replace(":schedule/", ":schedule-group/")
    known = {"aws:SourceArn": group, "aws:SourceAccount": account}
    for statement in json.loads(role["AssumeRolePolicyDocument"])["Statement"]:
        asked = [pair for block in statement.get("Condition", {}).values() for pair in block.items()]
        if "scheduler.amazonaws.com" in json.dumps(statement["Principal"]) and all(
            known.get(name) == value for name, value in asked
        ):
            return
    raise PermissionError("the role does not trust the schedules of this group")


def _client(service: str, key: Key, role: str) -> Any:
    """A client that speaks to this local AWS with the role's permissions, which count if it enforces them."""
    account, region, _ = key
    function = {"FunctionArn": f"arn:aws:lambda:{region}:{account}:function:scheduler", "Role": role}
    keys = lambda_runtime.execution_credentials({**function, "FunctionName": "scheduler"})
    return _session.create_client(
        service,
        region_name=region,
        endpoint_url=_endpoint(),
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=keys["AWS_SESSION_TOKEN"] or None,
        config=Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=10),
    )


def _endpoint() -> str:
    scheme = "https" if os.environ.get("USE_SSL") == "1" else "http"
    return f"{scheme}://127.0.0.1:{os.environ['GATEWAY_PORT']}"


def _dead_letter(
    key: Key, schedule: Schedule, moment: datetime, text: str, error: Exception | None, attempts: int
) -> None:
    arn = (schedule["Target"].get("DeadLetterConfig") or {}).get("Arn")
    if not arn:
        return
    attributes = {
        "ERROR_CODE": type(error).__name__,
        "ERROR_MESSAGE": str(error)[:500] or "none",
        "RETRY_ATTEMPTS": str(attempts - 1),
        "SCHEDULED_TIME": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "SCHEDULE_ARN": schedule["Arn"],
        "TARGET_ARN": schedule["Target"]["Arn"],
    }
    try:
        sqs = _client("sqs", key, schedule["Target"]["RoleArn"])
        sqs.send_message(
            QueueUrl=f"{_endpoint()}/{'/'.join(arn.split(':')[4:6])}",
            MessageBody=text,
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            },
        )
    except Exception as failure:
        print(f"schedule {key[2]}: its dead letter was not sent: {failure!r}", file=sys.stderr)
