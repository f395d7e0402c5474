"""What several renderers pick out of a report."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from gpudoctor.findings import Evidence, Finding, Remedy, Report, Role, Severity
from gpudoctor.report.clean import clean
from gpudoctor.report.process_lines import size
from gpudoctor.rules.registry import Rule, area_of, load_rules


def root_causes(report: Report, least: Severity = Severity.WARNING) -> list[Finding]:
    """Return the findings that stand on their own, from a severity on."""
    return [item for item in report.findings if item.role is Role.ROOT_CAUSE and item.severity >= least]


def notes(report: Report) -> list[Finding]:
    """Return what is only worth a note."""
    return [item for item in report.findings if item.role is Role.ROOT_CAUSE and item.severity is Severity.NOTE]


def explained_by(report: Report, cause: Finding) -> list[str]:
    """Return the rules whose findings a root cause explains, each once."""
    return list(
        dict.fromkeys(
            item.rule
            for item in report.findings
            if item.role is Role.CONSEQUENCE
            and item.explained_by == cause.rule
            and (cause.gpu is None or item.gpu in (None, cause.gpu))
        )
    )


# Rules that find that there is no GPU which TensorFlow could use.
WITHOUT_GPU = ("no-nvidia-gpu", "macos-no-gpu")


def explaining(cause: Finding) -> str:
    """Return what a root cause is to its consequences: a GPU that is not there explains nothing, it makes them moot."""
    return "Of no matter without a GPU" if cause.rule in WITHOUT_GPU else "This explains also"


_COUNT = re.compile(r"[0-9]{1,18}\Z")
# Programs and modules whose names are words in small letters.
NAMES = ("pip", "conda", "ptxas", "nouveau", "libdevice", "libcuda", "uv", "mamba")


def capital(text: str) -> str:
    """Return a message with a capital; names such as cuDNN, nvidia-smi and libcuda.so.1 stay as they are."""
    first = text.partition(" ")[0].rstrip(",:;").removesuffix("'s")
    named = first in NAMES or any(sign in first for sign in "._-/~") or first[1:] != first[1:].lower()
    return text if named else text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return a message on one line, without control characters, with a capital and a full stop."""
    text = clean(text)
    return capital(text) + ("" if text.endswith((".", "?")) else ".")


def evidence_text(item: Evidence) -> str:
    """Return a fact with its value and source on one line; a size as people read it (JSON has it in bytes)."""
    value = size(int(item.value)) if item.fact.endswith("_bytes") and _COUNT.match(item.value) else item.value
    return clean(f"{item.fact}: {value} [{item.source}]")


def remedies_for(report: Report, finding: Finding) -> list[Remedy]:
    """Return what mends a finding: a consequence is mended with its cause."""
    rules = {finding.rule, finding.explained_by}
    return [remedy for remedy in report.remedies if rules & set(remedy.fixes)] or list(finding.remedies)


@functools.cache
def rule_of(rule_id: str) -> Rule | None:
    """Return a rule by id; None for one that is not shipped."""
    found = load_rules().get(rule_id)
    return found if found is not None else load_rules(policy=True).get(rule_id)


def area_name(rule_id: str) -> str:
    """Return the area of a rule: driver."""
    rule = rule_of(rule_id)
    return "other" if rule is None else area_of(rule)


def summary_of(rule: Rule) -> str:
    """Return the first sentence of a rule's documentation."""
    return rule.doc.split("\n", 1)[0]


def paragraphs_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield title and text of the rest of a rule's documentation: Why it matters, How to fix."""
    titles = ("Why it matters", "How to fix")
    rest = rule.doc.partition("\n")[2]
    for number, title in enumerate(titles):
        after = rest.partition(f"{title}:")[2]
        for other in titles[number + 1 :]:
            after = after.partition(f"{other}:")[0]
        if after.strip():
            yield title, " ".join(after.split())
