"""Webhooks: an asynchronous job that talks HTTP and leaves most failures to the built-in rules."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pydantic import BaseModel, HttpUrl

from ..runtime import Job, JobContext, Permanent, full_jitter


class WebhookArgs(BaseModel):
    url: HttpUrl  # http and https only, so that no message can make urlopen read a file
    event: str
    data: dict[str, Any]


class SubscriberGone(Exception):
    """The subscriber answers that this address will not exist again."""


def post(url: str, body: bytes, headers: dict[str, str], timeout: float) -> int:
    try:
        with urlopen(Request(url, data=body, headers=headers), timeout=timeout) as response:
            return int(response.status)
    except HTTPError as error:
        if error.code in (404, 410):
            raise SubscriberGone(url) from error
        raise  # the built-in rules know HTTP: after 429 and 5xx the wait is at least what Retry-After asks for


class DeliverWebhook(Job[WebhookArgs, int]):
    name = "webhooks.deliver"
    retry = full_jitter(base=timedelta(seconds=5), cap=timedelta(minutes=15), max_attempts=8)
    on = {SubscriberGone: Permanent("subscriber_gone")}
    timeout = timedelta(seconds=30)  # {{ "less than the Lambda function's own" if cookiecutter.__lambda else "of one run; then it is interrupted and retried" }}
    ttl = timedelta(days=1)  # nobody wants to hear of it later than that
    regenerable = True  # so it may be discarded then, and is counted
    log_fields = ("event",)

    async def run(self, args: WebhookArgs, ctx: JobContext) -> int:
        from ..settings import settings  # here, because only this job needs it: see settings.py

        body = json.dumps({"event": args.event, "data": args.data}).encode()
        # A job can be delivered twice; the same id lets the subscriber notice.
        headers = {"Content-Type": "application/json", "Idempotency-Key": ctx.job_id}
        return await asyncio.to_thread(post, str(args.url), body, headers, settings().webhook_timeout_seconds)
