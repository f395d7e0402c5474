"""Rows of low confidence: where all are, no more is found at warning or error than with tables that hold nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts
from tests.machine import TABLES
from tests.rule_case import facts_of
from tests.test_combinations import ROWS, facts_of_row
from tests.test_rule_cases import CASES

# Answers from tables are remembered, so each set of tables needs an interpreter of its own.
JUDGE = """
import sys
from pathlib import Path
from gpudoctor import compat, engine
from gpudoctor.facts import codec
from gpudoctor.findings import Outcome, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules
tables, facts = map(Path, sys.argv[1:])
compat.use_folder(tables)
rules = load_rules()
for number, line in enumerate(facts.read_bytes().splitlines()):
    report = engine.judge(codec.decode(line), rules, source=Source(kind=SourceKind.FACTS))
    broken = [check for check in report.checks if check.outcome is Outcome.ERROR]
    assert not broken, broken
    for rule in sorted({item.rule for item in report.findings if item.severity >= Severity.WARNING}):
        print(number, rule)
"""


def all_facts() -> list[Facts]:
    words = ("set", "also", "unknown", "absent")
    cases = [case for _, case in CASES if "policy" not in case]
    made = [facts_of(case["base"], **{word: case[word] for word in words if word in case}) for case in cases]
    return [*made, *map(facts_of_row, ROWS)]


def found(folder: Path, tables: dict[str, dict[str, Any]], facts: Path) -> set[str]:
    folder.mkdir()
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table), "utf-8")
    argv = [sys.executable, "-c", JUDGE, str(folder), str(facts)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


def test_they_lead_to_no_warning_and_no_error(tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_bytes(b"\n".join(json.dumps(json.loads(codec.encode(item))).encode() for item in all_facts()))
    bundled = {path.name: json.loads(path.read_text("utf-8")) for path in TABLES.glob("*.json")}
    low: dict[str, dict[str, Any]] = {}
    for name, table in bundled.items():
        trusts = [key for key in table["rows"][0] if key.startswith("confidence")]
        low[name] = {**table, "rows": [{**row, **dict.fromkeys(trusts, "low")} for row in table["rows"]]}
    nothing = {name: {**table, "rows": []} for name, table in bundled.items()}
    of_bundled = found(tmp_path / "bundled", bundled, facts)
    of_low, of_nothing = found(tmp_path / "low", low, facts), found(tmp_path / "nothing", nothing, facts)
    assert len(of_bundled - of_nothing) > 50  # tables matter; some words of a log are judged less exactly without them
    assert sorted(of_low - of_nothing) == []
