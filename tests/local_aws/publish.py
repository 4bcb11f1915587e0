"""Publish jobs through a generated project's own app, as a producer does; run in a process that has only the
publisher's environment.

    python publish.py PACKAGE < requests.json > results.json

A request is {"job": wire name, "payloads": [...]} and may hold delay_seconds, tenant and job_id.
"""

import importlib
import json
import sys
from datetime import timedelta
from typing import Any


def main(package: str) -> None:
    app: Any = importlib.import_module(f"{package}.app").app
    results = []
    for request in json.load(sys.stdin):
        job = app.registry.find(request["job"])
        options = {key: request[key] for key in ("tenant", "job_id") if request.get(key)}
        if request.get("delay_seconds") is not None:
            options["delay"] = timedelta(seconds=request["delay_seconds"])
        payloads = [job.payload_model.model_validate(payload) for payload in request["payloads"]]
        if "job_id" in options:
            published = [app.enqueue(job, payload, **options) for payload in payloads]
        else:
            published = app.enqueue_many(job, payloads, **options)
        results.append([{"id": p.id, "ok": p.ok, "error": f"{p.error_code} {p.error}".strip()} for p in published])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
