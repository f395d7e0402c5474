"""The report for a terminal: areas, root causes in full, consequences folded, the verdict last."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.findings import Applicability, Confidence, Finding, Outcome, Remedy, Report, Role, Severity, Verdict
from gpudoctor.report.areas import Area, State, areas
from gpudoctor.report.clean import clean
from gpudoctor.report.page import Page, Part
from gpudoctor.report.parts import capital, evidence_text, explaining

WIDTH = 80
WORKS = "gpu-works"
_SHOWN_RULES = 4
_TITLE_WIDTH = 16
_MARKS = {
    State.OK: ("✓", "ok", "green"),
    State.WARNING: ("!", "!!", "yellow"),
    State.ERROR: ("✗", "XX", "red"),
    State.UNKNOWN: ("?", "??", "dim"),
}
_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_VERDICTS = {
    Verdict.OK: ("OK", "bold green"),
    Verdict.WARNINGS: ("WARNINGS", "bold yellow"),
    Verdict.ERRORS: ("ERRORS", "bold red"),
    Verdict.UNKNOWN: ("UNKNOWN", "bold magenta"),
}
PROGRAM = "gpudoctor"
_HINTS = {
    Applicability.SAFE: "",
    Applicability.UNSAFE: " (it changes this system or environment)",
    Applicability.MANUAL: " (yours to decide or to fill in)",
}


class _Page(Page):
    """A page with the marks of this report."""

    def __init__(self, width: int, *, color: bool, unicode: bool) -> None:
        super().__init__(width, color=color)
        self._unicode = unicode

    def item(self, number: int, text: str) -> None:
        """Write a numbered text."""
        self.hanging(((f"  {number}. ", ""),), text)

    def mark(self, state: State) -> Part:
        """Return the mark of a state."""
        symbol, word, style = _MARKS[state]
        return f"[{symbol if self._unicode else word}]", style


def render(
    report: Report,
    *,
    width: int = WIDTH,
    color: bool = False,
    unicode: bool = True,
    verbose: bool = False,
    program: str = PROGRAM,
) -> str:
    """Return the report as text.

    width: in columns; color: with ANSI colours; verbose: with every check; program: how a shell finds gpudoctor.
    """
    page = _Page(width, color=color, unicode=unicode)
    for area in areas(report):
        _area(page, area)
    _findings(page, report)
    _remedies(page, report.remedies, program)
    _notes(page, report)
    if verbose:
        _checks(page, report)
    else:
        _not_read(page, report)
    _broken(page, report)
    _verdict(page, report)
    return page.text()


def _area(page: _Page, area: Area) -> None:
    mark = page.mark(area.state)
    first, *rest = area.lines
    head = (mark, (" ", ""), (area.title.ljust(_TITLE_WIDTH), "bold"))
    start = len(mark[0]) + 1 + _TITLE_WIDTH
    page.hanging(head, first)
    for text in rest:
        page.hanging(((" " * start, ""),), text)


def _findings(page: _Page, report: Report) -> None:
    for same in _once(item for item in report.findings if item.severity is not Severity.NOTE):
        finding = same[0]
        sure = "" if finding.confidence is Confidence.CERTAIN else f", {finding.confidence.label}"
        page.heading(
            (f"Root cause: {finding.rule}", _COLOURS[finding.severity]),
            (f" ({finding.severity.label}{sure}{_where(report, same, ', ')})", ""),
        )
        page.paragraph(_sentence(finding.message))
        for item in finding.evidence:
            page.paragraph(evidence_text(item), indent=4, style="dim")
        folded = [item.rule for item in report.findings if any(_is_explained_by(item, cause) for cause in same)]
        if folded:
            page.paragraph(f"{explaining(same[0])}: {', '.join(dict.fromkeys(folded))}.")


def _notes(page: _Page, report: Report) -> None:
    notes = _once(item for item in report.findings if item.severity is Severity.NOTE)
    if notes:
        page.heading(("Notes", _COLOURS[Severity.NOTE]))
    for same in notes:
        where = _where(report, same, "")
        page.paragraph(f"{same[0].rule}{f' ({where})' if where else ''}: {_sentence(same[0].message)}")


def _once(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the root causes among findings; those that say the same of several GPUs stand together."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for item in findings:
        if item.role is Role.ROOT_CAUSE:
            found.setdefault((item.rule, item.message, item.severity, item.confidence), []).append(item)
    return list(found.values())


def _where(report: Report, same: list[Finding], before: str) -> str:
    """Return of which GPUs findings tell, where there are several."""
    numbers = [str(item.gpu) for item in same if item.gpu is not None]
    if not numbers or len(report.facts.gpus) == 1:
        return ""
    *first, last = numbers
    return f"{before}GPUs {', '.join(first)} and {last}" if first else f"{before}GPU {last}"


def _is_explained_by(finding: Finding, cause: Finding) -> bool:
    same_gpu = cause.gpu is None or finding.gpu is None or cause.gpu == finding.gpu
    return finding.role is Role.CONSEQUENCE and finding.explained_by == cause.rule and same_gpu


def _sentence(text: str) -> str:
    return capital(text) + ("" if text.endswith((".", "?")) else ".")


def _remedies(page: _Page, remedies: tuple[Remedy, ...], program: str) -> None:
    if not remedies:
        return
    page.heading(("What to do", "bold"), (" (any one of these)" if _alternatives(remedies) else "", ""))
    for number, remedy in enumerate(remedies, 1):
        hint = _HINTS[remedy.applicability] if remedy.commands else ""
        page.item(number, f"{remedy.summary}{hint}")
        for command in remedy.commands:
            page.command(program + command.removeprefix(PROGRAM) if command.startswith(f"{PROGRAM} ") else command)
        if remedy.fixes:
            page.paragraph(f"mends {', '.join(remedy.fixes)}", indent=5, style="dim")


def _alternatives(remedies: tuple[Remedy, ...]) -> bool:
    return len(remedies) > 1 and len({remedy.fixes for remedy in remedies}) == 1


def _checks(page: _Page, report: Report) -> None:
    states = {
        Outcome.PASS: State.OK,
        Outcome.FAIL: State.ERROR,
        Outcome.SKIP: State.UNKNOWN,
        Outcome.ERROR: State.ERROR,
    }
    page.heading(("Checks", "bold"))
    for check in report.checks:
        page.parts(page.mark(states[check.outcome]), (f" {check.rule}: {check.outcome.value}", ""), indent=2)
        if check.reason:
            page.paragraph(check.reason, indent=6, style="dim")


def _not_read(page: _Page, report: Report) -> None:
    # A machine without a GPU has nothing more to be asked about it; that a GPU with a fault was not seen to work is no
    # news.
    errors = [item for item in report.findings if item.severity is Severity.ERROR]
    moot = any(item.area == "hardware" for item in errors)
    reasons: dict[str, list[str]] = {}
    for check in report.checks:
        if check.outcome is Outcome.SKIP and check.applicable and not moot and not (errors and check.rule == WORKS):
            reasons.setdefault(check.reason, []).append(check.rule)
    if reasons:
        page.heading(("Could not be checked", "bold"))
        for reason, rules in reasons.items():
            left = len(rules) - _SHOWN_RULES
            more = f" and {left} more check{'s' if left > 1 else ''}" if left > 0 else ""
            page.paragraph(f"{', '.join(rules[:_SHOWN_RULES])}{more}: {reason}", style="dim")


def _broken(page: _Page, report: Report) -> None:
    for check in report.checks:
        if check.outcome is Outcome.ERROR:
            page.heading(("Please report this", "bold"))
            page.paragraph(f"{check.rule} ended in an error of gpudoctor itself: {check.reason}")


def _verdict(page: _Page, report: Report) -> None:
    if report.policy is not None:
        source = clean(report.policy.source) or "given directly"
        page.heading(("Policy: ", "bold"), (source, ""))
    word, style = _VERDICTS[report.verdict]
    page.heading((f"{word}: ", style), (clean(report.summary), ""))
