"""`check --wait`: waits until the GPUs are as free as the policy asks."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.durations import Seconds, left_text
from gpudoctor.cli.output import usage_error

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts
    from gpudoctor.policy.model import Policy

# What can change by waiting.
WAITED_FOR = ("min_free_memory", "max_used_memory", "max_gpu_processes")
EVERY_SECONDS = 5.0

NeedMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--need-memory",
        metavar="SIZE",
        help="How much memory of a GPU has to be free, such as 6GiB. The same as --require min_free_memory=SIZE.",
        show_default=False,
    ),
]
MaxProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--max-gpu-processes",
        min=0,
        metavar="N",
        help="How many processes may compute on a GPU. The same as --require max_gpu_processes=N.",
        show_default=False,
    ),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-used-memory",
        metavar="SIZE",
        help="How much memory of a GPU may be in use, such as 500MiB. The same as --require max_used_memory=SIZE.",
        show_default=False,
    ),
]
WaitOption = Annotated[
    Seconds | None,
    typer.Option(
        "--wait",
        parser=Seconds.parse,
        metavar="TIME",
        help="Wait so long (90s, 10m, 1h) until the GPUs are as free as asked, then check.",
        show_default=False,
    ),
]


def as_requirements(need_memory: str | None, max_processes: int | None, max_memory: str | None) -> list[str]:
    """Return the options as what --require takes."""
    values = {"min_free_memory": need_memory, "max_gpu_processes": max_processes, "max_used_memory": max_memory}
    return [f"{key}={value}" for key, value in values.items() if value is not None]


def with_limit(policy: Policy | None) -> Policy:
    """Return the policy; exit with 2 where it asks for nothing that one could wait for."""
    if policy is None or all(getattr(policy, key) is None for key in WAITED_FOR):
        options = "--max-gpu-processes, --max-used-memory or --need-memory"
        usage_error(f"--wait: nothing to wait for; say {options}, or put it into the policy")
    return policy


def wait_until_free(seconds: float, policy: Policy, driver_seconds: float) -> None:
    """Wait, with progress on standard error. Ends the program with status 130 where the user interrupts it."""
    from gpudoctor.facts.gpus_now import GpuReader
    from gpudoctor.facts.host import Host

    reader = GpuReader(Host(), driver_seconds)
    try:
        _wait(seconds, lambda: what_is_waited_for(reader.read(), policy))
    except KeyboardInterrupt:
        reader.host.stop()
        raise typer.Exit(130) from None


def what_is_waited_for(facts: Facts, policy: Policy) -> list[str]:
    """Return what the GPUs are not yet free of; nothing where waiting would not help."""
    from gpudoctor.engine import run_rule
    from gpudoctor.processes.classify import unlisted_bytes
    from gpudoctor.rules.registry import load_rules

    runs = [run_rule(rule, facts, policy) for rule in load_rules(policy=True).values() if rule.asks in WAITED_FOR]
    messages = [finding.message for run in runs for finding in run.findings]
    hidden = any(unlisted_bytes(gpu) for gpu in facts.gpus if gpu.visible.get() is not False)
    unseen = [run.skipped for run in runs if run.skipped and run.applicable] if hidden else []
    return messages + unseen


def _wait(seconds: float, waited_for: Callable[[], list[str]], sleep: Callable[[float], None] = time.sleep) -> None:
    deadline = time.monotonic() + seconds
    said, shown = "", _Shown()
    with contextlib.closing(shown):
        while messages := waited_for():
            text, left = "; ".join(messages), deadline - time.monotonic()
            shown.show(text, left, new=text != said)
            said = text
            if left <= 0:
                return
            sleep(min(EVERY_SECONDS, left))


class _Shown:
    """Progress on standard error: one line that changes on a terminal, elsewhere a line when the reason changes."""

    def __init__(self) -> None:
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.width = shutil.get_terminal_size().columns - 1

    def show(self, text: str, left: float, *, new: bool) -> None:
        """Show what is waited for, and for how long at most."""
        from gpudoctor.report.clean import clean

        line = f"waiting, {left_text(left)} left: {clean(text)}"
        if self.terminal:
            sys.stderr.write(f"\r{line[: self.width].ljust(self.width)}\r")
        elif new and sys.stderr is not None:
            sys.stderr.write(f"{line}\n")
        if sys.stderr is not None:
            sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line that changes."""
        if self.terminal:
            sys.stderr.write(f"\r{' ' * self.width}\r")
            sys.stderr.flush()
