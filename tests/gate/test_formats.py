"""The formats for CI: golden files, the schemas of those who read them, and text from outside that wants out.

GPUDOCTOR_REWRITE_GOLDEN=1 rewrites the golden files; look at the difference.
"""

from __future__ import annotations

import html.parser
import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pydantic_sarif.model as sarif_model
import pytest
import xmlschema
from markdown_it import MarkdownIt
from msgspec.structs import replace
from pydantic import ValidationError

from gpudoctor import engine
from gpudoctor.facts.model import Facts
from gpudoctor.findings import CheckResult, Evidence, Outcome, PolicyUse, Report, Source, SourceKind
from gpudoctor.policy.model import NOTHING_ASKED, Policy
from gpudoctor.report import formats, github, junit, markdown, sarif
from gpudoctor.report import html as html_report
from gpudoctor.rules.registry import load_rules
from tests.rule_case import base_names, facts_of

HERE = Path(__file__).parent
FOLDER = HERE / "golden"
ENDS = {"junit": "junit.xml", "sarif": "sarif", "github": "github.txt", "markdown": "md", "html": "html"}
# One machine with two root causes, one with consequences and a policy, one where all is well.
POLICIES = {
    "laptop-940m": NOTHING_ASKED,
    "no-gpu": Policy(source="gpudoctor.toml", min_gpus=2, python=">=4", max_gpu_temperature=80),
    "desktop-rtx4090": NOTHING_ASKED,
}
KEPT = {"driver-missing", "gpu-works", "cuda-libs-missing", "too-few-gpus", "gpu-too-hot"}
HOSTILE = (
    "x\n::error::gone ##[error]y %0A::stop-commands::z ]]> <script>alert(1)</script> | `t` [a](http://b) @me \x1b[31m"
)


def report_of(base: str | None, policy: Policy = NOTHING_ASKED) -> Report:
    source = Source(kind=SourceKind.FACTS, names=(f"{base}.json",))
    rules = load_rules(policy=policy is not NOTHING_ASKED)
    report = engine.judge(facts_of(base), rules, source=source, policy=policy)
    return replace(report, version="0", tables={"example": "2026-01-01"})


def golden_report(base: str) -> Report:
    """The report with a few checks of each kind, so that a new rule changes no golden file."""
    report = report_of(base, POLICIES[base])
    found = {item.rule for item in report.findings}
    checks = tuple(item for item in report.checks if item.rule in found | KEPT)
    return replace(report, checks=checks)


def hostile_report() -> Report:
    """A report in which all that can come from outside is full of marks."""
    report = report_of("laptop-940m")
    evidence = (Evidence(fact="driver.version", value=HOSTILE, source=HOSTILE),)
    findings = tuple(replace(item, message=HOSTILE, gpu_id=HOSTILE, evidence=evidence) for item in report.findings)
    remedies = tuple(replace(item, summary=HOSTILE, commands=(HOSTILE, "a ``` b")) for item in report.remedies)
    checks = tuple(replace(item, reason=HOSTILE) for item in report.checks)
    broken = CheckResult(rule="not-shipped", outcome=Outcome.ERROR, reason=HOSTILE + "\ufffe\ud800")
    return replace(
        report,
        findings=findings,
        remedies=remedies,
        checks=(*checks, broken),
        summary=HOSTILE,
        source=Source(kind=SourceKind.TEXT, names=(HOSTILE,)),
        policy=PolicyUse(source=HOSTILE, asks={}),
    )


def compare(name: str, seen: str) -> None:
    path = FOLDER / name
    if os.environ.get("GPUDOCTOR_REWRITE_GOLDEN") == "1":
        path.write_text(seen, "utf-8")
    assert path.read_text("utf-8") == seen


@pytest.mark.parametrize("base", POLICIES)
@pytest.mark.parametrize("name", ENDS)
def test_golden(base: str, name: str) -> None:
    shown = formats.render(golden_report(base), name)
    if name == "sarif":  # of the rules only those of the findings: the others are in docs/rules
        tree = json.loads(shown)
        rules = tree["runs"][0]["tool"]["driver"]["rules"]
        found = {item["ruleId"] for item in tree["runs"][0]["results"]}
        tree["runs"][0]["tool"]["driver"]["rules"] = [rule for rule in rules if rule["id"] in found]
        shown = json.dumps(tree, indent=1, ensure_ascii=False) + "\n"
    if name == "html":
        shown = shown.replace(html_report.STYLE, "STYLE")
    compare(f"{base}.{ENDS[name]}", shown)


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{base}.{end}" for base in POLICIES for end in ENDS.values()}


