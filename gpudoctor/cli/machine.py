"""Reading the machine for a command, with progress on standard error."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.facts.collect import Collected, Progress


def collect_facts(python: str | None, quick: bool, timeout: float, tensorflow_timeout: float) -> Collected:
    from gpudoctor.facts.collect import collect
    from gpudoctor.facts.host import Host

    with shown_progress() as progress:
        return collect(
            Host(),
            python=python,
            start_tensorflow=not quick,
            driver_seconds=timeout,
            tensorflow_seconds=tensorflow_timeout,
            progress=progress,
        )


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress | None]:
    """Show on standard error which probes still run, where a person is looking."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    width = shutil.get_terminal_size().columns

    def show(running: tuple[str, ...]) -> None:
        text = f"asking {', '.join(running)} ..." if running else ""
        sys.stderr.write(f"\r{text[: width - 1].ljust(width - 1)}\r")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show(())
