"""Combinations of driver, GPU, TensorFlow, libraries and Python: what is right is in combinations.toml."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from msgspec.structs import replace
from packaging.version import Version

from gpudoctor import engine
from gpudoctor.facts.model import Facts, LibraryFacts, Unknown
from gpudoctor.findings import Outcome, Report, Role, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.machine import gpu_row, machine, started
from tests.rule_case import HERE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORDS = ("driver", "tensorflow", "package", "python", "libraries", "cuda", "cudnn", "driver_cuda", "os", "container",
         "glibc", "packages", "environment")  # fmt: skip
OTHER = {"gpu", "gpus", "roots", "severity", "why", "assume_libraries"}
ROWS: list[dict[str, Any]] = tomllib.loads((HERE / "combinations.toml").read_text("utf-8"))["row"]
NOT_READ = Unknown("nobody looked for libraries")


def name_of(row: dict[str, Any]) -> str:
    cards = " and ".join(row.get("gpus") or [row["gpu"]])
    software = f"{row.get('package', 'tensorflow')} {row['tensorflow']}, {row['libraries']}, Python {row['python']}"
    return f"{cards}, driver {row['driver']}, {software}"


def facts_of_row(row: dict[str, Any]) -> Facts:
    assert not row.keys() - {*WORDS, *OTHER}
    made = machine(row.get("gpus") or [row["gpu"]], **{word: row[word] for word in WORDS if word in row})
    if row.get("assume_libraries") == "unknown":
        nothing = LibraryFacts(found=NOT_READ, ptxas=NOT_READ, ptxas_version=NOT_READ, libdevice=NOT_READ)
        made = replace(made, libraries=nothing)
    if "TF_USE_LEGACY_KERAS" in row.get("environment", {}):
        made = replace(made, tensorflow=replace(made.tensorflow, keras_generation=replace(
            made.tensorflow.keras_generation, value=2)))  # fmt: skip
    return made


def judge(facts: Facts) -> Report:
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.FACTS))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    return report


def serious(report: Report) -> list[tuple[str, str]]:
    """Return rule and severity of the root causes at warning or above, each once, in the report's order."""
    found = [f for f in report.findings if f.severity >= Severity.WARNING and f.role is Role.ROOT_CAUSE]
    return list(dict.fromkeys((finding.rule, finding.severity.label) for finding in found))


@pytest.mark.parametrize("row", ROWS, ids=map(name_of, ROWS))
def test_combination(row: dict[str, Any]) -> None:
    facts = facts_of_row(row)
    severity = row.get("severity", "error")
    assert serious(judge(facts)) == [(rule, severity) for rule in row["roots"]], row["why"]
    if not row["roots"]:
        assert serious(judge(started(facts))) == [], row["why"]


def test_there_are_fifty_of_all_kinds() -> None:
    assert len(ROWS) >= 50
    assert len({name_of(row) for row in ROWS}) == len(ROWS)
    assert sum(not row["roots"] for row in ROWS) >= 20
    assert all(row["why"].endswith(".") for row in ROWS)
    cards = [card for row in ROWS for card in row.get("gpus") or [row["gpu"]]]
    families = {"Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"}
    assert families <= {gpu_row(card)["architecture"] for card in cards}
    versions = sorted({row["tensorflow"] for row in ROWS}, key=Version)
    assert (versions[0], versions[-2]) == ("1.15.5", "2.22.0rc0")
    drivers = [int(row["driver"].split(".")[0]) for row in ROWS]
    assert (min(drivers), max(drivers)) == (390, 620)
    pythons = {row["python"] for row in ROWS}
    assert {f"3.{minor}" for minor in range(6, 15)} <= pythons
