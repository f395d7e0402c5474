"""The report as HTML: one file without scripts and without requests, or a part of a notebook."""

from __future__ import annotations

import html

from gpudoctor.findings import Applicability, Confidence, Finding, Outcome, Remedy, Report, Verdict
from gpudoctor.report.areas import areas
from gpudoctor.report.clean import clean
from gpudoctor.report.parts import evidence_text, explained_by, explaining, notes, root_causes, sentence

_HINTS = {
    Applicability.SAFE: "",
    Applicability.UNSAFE: " (it changes this system or environment)",
    Applicability.MANUAL: " (yours to decide or to fill in)",
}
_WORDS = {Verdict.OK: "OK", Verdict.WARNINGS: "Warnings", Verdict.ERRORS: "Errors", Verdict.UNKNOWN: "Unknown"}
# Everything is below .gpudoctor, so that a notebook around it stays as it is.
STYLE = """
.gpudoctor { --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --back: #fff; --code: #f6f8fa;
  --ok: #1a7f37; --warning: #9a6700; --error: #cf222e; --unknown: #8250df;
  color: var(--ink); background: var(--back); font: 14px/1.5 system-ui, sans-serif; padding: 1em; max-width: 60em; }
@media (prefers-color-scheme: dark) { .gpudoctor { --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --back: #0d1117;
  --code: #151b23; --ok: #3fb950; --warning: #d29922; --error: #f85149; --unknown: #ab7df8; } }
.gpudoctor h2 { font-size: 1.25em; margin: 0 0 .75em; padding: .5em .75em; border-left: .3em solid; }
.gpudoctor h3 { font-size: 1.05em; margin: 1.5em 0 .4em; }
.gpudoctor p { margin: .4em 0; }
.gpudoctor table { border-collapse: collapse; margin: 0; width: 100%; }
.gpudoctor th, .gpudoctor td { text-align: left; vertical-align: top; padding: .3em .8em .3em 0;
  border-bottom: 1px solid var(--line); font-weight: normal; background: none; overflow-wrap: anywhere; }
.gpudoctor th { white-space: nowrap; font-weight: 600; }
.gpudoctor pre { background: var(--code); color: var(--ink); padding: .6em .8em; margin: .4em 0; overflow-x: auto; }
.gpudoctor ul, .gpudoctor ol { margin: .3em 0; padding-left: 1.6em; }
.gpudoctor .soft { color: var(--soft); }
.gpudoctor .ok, .gpudoctor .pass { color: var(--ok); }
.gpudoctor .warning, .gpudoctor .warnings { color: var(--warning); }
.gpudoctor .error, .gpudoctor .errors, .gpudoctor .fail { color: var(--error); }
.gpudoctor .unknown, .gpudoctor .skip { color: var(--unknown); }
""".strip()


def render(report: Report) -> str:
    """Return a whole page."""
    title = _text(f"gpudoctor: {report.summary}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f'</head>\n<body style="margin: 0">\n{fragment(report)}</body>\n</html>\n'
    )


def fragment(report: Report) -> str:
    """Return the report as a part of a page."""
    lines = [f"<style>\n{STYLE}\n</style>", '<div class="gpudoctor">']
    word = _WORDS[report.verdict]
    lines.append(f'<h2 class="{report.verdict.value}">{word}: {_text(report.summary)}</h2>')
    if report.policy is not None:
        lines.append(f'<p class="soft">Policy: {_text(report.policy.source or "given directly")}</p>')
    lines.append("<table>")
    for area in areas(report):
        state = f'<td class="{area.state.value}">{area.state.value}</td>'
        lines.append(f"<tr><th>{_text(area.title)}</th>{state}<td>{'<br>'.join(map(_text, area.lines))}</td></tr>")
    lines.append("</table>")
    for finding in root_causes(report):
        lines += _cause(report, finding)
    lines += _remedies(report.remedies)
    if found := notes(report):
        items = (f"<li>{_text(item.rule)}: {_text(sentence(item.message))}</li>" for item in found)
        lines += ["<h3>Notes</h3>", "<ul>", *items, "</ul>"]
    return "\n".join([*lines, *_checks(report), "</div>"]) + "\n"


def _cause(report: Report, finding: Finding) -> list[str]:
    sure = "" if finding.confidence is Confidence.CERTAIN else f", {finding.confidence.label}"
    level = finding.severity.label
    lines = [f'<h3><span class="{level}">Root cause: {_text(finding.rule)}</span> ({level}{sure})</h3>']
    lines.append(f"<p>{_text(sentence(finding.message))}</p>")
    if finding.evidence:
        items = (f"<li>{_text(evidence_text(item))}</li>" for item in finding.evidence)
        lines += ['<ul class="soft">', *items, "</ul>"]
    if explained := explained_by(report, finding):
        lines.append(f"<p>{explaining(finding)}: {_text(', '.join(explained))}.</p>")
    return lines


def _remedies(remedies: tuple[Remedy, ...]) -> list[str]:
    if not remedies:
        return []
    lines = ["<h3>What to do</h3>", "<ol>"]
    for remedy in remedies:
        hint = _HINTS[remedy.applicability] if remedy.commands else ""
        commands = "\n".join(_text(command) for command in remedy.commands)
        lines.append(f"<li>{_text(remedy.summary)}{hint}{f'<pre>{commands}</pre>' if commands else ''}</li>")
    return [*lines, "</ol>"]


def _checks(report: Report) -> list[str]:
    counts = ", ".join(
        f"{sum(item.outcome is outcome for item in report.checks)} {outcome.value}" for outcome in Outcome
    )
    lines = [f'<details><summary class="soft">{len(report.checks)} checks: {counts}</summary>', "<table>"]
    for item in report.checks:
        outcome = f'<td class="{item.outcome.value}">{item.outcome.value}</td>'
        lines.append(f"<tr><th>{_text(item.rule)}</th>{outcome}<td>{_text(item.reason)}</td></tr>")
    return [*lines, "</table></details>"]


def _text(text: str) -> str:
    return html.escape(clean(text))
