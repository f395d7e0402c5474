"""Printing and writing, without failing where a reader has gone away or a file cannot be written."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer


def put(text: str) -> None:
    """Print without failing where the terminal's encoding lacks a character, or where the reader has gone away."""
    encoding = sys.stdout.encoding or "utf-8"
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


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


def usage_error(text: str) -> NoReturn:
    typer.echo(f"gpudoctor: {text}", err=True)
    raise typer.Exit(2)
