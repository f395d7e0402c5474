"""What the types of rows cannot say of a table that is not bundled: versions that parse, sources that exist."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from gpudoctor.compat.bundle import NotCovered, Table, TableError, place_of
from gpudoctor.compat.rows import Row, Wheel
from gpudoctor.compat.versions import capability, version

# Fields by what their text has to be; an empty one is unknown.
VERSIONS = (
    "tensorflow",
    "from_tensorflow",
    "to_tensorflow",
    "from_cuda",
    "to_cuda",
    "branch",
    "cuda_max",
    "toolkit_linux",
    "toolkit_windows",
    "minor_linux",
    "minor_windows",
    "minor_windows_branch",
    "first",
    "last",
    "glibc",
    "cuda",
    "horovod",
)
CAPABILITIES = ("compute_capability", "lowest_cc")
CAPABILITY_LISTS = ("native", "native_partial", "ptx", "ptx_foreign", "ptx_known_to_fail", "none", "targets")


def check(name: str, table: Table[Row]) -> None:
    """Raise TableError, which names the file and the place in it, where look-ups would stumble later."""
    try:
        dt.date.fromisoformat(table.retrieved)
    except ValueError as exc:
        raise TableError(f"{place_of(name)}: {table.retrieved!r} is no date - at `$.retrieved`") from exc
    for number, row in enumerate(table.rows):
        if not 0 <= row.source < len(table.sources):
            raise TableError(f"{place_of(name)}: there is no source {row.source} - at `$.rows[{number}].source`")
        for field, text, parse in _texts(row):
            try:
                parse(text)
            except NotCovered as exc:
                raise TableError(f"{place_of(name)}: {exc} - at `$.rows[{number}].{field}`") from exc


def _texts(row: Row) -> Iterator[tuple[str, str, Callable[[str], object]]]:
    for field in VERSIONS:
        text = getattr(row, field, "")
        # The official tables of tested builds name packages; only the wheels' own CUDA is compared.
        if text and (field != "cuda" or isinstance(row, Wheel)):
            yield field, text, version
    for field in CAPABILITIES:
        text = getattr(row, field, "")
        if text:
            yield field, text, capability
    for field in CAPABILITY_LISTS:
        for text in getattr(row, field, ()):
            yield field, text, capability
