"""The bundled tables, each loaded on first use."""

from __future__ import annotations

import functools
import os
import pkgutil
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import Struct

from gpudoctor.compat.rows import TYPES, Row
from gpudoctor.facts.model import FactUnavailable

PACKAGE = "gpudoctor.compat_tables"
SCHEMA = 1


class NotCovered(FactUnavailable):
    """The tables have no answer; the text says what is missing. Never a pass and never a guess."""


class TableError(Exception):
    """A bundled table is missing or malformed: a fault of this program or of the folder of tables, not of a machine."""


R = TypeVar("R", bound=Row)


class Table(Struct, Generic[R], frozen=True, forbid_unknown_fields=True):
    """A table as it lies in the package."""

    schema: int
    name: str
    retrieved: str
    sources: tuple[str, ...]
    rows: tuple[R, ...]

    def source_of(self, row: R) -> str:
        """The document or package that the row was read from."""
        return self.sources[row.source]


_folder: Path | None = None
"""Where newer tables than the bundled lie."""


def read_bytes(name: str) -> bytes:
    """The raw JSON of a table: of the folder in use if it has one, else bundled (folder, wheel or zip).

    Raises TableError.
    """
    if _folder is not None and os.path.exists(path := _folder / f"{name}.json"):
        try:
            return path.read_bytes()
        except OSError as exc:
            raise TableError(f"{path}: {exc.strerror or exc}") from exc
    try:
        data = pkgutil.get_data(PACKAGE, f"{name}.json")
    except OSError as exc:
        raise TableError(f"table {name} is missing: {exc}") from exc
    if data is None:
        raise TableError(f"table {name} cannot be read by this loader")
    return data


_loaded: dict[type[Row], object] = {}


def load(row_type: type[R]) -> Table[R]:
    """The table whose rows are of `row_type`, decoded on first use; raises TableError."""
    found = _loaded.get(row_type)
    if found is None:  # functools.cache would lose the type of the rows
        found = _loaded[row_type] = _decode(row_type)
    return cast("Table[R]", found)


def _decode(row_type: type[R]) -> Table[R]:
    name = next(name for name, known in TYPES.items() if known is row_type)
    try:
        table: Table[R] = msgspec.json.decode(read_bytes(name), type=Table[row_type])  # type: ignore[valid-type]
    except msgspec.MsgspecError as exc:
        raise TableError(f"{place_of(name)}: {exc}") from exc
    if table.schema != SCHEMA or table.name != name:
        have = f"schema {table.schema} of {table.name!r}"
        raise TableError(f"{place_of(name)}: {have}, expected {SCHEMA} of {name!r}")
    return table


def place_of(name: str) -> str:
    """What an error calls a table: its file where it is not bundled."""
    path = None if _folder is None else _folder / f"{name}.json"
    return str(path) if path is not None and os.path.exists(path) else f"table {name}"


def use_folder(folder: Path) -> tuple[str, ...]:
    """Use the tables of a folder in place of the bundled ones of the same name, and return their names.

    To be called before any look-up, since answers are remembered. All of them are read and checked now. Raises
    TableError, which names file and place.
    """
    from gpudoctor.compat.validate import check

    global _folder  # noqa: PLW0603 (one program, one set of tables)
    try:
        names = sorted(path.stem for path in folder.iterdir() if path.suffix == ".json")
    except OSError as exc:
        raise TableError(f"{folder}: {exc.strerror or exc}") from exc
    unknown = [name for name in names if name not in TYPES]
    if unknown or not names:
        what = f"{folder / unknown[0]}.json is no table" if unknown else f"{folder} holds no table"
        raise TableError(f"{what}; tables are {', '.join(sorted(TYPES))}")
    _folder = folder
    _loaded.clear()
    tables.cache_clear()
    for name in names:
        check(name, load(TYPES[name]))
    return tuple(names)


class TableInfo(Struct, frozen=True):
    """What a report says of a table: its name, the date on which its sources were read, its number of rows.

    `sources` are the documents and packages that the rows were read from.
    """

    name: str
    retrieved: str
    rows: int
    sources: tuple[str, ...] = ()


class Head(Struct, frozen=True):
    """The part of a table that needs no row types."""

    name: str
    retrieved: str
    sources: tuple[str, ...]
    rows: tuple[msgspec.Raw, ...]


@functools.cache
def tables() -> tuple[TableInfo, ...]:
    """Every bundled table by name. The rows are counted and not decoded."""
    heads = (msgspec.json.decode(read_bytes(name), type=Head) for name in sorted(TYPES))
    return tuple(TableInfo(head.name, head.retrieved, len(head.rows), head.sources) for head in heads)
