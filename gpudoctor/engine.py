"""Runs the rules over the facts and makes a report of what they find.

Only here is decided what explains what, how sure a finding is, and what weighs less because of what the user
expects or because the GPU was seen to work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.facts.model import FactAbsent, Facts, FactUnavailable, Gpu, Known
from gpudoctor.facts.paths import full_path, look_up
from gpudoctor.findings import (
    Capability,
    CheckResult,
    Confidence,
    Evidence,
    Expect,
    Finding,
    Outcome,
    Remedy,
    Report,
    Role,
    Severity,
    Source,
    SourceKind,
    Verdict,
)
from gpudoctor.rules.ask_for import what_to_paste
from gpudoctor.rules.observed import computed_on, working_gpu_devices, working_gpus
from gpudoctor.rules.registry import Draft, Rule, Scope, area_of


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
) -> Report:
    """Run all rules and return the report."""
    runs = [run_rule(rule, facts) for _, rule in sorted(rules.items())]
    raw = [finding for run in runs for finding in run.findings]
    weighed = _weigh(raw, rules, facts, expect)
    findings = _sorted(_tie(weighed, rules, only_gpu=len(facts.gpus) == 1), rules)
    answered = is_answered(facts, expect, source.kind)
    verdict = _verdict(findings, answered)
    asks = verdict is Verdict.UNKNOWN and source.kind is SourceKind.TEXT
    return Report(
        source=source,
        expect=expect,
        verdict=verdict,
        answered=answered,
        summary=_summary(findings, facts, verdict, expect, source.kind),
        findings=tuple(findings),
        remedies=(what_to_paste(facts),) if asks else _remedies(findings),
        checks=tuple(_check_result(run, findings) for run in runs),
        facts=facts,
        tables=dict(tables or {}),
        version=__version__,
    )


def run_rule(rule: Rule, facts: Facts) -> RuleRun:
    """Run one rule; exceptions become its outcome, and what it found before them is kept."""
    targets: list[tuple[int | None, tuple[object, ...]]] = [(None, (facts,))]
    if rule.scope is Scope.GPU:
        targets = [(index, (facts, gpu)) for index, gpu in enumerate(facts.gpus)]
    findings: list[Finding] = []
    skipped: list[str] = [] if targets else ["no GPU is known"]
    unread = not targets
    for gpu, arguments in targets:
        try:
            findings.extend(_finding(rule, draft, facts, gpu) for draft in rule.check(rule, *arguments))
        except FactUnavailable as exc:
            skipped.append(str(exc))
            unread = unread or not isinstance(exc, FactAbsent)
        except Exception as exc:  # noqa: BLE001 (a broken rule must not hide the others)
            return RuleRun(rule=rule, findings=tuple(findings), error=repr(exc))
    reasons = "; ".join(dict.fromkeys(skipped))
    return RuleRun(rule=rule, findings=tuple(findings), skipped=reasons, applicable=unread or not skipped)


def _finding(rule: Rule, draft: Draft, facts: Facts, gpu: int | None) -> Finding:
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
        if isinstance(node, Known):
            break
        node = node[int(step)] if isinstance(node, tuple) else getattr(node, step)
    contradicted = isinstance(node, Known) and any(other != node.value for other, _ in node.also)
    return Confidence.LIKELY if contradicted else Confidence.CERTAIN


def _gpu_id(gpu: Gpu) -> str | None:
    return gpu.uuid.get() or gpu.pci_address.get()


def _weigh(findings: Iterable[Finding], rules: Mapping[str, Rule], facts: Facts, expect: Expect) -> list[Finding]:
    """Lower what an observation contradicts, and what does not matter for what the user expects."""
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
        lower = own is None or broken < own
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


def _check_result(run: RuleRun, findings: list[Finding]) -> CheckResult:
    own = [finding for finding in findings if finding.rule == run.rule.id]
    notes = "; ".join(finding.message for finding in own)
    if run.error:
        return CheckResult(rule=run.rule.id, outcome=Outcome.ERROR, reason=run.error)
    if any(finding.severity >= Severity.WARNING for finding in own):
        return CheckResult(rule=run.rule.id, outcome=Outcome.FAIL, reason=notes)
    if run.skipped and not own:
        return CheckResult(rule=run.rule.id, outcome=Outcome.SKIP, reason=run.skipped, applicable=run.applicable)
    return CheckResult(rule=run.rule.id, outcome=Outcome.PASS, reason=notes)


def is_answered(facts: Facts, expect: Expect, kind: SourceKind = SourceKind.LIVE) -> bool:
    """Whether the facts tell if the machine can do what the user expects of it."""
    if kind is SourceKind.TEXT:
        return _is_told(facts, expect)
    started = facts.tensorflow.run.get() is not None
    if expect is Expect.GPU:
        if started:
            return bool(working_gpu_devices(facts))
        seen = (facts.driver.cuda_device_count.get() or 0) > 0 or (facts.driver.nvml_device_count.get() or 0) > 0
        return seen and facts.tensorflow.version.get() is not None
    return started or facts.tensorflow.version.get() is not None or facts.host.os.get() is not None


def _is_told(facts: Facts, expect: Expect) -> bool:
    """Whether a text tells anything, and leaves no GPU out without a reason."""
    listed = facts.tensorflow.devices.get()
    if listed is not None and expect is Expect.GPU:
        return any(device.kind == "GPU" for device in listed)
    told = bool(facts.tensorflow.events.get()) or bool(facts.gpus) or listed is not None
    groups = (facts.driver, facts.training, facts.libraries)
    return told or any(isinstance(getattr(group, name), Known) for group in groups for name in group.__struct_fields__)


def _verdict(findings: list[Finding], answered: bool) -> Verdict:
    worst = max((finding.severity for finding in findings), default=Severity.NOTE)
    if worst is Severity.ERROR:
        return Verdict.ERRORS
    if not answered:
        return Verdict.UNKNOWN
    return Verdict.WARNINGS if worst is Severity.WARNING else Verdict.OK


def _summary(findings: list[Finding], facts: Facts, verdict: Verdict, expect: Expect, kind: SourceKind) -> str:
    roots = [item for item in findings if item.role is Role.ROOT_CAUSE and item.severity >= Severity.WARNING]
    if roots:
        count = len(roots)
        what = {1: "one root cause"}.get(count, f"{count} root causes")
        return f"{what}: {'; '.join(dict.fromkeys(item.rule for item in roots))}"
    if verdict is Verdict.UNKNOWN:
        listed = facts.tensorflow.devices.get()
        if listed is not None and not any(device.kind == "GPU" for device in listed):
            return "TensorFlow lists no GPU, and no check explains why"
        if kind is SourceKind.TEXT:
            return "nothing in the text tells what is wrong"
        return "no fault found, but too little could be read to tell"
    if facts.tensorflow.run.get() is None:
        return "no fault found; TensorFlow was not started" if kind is not SourceKind.TEXT else "no fault in the text"
    names = sorted(device for device, right in computed_on(facts).items() if right)
    where = [name for name in names if name.startswith("GPU")] if expect is Expect.GPU else names
    return f"no fault found; TensorFlow computes on {', '.join(where)}" if where else "no fault found"
