"""Where the pages of a report are kept: S3, a file per page under the report's own prefix."""

import os
from typing import Any

from ..runtime.clients import client


def location(report: str) -> str:
    return f"s3://{_bucket()}/{_prefix(report)}"


def finished(report: str) -> set[int]:
    """The numbers of the pages that are there already: an earlier run was interrupted after them."""
    prefix = _prefix(report)
    listed = _s3().get_paginator("list_objects_v2").paginate(Bucket=_bucket(), Prefix=prefix)
    names = (item["Key"].removeprefix(prefix) for answer in listed for item in answer.get("Contents", []))
    return {int(name.removesuffix(".txt")) for name in names}


def keep(report: str, number: int, content: str) -> None:
    """Keep a page. S3 writes an object whole or not at all, so what `finished` lists is complete."""
    _s3().put_object(Bucket=_bucket(), Key=f"{_prefix(report)}{number:04}.txt", Body=content.encode())


def _bucket() -> str:
    return os.environ["APP_REPORTS_BUCKET"]


def _prefix(report: str) -> str:
    return f"reports/{report}/"


def _s3() -> Any:
    return client("s3")
