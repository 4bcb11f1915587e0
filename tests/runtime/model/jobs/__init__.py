"""Jobs of every kind that the ledger treats differently. What one does is written in its payload."""

from datetime import timedelta
from typing import Any, ClassVar

from pydantic import BaseModel
from runtime import Defer, Discard, Job, JobContext, Park, Permanent, fixed

from .. import stage


class Script(BaseModel):
    """What a job does, run by run: it fails, then defers itself, then ends as ``end`` says."""

    number: int
    key: str = ""
    fails: int = 0
    defers: int = 0
    children: int = 0
    end: str = ""


class Acting(Job[Script, Any]):
    """Args: ``style`` is how it succeeds."""

    workload = "model"
    retry = fixed(timedelta(seconds=20), max_attempts=4)
    max_crashes = 2
    style: ClassVar[str] = "return"

    def run(self, args: Script, ctx: JobContext) -> Any:
        episode = stage.playing()
        position = episode.witness.entered(type(self), ctx)
        episode.at("run")
        episode.spend()
        if position < args.fails or args.end == "forever":
            raise OSError("busy")
        if position < args.fails + args.defers:
            episode.witness.deferred(type(self), ctx)
            raise Defer(timedelta(seconds=15))
        if args.end == "permanent":
            raise Permanent("hopeless")
        if args.end == "park":
            raise Park("ask_somebody")
        if args.end == "discard":
            raise Discard("stale")
        return self.succeed(args, ctx)

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        ctx.progress(1, 1)
        stage.playing().at("run, nearly done")
        stage.playing().witness.succeeded(type(self), ctx)
        return args.number


class Plain(Acting):
    name = "plain"


class Keyed(Acting):
    """Several published jobs may be one piece of work."""

    name = "keyed"
    key = "key"

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        ctx.commit(ctx.put("effects", {"pk": args.key}))
        stage.playing().at("run, after the commit")


class Child(Acting):
    name = "child"

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        ctx.commit(ctx.put("effects", {"pk": ctx.job_id}))


class Committing(Acting):
    name = "committing"

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        children = [ctx.follow_up(Child, Script(number=n)) for n in range(args.children)]
        ctx.commit(ctx.put("effects", {"pk": ctx.job_id}), *children, result=args.number)
        stage.playing().at("run, after the commit")
        if stage.playing().choices.chance(0.1):
            raise OSError("too late to matter")


class FleetingCommit(Committing):
    """As above, with a deadline after which it may be dropped; its follow-up jobs may not."""

    name = "fleeting_commit"
    ttl = timedelta(seconds=60)
    regenerable = True


class Following(Acting):
    """Publishes on its own, without a commit: at least once, always with the same ids."""

    name = "following"

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        for n in range(args.children):
            ctx.enqueue(Child, Script(number=n))
        return super().succeed(args, ctx)


class DeclinedError(Exception):
    """The other side surely did nothing."""


class Guarded(Acting):
    name = "guarded"

    def succeed(self, args: Script, ctx: JobContext) -> Any:
        episode = stage.playing()
        with ctx.effect("charge", clean=(DeclinedError,)) as needed:
            if needed:
                episode.at("run, before the charge")
                if episode.choices.chance(0.1):
                    raise DeclinedError
                episode.witness.charged(type(self), ctx)
                episode.at("run, after the charge")
                if episode.choices.chance(0.1):
                    raise OSError("no answer")
        if episode.choices.chance(0.2):
            raise OSError("busy after the charge")
        return super().succeed(args, ctx)


class Fleeting(Acting):
    name = "fleeting"
    ttl = timedelta(seconds=60)
    regenerable = True


class Lasting(Acting):
    name = "lasting"
    ttl = timedelta(seconds=60)


class Cautious(Acting):
    """A run that did not tell how it ended must not be followed by another."""

    name = "cautious"
    after_crash = "park"


class Light(Acting):
    """No record is kept."""

    name = "light"
    ledger = False


PUBLISHED = (Plain, Keyed, Committing, Following, Guarded, Fleeting, FleetingCommit, Lasting, Cautious, Light)
