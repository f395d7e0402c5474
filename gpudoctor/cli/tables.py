"""gpudoctor tables, and the option that uses newer ones than the bundled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.fast import Command
from gpudoctor.cli.output import put, usage_error

if TYPE_CHECKING:
    from gpudoctor.report.table_text import Found

VARIABLE = "GPUDOCTOR_TABLES"
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="DIR",
        help=f"Folder with newer tables than the bundled; what is not in it stays bundled. Else: {VARIABLE}.",
        show_default=False,
    ),
]


def use_tables(folder: Path | None) -> None:
    """Use the tables of a folder, if any is named; exit with 2 where they are not sound."""
    if folder is None:
        return
    from gpudoctor.compat import TableError, use_folder

    try:
        use_folder(folder)
    except TableError as exc:
        usage_error(str(exc))


def use_tables_of_environment() -> None:
    """Use the tables that GPUDOCTOR_TABLES names, for every command."""
    named = os.environ.get(VARIABLE)
    if named:
        use_tables(Path(named))


tables_app = typer.Typer(help="List the tables of versions, or show what they say of something.", rich_markup_mode=None)


@tables_app.callback(invoke_without_command=True)
def list_tables(
    ctx: typer.Context,
    tables: TablesOption = None,
) -> None:
    """List the tables with the date on which their sources were read, the number of rows, and the sources.

    Examples:

      gpudoctor tables

      gpudoctor tables show tensorflow 2.10

    Exit status: 0; 2 a table is not sound.
    """
    use_tables(tables)
    if ctx.invoked_subcommand is not None:
        return
    from gpudoctor.compat import tables as all_tables
    from gpudoctor.report import table_text

    put(table_text.listing(all_tables()))


@tables_app.command("show", cls=Command)
def show(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="A table, such as gpus or cuda_drivers, or tensorflow."),
    ],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="What the rows are to name: 2.10, 940M.")
    ] = None,
) -> None:
    """Show rows of a table; `tensorflow` is all that the tables say of a release.

    Examples:

      gpudoctor tables show tensorflow 2.10

      gpudoctor tables show gpus 940M

    Exit status: 0; 1 no row names it; 2 there is no such table.
    """
    from gpudoctor.report import table_text

    found = _tables(table, " ".join(words or []))
    put(table_text.rows(found))
    raise typer.Exit(0 if any(one.rows for one in found) else 1)


def _tables(name: str, wanted: str) -> list[Found]:
    from gpudoctor.compat.bundle import load
    from gpudoctor.compat.rows import TYPES
    from gpudoctor.report.table_text import TENSORFLOW, Found, names, tells

    plain = name.replace("-", "_")
    chosen = [known for known in sorted(TYPES) if plain in (known, TENSORFLOW) and tells(TYPES[known], plain)]
    if not chosen:
        usage_error(f"there is no table {name!r}; tables are {', '.join(sorted(TYPES))}")
    found = []
    for known in chosen:
        table = load(TYPES[known])
        rows = tuple((row, table.source_of(row)) for row in table.rows if not wanted or names(row, wanted, plain))
        if rows or plain != TENSORFLOW:
            found.append(Found(known, table.retrieved, rows))
    return found
