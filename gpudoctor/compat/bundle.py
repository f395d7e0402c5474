"""The bundled tables, each loaded on first use."""

from __future__ import annotations

import pkgutil
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


def read_bytes(name: str) -> bytes:
    """The raw JSON of a table, from a folder, a wheel or a zip; raises TableError."""
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
        raise TableError(f"table {name}: {exc}") from exc
    if table.schema != SCHEMA or table.name != name:
        raise TableError(f"table {name}: schema {table.schema} of {table.name!r}, expected {SCHEMA} of {name!r}")
    return table


class TableInfo(Struct, frozen=True):
    """What a report says of a table: its name, the date on which its sources were read, its number of rows."""

    name: str
    retrieved: str
    rows: int


class Head(Struct, frozen=True):
    """The part of a table that needs no row types."""

    name: str
    retrieved: str
    rows: tuple[msgspec.Raw, ...]


def tables() -> tuple[TableInfo, ...]:
    """Every bundled table by name. The rows are counted and not decoded."""
    heads = (msgspec.json.decode(read_bytes(name), type=Head) for name in sorted(TYPES))
    return tuple(TableInfo(head.name, head.retrieved, len(head.rows)) for head in heads)
