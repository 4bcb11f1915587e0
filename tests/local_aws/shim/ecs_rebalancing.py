"""An ECS service says whether it is rebalanced between availability zones. MiniStack leaves the field out, and
Terraform would see a change in every plan.
"""

import json
from typing import Any

from ministack import app

FIELD = "availabilityZoneRebalancing"
OPERATIONS = ("CreateService", "UpdateService", "DescribeServices", "DeleteService")

_wanted: dict[str, str] = {}  # service ARN -> what was asked for


def install() -> None:
    original = app.SERVICE_HANDLERS["ecs"]

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Any:
        status, fields, answer = await original(method, path, headers, body, query)
        if status != 200 or not headers.get("x-amz-target", "").endswith(OPERATIONS):
            return status, fields, answer
        document = json.loads(answer)
        asked_for = json.loads(body or b"{}").get(FIELD)
        for service in [*document.get("services", []), *filter(None, [document.get("service")])]:
            if asked_for:
                _wanted[service["serviceArn"]] = asked_for
            service[FIELD] = _wanted.get(service["serviceArn"], "DISABLED")
        fields = {name: value for name, value in fields.items() if name.lower() != "content-length"}
        return status, fields, json.dumps(document).encode()

    app.SERVICE_HANDLERS["ecs"] = handle