@pytest.mark.parametrize("name", formats.FORMATS)
def test_the_same_report_gives_the_same_bytes(name: str) -> None:
    assert formats.render(report_of("no-gpu"), name) == formats.render(report_of("no-gpu"), name)


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_report_about_nothing(name: str) -> None:
    assert formats.render(report_of(None), name).endswith("\n")


# JUnit.


@pytest.fixture(scope="module")
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(HERE / "jenkins-junit.xsd"))


@pytest.mark.parametrize("base", [*base_names(), None, "hostile"])
def test_junit_is_what_jenkins_reads(junit_schema: xmlschema.XMLSchema, base: str | None) -> None:
    report = hostile_report() if base == "hostile" else report_of(base, Policy(min_gpus=2))
    shown = junit.render(report)
    junit_schema.validate(shown)
    suite = ET.fromstring(shown)[0]
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [check.rule for check in report.checks]
    tags = {Outcome.FAIL: "failure", Outcome.SKIP: "skipped", Outcome.ERROR: "error", Outcome.PASS: None}
    for case, check in zip(cases, report.checks, strict=True):
        inner = {child.tag for child in case} - {"system-out"}
        assert inner == {tags[check.outcome]} - {None}
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(attribute) == str(len(suite.findall(f"testcase/{tag}")))
    assert suite.get("tests") == str(len(cases))


def test_the_jenkins_schema_refuses_what_jenkins_refuses(junit_schema: xmlschema.XMLSchema) -> None:
    for wrong in (
        "<testsuites><testsuite name='a'/></testsuites>",
        "<testsuites><testsuite name='a' tests='1'><testcase/></testsuite></testsuites>",
        "<testsuites><testsuite name='a' tests='1'><testcase name='b'><skip/></testcase></testsuite></testsuites>",
    ):
        assert not junit_schema.is_valid(wrong)


def test_a_failure_tells_evidence_and_what_to_do() -> None:
    root = ET.fromstring(junit.render(report_of("laptop-940m")))
    (failure,) = root.findall(".//testcase[@name='driver-too-old-for-cuda']/failure")
    assert failure.get("type") == "error"
    assert (failure.get("message") or "").startswith("driver 470.57.02 is older than")
    text = failure.text or ""
    assert "  driver.version: 470.57.02 [" in text
    assert "\nWhat to do: Install TensorFlow" in text


# SARIF. The model is generated from the official schema, and refuses what that does not name.


def sarif_of(report: Report) -> dict[str, Any]:
    shown = sarif.render(report)
    sarif_model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(shown)
    loaded: dict[str, Any] = json.loads(shown)["runs"][0]
    return loaded


