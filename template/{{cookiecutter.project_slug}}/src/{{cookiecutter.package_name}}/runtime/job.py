"""``Job``: one class is one kind of background job: its wire name, its payload model, its policies and its code.

Everything a reader of the class needs to know about retries, deadlines and routing stands on the class; a mistake in it
fails when the module is imported, not when the first message arrives.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel

from .envelope import JOB_NAME_PATTERN
from .outcome import Decision, Discard
from .policy import Backoff, Rule, full_jitter

if TYPE_CHECKING:
    from .breaker_state import Dependency
    from .context import JobContext

Args = TypeVar("Args", bound=BaseModel)
Result = TypeVar("Result")
Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


MIN_LEASE = timedelta(seconds=30)


class JobDeclarationError(TypeError):
    """A job class breaks a rule. Raised at import; the text names the class, the attribute, the rule and the remedy."""


def upcast(from_version: int, to_version: int) -> Callable[[Upcaster], "_Upcast"]:
    """Mark a function of the class that lifts an older payload: ``(raw: dict) -> dict``, pure, from one version to a
    newer one.

    Steps are chained (1 to 2, 2 to 3) until the class's ``version`` is reached.
    """
    if not 1 <= from_version < to_version:
        raise JobDeclarationError(
            f"@upcast({from_version}, {to_version}): the versions must rise and start at 1 or more"
        )
    return lambda function: _Upcast(from_version, to_version, function)


class _Upcast:
    def __init__(self, from_version: int, to_version: int, function: Upcaster) -> None:
        self.from_version, self.to_version, self.function = from_version, to_version, function


class Job(Generic[Args, Result]):
    """Derive as ``class SendInvoice(Job[InvoiceArgs, None])``, set ``name`` and write ``run``.

    A class without ``name`` is a base class for others and never receives a message.
    """

    name: ClassVar[str] = ""
    """Wire name: stays the same when the class or its module is renamed. Lower case letters, digits, ``_ . -``; at most
    100.
    """
    aliases: ClassVar[tuple[str, ...]] = ()
    """Former wire names that may still be in a queue."""
    version: ClassVar[int] = 1
    """Version of the payload model; raise it together with an ``@upcast``."""
    workload: ClassVar[str | None] = None
    """The Terraform workload that runs it; None means the App's default."""
    group: ClassVar[Callable[..., str] | None] = None
    """FIFO workloads only: the message group of a payload, within which order holds."""
    key: ClassVar[str | Callable[..., Any] | None] = None
    """Business key: a payload field's name, or a function of the payload. None: every published job is a piece of work
    of its own.
    """
    ledger: ClassVar[bool] = True
    """False: no record is kept, for jobs that are cheap to repeat. Saves two writes a job."""
    lease: ClassVar[timedelta] = timedelta(minutes=2)
    """How long a claim holds where the runtime knows no better: on Lambda it is the time left, in a worker its own
    lease (``JOBS_LEASE_SECONDS``).
    """
    stall_after: ClassVar[timedelta | None] = None
    """In a worker: a job whose ``ctx.progress`` has not changed for so long is told (``JobStalled``) and let go, so
    that another worker takes it over. None, or longer than the worker's lease: after the lease, which nothing else
    renews.
    """
    isolate: ClassVar[str] = "thread"
    """In a worker: "process" runs each delivery in a process of its own, which can be killed: when ``timeout`` is over,
    when it stalls. For native code that hangs or crashes, at about half a second a job. On Lambda it changes nothing.
    """
    after_crash: ClassVar[str] = "rerun"
    """What follows a run that never told how it ended: "rerun", or "park" where a second run could do harm."""
    max_crashes: ClassVar[int] = 3
    """After that many such runs the job is dead-lettered."""
    retry: ClassVar[Backoff] = full_jitter()
    """What happens after an error that ``on`` does not name."""
    on: ClassVar[Mapping[type[BaseException], Rule]] = {}
    """Exception class to policy or outcome; the first match in the order written wins."""
    timeout: ClassVar[timedelta | None] = None
    """Soft limit of one run. None: what the invocation has left."""
    ttl: ClassVar[timedelta | None] = None
    """Deadline counted from publishing; after it the job is not started any more."""
    regenerable: ClassVar[bool] = False
    """True: past its deadline the job may be dropped, since a newer one does the same work. False: it is parked."""
    dependencies: ClassVar[tuple["str | Dependency", ...]] = ()
    """What the job needs and may find down: while it is, the job is put off without an attempt, before it is claimed.
    Names, or instances of ``Dependency`` for other rules than the defaults.
    """
    log_fields: ClassVar[tuple[str, ...]] = ()
    """The payload fields that may be logged. No other part of a payload ever is."""

    payload_model: ClassVar[type[BaseModel]]
    max_attempts: ClassVar[int] = 1
    """The most attempts that ``retry`` or a policy in ``on`` allows."""
    upcasters: ClassVar[Mapping[int, tuple[int, Upcaster]]] = {}

    def run(self, args: Args, ctx: "JobContext") -> Result | Awaitable[Result]:  # noqa: ARG002
        """The job's own code, plain or ``async``. Returning is success; see ``outcome`` for the exceptions that decide
        otherwise.
        """
        raise JobDeclarationError(f"{type(self).__qualname__} has no run method")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        model = _payload_model(cls)
        if model is not None:
            cls.payload_model = model
        marked = [getattr(value, "__func__", value) for value in vars(cls).values()]  # @staticmethod may stand above
        own: dict[int, tuple[int, Upcaster]] = {}
        for step in (value for value in marked if isinstance(value, _Upcast)):
            if step.from_version in own:
                raise JobDeclarationError(
                    f"{cls.__module__}.{cls.__qualname__}: two functions are marked @upcast from version "
                    f"{step.from_version}. Keep one of them"
                )
            own[step.from_version] = step.to_version, step.function
        cls.upcasters = {**cls.upcasters, **own}
        if cls.name:
            _check(cls)
            cls.max_attempts = max(getattr(rule, "max_attempts", 1) for rule in (cls.retry, *cls.on.values()))


