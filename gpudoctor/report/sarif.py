"""The report as SARIF 2.1.0, for code scanning and editors.

Each finding is a result; passed checks are left out, since readers of SARIF list every result as a problem. What could
not be checked is a notification. SARIF's own `fixes` can hold edits of files only: commands stand in the message and,
as data, in the properties of the result.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

import msgspec

from gpudoctor.facts.codec import encodable
from gpudoctor.findings import Finding, Outcome, Remedy, Report, Severity, SourceKind
from gpudoctor.report.clean import clean
from gpudoctor.report.parts import (
    area_name,
    evidence_text,
    explained_by,
    explaining,
    paragraphs_of,
    remedies_for,
    rule_of,
    sentence,
    summary_of,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The place of a finding about no file. GitHub shows only results that have one.
MACHINE = "machine"
_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)\Z")

Json = dict[str, object]


def render(report: Report) -> str:
    """Return the report as SARIF."""
    rules = sorted({check.rule for check in report.checks})
    numbers = {rule: number for number, rule in enumerate(rules)}
    run: Json = {
        "tool": {"driver": {"name": "gpudoctor", "version": report.version, "rules": [_rule(rule) for rule in rules]}},
        "invocations": [_invocation(report, numbers)],
        "columnKind": "utf16CodeUnits",
        "results": [_result(report, item, numbers) for item in report.findings],
        "properties": {"verdict": report.verdict.value, "summary": report.summary, "expect": report.expect.value},
    }
    out = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(out), indent=1).decode() + "\n"


def _rule(rule_id: str) -> Json:
    rule = rule_of(rule_id)
    if rule is None:
        return {"id": rule_id}
    parts = list(paragraphs_of(rule))
    text = "\n\n".join([summary_of(rule), *(f"{title}: {said}" for title, said in parts)])
    markdown = "\n\n".join([summary_of(rule), *(f"**{title}:** {said}" for title, said in parts)])
    return {
        "id": rule_id,
        "name": "".join(word.capitalize() for word in rule_id.split("-")),
        "shortDescription": {"text": summary_of(rule)},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": markdown},
        "messageStrings": {name: {"text": said} for name, said in {"default": rule.message, **rule.variants}.items()},
        "defaultConfiguration": {"level": rule.severity.label},
        "properties": {"tags": [area_name(rule_id)]},
    }


def _invocation(report: Report, numbers: dict[str, int]) -> Json:
    said = []
    for check in report.checks:
        broken = check.outcome is Outcome.ERROR
        if broken or (check.outcome is Outcome.SKIP and check.applicable):
            what = "ended in an error of gpudoctor itself" if broken else "could not be checked"
            said.append(
                {
                    "level": "error" if broken else "note",
                    "message": {"text": f"{check.rule} {what}: {clean(check.reason)}"},
                    "associatedRule": {"id": check.rule, "index": numbers[check.rule]},
                }
            )
    successful = not any(check.outcome is Outcome.ERROR for check in report.checks)
    return {"executionSuccessful": successful, "toolExecutionNotifications": said}


def _result(report: Report, finding: Finding, numbers: dict[str, int]) -> Json:
    remedies = remedies_for(report, finding) if finding.severity >= Severity.WARNING else []
    place = finding.gpu_id or MACHINE
    key = f"{finding.rule} {place} {finding.message}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": numbers[finding.rule],
        "level": finding.severity.label,
        "message": {"text": _text(report, finding, remedies)},
        "locations": [
            {
                "physicalLocation": _physical(report, finding),
                "logicalLocations": [{"name": clean(place), "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"gpudoctor/v1": hashlib.sha256(encodable(key).encode()).hexdigest()[:32]},
        "properties": {
            "role": finding.role.value,
            "confidence": finding.confidence.label,
            **({"explainedBy": finding.explained_by} if finding.explained_by else {}),
            "evidence": [{"fact": item.fact, "value": item.value, "source": item.source} for item in finding.evidence],
            "remedies": [
                {"summary": item.summary, "commands": item.commands, "applicability": item.applicability.value}
                for item in remedies
            ],
        },
    }


def _text(report: Report, finding: Finding, remedies: list[Remedy]) -> str:
    lines = [sentence(finding.message)]
    if finding.explained_by:
        lines.append(f"Explained by {finding.explained_by}.")
    elif explained := explained_by(report, finding):
        lines.append(f"{explaining(finding)}: {', '.join(explained)}.")
    lines += [f"- {evidence_text(item)}" for item in finding.evidence]
    for remedy in remedies:
        lines += [f"What to do: {clean(remedy.summary)}", *(f"    {clean(command)}" for command in remedy.commands)]
    # In SARIF's text [words](target) is a link.
    return "\n".join(lines).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _physical(report: Report, finding: Finding) -> Json:
    """Return the line of the log that shows it, else the policy that asks for it, else what was judged."""
    if report.source.kind is SourceKind.TEXT:
        for item in finding.evidence:
            match = _LINE.match(item.source)
            if match is not None:
                return {**_file(match["file"]), "region": {"startLine": max(1, int(match["line"]))}}
    if report.policy is not None and report.policy.source and area_name(finding.rule) == "policy":
        return _file(report.policy.source)
    return _file(report.source.names[0] if report.source.names else MACHINE)


def _file(name: str) -> Json:
    # A bare name with a colon in it would be taken for a scheme.
    return {"artifactLocation": {"uri": quote(encodable(name).replace("\\", "/"), safe="/~.-_")}}
