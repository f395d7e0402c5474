"""Rules name the messages of a log by id: an id that no row has would never be found, and nobody would see it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gpudoctor.rules
from gpudoctor.logs.messages import MESSAGES
from gpudoctor.logs.rows.blocks import BLOCKS
from gpudoctor.logs.rows.said import SENTENCES
from gpudoctor.verdict import NO_COMPLAINTS
from tests.test_rule_cases import CASES

KNOWN = {row.id for row in (*MESSAGES, *BLOCKS, *SENTENCES)}
ASKED_BY = ("events", "said")


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(gpudoctor.rules.__path__, "gpudoctor.rules."):
        if not found.ispkg:
            yield importlib.import_module(found.name)


def _named(module: ModuleType) -> Iterator[str]:
    """Yield the ids in each call of events() and said(): words, and tuples of the module."""
    assert module.__file__ is not None
    for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKED_BY):
            continue
        for argument in node.args[1:]:
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                yield inner.value
            elif isinstance(inner, ast.Name):
                value = getattr(module, inner.id, ())  # a variable of a function is not seen here
                yield from (value,) if isinstance(value, str) else value


def test_rules_ask_for_messages_that_there_are() -> None:
    named = {(module.__name__, name) for module in _modules() for name in _named(module)}
    assert len(named) > 200, "the calls are no longer found"
    assert sorted(item for item in named if item[1] not in KNOWN) == []


def test_rule_cases_show_messages_that_there_are() -> None:
    shown = {
        (rule_id, event["message"])
        for rule_id, case in CASES
        for key in ("set", "also")
        for event in case.get(key, {}).get("tensorflow.events") or ()
    }
    assert len({name for _, name in shown}) > 100, "the events are no longer found"
    assert sorted(item for item in shown if item[1] not in KNOWN) == []


def test_what_is_no_complaint_is_a_sentence() -> None:
    assert set(NO_COMPLAINTS) <= {row.id for row in SENTENCES}
