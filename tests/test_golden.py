"""Whole outputs for each base machine. GPUDOCTOR_REWRITE_GOLDEN=1 rewrites them; look at the difference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor import engine
from gpudoctor.findings import Expect, Report, Source, SourceKind
from gpudoctor.report import json as json_report
from gpudoctor.report import text
from gpudoctor.rules.registry import load_rules
from tests.rule_case import base_names, facts_of

FOLDER = Path(__file__).parent / "golden"
REWRITE = os.environ.get("GPUDOCTOR_REWRITE_GOLDEN") == "1"


def report_of(base: str | None, expect: Expect = Expect.GPU) -> Report:
    source = Source(kind=SourceKind.FACTS, names=(f"{base}.json",))
    report = engine.judge(facts_of(base), load_rules(), source=source, expect=expect)
    return replace(report, version="0", tables={"example": "2026-01-01"})


def compare(name: str, seen: str) -> None:
    path = FOLDER / name
    if REWRITE:
        path.write_text(seen, "utf-8")
    assert path.read_text("utf-8") == seen


@pytest.mark.parametrize("base", base_names())
def test_text(base: str) -> None:
    compare(f"{base}.txt", text.render(report_of(base)))


@pytest.mark.parametrize("base", base_names())
def test_text_verbose(base: str) -> None:
    compare(f"{base}.verbose.txt", text.render(report_of(base), verbose=True))


@pytest.mark.parametrize("base", base_names())
def test_json(base: str) -> None:
    # The facts at its end are those of tests/facts_base, and proved by the codec's tests.
    shown = json_report.render(report_of(base))
    head, _, facts = shown.rpartition('\n "facts": {')
    assert facts
    compare(f"{base}.json", head + "\n")


def test_text_in_ascii_in_colour_narrow_and_for_a_cpu() -> None:
    compare("laptop-940m.ascii.txt", text.render(report_of("laptop-940m"), unicode=False))
    compare("laptop-940m.colour.txt", text.render(report_of("laptop-940m"), color=True))
    compare("laptop-940m.narrow.txt", text.render(report_of("laptop-940m"), width=40))
    compare("no-gpu.cpu.txt", text.render(report_of("no-gpu", Expect.CPU)))


def test_nothing_known() -> None:
    compare("nothing-known.txt", text.render(report_of(None)))


def test_no_golden_file_is_left_over() -> None:
    names = {f"{base}{end}" for base in base_names() for end in (".txt", ".verbose.txt", ".json")}
    names |= {f"laptop-940m.{kind}.txt" for kind in ("ascii", "colour", "narrow")}
    assert {path.name for path in FOLDER.iterdir()} == names | {"no-gpu.cpu.txt", "nothing-known.txt"}


def test_width_is_kept_but_for_commands() -> None:
    for base in base_names():
        for width in (40, 80, 100):
            lines = text.render(report_of(base), width=width).splitlines()
            assert all(len(line) <= width or line.startswith("       ") for line in lines)
