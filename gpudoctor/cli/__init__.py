"""The command line: parses, calls, prints, sets the exit status; nothing else. One file a command."""

from __future__ import annotations

# ruff: noqa: E402 (the first line of code changes what the imports below cost)
import gc

gc.set_threshold(100_000)  # it lives for a moment and makes little garbage: collecting costs more than it frees

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli.bench import bench
from gpudoctor.cli.check import check
from gpudoctor.cli.data import data_app
from gpudoctor.cli.explain import explain
from gpudoctor.cli.fast import Command, Group
from gpudoctor.cli.output import hold_standard_descriptors
from gpudoctor.cli.plan import plan
from gpudoctor.cli.policy import policy_app
from gpudoctor.cli.processes import processes
from gpudoctor.cli.rules import rules
from gpudoctor.cli.snapshot import snapshot
from gpudoctor.cli.tables import tables_app, use_tables_of_environment

COMMANDS = (check, processes, explain, plan, snapshot, rules, bench)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gpudoctor {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[  # noqa: ARG001 (its callback acts on it)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it."""
    use_tables_of_environment()


def _typer(commands: tuple[Callable[..., None], ...]) -> typer.Typer:
    found = typer.Typer(
        name="gpudoctor",
        cls=Group,
        help="Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    found.callback()(_root)
    for command in commands:
        found.command(cls=Command)(command)
    return found


app = _typer(COMMANDS)
app.add_typer(data_app, name="data")
app.add_typer(policy_app, name="policy")
app.add_typer(tables_app, name="tables")


def main() -> None:
    """Entry point of the command `gpudoctor`."""
    hold_standard_descriptors()
    # To look at the options of every command takes as long as a small check: only those of the one that is meant.
    named = tuple(command for command in COMMANDS if command.__name__ in sys.argv[1:2])
    (_typer(named) if named else app)()
