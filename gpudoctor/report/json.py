"""The report as JSON: schema 1 of the output contract, the same bytes for the same facts.

Schema history: 1, the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from gpudoctor.facts.codec import encodable
from gpudoctor.facts.model import Facts
from gpudoctor.findings import Evidence, Finding, Remedy, Report

SCHEMA = 1


class ToolOut(Struct, frozen=True, kw_only=True):
    """Which program wrote the report."""

    name: Literal["gpudoctor"] = "gpudoctor"
    version: str


class SourceOut(Struct, frozen=True, kw_only=True):
    """What was judged: the live machine, a facts file, a text, a measured run."""

    kind: Literal["live", "facts", "text", "run"]
    names: tuple[str, ...]


class FindingOut(Struct, frozen=True, kw_only=True):
    """One finding."""

    rule: str
    severity: Literal["error", "warning", "note"]
    confidence: Literal["certain", "likely", "possible"]
    role: Literal["root-cause", "consequence"]
    explained_by: str | None
    gpu: str | None
    """UUID, else PCI address; null for the machine as a whole."""
    message: str
    values: dict[str, str | int | float]
    evidence: tuple[Evidence, ...]


class RemedyOut(Struct, frozen=True, kw_only=True):
    """One way to mend one or more findings."""

    fixes: tuple[str, ...]
    summary: str
    commands: tuple[str, ...]
    applicability: Literal["safe", "unsafe", "manual"]


class CheckOut(Struct, frozen=True, kw_only=True):
    """How one rule ended."""

    rule: str
    outcome: Literal["pass", "fail", "skip", "error"]
    reason: str


class PolicyOut(Struct, frozen=True, kw_only=True):
    """What the machine was held against."""

    source: str
    """File; empty where all came from the command line."""
    asks: dict[str, str]
    """What is asked, by key."""


class ReportOut(Struct, frozen=True, kw_only=True):
    """The whole report."""

    schema: Literal[1] = 1
    tool: ToolOut
    tables: dict[str, str]
    """Date of each compatibility table."""
    source: SourceOut
    expect: Literal["gpu", "cpu", "any"]
    policy: PolicyOut | None = None
    verdict: Literal["ok", "warnings", "errors", "unknown"]
    answered: bool
    """Whether the facts tell if the machine can do what `expect` asks."""
    summary: str
    findings: tuple[FindingOut, ...]
    remedies: tuple[RemedyOut, ...]
    checks: tuple[CheckOut, ...]
    facts: Facts


def render(report: Report) -> str:
    """Return the report as JSON; text from outside is escaped by JSON itself."""
    builtins = {
        "tool": {"version": report.version},
        "tables": report.tables,
        "source": {"kind": report.source.kind.value, "names": [encodable(name) for name in report.source.names]},
        "expect": report.expect.value,
        "policy": None
        if report.policy is None
        else {"source": encodable(report.policy.source), "asks": report.policy.asks},
        "verdict": report.verdict.value,
        "answered": report.answered,
        "summary": report.summary,
        "findings": [_finding(item) for item in report.findings],
        "remedies": [_remedy(item) for item in report.remedies],
        "checks": [{"rule": item.rule, "outcome": item.outcome.value, "reason": item.reason} for item in report.checks],
        "facts": msgspec.to_builtins(report.facts, order="deterministic"),
    }
    out = msgspec.convert(builtins, ReportOut)
    raw = msgspec.json.encode(out, order=None)
    return msgspec.json.format(raw, indent=1).decode() + "\n"


def _finding(item: Finding) -> dict[str, object]:
    """Return a finding in the words of FindingOut."""
    return {
        "rule": item.rule,
        "severity": item.severity.label,
        "confidence": item.confidence.label,
        "role": item.role.value,
        "explained_by": item.explained_by,
        "gpu": item.gpu_id,
        "message": item.message,
        "values": item.values,
        "evidence": [{"fact": part.fact, "value": part.value, "source": part.source} for part in item.evidence],
    }


def _remedy(item: Remedy) -> dict[str, object]:
    """Return a remedy in the words of RemedyOut."""
    return {
        "fixes": item.fixes,
        "summary": item.summary,
        "commands": item.commands,
        "applicability": item.applicability.value,
    }


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of the report."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(ReportOut)}
