"""gpudoctor snapshot."""

from __future__ import annotations

import typer

from gpudoctor.cli.machine import collect_facts
from gpudoctor.cli.options import DriverSeconds, Format, OutputOption, PythonOption, QuickOption, TensorFlowSeconds
from gpudoctor.cli.output import put, usage_error, write_file


def snapshot(
    *,
    python: PythonOption = None,
    quick: QuickOption = False,
    output: OutputOption = None,
    timeout: DriverSeconds = 10.0,
    tensorflow_timeout: TensorFlowSeconds = 120.0,
) -> None:
    """Save the facts of this machine, to be judged elsewhere.

    They are JSON; `check --facts FILE` judges them.

    User, host and home names and secrets in command lines are left out.

    Example:

      gpudoctor snapshot -o json=facts.json

    Exit status: 0 saved; 2 wrong usage, or the file cannot be written; 130 interrupted (what was read is saved).
    """
    from gpudoctor.facts import codec

    if any(item.kind != Format.JSON.value for item in output or []):
        usage_error("facts are saved as JSON only: -o json=PATH")
    collected = collect_facts(python, quick, timeout, tensorflow_timeout)
    text = codec.encode(collected.facts).decode()
    if not output:
        put(text)
    for item in output or []:
        write_file(item.path, text)
    raise typer.Exit(130 if collected.interrupted else 0)
