"""Runs the rules over the facts and makes a report of what they find.

Only here is decided what explains what, how sure a finding is, and what weighs less because of what the user
expects or because the GPU was seen to work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.facts.model import Absent, FactAbsent, Facts, FactUnavailable, Gpu, Known, Unknown
from gpudoctor.facts.paths import full_path, look_up
from gpudoctor.findings import (
    Capability,
    CheckResult,
    Confidence,
    Evidence,
    Expect,
    Finding,
    Outcome,
    PolicyUse,
    Remedy,
    Report,
    Role,
    Severity,
    Source,
    SourceKind,
    Verdict,
)
from gpudoctor.policy.model import NOTHING_ASKED, Policy
from gpudoctor.policy.words import asked_texts
from gpudoctor.rules.ask_for import what_fits, what_to_paste
from gpudoctor.rules.observed import working_gpu_devices, working_gpus
from gpudoctor.rules.registry import Draft, Rule, Scope, area_of
from gpudoctor.verdict import is_answered, summarise, unexplained, verdict_of

NOT_ASKED = "no policy asks for this"


class RuleRun(Struct, frozen=True, kw_only=True):
    """What one rule gave, before anything is weighed."""

    rule: Rule
    findings: tuple[Finding, ...]
    error: str = ""
    skipped: str = ""
    applicable: bool = True


def judge(
    facts: Facts,
    rules: Mapping[str, Rule],
    *,
    source: Source,
    expect: Expect = Expect.GPU,
    tables: Mapping[str, str] | None = None,
    policy: Policy = NOTHING_ASKED,
) -> Report:
    """Run all rules and return the report. policy: as it stands today (Policy.on)."""
    runs = [run_rule(rule, facts, policy) for _, rule in sorted(rules.items())]
    raw = [finding for run in runs for finding in run.findings if policy.ignored(run.rule.id) is None]
    weighed = _weigh(raw, rules, facts, expect, policy)
    findings = _sorted(_tie(weighed, rules, only_gpu=len(facts.gpus) == 1), rules)
    unread = _unread(runs, policy)
    answered = is_answered(facts, expect, source.kind) and not unread
    verdict = verdict_of(findings, answered, unexplained(facts) if source.kind is SourceKind.TEXT else "")
    asks = verdict is Verdict.UNKNOWN and source.kind is SourceKind.TEXT
    return Report(
        source=source,
        expect=expect,
        verdict=verdict,
        answered=answered,
        summary=summarise(findings, facts, verdict, expect, kind=source.kind, unread=unread),
        findings=tuple(findings),
        remedies=(what_to_paste(facts), *what_fits(facts)) if asks else _remedies(findings),
        checks=tuple(_check_result(run, findings, policy) for run in runs),
        facts=facts,
        tables=dict(tables or {}),
        version=__version__,
        policy=None if policy == NOTHING_ASKED else PolicyUse(source=policy.source, asks=asked_texts(policy)),
    )


def _unread(runs: Iterable[RuleRun], policy: Policy) -> list[str]:
    """Return the rules that could not tell whether the machine is what the policy asks for."""
    return [
        run.rule.id
        for run in runs
        if run.rule.asks
        and (run.skipped or run.error)
        and run.skipped != NOT_ASKED
        and policy.ignored(run.rule.id) is None
    ]


def run_rule(rule: Rule, facts: Facts, policy: Policy = NOTHING_ASKED) -> RuleRun:
    """Run one rule; exceptions become its outcome, and what it found before them is kept."""
    asked: tuple[object, ...] = ()
    if rule.asks:
        asked = (policy.asked(rule.asks),)
        if asked == (None,):
            return RuleRun(rule=rule, findings=(), skipped=NOT_ASKED, applicable=False)
    elif not policy.selects(rule.id, area_of(rule)):
        return RuleRun(rule=rule, findings=(), skipped="the policy does not select it", applicable=False)
    targets: list[tuple[int | None, tuple[object, ...]]] = [(None, (facts,))]
    if rule.scope is not Scope.MACHINE:
        targets = [(index, (facts, gpu)) for index, gpu in enumerate(facts.gpus)]
        if not targets and rule.scope is Scope.GPU_OR_WORDS and facts.tensorflow.events.get():
            targets = [(None, (facts, None))]
    findings: list[Finding] = []
    skipped: list[str] = [] if targets else ["no GPU is known"]
    unread = not targets
    for gpu, arguments in targets:
        try:
            drafts = rule.check(rule, *arguments, *asked)
            findings.extend(_finding(rule, draft, facts, gpu, policy) for draft in drafts)
        except FactUnavailable as exc:
            skipped.append(str(exc))
            unread = unread or not isinstance(exc, FactAbsent)
        except Exception as exc:  # noqa: BLE001 (a broken rule must not hide the others)
            return RuleRun(rule=rule, findings=tuple(findings), error=repr(exc))
    reasons = "; ".join(dict.fromkeys(skipped))
    return RuleRun(rule=rule, findings=tuple(findings), skipped=reasons, applicable=unread or not skipped)


def _finding(rule: Rule, draft: Draft, facts: Facts, gpu: int | None, policy: Policy) -> Finding:
    evidence: list[Evidence] = []
    confidence = draft.confidence
    for item in draft.evidence:
        if isinstance(item, Evidence):
            evidence.append(item)
            continue
        path = full_path(item, gpu)
        seen = look_up(facts, path)
        if seen is not None:
            evidence.append(Evidence(fact=path, value=seen[0], source=seen[1]))
            confidence = min(confidence, _confidence_of(facts, path))
    asked = asked_texts(policy).get(rule.asks)
    if asked is not None:
        evidence.append(Evidence(fact=f"policy.{rule.asks}", value=asked, source=policy.source_of(rule.asks)))
    return Finding(
        rule=rule.id,
        severity=draft.severity,
        confidence=confidence,
        message=draft.template.format_map(draft.values),
        values=draft.values,
        evidence=tuple(evidence),
        area=area_of(rule),
        gpu=gpu,
        gpu_id=_gpu_id(facts.gpus[gpu]) if gpu is not None else None,
        remedies=draft.remedies,
    )


def _confidence_of(facts: Facts, path: str) -> Confidence:
    node: object = facts
    for step in path.replace("]", "").replace("[", ".").split("."):
        if isinstance(node, Known | Absent | Unknown):  # what follows is the key of a mapping that is the value
            break
        node = node[int(step)] if isinstance(node, tuple) else getattr(node, step)
    contradicted = isinstance(node, Known) and any(other != node.value for other, _ in node.also)
    return Confidence.LIKELY if contradicted else Confidence.CERTAIN


def _gpu_id(gpu: Gpu) -> str | None:
    return gpu.uuid.get() or gpu.pci_address.get()


def _weigh(
    findings: Iterable[Finding], rules: Mapping[str, Rule], facts: Facts, expect: Expect, policy: Policy
) -> list[Finding]:
    """Lower what an observation contradicts, and what does not matter for what the user expects; then as told."""
    findings = list(findings)
    works, any_works = working_gpus(facts), bool(working_gpu_devices(facts))
    no_gpu = any(rules[finding.rule].breaks is Capability.HARDWARE for finding in findings)
    weighed = []
    for finding in findings:
        breaks = rules[finding.rule].breaks
        severity = finding.severity
        if breaks is not None and breaks.concerns_gpu_only:
            seen_to_work = any_works if finding.gpu is None else finding.gpu in works
            if severity is Severity.ERROR and seen_to_work:
                severity = Severity.NOTE
            if expect is Expect.CPU or (expect is Expect.ANY and no_gpu):
                severity = Severity.NOTE
            elif expect is Expect.ANY:
                severity = min(severity, Severity.WARNING)
        severity = policy.weighed(finding.rule, severity, rules[finding.rule].severity)
        weighed.append(finding if severity is finding.severity else replace(finding, severity=severity))
    return weighed


def _tie(findings: list[Finding], rules: Mapping[str, Rule], *, only_gpu: bool) -> list[Finding]:
    """Tell consequences from root causes: a finding whose need is broken lower down is explained by what broke it."""

    def breaks(finding: Finding) -> Capability | None:
        return rules[finding.rule].breaks

    def explains(cause: Finding, finding: Finding) -> bool:
        broken, own = breaks(cause), breaks(finding)
        if cause.severity is not Severity.ERROR or broken is None or broken not in rules[finding.rule].needs:
            return False
        # What breaks nothing stands on its own, but for the needs that it names: each rule needs the hardware.
        named = broken is not Capability.HARDWARE or bool(rules[finding.rule].asks)
        lower = broken < own if own is not None else named
        same_gpu = cause.gpu is None or finding.gpu is None or cause.gpu == finding.gpu
        # A fault of one GPU explains nothing about the machine as a whole while there are others.
        return lower and same_gpu and (only_gpu or finding.gpu is not None or cause.gpu is None)

    def root(finding: Finding) -> Finding | None:
        causes = [cause for cause in findings if explains(cause, finding)]
        if not causes:
            return None
        first = min(causes, key=lambda cause: (breaks(cause), -cause.confidence, cause.rule))
        return root(first) or first

    tied = []
    for finding in findings:
        cause = root(finding)
        if cause is not None:
            finding = replace(finding, role=Role.CONSEQUENCE, explained_by=cause.rule)  # noqa: PLW2901
        tied.append(finding)
    return tied


def _sorted(findings: list[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    def key(finding: Finding) -> tuple[int, int, int, int, str, int]:
        breaks = rules[finding.rule].breaks
        return (
            finding.role is Role.CONSEQUENCE,
            -finding.severity,
            -finding.confidence,
            len(Capability) if breaks is None else breaks,
            finding.rule,
            -1 if finding.gpu is None else finding.gpu,
        )

    return sorted(findings, key=key)


def _remedies(findings: list[Finding]) -> tuple[Remedy, ...]:
    """Return the remedies of the root causes: what fixes most comes first; what fixes less than another is left out."""
    fixes: dict[Remedy, list[str]] = {}
    for finding in findings:
        if finding.role is Role.ROOT_CAUSE and finding.severity >= Severity.WARNING:
            for remedy in finding.remedies:
                rules = fixes.setdefault(remedy, [])
                if finding.rule not in rules:
                    rules.append(finding.rule)
    sets = [set(rules) for rules in fixes.values()]
    kept = [
        replace(remedy, fixes=tuple(rules))
        for remedy, rules in fixes.items()
        if not any(set(rules) < other for other in sets)
    ]
    return tuple(sorted(kept, key=lambda remedy: -len(remedy.fixes)))


def _check_result(run: RuleRun, findings: list[Finding], policy: Policy) -> CheckResult:
    ignored = policy.ignored(run.rule.id)
    if ignored is not None:
        said = "; ".join(finding.message for finding in run.findings)
        until = f" until {ignored.until}" if ignored.until else ""
        reason = ": ".join(part for part in (f"ignored by the policy{until}", ignored.reason, said) if part)
        return CheckResult(rule=run.rule.id, outcome=Outcome.SKIP, reason=reason, applicable=False)
    own = [finding for finding in findings if finding.rule == run.rule.id]
    notes = "; ".join(finding.message for finding in own)
    if run.error:
        return CheckResult(rule=run.rule.id, outcome=Outcome.ERROR, reason=run.error)
    if any(finding.severity >= Severity.WARNING for finding in own):
        return CheckResult(rule=run.rule.id, outcome=Outcome.FAIL, reason=notes)
    if run.skipped and not own:
        return CheckResult(rule=run.rule.id, outcome=Outcome.SKIP, reason=run.skipped, applicable=run.applicable)
    return CheckResult(rule=run.rule.id, outcome=Outcome.PASS, reason=notes)
