"""AWS/SQS metrics, published every few seconds. MiniStack has none, so no alarm on a queue's depth or age could ever
fire.
"""

import os
import sys
import threading
import time
from typing import Any

from ministack.services import cloudwatch, sqs

BATCH = 500


def install() -> None:
    period = float(os.environ.get("LOCAL_AWS_QUEUE_METRICS_SECONDS", "5"))
    threading.Thread(target=_publish_for_ever, args=(period,), daemon=True, name="queue-metrics").start()


def _publish_for_ever(period: float) -> None:
    while True:
        time.sleep(period)
        try:
            data = [datum for url, queue in list(sqs._queues.items()) for datum in _measure(url, queue)]
            for start in range(0, len(data), BATCH):
                request = {"Namespace": "AWS/SQS", "MetricData": data[start : start + BATCH]}
                cloudwatch._put_metric_data({}, request, False, True)
        except Exception as error:  # a metric is never worth the local AWS
            print(f"queue metrics: {error!r}", file=sys.stderr)


def _measure(url: str, queue: dict[str, Any]) -> list[dict[str, Any]]:
    now = time.time()
    messages = list(queue["messages"])
    values = {
        "ApproximateNumberOfMessagesVisible": sum(m["visible_at"] <= now for m in messages),
        "ApproximateNumberOfMessagesNotVisible": sum(
            m["visible_at"] > now and m["receive_count"] > 0 for m in messages
        ),
        "ApproximateAgeOfOldestMessage": max((now - m["sent_at"] for m in messages), default=0),
    }
    dimensions = [{"Name": "QueueName", "Value": url.rsplit("/", 1)[-1]}]
    return [{"MetricName": name, "Value": value, "Dimensions": dimensions} for name, value in values.items()]
