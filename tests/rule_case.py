"""Facts for tests: a base from tests/facts_base, and a few words of what is different.

A path names a fact (`driver.version`, `gpus[1].name`), an entry of a fact that is a mapping
(`python.environment[CUDA_VISIBLE_DEVICES]`), or the plain list `gpus`. A GPU number that is one too high adds a GPU.
"""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts

HERE = Path(__file__).parent
BASES = HERE / "facts_base"
_STEP = re.compile(r"(\w+)(?:\[([^\]]+)\])?\Z")


@functools.cache
def _base(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((BASES / f"{name}.json").read_text("utf-8"))
    return loaded


def base_names() -> list[str]:
    """Return the names of all base facts."""
    return sorted(path.stem for path in BASES.glob("*.json"))


def facts_of(
    base: str | None = None,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the word of the case files)
    also: Mapping[str, object] | None = None,
    unknown: Mapping[str, str] | None = None,
    absent: Mapping[str, str] | None = None,
) -> Facts:
    """Return base facts (no base: nothing is known) with changes: values, a second value, reasons, sources."""
    tree: dict[str, Any] = copy.deepcopy(_base(base)) if base else {"schema": 1, "gpus": []}
    for path, value in (set or {}).items():
        _put(tree, path, value)
    for path, value in (also or {}).items():
        group, name = _place(tree, path)
        group[name].setdefault("also", []).append([value, "a second source"])
    for path, reason in (unknown or {}).items():
        group, name = _place(tree, path)
        group[name] = {"state": "unknown", "reason": reason}
    for path, source in (absent or {}).items():
        group, name = _place(tree, path)
        group[name] = {"state": "absent", "source": source}
    return codec.decode(json.dumps(tree).encode())


def _put(tree: dict[str, Any], path: str, value: object) -> None:
    if path == "gpus":
        tree["gpus"] = value
        return
    match = _STEP.match(path.rpartition(".")[2])
    key = match[2] if match else None
    group, name = _place(tree, path.removesuffix(f"[{key}]") if key else path)
    old = group.get(name, {})
    if key:
        value = {**old.get("value", {}), key: value}
    group[name] = {"state": "known", "value": value, "source": old.get("source", "test")}


def _place(tree: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """Return the group that holds a fact, and the fact's name in it; a misspelt one is refused by the codec."""
    head, dot, name = path.partition(".")
    match = _STEP.match(head)
    assert match and dot, f"{path} names no fact"
    if match[2] is None:
        return tree.setdefault(head, {}), name
    gpus, number = tree[match[1]], int(match[2])
    if number == len(gpus):
        gpus.append({})
    return gpus[number], name
