"""gpudoctor check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.machine import collect_facts
from gpudoctor.cli.options import (
    DriverSeconds,
    FailOn,
    Format,
    OutputOption,
    PythonOption,
    QuickOption,
    TensorFlowSeconds,
)
from gpudoctor.cli.output import usage_error
from gpudoctor.cli.reports import deliver, exit_status
from gpudoctor.findings import Expect, Source, SourceKind

if TYPE_CHECKING:
    from gpudoctor.facts.model import Facts


def check(  # noqa: PLR0913 (one argument for each option)
    *,
    python: PythonOption = None,
    quick: QuickOption = False,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="Judge saved facts in place of this machine.", show_default=False),
    ] = None,
    expect: Annotated[
        Expect, typer.Option(help="What you want to train on; with cpu, a missing or unused GPU is only noted.")
    ] = Expect.GPU,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 1 from findings of this severity on.")] = FailOn.ERROR,
    format: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,  # noqa: A002
    output: OutputOption = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every check with its outcome.")] = False,
    timeout: DriverSeconds = 10.0,
    tensorflow_timeout: TensorFlowSeconds = 120.0,
) -> None:
    """Find out why TensorFlow does not use the GPU.

    Looks at all from the PCI bus to a computation on the GPU, and names the root cause of what is wrong.

    Examples:

      gpudoctor check

      gpudoctor check --python ~/my-env --format json

    Exit status: 0 no finding at or above --fail-on; 1 there is one; 2 wrong usage or unreadable input; 3 no such
    finding, but what --expect asks could not be answered; 130 interrupted.
    """
    if facts is not None:
        source = Source(kind=SourceKind.FACTS, names=(str(facts),))
        seen, interrupted = read_facts(facts), False
    else:
        source = Source(kind=SourceKind.LIVE)
        collected = collect_facts(python, quick, timeout, tensorflow_timeout)
        seen, interrupted = collected.facts, collected.interrupted
    report = deliver(seen, source, expect, shown=format, outputs=output or [], verbose=verbose)
    raise typer.Exit(130 if interrupted else exit_status(report, fail_on))


def read_facts(path: Path) -> Facts:
    from gpudoctor.facts import codec

    try:
        return codec.read(path)
    except codec.FactsFileError as exc:
        usage_error(f"{path}: {exc}")
