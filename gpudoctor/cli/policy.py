"""gpudoctor policy."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Annotated

import typer

from gpudoctor.cli.fast import Command, Group
from gpudoctor.cli.options import DriverSeconds, PythonOption
from gpudoctor.cli.output import put, usage_error, write_file

STANDARD_OUTPUT = "-"
policy_app = typer.Typer(
    cls=Group, help="Say what a machine has to have before a training starts.", no_args_is_help=True
)


@policy_app.command(cls=Command)
def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="gpudoctor.toml, or a pyproject.toml to add to; - prints.")
    ] = "gpudoctor.toml",
    *,
    python: PythonOption = None,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="Write it for the machine of saved facts.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    timeout: DriverSeconds = 10.0,
) -> None:
    """Write a policy that this machine fulfils, to be trimmed by hand.

    Example:

      gpudoctor policy init

    Exit status: 0; 2 the file is there, or cannot be written.
    """
    from gpudoctor.cli.check import read_facts
    from gpudoctor.cli.machine import collect_facts
    from gpudoctor.policy import read, words

    path = Path(file)
    adds = path.name == read.PYPROJECT
    if file != STANDARD_OUTPUT and os.path.exists(path) and not force and not adds:
        usage_error(f"{file} is there already; --force replaces it")
    old = _old_text(path) if adds and os.path.exists(path) else ""
    seen = collect_facts(python, True, timeout, 1.0).facts if facts is None else read_facts(facts)
    text = words.template(seen, pyproject=adds)
    if file == STANDARD_OUTPUT:
        put(text)
        return
    write_file(path, f"{old.rstrip()}\n\n{text}" if old.strip() else text)
    put(f"{os.path.relpath(path)} written; `gpudoctor policy check` explains it, `gpudoctor check` uses it\n")


def _old_text(path: Path) -> str:
    """Return what stands in a pyproject.toml without a policy. Ends the program with status 2 if it has one."""
    from gpudoctor.policy import read

    if read.has_table(path):
        usage_error(f"{path} has a table [tool.gpudoctor] already")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        usage_error(f"{path}: {exc}")


@policy_app.command(cls=Command)
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="Default: the one that `gpudoctor check` would use here."),
    ] = None,
) -> None:
    """Say in words what a policy asks for, or where it is wrong.

    A pyproject.toml without [tool.gpudoctor] asks for nothing.

    Example:

      gpudoctor policy check

    Exit status: 0; 2 it is wrong, or there is none.
    """
    from gpudoctor.policy import read, words

    found = files or [path for path in (read.find(),) if path is not None]
    if not found:
        usage_error("there is no gpudoctor.toml and no [tool.gpudoctor] here or in a folder above")
    today = dt.date.today()
    wrong = []
    for path in found:
        try:
            policy = read.read(path)
        except read.PolicyError as exc:
            wrong.append(str(exc))
            continue
        said = words.sentences(policy, today) or ["It asks for nothing."]
        put("\n".join([f"{os.path.relpath(path)}:", *(f"  {line}" for line in said)]) + "\n")
    if wrong:
        usage_error("\ngpudoctor: ".join(wrong))
