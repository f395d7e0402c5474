"""Tables of versions as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from gpudoctor.compat import TableInfo, version
from gpudoctor.compat.rows import Row

WIDTH = 80
# What names a row; a word of a user is looked for in these alone.
KEYS = ("tensorflow", "from_tensorflow", "to_tensorflow", "name", "other_names", "compute_capability", "pci_ids",
        "cuda", "branch", "first", "last", "library", "horovod", "topic", "platform", "package")  # fmt: skip
TENSORFLOW = "tensorflow"
UNSHOWN = {"source", "confidence"}
MANY = 200


class Found(Struct, frozen=True):
    """Rows of a table, each with its source."""

    name: str
    retrieved: str
    rows: tuple[tuple[Row, str], ...]


def tells(row_type: type[Row], topic: str) -> bool:
    """Whether a table has something to say of a topic: each of itself, and those about releases of TensorFlow."""
    fields = row_type.__struct_fields__
    return topic != TENSORFLOW or "tensorflow" in fields or "from_tensorflow" in fields


def names(row: Row, wanted: str, topic: str) -> bool:
    """Whether a row is about something: a version as such or as the beginning of one (2.10 is 2.10.1, not 2.1)."""
    plain = wanted.casefold()
    if topic == TENSORFLOW and _is_version(plain):
        return _of_release(row, plain)
    for field in KEYS:
        value = getattr(row, field, "")
        for text in (value,) if isinstance(value, str) else value:
            own = text.casefold()
            if own == plain or own.startswith(f"{plain}.") or (not _is_version(plain) and plain in own):
                return True
    return False


def _of_release(row: Row, wanted: str) -> bool:
    """Whether a row is about a release of TensorFlow itself, or about a range that holds it; "2.10" is all of 2.10."""
    own, package = getattr(row, "tensorflow", ""), getattr(row, "package", "tensorflow")
    if own:
        same = own == wanted or own.startswith(f"{wanted}.")
        return same and (not hasattr(row, "kind") or package in {"tensorflow", "tensorflow-gpu"})
    first, last = getattr(row, "from_tensorflow", ""), getattr(row, "to_tensorflow", "")
    parts = wanted.count(".") + 1
    asked = version(wanted).release[:parts]
    return (not first or version(first).release[:parts] <= asked) and (
        not last or asked <= version(last).release[:parts]
    )


def _is_version(text: str) -> bool:
    return text[:1].isdigit() and text.replace(".", "").isdigit()


def listing(tables: Sequence[TableInfo]) -> str:
    """Return all tables with date, rows and sources."""
    lines = []
    for table in tables:
        lines.append(f"{table.name.ljust(22)}{table.retrieved}  {table.rows:4} rows")
        for source in table.sources:
            lines += textwrap.wrap(source, WIDTH, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines) + "\n"


def rows(found: Sequence[Found]) -> str:
    """Return rows with all that they hold, their confidence and their source."""
    lines = []
    for table in found:
        lines.append(f"{table.name} ({table.retrieved}): {len(table.rows)} rows")
        for row, source in table.rows[:MANY]:
            lines += _row(row, source)
        if len(table.rows) > MANY:
            lines.append(f"  and {len(table.rows) - MANY} more: name what you look for")
    return "\n".join(lines) + "\n"


def _row(row: Row, source: str) -> list[str]:
    parts = []
    for field, value in msgspec.structs.asdict(row).items():
        if field in UNSHOWN or value in ("", (), None):
            continue
        shown = " ".join(value) if isinstance(value, tuple) else str(value).lower() if value in (True, False) else value
        parts.append(f"{field}: {shown}")
    text = f"{'; '.join(parts)} [{row.confidence.value}: {source}]"
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
