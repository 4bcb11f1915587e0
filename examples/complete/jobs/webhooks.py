"""Webhook delivery: call a customer's endpoint. Slow and unreliable by nature, so it has a workload of its own."""

from datetime import timedelta
from typing import Any
from urllib.error import HTTPError

from pydantic import BaseModel, HttpUrl

from ..runtime import Job, JobContext, Permanent, linear
from .web import send


class Webhook(BaseModel):
    url: HttpUrl
    event: str
    data: dict[str, Any]


class EndpointGoneError(Exception):
    """The customer's server says that this address will not exist again."""


class DeliverWebhook(Job[Webhook, int]):
    name = "webhooks.deliver"
    workload = "webhooks"
    retry = linear(step=timedelta(seconds=2), max_attempts=4)
    on = {EndpointGoneError: Permanent("endpoint_gone")}  # to the dead letters at once
    ttl = timedelta(days=1)  # nobody wants to hear of it later
    log_fields = ("event",)

    def run(self, args: Webhook, ctx: JobContext) -> int:
        try:
            return send("POST", str(args.url), {"event": args.event, "data": args.data}, key=ctx.job_id)
        except HTTPError as error:
            if error.code == 410:
                raise EndpointGoneError(str(args.url)) from error
            raise  # 503 and its like: retried by the policy above
