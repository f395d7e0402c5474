"""The command line: parses, calls, prints, sets the exit status; nothing else. One file a command."""

from __future__ import annotations

# ruff: noqa: E402 (the first line of code changes what the imports below cost)
import gc

gc.set_threshold(100_000)  # it lives for a moment and makes little garbage: collecting costs more than it frees

import atexit
import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli.fast import Command, Group
from gpudoctor.cli.output import hold_standard_descriptors

# One module each beside this one; only that of the command that is meant is loaded.
COMMANDS = ("check", "processes", "explain", "plan", "snapshot", "rules", "bench")
GROUPS = ("data", "policy", "tables")


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
    if os.environ.get("GPUDOCTOR_TABLES"):
        _of("tables", "use_tables_of_environment")()


def _of(module: str, name: str) -> Callable[..., None]:
    found: Callable[..., None] = getattr(importlib.import_module(f"gpudoctor.cli.{module}"), name)
    return found


def _typer(commands: tuple[str, ...]) -> typer.Typer:
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
        found.command(name=command, cls=Command)(_of(command, command))
    return found


@functools.cache
def whole_app() -> typer.Typer:
    """Return the program with all its commands."""
    found = _typer(COMMANDS)
    for group in GROUPS:
        found.add_typer(getattr(importlib.import_module(f"gpudoctor.cli.{group}"), f"{group}_app"), name=group)
    return found


def __getattr__(name: str) -> typer.Typer:
    """Make `app`, the whole program, when it is first asked for."""
    if name == "app":
        return whole_app()
    raise AttributeError(name)


def main() -> None:
    """Entry point of the command `gpudoctor`."""
    hold_standard_descriptors()
    # Python's end looks twice for garbage among all that was made; for the system to take it back costs nothing.
    atexit.register(gc.freeze)
    # To look at the options of every command takes as long as a small check: only those of the one that is meant.
    named = tuple(command for command in COMMANDS if command in sys.argv[1:2])
    try:
        (_typer(named) if named else whole_app())()
    except KeyboardInterrupt:  # while a command is still loaded; later it is typer or the command that catches it
        sys.exit(130)
