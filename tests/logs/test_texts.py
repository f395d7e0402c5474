"""Whole texts: what leads, and that healthy ones stay silent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import engine
from gpudoctor.facts.from_text import facts_of_texts
from gpudoctor.facts.text_files import Part
from gpudoctor.findings import Outcome, Report, Role, Severity, Source, SourceKind, Verdict
from gpudoctor.rules.registry import load_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "texts.toml").read_text("utf-8"))


def report_of(text: str | bytes) -> Report:
    raw = text.encode() if isinstance(text, str) else text
    facts = facts_of_texts([Part("log.txt", [raw])])
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.TEXT, names=("log.txt",)))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    return report


def lead_of(report: Report) -> str:
    loud = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [item.rule for item in loud if item.role is Role.ROOT_CAUSE]
    return roots[0] if roots else ""


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    report = report_of(TEXTS[name]["text"])
    assert lead_of(report) == TEXTS[name]["lead"]
    if not TEXTS[name]["lead"]:
        assert report.verdict is Verdict.OK


@pytest.mark.parametrize("name", TEXTS)
def test_dressed_text(name: str) -> None:
    """CRLF, colours, quotation and words before and after change nothing."""
    lines = TEXTS[name]["text"].splitlines()
    dressed = ["Привет, помогите!", *(f"> \x1b[33m{line}\x1b[0m" for line in lines), "谢谢"]
    assert lead_of(report_of("\r\n".join(dressed))) == TEXTS[name]["lead"]


# What engines, schedulers and terminals put before each line.
CARRIED = {
    "docker logs -t": "2024-05-06T07:08:09.123456789Z ",
    "kubectl logs": "2024-05-06T07:08:09.123456789Z stdout F ",
    "docker compose": "trainer-1  | ",
    "journal": "May 06 07:08:09 node7 train.sh[4123]: ",
    "mpirun": "[1,0]<stderr>:",
    "horovodrun": "[0]<stderr>:",
    "srun -l": "0: ",
    "logging": "2024-05-06 07:08:09,123 INFO ",
    "cat -n": "     7\t",
    "a margin": "            ",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_was_carried(name: str) -> None:
    """What stands before each line of a log that another tool has carried changes nothing."""
    for tool, prefix in CARRIED.items():
        text = "".join(f"{prefix}{line}\n" for line in TEXTS[name]["text"].strip("\n").splitlines())
        assert lead_of(report_of(text)) == TEXTS[name]["lead"], tool


def test_a_text_that_tells_nothing() -> None:
    report = report_of("Dear all,\nthe coffee machine is broken.\n")
    assert report.verdict is Verdict.UNKNOWN
    assert report.findings == ()
    assert "nvidia-smi" in report.remedies[0].commands[0]
