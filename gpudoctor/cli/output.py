"""Printing and writing, without failing where a reader has gone away or a file cannot be written."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer


def hold_standard_descriptors() -> None:
    """Open those of 0, 1 and 2 that whoever started us has closed: a pipe to a child must not get their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 (standard error)
        pass
    os.close(descriptor)


def put(text: str) -> None:
    """Print without failing where the terminal's encoding lacks a character, or where the reader has gone away."""
    if sys.stdout is None:  # closed by whoever started us; the exit status is all that is wanted
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
    except OSError as exc:  # a full disk
        _forget_output()
        usage_error(f"standard output: {exc.strerror or exc}")


def _forget_output() -> None:
    """Let what is still buffered go nowhere, or Python would complain at its end and exit with 120."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            temporary.unlink()
        usage_error(f"{path}: {exc.strerror or exc}")


def append_file(path: Path, text: str) -> None:
    """Add to a file that others write to as well."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        usage_error(f"{path}: {exc.strerror or exc}")


def usage_error(text: str) -> NoReturn:
    typer.echo(f"gpudoctor: {text}", err=True)
    raise typer.Exit(2)
