"""CloudWatch alarms over the Query protocol, which is what the AWS provider 5.x speaks.

MiniStack's Query answers omit half of an alarm's fields, and Terraform would see a change in every plan. Its JSON
answers are complete, so the request is translated to JSON and the answer back to XML, with botocore's own description
of the service. What MiniStack does not keep of an alarm is kept here, as it was put.
"""

import json
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import botocore.session
from ministack import app

Answer = tuple[int, dict[str, str], bytes]
Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Awaitable[Answer]]

TRANSLATED = {"DescribeAlarms", "PutMetricAlarm", "PutCompositeAlarm"}
DROPPED_FIELDS = (  # by MiniStack
    "ActionsSuppressor",
    "ActionsSuppressorExtensionPeriod",
    "ActionsSuppressorWaitPeriod",
    "EvaluateLowSampleCountPercentile",
    "Metrics",
    "ThresholdMetricId",
)
SIMPLE_FIELDS = ("Period", "Statistic", "MetricName", "Namespace", "Dimensions")  # MiniStack adds them to math alarms

_dropped: dict[str, dict[str, Any]] = {}  # alarm name -> what MiniStack did not keep


def install() -> None:
    model = botocore.session.get_session().get_service_model("cloudwatch")
    original: Handler = app.SERVICE_HANDLERS["monitoring"]

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Answer:
        form = _form(headers, body)
        name = form.get("Action", "")
        if name not in TRANSLATED:
            return await original(method, path, headers, body, query)
        operation = model.operation_model(name)
        request = _from_form(operation.input_shape, "", form)
        if name != "DescribeAlarms":
            _remember(request)
        as_json = {
            **headers,
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"GraniteServiceVersion20100801.{name}",
        }
        status, _headers, answer = await original(method, path, as_json, json.dumps(request).encode(), {})
        if status != 200:  # let it word its own error
            return await original(method, path, headers, body, query)
        document = json.loads(answer or b"{}")
        for alarm in document.get("MetricAlarms", []) + document.get("CompositeAlarms", []):
            _complete(alarm)
        return 200, {"Content-Type": "text/xml"}, _response(name, operation.output_shape, document)

    for key in ("monitoring", "cloudwatch"):
        if key in app.SERVICE_HANDLERS:
            app.SERVICE_HANDLERS[key] = handle


def _form(headers: dict[str, str], body: bytes) -> dict[str, str]:
    if "form-urlencoded" not in headers.get("content-type", ""):
        return {}
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _remember(request: dict[str, Any]) -> None:
    _dropped.pop(request["AlarmName"], None)
    kept = {key: request[key] for key in DROPPED_FIELDS if request.get(key)}
    if kept:
        _dropped[request["AlarmName"]] = kept


def _complete(alarm: dict[str, Any]) -> None:
    alarm.update(_dropped.get(alarm.get("AlarmName", ""), {}))
    if alarm.get("Metrics"):
        for key in SIMPLE_FIELDS:
            alarm.pop(key, None)
    if alarm.get("ExtendedStatistic"):
        alarm.pop("Statistic", None)  # MiniStack adds it


def _from_form(shape: Any, prefix: str, form: dict[str, str]) -> Any:
    kind = shape.type_name
    if kind == "structure":
        found = {}
        for name, member in shape.members.items():
            key = f"{prefix}.{name}" if prefix else name
            if key in form or any(field.startswith(f"{key}.") for field in form):
                found[name] = _from_form(member, key, form)
        return found
    if kind == "list":
        start = f"{prefix}.member."
        numbers = sorted({int(field[len(start) :].split(".")[0]) for field in form if field.startswith(start)})
        return [_from_form(shape.member, f"{start}{number}", form) for number in numbers]
    value = form[prefix]
    if kind in ("integer", "long"):
        return int(value)
    if kind in ("double", "float"):
        return float(value)
    return value.lower() == "true" if kind == "boolean" else value


def _response(name: str, shape: Any, document: dict[str, Any]) -> bytes:
    result = f"<{name}Result>{_to_xml(shape, document)}</{name}Result>" if shape else ""
    metadata = f"<ResponseMetadata><RequestId>{uuid.uuid4()}</RequestId></ResponseMetadata>"
    space = "http://monitoring.amazonaws.com/doc/2010-08-01/"
    return f'<{name}Response xmlns="{space}">{result}{metadata}</{name}Response>'.encode()


def _to_xml(shape: Any, value: Any) -> str:
    kind = shape.type_name
    if kind == "structure":
        members = ((name, member, value.get(name)) for name, member in shape.members.items())
        return "".join(
            f"<{name}>{_to_xml(member, found)}</{name}>"
            for name, member, found in members
            if found is not None and not (found == "" and member.type_name == "string")
        )
    if kind == "list":
        return "".join(f"<member>{_to_xml(shape.member, item)}</member>" for item in value)
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "timestamp" and isinstance(value, int | float):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(value))
    return escape(str(value))
