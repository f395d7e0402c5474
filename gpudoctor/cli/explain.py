"""gpudoctor explain."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.options import FailOn, ReportFormat, ReportOutputOption
from gpudoctor.cli.output import put, usage_error
from gpudoctor.cli.reports import deliver, exit_status
from gpudoctor.findings import Expect, Source, SourceKind

if TYPE_CHECKING:
    from typing import BinaryIO

    from gpudoctor.facts.model import Facts

STANDARD_INPUT = "-"


def explain(  # noqa: PLR0913 (one argument for each option)
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Logs, pasted text, notebooks, saved facts; - is standard input."),
    ] = None,
    *,
    expect: Annotated[
        Expect, typer.Option(help="What the text's author wants to train on; with cpu, an unused GPU is only noted.")
    ] = Expect.GPU,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 1 from findings of this severity on.")] = FailOn.ERROR,
    format: Annotated[  # noqa: A002
        ReportFormat, typer.Option("--format", help="Format of standard output.")
    ] = ReportFormat.TEXT,
    output: ReportOutputOption = None,
    with_machine: Annotated[
        bool, typer.Option("--with-machine", help="The text is of this machine: add what the machine itself tells.")
    ] = False,
    show_lines: Annotated[
        bool, typer.Option("--show-lines", help="Print the text with each recognised line marked, and nothing else.")
    ] = False,
    list_messages: Annotated[
        bool, typer.Option("--list", help="List all messages that are known, with what they mean.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every check with its outcome.")] = False,
) -> None:
    """Tell what a log or any pasted text says of the GPU: the root cause, the lines that show it, what to do.

    It reads logs of TensorFlow and Keras, tracebacks, what nvidia-smi, pip, conda, docker, dmesg and the like print,
    and training progress, mixed in any order.

    Examples:

      gpudoctor explain train.log

      python train.py 2>&1 | gpudoctor explain -

    Exit status: 0 no finding at or above --fail-on; 1 there is one; 2 wrong usage or unreadable input; 3 nothing in
    the text tells (what to paste instead is listed).
    """
    if list_messages:
        put(_listed())
        return
    if not files:
        usage_error("name a file, or - for standard input")
    if show_lines:
        _show_lines(files)
        return
    facts = _read(files)
    if with_machine:
        facts = _with_machine(facts)
    source = Source(kind=SourceKind.TEXT, names=tuple(_name(file) for file in files))
    report = deliver(
        facts, source, expect, shown=format, outputs=list(output or []), verbose=verbose, elsewhere=not with_machine
    )
    status = exit_status(report, fail_on)
    raise typer.Exit(0 if fail_on is FailOn.NEVER else status)


def _name(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else Path(file).name


@contextlib.contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    """Open a text. Ends the program with status 2 where it cannot be read."""
    try:
        if file == STANDARD_INPUT:
            if sys.stdin is None:
                usage_error("standard input is closed")
            yield sys.stdin.buffer
            return
        with Path(file).open("rb") as opened:
            yield opened
    except OSError as exc:
        usage_error(f"{file}: {exc.strerror or exc}")


def _read(files: list[str]) -> Facts:
    from gpudoctor.facts.from_text import facts_of_texts
    from gpudoctor.facts.text_files import Part, parts_of

    def parts() -> Iterator[Part]:
        for file in files:
            with _opened(file) as opened:
                yield from parts_of(opened, _name(file))

    return facts_of_texts(parts())


def _with_machine(facts: Facts) -> Facts:
    from gpudoctor.cli.machine import collect_facts
    from gpudoctor.facts.from_text import fill

    return fill(facts, collect_facts(None, quick=True, timeout=10.0, tensorflow_timeout=120.0).facts)


def _listed() -> str:
    from gpudoctor.logs.messages import MESSAGES
    from gpudoctor.logs.rows.blocks import BLOCKS
    from gpudoctor.logs.rows.said import SENTENCES

    lines = []
    for message in sorted((*MESSAGES, *SENTENCES, *BLOCKS), key=lambda message: message.id):
        printed = f", TensorFlow {message.tensorflow}" if message.tensorflow else ""
        lines += [f"{message.id} ({message.kind.value})", f"  {message.meaning} [{message.printed_by}{printed}]"]
    return "\n".join(lines) + "\n"


def _show_lines(files: list[str]) -> None:
    from gpudoctor.facts.text_files import parts_of
    from gpudoctor.logs.marked import marked_lines

    for file in files:
        with _opened(file) as opened:
            for part in parts_of(opened, _name(file)):
                for line in marked_lines(part.pieces):
                    put(line)
