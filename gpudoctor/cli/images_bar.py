"""A bar on standard error while images are drawn or checked, where a person is looking; notes are always shown."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.benchmark.data_model import OnProgress, Progress

BAR_CHARACTERS = 30


@contextlib.contextmanager
def images_bar() -> Iterator[OnProgress]:
    """Give a function that shows progress events; the line is wiped at the end."""
    on_terminal = sys.stderr.isatty()

    def line(text: str) -> None:
        if on_terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{text[:width].ljust(width)}\r")
            sys.stderr.flush()

    def show(event: Progress) -> None:
        if event.note:
            line("")
            sys.stderr.write(f"gpudoctor: {event.note}\n")
        line(bar(event))

    try:
        yield show
    finally:
        line("")


def bar(event: Progress) -> str:
    """Return the line for one event."""
    filled = BAR_CHARACTERS * event.done // max(event.total, 1)
    return f"{event.task} [{'#' * filled}{'.' * (BAR_CHARACTERS - filled)}] {event.done:,} of {event.total:,}"
