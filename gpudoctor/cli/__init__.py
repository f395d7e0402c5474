"""The command line: parses, calls, prints, sets the exit status; nothing else. One file a command."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli.bench import bench
from gpudoctor.cli.check import check
from gpudoctor.cli.data import data_app
from gpudoctor.cli.explain import explain
from gpudoctor.cli.fast import Command, Group
from gpudoctor.cli.output import hold_standard_descriptors
from gpudoctor.cli.rules import rules
from gpudoctor.cli.snapshot import snapshot

app = typer.Typer(
    name="gpudoctor",
    cls=Group,
    help="Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (check, explain, snapshot, rules, bench):
    app.command(cls=Command)(command)
app.add_typer(data_app, name="data")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"gpudoctor {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Tell why TensorFlow or Keras does not use the NVIDIA GPU, and how to mend it."""


def main() -> None:
    """Entry point of the command `gpudoctor`."""
    hold_standard_descriptors()
    gc.set_threshold(100_000)  # it lives for a moment and makes little garbage: collecting costs more than it frees
    app()
