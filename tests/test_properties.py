"""What holds for every report, whatever the facts are."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping

import jsonschema  # type: ignore[import-untyped]
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpudoctor import engine
from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Expect, Finding, Outcome, Report, Role, Severity, Source, SourceKind, Verdict
from gpudoctor.report import json as json_report
from gpudoctor.report import processes_json, processes_text, text
from gpudoctor.rules.registry import Rule, load_rules
from tests.any_facts import any_facts

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOBODY = codec.Identity(home="", user="", host="")
expectations = st.sampled_from(Expect)
# Line feeds part the lines of a page; with colours, escape sequences of rich alone are let through.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def judged(facts: Facts, expect: Expect = Expect.GPU, rules: Mapping[str, Rule] | None = None) -> Report:
    source = Source(kind=SourceKind.FACTS, names=("facts.json",))
    return engine.judge(facts, rules or load_rules(), source=source, expect=expect)


@SETTINGS
@given(any_facts(), expectations)
def test_no_rule_ends_as_error(facts: Facts, expect: Expect) -> None:
    assert not [check for check in judged(facts, expect).checks if check.outcome is Outcome.ERROR]


@SETTINGS
@given(any_facts(), expectations)
def test_whatever_is_explained_is_explained_by_a_root_cause(facts: Facts, expect: Expect) -> None:
    findings = judged(facts, expect).findings

    def may_explain(cause: Finding, finding: Finding) -> bool:
        same = cause.gpu is None or finding.gpu is None or cause.gpu == finding.gpu
        return cause.role is Role.ROOT_CAUSE and cause.severity is Severity.ERROR and same

    for finding in findings:
        causes = [cause for cause in findings if cause.rule == finding.explained_by]
        assert (finding.role is Role.CONSEQUENCE) == (finding.explained_by is not None)
        if finding.explained_by is not None:
            assert finding.rule != finding.explained_by
            assert any(may_explain(cause, finding) for cause in causes)


@SETTINGS
@given(any_facts(), expectations)
def test_order_and_verdict(facts: Facts, expect: Expect) -> None:
    report = judged(facts, expect)
    order = [(item.role is Role.CONSEQUENCE, -item.severity, -item.confidence) for item in report.findings]
    assert order == sorted(order)
    worst = max((item.severity for item in report.findings), default=Severity.NOTE)
    assert (report.verdict is Verdict.ERRORS) == (worst is Severity.ERROR)
    if report.verdict is Verdict.OK:
        assert report.answered and worst is Severity.NOTE
    failed = {check.rule for check in report.checks if check.outcome is Outcome.FAIL}
    assert failed == {item.rule for item in report.findings if item.severity >= Severity.WARNING}
    root = {item.rule for item in report.findings if item.role is Role.ROOT_CAUSE and item.severity > Severity.NOTE}
    assert all(set(remedy.fixes) <= root for remedy in report.remedies)
    assert [check.rule for check in report.checks] == sorted(load_rules())


@SETTINGS
@given(any_facts(), st.randoms(use_true_random=False))
def test_order_of_rules_does_not_matter(facts: Facts, random: object) -> None:
    shuffled = list(load_rules().items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert judged(facts, rules=dict(shuffled)) == judged(facts)


@SETTINGS
@given(any_facts(), expectations)
def test_cpu_expectations_forgive_the_gpu(facts: Facts, expect: Expect) -> None:
    report = judged(facts, Expect.CPU)
    rules = load_rules()
    for finding in report.findings:
        breaks = rules[finding.rule].breaks
        if breaks is not None and breaks.concerns_gpu_only:
            assert finding.severity is Severity.NOTE
    gpu = {(item.rule, item.gpu): item.severity for item in judged(facts).findings}
    other = {(item.rule, item.gpu): item.severity for item in judged(facts, expect).findings}
    assert gpu.keys() == other.keys()
    assert all(other[key] <= gpu[key] for key in gpu)


@functools.cache
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_report.json_schema())


@SETTINGS
@given(any_facts())
def test_json_fits_its_schema_and_the_facts_come_back(facts: Facts) -> None:
    facts = codec.redact(facts, NOBODY)
    shown = json_report.render(judged(facts))
    schema().validate(json.loads(shown))
    assert json_report.render(judged(facts)) == shown
    again = codec.decode(codec.encode(facts, NOBODY))
    assert again == facts
    assert json_report.render(judged(again)) == shown


@SETTINGS
@given(any_facts(), st.integers(20, 200), st.booleans(), st.booleans(), st.booleans())
def test_text_passes_no_control_character_on(
    facts: Facts, width: int, color: bool, unicode: bool, verbose: bool
) -> None:
    page = text.render(judged(facts), width=width, color=color, unicode=unicode, verbose=verbose)
    assert not CONTROL.findall(COLOUR.sub("", page) if color else page)
    assert page.endswith("\n") and not page.startswith("\n")


@functools.cache
def processes_schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(processes_json.json_schema())


@SETTINGS
@given(any_facts(), st.integers(20, 200), st.booleans(), st.one_of(st.none(), st.integers(0, 2**64)))
def test_processes_of_any_facts_are_listed(facts: Facts, width: int, short: bool, need: int | None) -> None:
    report = judged(facts)
    numbers = tuple(range(len(facts.gpus)))
    page = processes_text.render(report, numbers, width=width, need=need, short=short)
    assert not CONTROL.findall(page)
    # As the command does with what it reads: bytes that are no text cannot be written as JSON.
    listed = json.loads(processes_json.render(judged(codec.redact(facts, NOBODY)), numbers))
    processes_schema().validate(listed)
    for gpu in listed["gpus"]:
        for process in gpu["processes"] or ():
            ends = [command.split()[1] for command in process["commands"] if command.startswith("kill ")]
            assert all(pid.isdigit() and int(pid) > 0 for pid in ends)
            assert not (ends and process["own"] is False)


@SETTINGS
@given(any_facts())
def test_what_holds_memory_does_not_depend_on_the_order_of_the_list(facts: Facts) -> None:
    turned = []
    for gpu in facts.gpus:
        known = gpu.processes
        turned.append(replace(gpu, processes=replace(known, value=known.value[::-1]))
                      if isinstance(known, Known) else gpu)  # fmt: skip
    other = replace(facts, gpus=tuple(turned))

    def told(report: Report) -> set[tuple[str, Severity, int | None]]:
        return {(item.rule, item.severity, item.gpu) for item in report.findings}

    assert told(judged(other)) == told(judged(facts))


@SETTINGS
@given(any_facts())
def test_the_same_facts_in_any_source_wording_give_the_same_findings(facts: Facts) -> None:
    """Sources are for people: no rule may read them."""
    driver = facts.driver.version
    assume(hasattr(driver, "source"))
    other = replace(facts, driver=replace(facts.driver, version=replace(driver, source="elsewhere")))

    def seen(report: Report) -> list[tuple[str, str, Severity, int | None]]:
        return [(item.rule, item.message, item.severity, item.gpu) for item in report.findings]

    assert seen(judged(other)) == seen(judged(facts))
