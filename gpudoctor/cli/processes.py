"""gpudoctor processes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.options import DriverSeconds, Format
from gpudoctor.cli.output import put, usage_error
from gpudoctor.cli.terminal import look
from gpudoctor.cli.waiting import NeedMemoryOption, as_requirements
from gpudoctor.findings import Expect, Report, Severity, Source, SourceKind

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts, Gpu
    from gpudoctor.policy.model import Policy

RULES = ("competing-gpu-process", "gpu-memory-preallocated")
HOME_AND_CLEAR = "\x1b[H\x1b[2J"


def processes(
    *,
    gpu: Annotated[
        str | None,
        typer.Option(
            "--gpu", metavar="GPU", help="Only this one: number of NVML, UUID or PCI address.", show_default=False
        ),
    ] = None,
    need_memory: NeedMemoryOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until you interrupt it.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.5, metavar="SECONDS", help="How often to look with --watch.")
    ] = 2.0,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="List those of saved facts.", show_default=False),
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,  # noqa: A002
    timeout: DriverSeconds = 10.0,
) -> None:
    """List what uses the GPUs: programs, how much memory they hold, whose they are, what you can do.

    It ends no process. What cannot be seen, in a container for instance, is said with the memory that it holds.

    Examples:

      gpudoctor processes

      gpudoctor processes --gpu 0 --need-memory 6GiB

      gpudoctor processes --watch --format json

    Exit status: 0; 1 --need-memory is not free on each GPU that was looked at; 2 wrong usage, unreadable input; 3 what
    uses a GPU could not be told; 130 interrupted.
    """
    policy = _policy(need_memory)
    read = _saved(facts) if facts is not None else _live(timeout)
    kind = SourceKind.FACTS if facts is not None else SourceKind.LIVE
    if watch and facts is not None:
        usage_error("--watch and --facts contradict each other: saved facts do not change")
    try:
        status = _once(read(), gpu, policy, kind, shown=format, watch=watch)
        while watch:
            time.sleep(interval)
            status = _once(read(), gpu, policy, kind, shown=format, watch=watch)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(status)


def _policy(need_memory: str | None) -> Policy:
    from gpudoctor.policy.model import NOTHING_ASKED
    from gpudoctor.policy.read import PolicyError, override

    pairs = dict(text.split("=", 1) for text in as_requirements(need_memory, None, None))
    try:
        return override(NOTHING_ASKED, pairs, RULES)
    except PolicyError as exc:
        usage_error(str(exc).replace("min_free_memory", "--need-memory"))


def _live(timeout: float) -> Callable[[], Facts]:
    from gpudoctor.facts.gpus_now import GpuReader
    from gpudoctor.facts.host import Host

    return GpuReader(Host(), timeout).read


def _saved(path: Path) -> Callable[[], Facts]:
    from gpudoctor.cli.check import read_facts

    return lambda: read_facts(path)


def _once(seen: Facts, wanted: str | None, policy: Policy, kind: SourceKind, *, shown: Format, watch: bool) -> int:
    """Print what is on the GPUs now; return the exit status."""
    from msgspec.structs import replace

    from gpudoctor.judging import judge_facts

    numbers = tuple(number for number, gpu in enumerate(seen.gpus) if wanted is None or _is(gpu, number, wanted))
    if wanted is not None and not numbers:
        usage_error(f"--gpu {wanted}: there is no such GPU; there are {len(seen.gpus)}, counted from 0")
    chosen = replace(seen, gpus=tuple(seen.gpus[number] for number in numbers))
    clean = chosen if kind is SourceKind.FACTS else _without_secrets(chosen, names=shown is Format.TEXT)
    report = judge_facts(clean, Source(kind=kind), Expect.ANY, policy)
    if shown is Format.JSON:
        from gpudoctor.report import processes_json

        put(processes_json.render(report, numbers, lines=watch))
    else:
        from gpudoctor.report import processes_text

        color, width = look(sys.stdout, os.environ)
        terminal = watch and sys.stdout is not None and sys.stdout.isatty()
        text = processes_text.render(
            report, numbers, width=width, color=color, need=policy.min_free_memory, short=terminal
        )
        put(f"{HOME_AND_CLEAR}{_of_height(text)}" if terminal else f"{text}\n" if watch else text)
    return _status(report)


def _of_height(text: str) -> str:
    """Return as many lines as the terminal has room for; more would push the first ones out of sight."""
    lines, room = text.splitlines(), shutil.get_terminal_size().lines - 2
    if len(lines) > room:
        lines = [*lines[: max(1, room - 1)], f"... {len(lines) - max(1, room - 1)} more lines"]
    return "\n".join([*lines, "Ctrl-C ends this; without --watch it says more, and what can be done"]) + "\n"


def _without_secrets(facts: Facts, *, names: bool) -> Facts:
    """Return the facts as they may be shown around; names: with those of the users, whom one may want to ask."""
    from msgspec.structs import replace

    from gpudoctor.facts import codec
    from gpudoctor.facts.model import Known

    clean = codec.redact(facts, codec.Identity.of_this_process())
    if not names:
        return clean
    gpus = []
    for before, after in zip(facts.gpus, clean.gpus, strict=True):
        if isinstance(before.processes, Known) and isinstance(after.processes, Known):
            pairs = zip(before.processes.value, after.processes.value, strict=True)
            named = tuple(replace(process, user=one.user) for one, process in pairs)
            after = replace(after, processes=replace(after.processes, value=named))  # noqa: PLW2901
        gpus.append(after)
    return replace(clean, gpus=tuple(gpus))


def _is(gpu: Gpu, number: int, wanted: str) -> bool:
    return wanted.casefold() in (str(number), (gpu.uuid.get() or "").casefold(), gpu.pci_address.get())


def _status(report: Report) -> int:
    if any(finding.severity is Severity.ERROR for finding in report.findings):
        return 1
    gpus = report.facts.gpus
    told = gpus and all(gpu.processes.get() is not None for gpu in gpus)
    unread = [
        check for check in report.checks if check.rule == "gpu-memory-not-free" and check.reason and check.applicable
    ]
    asked = report.policy is not None and "min_free_memory" in report.policy.asks
    return 0 if told and not (asked and unread) else 3
