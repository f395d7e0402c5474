"""Make compat_tables/*.json from tools/table_input/*.csv.

Run `python tools/make_tables.py` after a change of the input; `--check` compares and writes nothing. A row of the input
says where it comes from (a key of sources.csv) and how far it can be trusted; empty cells are left out of the JSON.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INPUT = ROOT / "tools" / "table_input"
OUTPUT = ROOT / "compat_tables"

SCHEMA = 1
RETRIEVED = "2026-11-30"
BLACKWELL = 10.0
CONFIDENCES = ("high", "medium", "low")

# Column types that are not plain text. A list is parted by spaces, a list of names by semicolons.
LISTS = {
    "capabilities",
    "dropped",
    "measured_native",
    "measured_ptx",
    "native",
    "native_partial",
    "none",
    "packages",
    "pci_ids",
    "pip_packages",
    "ptx",
    "ptx_foreign",
    "ptx_known_to_fail",
    "pythons",
    "runpath_lacks",
    "tags",
    "targets",
    "tf_keras",
}
NAME_LISTS = {"chips", "first_for", "last_for", "other_names"}
FLAGS = {"ambiguous", "built_in", "cuda_build", "nvidia_runpath", "extra_installs", "required", "tensorrt", "works"}
NUMBERS = {"generation", "cuda_major"}

Cell = str | int | bool | list[str]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file by column name; raises ValueError for a row with too many or too few cells."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise ValueError(f"{path.name}, line {number}: wrong number of cells")
    return rows


def convert(column: str, text: str) -> Cell:
    """One cell as JSON value; raises ValueError for text that its column does not take."""
    if column in LISTS:
        return text.split()
    if column in NAME_LISTS:
        return text.split(";") if ";" in text or column != "chips" else text.split()
    if column in FLAGS:
        return {"true": True, "yes": True, "false": False, "no": False}[text]
    if column in NUMBERS:
        return int(text)
    return text


def split_blackwell(row: dict[str, str]) -> dict[str, str]:
    """Part the PTX that is known to fail from the PTX that only lacks libraries of its GPU's family.

    From Blackwell (10.0) on, the PTX of official wheels is reported to end in CUDA_ERROR_INVALID_PTX: TensorFlow issues
    89272, 90291, 97387, 99592, 101746 and, under XLA, 111958.
    """
    foreign = row["ptx_foreign"].split()
    failing = [capability for capability in foreign if float(capability) >= BLACKWELL]
    rest = [capability for capability in foreign if capability not in failing]
    return row | {"ptx_foreign": " ".join(rest), "ptx_known_to_fail": " ".join(failing)}


def table_rows(name: str, sources: dict[str, str]) -> tuple[list[dict[str, Cell]], list[str]]:
    """The rows of a table and the sources that they name, in order of first use."""
    keys: list[str] = []
    rows: list[dict[str, Cell]] = []
    for number, raw in enumerate(read_csv(INPUT / f"{name}.csv"), start=2):
        row = split_blackwell(raw) if name == "gpu_code" else raw
        if row["confidence"] not in CONFIDENCES or row["source"] not in sources:
            raise ValueError(f"{name}.csv, line {number}: unknown confidence or source")
        if row["source"] not in keys:
            keys.append(row["source"])
        cells = {column: convert(column, text) for column, text in row.items() if text and column != "source"}
        rows.append(cells | {"source": keys.index(row["source"])})
    return rows, [sources[key] for key in keys]


def render(name: str, sources: dict[str, str]) -> str:
    """The JSON text of one table: a header, then one row a line."""
    rows, named = table_rows(name, sources)
    head = {"schema": SCHEMA, "name": name, "retrieved": RETRIEVED, "sources": named}
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=True) for row in rows]
    return (
        json.dumps(head, separators=(",", ":"), ensure_ascii=True)[:-1] + ',"rows":[\n' + ",\n".join(lines) + "\n]}\n"
    )


def render_all() -> dict[str, str]:
    """File name to text, for every table that has an input file."""
    sources = {row["key"]: row["source"] for row in read_csv(INPUT / "sources.csv")}
    names = sorted(path.stem for path in INPUT.glob("*.csv") if path.stem != "sources")
    return {f"{name}.json": render(name, sources) for name in names}


def main() -> int:
    """Write the tables, or with --check say which differ; the exit status is 1 then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    stale = []
    for file_name, text in render_all().items():
        path = OUTPUT / file_name
        if path.is_file() and path.read_bytes() == text.encode():
            continue
        stale.append(file_name)
        if not check:
            path.write_bytes(text.encode())
    sys.stdout.write("".join(f"{'stale' if check else 'written'}: {name}\n" for name in stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
