"""Keep ECS from ending a task in the middle of long work: scale-in protection, asked of the agent beside the container.

It holds off scale-in and deployments, not Spot interruptions, and expires by itself: a worker that dies protected is
not protected for ever (ECS developer guide, "Amazon ECS task scale-in protection endpoint"). The agent asks with the
task's own role, which needs ``ecs:UpdateTaskProtection``.
"""

import json
import os
import time
import urllib.request
from collections.abc import Mapping

from .observability import Observer

LONG_RUN_SECONDS = 60.0
EXPIRES_MINUTES = 60
RENEW_SECONDS = EXPIRES_MINUTES * 60 / 2
TRY_AGAIN_SECONDS = 30.0
TIMEOUT_SECONDS = 2.0


class Protection:
    """Args:
    endpoint: of the agent; empty outside ECS, and nothing is asked then.
    observer: a refusal is a warning, never an error of a job.
    """

    def __init__(self, endpoint: str, observer: Observer) -> None:
        self._endpoint, self._observer = endpoint, observer
        self._on = False
        self._asked_at = float("-inf")
        self._failed = False

    @classmethod
    def from_environment(cls, observer: Observer, environ: Mapping[str, str] | None = None) -> "Protection":
        env = os.environ if environ is None else environ
        return cls(env.get("ECS_AGENT_URI", ""), observer)

    def update(self, longest_run: float) -> None:
        """Switch it on or off as needed; called again and again.

        Args:
            longest_run: how long the longest of the running jobs has been running, in seconds; 0 if there is none.
        """
        if not self._endpoint:
            return
        wanted, since = longest_run > LONG_RUN_SECONDS, time.monotonic() - self._asked_at
        wait = TRY_AGAIN_SECONDS if self._failed else RENEW_SECONDS if wanted == self._on else 0.0
        if since >= wait and (wanted or self._on):
            self._ask(wanted)

    def _ask(self, wanted: bool) -> None:
        self._asked_at = time.monotonic()
        content: dict[str, object] = {"ProtectionEnabled": wanted}
        if wanted:
            content["ExpiresInMinutes"] = EXPIRES_MINUTES
        request = urllib.request.Request(  # noqa: S310 - the agent's own address, which ECS puts into the environment
            f"{self._endpoint}/task-protection/v1/state",
            data=json.dumps(content).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            # No proxy: the agent is on a link-local address.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                told = json.load(answer)
            why = None if "protection" in told else told.get("failure", told.get("error"))
            self._failed = "protection" not in told
        except Exception as error:
            why, self._failed = type(error).__name__, True
        if self._failed:
            self._observer.event("WARNING", "scale-in protection not changed", why=why)
        else:
            self._on = wanted
