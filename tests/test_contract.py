"""What others rely on: nothing public vanishes or changes its meaning unseen.

tests/contract.json holds the list. What is new is added by GPUDOCTOR_REWRITE_CONTRACT=1; that never takes anything out:
a removal is a decision, made by hand, with a new schema number or a line in the changelog.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

import gpudoctor
from gpudoctor import api, pytest_plugin
from gpudoctor.benchmark import results
from gpudoctor.cli import app
from gpudoctor.cli.options import FailOn, Format, ReportFormat
from gpudoctor.facts import codec
from gpudoctor.findings import Applicability, Confidence, Expect, Outcome, Role, Severity, SourceKind, Verdict
from gpudoctor.policy.keys import KEYS, LISTS
from gpudoctor.report import formats
from gpudoctor.report import json as json_report
from gpudoctor.rules.registry import load_rules

FILE = Path(__file__).parent / "contract.json"
REWRITE = os.environ.get("GPUDOCTOR_REWRITE_CONTRACT") == "1"
ROOT = Path(__file__).parent.parent


def options_of(command: Any, name: str = "") -> dict[str, list[str]]:
    """Return the public options of each command below one."""
    below = getattr(command, "commands", None)
    if below is not None:
        found = {}
        for word, inner in sorted(below.items()):
            found.update(options_of(inner, f"{name} {word}".strip()))
        return found
    names = {
        option
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("-")
    }
    return {name: sorted(names)}


def fields_of(schema: str) -> dict[str, list[str]]:
    """Return each field of a shipped JSON Schema with its type, by the name of the object that has it."""
    tree = json.loads((resources.files("gpudoctor") / "schemas" / f"{schema}.schema.json").read_text("utf-8"))
    return {
        name: sorted(f"{field}: {_type(body)}" for field, body in item.get("properties", {}).items())
        for name, item in sorted(tree.get("$defs", {"policy": tree}).items())
        if "properties" in item
    }


def _type(body: dict[str, Any]) -> str:
    """Return the type of a field in a word; the choices of an enumeration may grow."""
    if "enum" in body:
        return "enum"
    if "$ref" in body:
        return str(body["$ref"]).rpartition("/")[2]
    if "anyOf" in body:
        return " or ".join(_type(part) for part in body["anyOf"])
    return str(body.get("type", "const" if "const" in body else "any"))


def present() -> dict[str, Any]:
    """Return what is public now."""
    plugin = Path(pytest_plugin.__file__).read_text("utf-8")
    return {
        "rules": sorted(load_rules(policy=True)),
        "options": options_of(typer.main.get_command(app)),
        "formats": {"report": [item.value for item in ReportFormat], "other": [item.value for item in Format]},
        "words": {
            kind.__name__: sorted(
                item.label if isinstance(item, Severity | Confidence) else str(item.value) for item in kind
            )
            for kind in (Severity, Confidence, Role, Outcome, Verdict, Expect, Applicability, SourceKind, FailOn)
        },
        "exit statuses": re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "output-contract.md").read_text(), re.MULTILINE),
        "policy keys": sorted([*KEYS, *LISTS]),
        "python": {
            "names": sorted(gpudoctor.__all__),
            "check": sorted(set(inspect.signature(api.check).parameters) - {"asked"}),
            "require": sorted(set(inspect.signature(api.require).parameters) - {"asked"}),
            "asked": sorted(get_type_hints(api.Asked, localns={"Sequence": list})),
        },
        "pytest": {
            "options": sorted(set(re.findall(r'"(--gpudoctor[\w-]*)"', plugin))),
            "marker": sorted([*pytest_plugin.OPTIONS, "count"]),
            "fixtures": ["gpu_report"],
        },
        # Facts grow with each probe, and are held by the codec's own tests.
        "report fields": {name: item for name, item in fields_of("report").items() if name not in fields_of("facts")},
        "bench fields": fields_of("bench"),
    }


def listed() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return loaded


def missing(wanted: Any, there: Any, place: str = "") -> list[str]:
    """Return what of the one tree is not in the other."""
    if isinstance(wanted, dict):
        here = there if isinstance(there, dict) else {}
        return [line for name, item in wanted.items() for line in missing(item, here.get(name, []), f"{place}/{name}")]
    return [f"{place}: {item}" for item in wanted if item not in there]


def merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict):
        return {name: merged(first.get(name, type(item)()), item) for name, item in {**first, **second}.items()}
    return [*first, *(item for item in second if item not in first)]


def test_nothing_public_has_vanished() -> None:
    assert missing(listed(), present()) == []


def test_what_is_public_is_listed() -> None:
    if REWRITE:
        FILE.write_text(json.dumps(merged(listed() if FILE.exists() else {}, present()), indent=1) + "\n", "utf-8")
    assert missing(present(), listed()) == [], "GPUDOCTOR_REWRITE_CONTRACT=1 adds it to tests/contract.json"


def test_this_test_sees_what_vanishes() -> None:
    wanted = {"a": ["x", "y"], "b": {"c": ["z: string"]}}
    assert missing(wanted, {"a": ["y"], "b": {"c": ["z: integer"]}}) == ["/a: x", "/b/c: z: string"]


def test_no_id_is_used_twice() -> None:
    """An id that a rule had in former times is not given to another."""
    rules = load_rules(policy=True)
    former = [old for rule in rules.values() for old in rule.former_ids]
    assert len(former) == len(set(former))
    assert not set(former) & set(rules)


def test_every_listed_rule_has_its_page() -> None:
    assert [rule for rule in listed()["rules"] if not (ROOT / "docs" / "rules" / f"{rule}.md").exists()] == []


@pytest.mark.parametrize("module", [json_report, results])
def test_a_schema_has_its_history(module: Any) -> None:
    _, _, history = (module.__doc__ or "").partition("Schema history:")
    assert [int(number) for number in re.findall(r"(\d+),", history)] == list(range(1, module.SCHEMA + 1))


def test_facts_of_today_are_read_by_their_number() -> None:
    assert codec.SCHEMA == 1, "a new number needs a history and a reader for the old one"


def test_the_formats_on_the_command_line_are_those_that_exist() -> None:
    assert {item.value for item in ReportFormat} == set(formats.FORMATS)
