"""Mail: everything that the product writes to people, through one provider."""

from datetime import timedelta
from urllib.error import HTTPError

from pydantic import BaseModel

from ..runtime import Job, JobContext, Permanent, full_jitter
from ..settings import settings
from . import web


class Mail(BaseModel):
    to: str
    template: str
    words: dict[str, str] = {}


class MailboxGoneError(Exception):
    """The provider says that this address does not exist."""


class SendMail(Job[Mail, None]):
    """Teaches dependencies. While the provider is down no mail uses up an attempt: they wait, and when it is back they
    start slowly. All jobs of this workload need it, so with `pause_on_open` the queue is not even read meanwhile.
    """

    name = "mail.send"
    workload = "mail"
    dependencies = ("mail-api",)
    retry = full_jitter(base=timedelta(seconds=2), cap=timedelta(minutes=10), max_attempts=6)
    on = {MailboxGoneError: Permanent("mailbox_gone")}
    ttl = timedelta(days=2)  # after that it is parked: a receipt must not vanish, but a late one wants a decision
    log_fields = ("template",)  # never the address

    def run(self, args: Mail, ctx: JobContext) -> None:
        # The provider takes an idempotency key: the same in every attempt.
        key = ctx.effect_key("mail")
        try:
            web.post(f"{settings().mail_api}/messages", args.model_dump(), key=key)
        except HTTPError as error:
            if error.code == 404:
                raise MailboxGoneError from error
            raise
