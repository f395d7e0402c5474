"""The report as workflow commands of GitHub Actions: one annotation for each root cause, then the summary.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from gpudoctor.findings import Finding, Report, Severity
from gpudoctor.report.clean import clean
from gpudoctor.report.parts import explained_by, explaining, remedies_for, root_causes, sentence

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """Return the lines; none of what came from outside can begin a command of its own."""
    lines = [_annotation(report, item) for item in root_causes(report, Severity.NOTE)]
    return "\n".join([*lines, f"gpudoctor: {report.verdict.value}: {_plain(report.summary)}"]) + "\n"


def _annotation(report: Report, finding: Finding) -> str:
    lines = [sentence(finding.message)]
    if explained := explained_by(report, finding):
        lines.append(f"{explaining(finding)}: {', '.join(explained)}.")
    if finding.severity >= Severity.WARNING:
        for remedy in remedies_for(report, finding):
            lines += [f"What to do: {remedy.summary}", *(f"  {command}" for command in remedy.commands)]
    message = "%0A".join(_data(line) for line in lines)
    title = _data(f"gpudoctor {finding.rule}").replace(":", "%3A").replace(",", "%2C")
    return f"::{_COMMANDS[finding.severity]} title={title}::{message}"


def _plain(text: str) -> str:
    """Return text that holds no mark of a command, in the present form or in the old one."""
    return clean(text).replace("::", ": :").replace("##[", "## [")


def _data(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + _plain(text).replace("%", "%25")
