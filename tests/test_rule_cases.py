"""Every rule against the cases in tests/rules/<rule-id>.toml.

A case: name; base (here or once at the top of the file); set, also, unknown, absent: changes, see tests/rule_case.py.
What it expects: expect = "fail" | "pass" | "skip" | "note", and as far as they are given
message (of the first finding, whole), messages (of all), reason (of a skip), severity, confidence, role, gpu,
commands (of all its remedies, in order), remedies (their summaries), roots (rules that are root causes at warning or
above, of the whole report).
policy: what a policy asks, as in gpudoctor.toml; the cases are judged on 2027-01-15.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import engine
from gpudoctor.findings import Finding, Outcome, Report, Role, Severity, Source, SourceKind
from gpudoctor.policy.model import NOTHING_ASKED, Policy
from gpudoctor.policy.read import of_table
from gpudoctor.rules.registry import POLICY, area_of, load_rules
from tests.rule_case import HERE, facts_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = HERE / "rules"
KEYS = {
    *("name", "base", "set", "also", "unknown", "absent", "expect", "message", "messages", "reason", "policy"),
    *("severity", "confidence", "role", "gpu", "commands", "remedies", "roots"),
}
OUTCOMES = {"fail": Outcome.FAIL, "pass": Outcome.PASS, "note": Outcome.PASS, "skip": Outcome.SKIP}


def _cases(path: Path) -> list[dict[str, Any]]:
    content = tomllib.loads(path.read_text("utf-8"))
    top: dict[str, Any] = {key: content[key] for key in ("base", "policy") if key in content}
    return [{"base": None, **top, **case} for case in content["case"]]


CASES = [(path.stem, case) for path in sorted(FOLDER.glob("*.toml")) for case in _cases(path)]


@pytest.mark.parametrize(("rule_id", "case"), CASES, ids=[f"{rule_id}: {case['name']}" for rule_id, case in CASES])
def test_case(rule_id: str, case: dict[str, Any]) -> None:
    assert not case.keys() - KEYS, "words that no case knows"
    facts = facts_of(case["base"], **{key: case[key] for key in ("set", "also", "unknown", "absent") if key in case})
    rules, policy = load_rules(policy="policy" in case), _policy(case)
    run = engine.run_rule(rules[rule_id], facts, policy)
    assert run.error == ""
    report = engine.judge(facts, rules, source=Source(kind=SourceKind.FACTS), policy=policy)
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    check = next(check for check in report.checks if check.rule == rule_id)
    own = [finding for finding in report.findings if finding.rule == rule_id]
    assert check.outcome is OUTCOMES[case["expect"]], check
    assert bool(run.findings) == bool(own) == (case["expect"] in ("fail", "note")), run
    if case["expect"] in ("fail", "note"):
        assert {"message", "messages"} & case.keys(), "a message that nobody asserts goes wrong unseen"
    _compare(case, own, check.reason, report)


def _policy(case: dict[str, Any]) -> Policy:
    if "policy" not in case:
        return NOTHING_ASKED
    return of_table(case["policy"], source="gpudoctor.toml").on(dt.date(2027, 1, 15))


def _compare(case: dict[str, Any], own: list[Finding], reason: str, report: Report) -> None:
    first = own[0] if own else None
    seen = {
        "message": first and first.message,
        "messages": [item.message for item in own],
        "reason": reason,
        "severity": first and first.severity.label,
        "confidence": first and first.confidence.label,
        "role": first and first.role.value,
        "gpu": first and first.gpu,
        "commands": [command for item in own[:1] for remedy in item.remedies for command in remedy.commands],
        "remedies": [remedy.summary for item in own[:1] for remedy in item.remedies],
        "roots": sorted(
            {
                item.rule
                for item in report.findings
                if item.role is Role.ROOT_CAUSE and item.severity >= Severity.WARNING
            }
        ),
    }
    expected = {key: case[key] for key in seen if key in case}
    assert {key: seen[key] for key in expected} == expected


@pytest.mark.parametrize("rule_id", load_rules(policy=True))
def test_each_rule_has_cases(rule_id: str) -> None:
    path = FOLDER / f"{rule_id}.toml"
    assert path.exists(), "a rule without a case file"
    outcomes = {case["expect"] for case in _cases(path)}
    fires = "note" if load_rules(policy=True)[rule_id].severity is Severity.NOTE else "fail"
    assert fires in outcomes, "nothing shows that it fires"
    rule = load_rules(policy=True)[rule_id]
    assert (area_of(rule) == POLICY) == bool(rule.asks), "rules that ask, and only they, stand in the folder policy"
    assert outcomes & ({"skip"} if fires == "note" else {"pass"}), "nothing shows that it keeps quiet"


def test_each_case_file_belongs_to_a_rule() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(load_rules(policy=True))


def test_names_of_cases_tell_them_apart() -> None:
    names = [(rule_id, case["name"]) for rule_id, case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule_id", load_rules(policy=True))
def test_rule_is_documented(rule_id: str) -> None:
    doc = load_rules(policy=True)[rule_id].doc
    summary, _, rest = doc.partition("\n\n")
    assert summary.endswith(".") and "\n" not in summary
    assert rest.startswith("Why it matters: ") and "\nHow to fix: " in rest


def test_each_cause_comes_with_something_to_do() -> None:
    """An alarm without a way out helps nobody."""
    speechless = []
    for rule_id, case in CASES:
        facts = facts_of(
            case["base"], **{key: case[key] for key in ("set", "also", "unknown", "absent") if key in case}
        )
        rules, policy = load_rules(policy="policy" in case), _policy(case)
        report = engine.judge(facts, rules, source=Source(kind=SourceKind.FACTS), policy=policy)
        answered = {fixed for remedy in report.remedies for fixed in remedy.fixes}
        speechless += [
            f"{rule_id}: {case['name']}"
            for finding in report.findings
            if finding.rule == rule_id and finding.role is Role.ROOT_CAUSE and finding.severity >= Severity.WARNING
            if rule_id not in answered
        ]
    assert not speechless


def test_rules_are_loaded_once_however_they_are_asked_for() -> None:
    """While a machine is read, the rules are loaded ahead: that is in vain where the report then loads its own."""
    assert load_rules() is load_rules(policy=False)
    assert load_rules(policy=True) is load_rules(policy=True)
