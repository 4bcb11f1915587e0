"""What the demo shows: steps with their time, a live table, a summary. Plain lines where there is no terminal."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table

from .tally import Row

PLAIN_PAUSE_SECONDS = 15.0


class Screen:
    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.started = time.monotonic()

    def say(self, text: str = "") -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def step(self, title: str, detail: Callable[[], str] = lambda: "") -> Iterator[None]:
        """Show that a step runs, how far it is, and how long it took."""
        began = time.monotonic()
        done = threading.Event()

        def text() -> str:
            return f"{title} ({time.monotonic() - began:.0f} s) {detail()}".rstrip()

        def keep_showing(show: Callable[[str], None], pause: float) -> None:
            while not done.wait(pause):
                show(text())

        with contextlib.ExitStack() as stack:
            if self.console.is_terminal:
                status = stack.enter_context(self.console.status(title))
                show: Callable[[str], None] = status.update
                pause = 0.5
            else:
                self.say(f"  .. {title}")

                def show(text: str) -> None:
                    self.say(f"     {text}")

                pause = PLAIN_PAUSE_SECONDS
            thread = threading.Thread(target=keep_showing, args=(show, pause), daemon=True)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()
        self.say(f"  ok {title} ({time.monotonic() - began:.1f} s)")

    @contextlib.contextmanager
    def table(self) -> Iterator[Callable[[Sequence[Row]], None]]:
        """Yield a function that shows the current rows."""
        if self.console.is_terminal:
            with Live(console=self.console, refresh_per_second=4) as live:
                yield lambda rows: live.update(_table(rows))
            return
        last = [0.0]

        def show(rows: Sequence[Row]) -> None:
            if time.monotonic() - last[0] >= 5:
                last[0] = time.monotonic()
                for row in rows:
                    self.say("     " + _line(row))
                self.say()

        yield show

    def final(self, rows: Sequence[Row]) -> None:
        self.console.print(_table(rows))


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="Jobs per workload")
    table.add_column("workload")
    for name in ("published", "succeeded", "retried", "dead", "parked", "queued", "oldest"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.workload,
            str(row.published),
            f"[green]{row.succeeded}[/green]",
            f"[yellow]{row.retried}[/yellow]" if row.retried else "0",
            f"[red]{row.dead}[/red]" if row.dead else "0",
            f"[magenta]{row.parked}[/magenta]" if row.parked else "0",
            str(row.depth),
            f"{row.oldest_seconds:.0f} s" if row.oldest_seconds else "-",
        )
    return table


def _line(row: Row) -> str:
    return (
        f"{row.workload:<9} published {row.published:>3}  succeeded {row.succeeded:>3}  retried {row.retried:>3}"
        f"  dead {row.dead:>2}  parked {row.parked:>2}  in queue {row.depth:>3}  oldest {row.oldest_seconds:>3.0f} s"
    )
