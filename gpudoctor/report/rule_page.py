"""One rule as a page of documentation, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.rules.registry import Rule, area_of


def summary(rule: Rule) -> str:
    """Return the first sentence of a rule's documentation."""
    return rule.doc.split("\n", 1)[0]


def render(rule: Rule) -> str:
    """Return the page of one rule."""
    needs = ", ".join(need.label for need in rule.needs) or "nothing"
    lines = [
        f"# {rule.id}",
        "",
        summary(rule),
        "",
        f"- Severity: {rule.severity.label} at most",
        f"- Area: {area_of(rule)}",
        f"- Breaks: {rule.breaks.label if rule.breaks is not None else 'nothing'}",
        f"- A cause of its own only while these work: {needs}",
    ]
    if rule.asks:
        lines.append(f"- Only where a policy asks for it: {rule.asks}")
    if rule.former_ids:
        lines.append(f"- Former ids: {', '.join(rule.former_ids)}")
    body = rule.doc.split("\n", 1)[1].strip() if "\n" in rule.doc else ""
    for paragraph in _paragraphs(body):
        lines += ["", paragraph]
    lines += ["", "What it says:", ""]
    wordings = dict.fromkeys([rule.message, *rule.variants.values()])
    lines += [f"- {wording}" for wording in wordings]
    return "\n".join(lines) + "\n"


def _paragraphs(body: str) -> Iterable[str]:
    """Yield the docstring's parts; each `Why it matters:` or `How to fix:` begins one, with its name in bold."""
    text = body
    for name in ("Why it matters:", "How to fix:"):
        text = text.replace(name, f"\0**{name}**")
    for part in text.split("\0"):
        if part.strip():
            yield " ".join(part.split())


def index(rules: Iterable[Rule]) -> str:
    """Return the page that lists all rules."""
    lines = ["# Rules", "", "| id | severity | what is true of the machine |", "| --- | --- | --- |"]
    lines += [f"| [{rule.id}]({rule.id}.md) | {rule.severity.label} | {summary(rule)} |" for rule in rules]
    return "\n".join(lines) + "\n"