@pytest.mark.parametrize("base", [*base_names(), None])
def test_sarif_is_valid_and_whole(base: str | None) -> None:
    report = report_of(base, Policy(min_gpus=2, source="gpudoctor.toml"))
    run = sarif_of(report)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.rule for check in report.checks]
    assert [item["ruleId"] for item in run["results"]] == [item.rule for item in report.findings]
    for item in run["results"]:
        assert rules[item["ruleIndex"]]["id"] == item["ruleId"]
        assert item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    for rule in rules:
        assert "**How to fix:**" in rule["help"]["markdown"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_the_model_of_sarif_refuses_what_the_schema_refuses() -> None:
    tree = json.loads(sarif.render(report_of("no-gpu")))
    tree["runs"][0]["results"][0]["fix"] = []
    with pytest.raises(ValidationError):
        sarif_model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(tree)


def test_sarif_tells_what_could_not_be_checked_and_what_broke() -> None:
    report = hostile_report()
    run = sarif_of(report)
    said = run["invocations"][0]["toolExecutionNotifications"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [item["level"] for item in said if item["associatedRule"]["id"] == "not-shipped"] == ["error"]
    unread = {check.rule for check in report.checks if check.outcome is Outcome.SKIP and check.applicable}
    assert {item["associatedRule"]["id"] for item in said if item["level"] == "note"} == unread


def test_sarif_places() -> None:
    report = report_of("no-gpu", Policy(min_gpus=2, source="a b/gpudoctor.toml"))
    places = {
        item["ruleId"]: item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for item in sarif_of(report)["results"]
    }
    assert places["too-few-gpus"] == "a%20b/gpudoctor.toml"
    assert places["no-nvidia-gpu"] == "no-gpu.json"
    (finding, *_) = report.findings
    told = replace(finding, evidence=(Evidence(fact="tensorflow.events", value="x", source="train.log:12"),))
    log = replace(report, findings=(told,), source=Source(kind=SourceKind.TEXT, names=("train.log",)))
    place = sarif_of(log)["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("train.log", 12)


def test_a_finding_is_known_again() -> None:
    first, second = (
        [item["partialFingerprints"] for item in sarif_of(report_of("laptop-940m"))["results"]] for _ in range(2)
    )
    assert first == second
    assert len({str(item) for item in first}) == len(first)


# GitHub's workflow commands.

COMMAND = re.compile(r"::(error|warning|notice) title=[^:,\r\n]+::[^\r\n]*")


@pytest.mark.parametrize("base", [*base_names(), None, "hostile"])
def test_github_lines_are_annotations_and_nothing_else(base: str | None) -> None:
    shown = github.render(hostile_report() if base == "hostile" else report_of(base))
    *annotations, last = shown.splitlines()
    assert [line for line in annotations if not COMMAND.fullmatch(line)] == []
    assert last.startswith("gpudoctor: ")
    for line in annotations:
        assert line.count("::") == 2, "foreign text holds no mark of a command"
    assert "##[" not in shown
    assert "::" not in last


def test_github_percent_signs_are_not_taken_for_escapes() -> None:
    assert "%250A: :stop-commands: :z" in github.render(hostile_report())


# Markdown and HTML.


def rendered(text: str) -> str:
    page: str = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(text)
    return page


class Tags(html.parser.HTMLParser):
    """Collects what a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def tags_of(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


def test_markdown_shows_foreign_text_as_it_is() -> None:
    page = tags_of(rendered(markdown.render(hostile_report())))
    assert not page.tags & {"script", "a", "img", "em", "strong"} - {"strong"}
    assert "<script>alert(1)</script> | `t` [a](http://b) @me" in page.text
    assert "\x1b" not in page.text


@pytest.mark.parametrize(
    "text",
    ["- a", "1. a", "2) a", "+ a", "= a", "_a_ b_c __d__", "*a*", "a|b", "&amp;", "<br>", "~~a~~", "a\\b", "# a"],
)
def test_markdown_escapes(text: str) -> None:
    assert tags_of(rendered(f"{markdown.escape(text)}\n")).text.strip() == text
    assert tags_of(rendered(f"{markdown.escape(text)}\n")).tags == {"p"}


def test_markdown_keeps_commands_in_their_fence() -> None:
    page = rendered(markdown.render(hostile_report()))
    assert "a ``` b" in tags_of(page).text
    assert page.count("<pre>") == len(hostile_report().remedies)


@pytest.mark.parametrize("base", [*base_names(), None, "hostile"])
def test_html_is_one_file_without_requests(base: str | None) -> None:
    shown = html_report.render(hostile_report() if base == "hostile" else report_of(base))
    page = tags_of(shown)
    assert not page.tags & {"script", "img", "link", "iframe", "object", "a", "base"}
    assert not {name for name, _ in page.attributes} & {"src", "href", "onload", "onclick"}
    assert "url(" not in shown
    assert "@import" not in shown
    assert "default-src 'none'" in shown


def test_html_escapes_foreign_text() -> None:
    shown = html_report.fragment(hostile_report())
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script>alert(1)</script>" in tags_of(shown).text


def test_html_has_every_part() -> None:
    text = tags_of(html_report.render(report_of("no-gpu", POLICIES["no-gpu"]))).text
    for part in (
        "Errors: ",
        "Policy: gpudoctor.toml",
        "Root cause: no-nvidia-gpu",
        "Of no matter without a GPU: ",
        "What to do",
    ):
        assert part in text
    assert all(rule in text for rule in load_rules(policy=True))


def test_a_report_of_nothing_known_is_unknown_in_html() -> None:
    report = engine.judge(Facts(), load_rules(), source=Source(kind=SourceKind.LIVE))
    assert '<h2 class="unknown">' in html_report.render(report)
