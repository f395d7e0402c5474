"""Reading the machine for a command, with progress on standard error."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.facts.collect import Collected, Progress


def collect_facts(
    python: str | None,
    quick: bool,
    timeout: float,
    tensorflow_timeout: float,
    *,
    formats: Sequence[str] = ("text",),
    policy: bool = False,
) -> Collected:
    """Return the facts of this machine. formats, policy: of what the report will be made, loaded meanwhile."""
    from gpudoctor.facts.collect import collect
    from gpudoctor.facts.host import Host

    with shown_progress() as progress, loading_ahead(formats, policy):
        return collect(
            Host(),
            python=python,
            start_tensorflow=not quick,
            driver_seconds=timeout,
            tensorflow_seconds=tensorflow_timeout,
            progress=progress,
        )


@contextlib.contextmanager
def loading_ahead(formats: Sequence[str], policy: bool) -> Iterator[None]:
    """Load what the report will need while we wait for the children that read the machine."""

    def work() -> None:
        with contextlib.suppress(Exception):  # it is raised again where it is needed
            from gpudoctor.compat import tables
            from gpudoctor.report.formats import load
            from gpudoctor.rules.registry import load_rules

            load(formats)
            load_rules(policy=policy)
            tables()

    thread = threading.Thread(target=work, name="loading ahead", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


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