JobClass = type[Job[Any, Any]]


def _payload_model(cls: JobClass) -> type[BaseModel] | None:
    for base in getattr(cls, "__orig_bases__", ()):
        origin, arguments = get_origin(base), get_args(base)
        if isinstance(origin, type) and issubclass(origin, Job) and arguments:
            model = arguments[0]
            return model if isinstance(model, type) and issubclass(model, BaseModel) else None
    return None


def _check(cls: JobClass) -> None:
    for rule, remedy in _broken_rules(cls):
        raise JobDeclarationError(f"{cls.__module__}.{cls.__qualname__}: {rule}. {remedy}")


def _unordered(model: Any) -> list[str]:
    fields = getattr(model, "model_fields", {})
    return [name for name, field in fields.items() if _is_set(field.annotation)]


def _is_set(annotation: Any) -> bool:
    return (
        get_origin(annotation) in (set, frozenset)
        or annotation in (set, frozenset)
        or any(_is_set(part) for part in get_args(annotation))
    )


def _is_policy(rule: object) -> bool:
    return hasattr(rule, "delay") and isinstance(getattr(rule, "max_attempts", None), int)


def _broken_rules(cls: JobClass) -> list[tuple[str, str]]:
    broken: list[tuple[str, str]] = []

    def need(holds: bool, rule: str, remedy: str) -> None:
        if not holds:
            broken.append((rule, remedy))

    if isinstance(cls.aliases, str):
        return [(f"aliases={cls.aliases!r} is a text, not a tuple", "Write aliases = (" + repr(cls.aliases) + ",)")]
    for name in (cls.name, *cls.aliases):
        need(
            isinstance(name, str) and re.fullmatch(JOB_NAME_PATTERN, name) is not None,
            f"the wire name {name!r} does not match {JOB_NAME_PATTERN}",
            'Use lower case words joined by dots, such as "billing.invoice.send"',
        )
    need(
        hasattr(cls, "payload_model"),
        "it has no payload model",
        "Derive from Job[YourModel, None] with a pydantic model",
    )
    need(cls.run is not Job.run, "it has no run method", "Write def run(self, args, ctx)")
    need(
        not (inspect.isgeneratorfunction(cls.run) or inspect.isasyncgenfunction(cls.run)),
        "run is a generator, whose body would never be executed",
        "Do the work in run instead of yielding it",
    )
    need(
        isinstance(cls.version, int) and cls.version >= 1,
        f"version={cls.version!r} is not a number from 1",
        "Start at 1",
    )
    need(
        _is_policy(cls.retry),
        f"retry={cls.retry!r} is no retry policy",
        "Use linear(...), fixed(...), full_jitter(...) or an object with max_attempts and delay",
    )
    for error, rule in cls.on.items():
        need(
            isinstance(error, type) and issubclass(error, BaseException),
            f"on has the key {error!r}, which is no exception class",
            "Keys of on are exception classes",
        )
        need(
            isinstance(rule, Decision) or _is_policy(rule),
            f"on maps {getattr(error, '__name__', error)} to {rule!r}",
            'Map it to a retry policy or to an instance such as Permanent("reason")',
        )
        need(
            not isinstance(rule, Discard) or cls.regenerable,
            f"on maps {getattr(error, '__name__', error)} to Discard, but the job is not regenerable",
            "Set regenerable = True if losing the job is harmless, else use Park",
        )
    fields = set(getattr(getattr(cls, "payload_model", None), "model_fields", {}))
    need(
        cls.key is None or callable(cls.key) or cls.key in fields,
        f"key={cls.key!r} is no field of the payload model",
        "Name a field of the model, or give a function of the payload",
    )
    unordered = _unordered(getattr(cls, "payload_model", None)) if cls.key is not None else []
    need(
        not unordered,
        f"{', '.join(unordered)} of the payload is a set, whose order differs from process to process",
        "A job with a key is told from another by its payload: use a list, sorted",
    )
    need(
        cls.after_crash in ("rerun", "park"),
        f"after_crash={cls.after_crash!r}",
        'Use "rerun" or "park"',
    )
    need(
        isinstance(cls.max_crashes, int) and cls.max_crashes >= 1,
        f"max_crashes={cls.max_crashes!r} is below 1",
        "Use 1 or more",
    )
    need(
        isinstance(cls.lease, timedelta) and cls.lease >= MIN_LEASE,
        f"lease={cls.lease!r} is shorter than {MIN_LEASE}",
        "Clocks of two machines differ: a shorter lease lets two of them run the job at once",
    )
    need(
        cls.isolate in ("thread", "process"),
        f"isolate={cls.isolate!r}",
        'Use "thread" or "process"',
    )
    for attribute in ("timeout", "ttl", "stall_after"):
        value = getattr(cls, attribute)
        need(
            value is None or (isinstance(value, timedelta) and value > timedelta(0)),
            f"{attribute}={value!r} is not a positive timedelta",
            f"Write {attribute} = timedelta(seconds=...) or leave it out",
        )
    if cls.dependencies:
        _need_dependencies(cls, need)
    unknown = set(cls.log_fields) - fields
    need(not unknown, f"log_fields names {sorted(unknown)}, which the payload model lacks", "Name fields of the model")
    stuck = [v for v, (to, _) in cls.upcasters.items() if to != cls.version and to not in cls.upcasters]
    need(not stuck, f"@upcast from version {stuck} does not lead to version {cls.version}", "Add the missing step")
    return broken


def _need_dependencies(cls: JobClass, need: Callable[[bool, str, str], None]) -> None:
    from .breaker_state import Dependency

    if not isinstance(cls.dependencies, tuple):
        need(False, f"dependencies={cls.dependencies!r} is not a tuple", 'Write dependencies = ("smtp",)')
        return
    for dependency in cls.dependencies:
        try:
            if not isinstance(dependency, Dependency):
                Dependency(dependency)
        except ValueError as error:
            need(False, str(error), "Give names, or instances of Dependency")
