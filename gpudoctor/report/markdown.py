"""The report as Markdown, for the summary of a CI job, an issue or a message."""

from __future__ import annotations

import re

from gpudoctor.findings import Applicability, Confidence, Finding, Outcome, Remedy, Report
from gpudoctor.report.areas import State, areas
from gpudoctor.report.clean import clean
from gpudoctor.report.parts import evidence_text, explained_by, explaining, notes, root_causes, sentence

_MARKS = {State.OK: "ok", State.WARNING: "**warning**", State.ERROR: "**error**", State.UNKNOWN: "unknown"}
_HINTS = {
    Applicability.SAFE: "",
    Applicability.UNSAFE: " (it changes this system or environment)",
    Applicability.MANUAL: " (yours to decide or to fill in)",
}
# What makes markup anywhere; an underscore does so at the edge of a word, and some marks at the beginning of a line.
_ANYWHERE = re.compile(r"([\\`*\[\]#|~])")
_EDGE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_FIRST = re.compile(r"^([-+=]|\d+(?=[.)]))")
_TICKS = re.compile("`+")


def render(report: Report) -> str:
    """Return the report as Markdown as GitHub and GitLab read it."""
    lines = [f"## gpudoctor: {report.verdict.value}", "", escape(sentence(report.summary)), ""]
    if report.policy is not None:
        lines += [f"Policy: {escape(report.policy.source or 'given directly')}", ""]
    lines += ["| | | |", "| --- | --- | --- |"]
    for area in areas(report):
        lines.append(f"| {escape(area.title)} | {_MARKS[area.state]} | {'<br>'.join(map(escape, area.lines))} |")
    for finding in root_causes(report):
        lines += _cause(report, finding)
    lines += _remedies(report.remedies)
    if found := notes(report):
        lines += ["", "### Notes", "", *(f"- {escape(item.rule)}: {escape(sentence(item.message))}" for item in found)]
    return "\n".join([*lines, *_checks(report)]) + "\n"


def _cause(report: Report, finding: Finding) -> list[str]:
    sure = "" if finding.confidence is Confidence.CERTAIN else f", {finding.confidence.label}"
    lines = ["", f"### {escape(finding.rule)} ({finding.severity.label}{sure})", "", escape(sentence(finding.message))]
    if finding.evidence:
        lines += ["", *(f"- {escape(evidence_text(item))}" for item in finding.evidence)]
    if explained := explained_by(report, finding):
        lines += ["", f"{explaining(finding)}: {', '.join(map(escape, explained))}."]
    return lines


def _remedies(remedies: tuple[Remedy, ...]) -> list[str]:
    lines = ["", "### What to do"] if remedies else []
    for number, remedy in enumerate(remedies, 1):
        hint = _HINTS[remedy.applicability] if remedy.commands else ""
        lines += ["", f"{number}. {escape(remedy.summary)}{hint}"]
        if remedy.commands:
            commands = [clean(command) for command in remedy.commands]
            longest = max((len(run) for command in commands for run in _TICKS.findall(command)), default=0)
            fence = "`" * max(3, longest + 1)
            lines += ["", f"   {fence}sh", *(f"   {command}" for command in commands), f"   {fence}"]
    return lines


def _checks(report: Report) -> list[str]:
    counts = ", ".join(
        f"{sum(item.outcome is outcome for item in report.checks)} {outcome.value}" for outcome in Outcome
    )
    lines = ["", "<details>", f"<summary>{len(report.checks)} checks: {counts}</summary>", ""]
    lines += ["| check | outcome | |", "| --- | --- | --- |"]
    lines += [f"| {escape(item.rule)} | {item.outcome.value} | {escape(item.reason)} |" for item in report.checks]
    return [*lines, "", "</details>"]


def escape(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no HTML, no link, no mention."""
    text = _EDGE.sub(r"\\_", _ANYWHERE.sub(r"\\\1", clean(text)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    text = text.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
    return _FIRST.sub(lambda match: f"&#{ord(match[1][0])};{match[1][1:]}", text)
