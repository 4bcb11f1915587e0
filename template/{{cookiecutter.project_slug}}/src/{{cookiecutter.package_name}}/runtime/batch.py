"""Run messages one after the other and settle each before the next one starts.

On a FIFO queue the first message of a group that must come again stops the group: the rest of it is not started and
comes again with it. A dead-lettered one does not stop its group. On a standard queue every message stands for itself.
"""

from collections.abc import Callable, Sequence

from .delivery import Delivery
from .engine import Report
from .observability import Observer
from .outcome import Kind, Outcome
from .settlement import Settlement


def run_in_order(
    batch: Sequence[Delivery],
    handle: Callable[[Delivery], Report | None],
    settlement: Settlement,
    observer: Observer,
    acknowledge: Callable[[Report], None],
) -> list[str]:
    """Returns the ids of the messages that must come again.

    Args:
        batch: in the order received.
        handle: runs one; None if it and all behind it are not ours any more, and are not to be touched.
        settlement: the caller flushes it.
        observer: gets a line per message.
        acknowledge: called for what is finished.
    """
    unique = list({delivery.message_id: delivery for delivery in batch}.values())
    failed: list[str] = []
    stopped: dict[str, float | None] = {}  # FIFO group to the seconds until its head comes back
    for position, delivery in enumerate(unique):
        group = (delivery.group or "") if delivery.fifo else None
        if group is not None and group in stopped:
            seconds = stopped[group]
            if delivery.is_last_receive:  # or the queue would move it itself, without a word why
                tail = Report(delivery, Outcome(Kind.DEAD, "receives_exhausted (group_stopped)"))
                observer.job(tail)
                if settlement.settle(tail) is None:
                    acknowledge(tail)
                    continue
            elif seconds is not None:
                settlement.wait(delivery, seconds)
            failed.append(delivery.message_id)
            continue
        acknowledged, seconds = False, None
        try:
            report = handle(delivery)
            if report is None:
                return failed + [left.message_id for left in unique[position:]]
            seconds = settlement.settle(report)
            acknowledged = seconds is None
            observer.job(report)
            if acknowledged:
                acknowledge(report)
        except Exception as error:  # a defect of the runtime itself: the message stays, its neighbours are served
            observer.event("ERROR", "runtime error", error=type(error).__name__, message_id=delivery.message_id)
        if not acknowledged:
            failed.append(delivery.message_id)
            if group is not None:
                stopped[group] = seconds
    return failed
