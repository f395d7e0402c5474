"""The report as JUnit XML, in the form that Jenkins, GitLab and others read: every rule is a test case.

A rule that found something at warning or above is a failure, one that could not be asked is skipped, one that broke
(a fault of gpudoctor) is an error. There is no time and no host name in it: the same report gives the same bytes.
"""

from __future__ import annotations

import html
import re

from gpudoctor.findings import CheckResult, Finding, Outcome, Report, Severity
from gpudoctor.report.clean import clean
from gpudoctor.report.parts import area_name, evidence_text, remedies_for, sentence

# XML 1.0 has no way to write these two, and `clean` has taken out the others that it lacks.
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def render(report: Report) -> str:
    """Return the report as JUnit XML, in UTF-8."""
    counts = {outcome: sum(item.outcome is outcome for item in report.checks) for outcome in Outcome}
    totals = _attributes(
        name="gpudoctor",
        tests=str(len(report.checks)),
        failures=str(counts[Outcome.FAIL]),
        errors=str(counts[Outcome.ERROR]),
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites{totals}>",
        f' <testsuite{totals} skipped="{counts[Outcome.SKIP]}">',
        "  <properties>",
        *(f"   <property{_attributes(name=name, value=value)}/>" for name, value in _properties(report).items()),
        "  </properties>",
    ]
    for check in report.checks:
        lines += _case(report, check)
    return "\n".join([*lines, " </testsuite>", "</testsuites>"]) + "\n"


def _properties(report: Report) -> dict[str, str]:
    found = {
        "version": report.version,
        "verdict": report.verdict.value,
        "summary": report.summary,
        "expect": report.expect.value,
        "source": " ".join([report.source.kind.value, *report.source.names]),
    }
    return found if report.policy is None else {**found, "policy": report.policy.source}


def _case(report: Report, check: CheckResult) -> list[str]:
    head = f"  <testcase{_attributes(classname=f'gpudoctor.{area_name(check.rule)}', name=check.rule)}"
    match check.outcome:
        case Outcome.PASS if not check.reason:
            return [f"{head}/>"]
        case Outcome.PASS:
            inner = [f"   <system-out>{_text(check.reason)}</system-out>"]
        case Outcome.SKIP:
            inner = [f"   <skipped{_attributes(message=check.reason)}/>"]
        case Outcome.ERROR:
            inner = [f"   <error{_attributes(type='gpudoctor', message=check.reason)}/>"]
        case Outcome.FAIL:
            inner = _failure(report, check)
    return [f"{head}>", *inner, "  </testcase>"]


def _failure(report: Report, check: CheckResult) -> list[str]:
    own = [item for item in report.findings if item.rule == check.rule]
    worst = max((item.severity for item in own), default=Severity.ERROR)
    lines = [line for item in own for line in _details(report, item)]
    attributes = _attributes(type=worst.label, message=check.reason)
    return [f"   <failure{attributes}>{_text(lines[0])}", *map(_text, lines[1:-1]), f"{_text(lines[-1])}</failure>"]


def _details(report: Report, finding: Finding) -> list[str]:
    lines = [sentence(finding.message), *(f"  {evidence_text(item)}" for item in finding.evidence)]
    if finding.explained_by is not None:
        lines.append(f"Explained by {finding.explained_by}.")
    for remedy in remedies_for(report, finding):
        lines += [f"What to do: {clean(remedy.summary)}", *(f"  {clean(command)}" for command in remedy.commands)]
    return lines if len(lines) > 1 else [*lines, ""]


def _text(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + html.escape(_NOT_IN_XML.sub(" ", clean(text)), quote=False)


def _attributes(**values: str) -> str:
    # html.escape writes what XML knows; xml.sax.saxutils would import a web client.
    return "".join(f' {name}="{html.escape(_NOT_IN_XML.sub(" ", clean(value)))}"' for name, value in values.items())
