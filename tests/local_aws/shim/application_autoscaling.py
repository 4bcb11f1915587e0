"""Application Auto Scaling, which MiniStack does not have: targets and policies are kept as they were put, so that
Terraform can create, read and delete them. Nothing is scaled.
"""

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from ministack import app
from ministack.core import router
from ministack.core.responses import get_account_id, get_region

Request = dict[str, Any]
Key = tuple[str, ...]

HEADERS = {"Content-Type": "application/x-amz-json-1.1"}
NOT_SUSPENDED = {
    "DynamicScalingInSuspended": False,
    "DynamicScalingOutSuspended": False,
    "ScheduledScalingSuspended": False,
}

_targets: dict[Key, dict[str, Any]] = {}
_policies: dict[Key, dict[str, Any]] = {}
_tags: dict[str, dict[str, str]] = {}


class NotFoundError(Exception):
    """What was asked for is not registered."""


def install() -> None:
    app.SERVICE_HANDLERS["application-autoscaling"] = _handle
    router.SERVICE_PATTERNS["application-autoscaling"] = {
        "host_patterns": [r"application-autoscaling\."],
        "target_prefixes": ["AnyScaleFrontendService"],
    }


async def _handle(
    _method: str, _path: str, headers: dict[str, str], body: bytes, _query: dict[str, Any]
) -> tuple[int, dict[str, str], bytes]:
    name = headers.get("x-amz-target", "").rsplit(".", 1)[-1]
    try:
        if name not in OPERATIONS:
            return _refusal("ValidationException", f"not emulated: {name}")
        return 200, dict(HEADERS), json.dumps(OPERATIONS[name](json.loads(body or b"{}"))).encode()
    except NotFoundError as error:
        return _refusal("ObjectNotFoundException", str(error))


def _refusal(code: str, message: str) -> tuple[int, dict[str, str], bytes]:
    return 400, dict(HEADERS), json.dumps({"__type": code, "message": message}).encode()


def _key(request: Request, *more: str) -> Key:
    names = ("ServiceNamespace", "ResourceId", "ScalableDimension", *more)
    return tuple(request[name] for name in names)


def _matching(kept: dict[Key, dict[str, Any]], request: Request) -> list[dict[str, Any]]:
    """What a request that may leave things out asks for."""
    wanted = request.get("ResourceIds") or ([request["ResourceId"]] if "ResourceId" in request else None)
    return [
        item
        for item in kept.values()
        if item["ServiceNamespace"] == request["ServiceNamespace"]
        and (wanted is None or item["ResourceId"] in wanted)
        and request.get("ScalableDimension", item["ScalableDimension"]) == item["ScalableDimension"]
    ]


def _register(request: Request) -> dict[str, Any]:
    key = _key(request)
    account = f"{get_region()}:{get_account_id()}"
    target = _targets.setdefault(
        key,
        {
            "CreationTime": time.time(),
            "SuspendedState": NOT_SUSPENDED,
            "ScalableTargetARN": f"arn:aws:application-autoscaling:{account}:scalable-target/{uuid.uuid4().hex[:16]}",
            "RoleARN": f"arn:aws:iam::{get_account_id()}:role/aws-service-role/ecs.application-autoscaling.amazonaws"
            ".com/AWSServiceRoleForApplicationAutoScaling_ECSService",
        },
    )
    _tags.setdefault(target["ScalableTargetARN"], {}).update(request.get("Tags") or {})
    target.update({name: value for name, value in request.items() if name != "Tags"})
    return {"ScalableTargetARN": target["ScalableTargetARN"]}


def _describe_targets(request: Request) -> dict[str, Any]:
    return {"ScalableTargets": _matching(_targets, request)}


def _deregister(request: Request) -> dict[str, Any]:
    key = _key(request)
    if _targets.pop(key, None) is None:
        raise NotFoundError(f"No scalable target registered for {key}")
    for policy in [policy for policy in _policies if policy[: len(key)] == key]:
        del _policies[policy]
    return {}


def _put_policy(request: Request) -> dict[str, Any]:
    if _key(request) not in _targets:
        raise NotFoundError(f"No scalable target registered for {_key(request)}")
    arn = (
        f"arn:aws:autoscaling:{get_region()}:{get_account_id()}:scalingPolicy:{uuid.uuid4()}:resource/"
        f"{request['ServiceNamespace']}/{request['ResourceId']}:policyName/{request['PolicyName']}"
    )
    fresh = {"PolicyARN": arn, "CreationTime": time.time(), "Alarms": []}
    policy = _policies.setdefault(_key(request, "PolicyName"), fresh)
    policy.update(request)
    return {"PolicyARN": policy["PolicyARN"], "Alarms": []}


def _describe_policies(request: Request) -> dict[str, Any]:
    names = request.get("PolicyNames")
    found = _matching(_policies, request)
    return {"ScalingPolicies": [policy for policy in found if not names or policy["PolicyName"] in names]}


def _delete_policy(request: Request) -> dict[str, Any]:
    if _policies.pop(_key(request, "PolicyName"), None) is None:
        raise NotFoundError(f"No scaling policy found for {_key(request, 'PolicyName')}")
    return {}


def _list_tags(request: Request) -> dict[str, Any]:
    return {"Tags": _tags.get(request["ResourceARN"], {})}


def _tag(request: Request) -> dict[str, Any]:
    _tags.setdefault(request["ResourceARN"], {}).update(request["Tags"])
    return {}


def _untag(request: Request) -> dict[str, Any]:
    for name in request["TagKeys"]:
        _tags.get(request["ResourceARN"], {}).pop(name, None)
    return {}


OPERATIONS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "RegisterScalableTarget": _register,
    "DescribeScalableTargets": _describe_targets,
    "DeregisterScalableTarget": _deregister,
    "PutScalingPolicy": _put_policy,
    "DescribeScalingPolicies": _describe_policies,
    "DeleteScalingPolicy": _delete_policy,
    "ListTagsForResource": _list_tags,
    "TagResource": _tag,
    "UntagResource": _untag,
}
