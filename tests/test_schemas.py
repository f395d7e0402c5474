"""The JSON Schemas that are shipped, and what is validated against them."""

from __future__ import annotations

import json
import runpy
from importlib import resources
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from gpudoctor import engine
from gpudoctor.findings import Source, SourceKind
from gpudoctor.report import json as json_report
from gpudoctor.rules.registry import load_rules
from tests.rule_case import BASES, base_names, facts_of

TOOL = Path(__file__).parent.parent / "tools" / "make_schemas.py"


def shipped(name: str) -> dict[str, object]:
    text = (resources.files("gpudoctor") / "schemas" / f"{name}.schema.json").read_text("utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


@pytest.mark.parametrize("name", ["facts", "plan", "policy", "processes", "report"])
def test_the_shipped_schema_is_that_of_the_types(name: str) -> None:
    made = runpy.run_path(str(TOOL))["schemas"]()
    assert shipped(name) == json.loads(made[f"{name}.schema.json"]), "run python tools/make_schemas.py"
    jsonschema.Draft202012Validator.check_schema(shipped(name))


@pytest.mark.parametrize("base", base_names())
def test_facts_and_report_are_valid(base: str) -> None:
    jsonschema.validate(json.loads((BASES / f"{base}.json").read_text("utf-8")), shipped("facts"))
    report = engine.judge(facts_of(base), load_rules(), source=Source(kind=SourceKind.FACTS))
    jsonschema.validate(json.loads(json_report.render(report)), shipped("report"))


@pytest.mark.parametrize(
    "broken",
    [
        {"host": {"os": {"state": "known", "value": 1, "source": ""}}},
        {"host": {"os": "linux"}},
        {"host": {"oss": {"state": "unknown", "reason": ""}}},
        {"driver": {"nvml": {"state": "known", "value": {"outcome": "fine"}, "source": ""}}},
        {"gpus": {}},
    ],
)
def test_the_schema_refuses_what_the_codec_refuses(broken: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": 1, **broken}, shipped("facts"))
