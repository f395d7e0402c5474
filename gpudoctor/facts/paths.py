"""Paths in the fact tree, and how a value looks in a sentence."""

from __future__ import annotations

import enum
import re

from gpudoctor.facts.model import Absent, ApiAnswer, Facts, GpuPair, KernelModule, Known, TensorFlowRun, Unknown

_STEP = re.compile(r"(?P<name>\w+)(?:\[(?P<key>[^\]]+)\])?\Z")
_SHOWN_ITEMS = 6


class PathError(Exception):
    """A path that does not exist in the fact tree: a fault of the rule that names it."""


def full_path(path: str, gpu: int | None) -> str:
    """Replace a leading `gpu.` by the GPU at hand: gpus[0].name."""
    if gpu is not None and path.startswith("gpu."):
        return f"gpus[{gpu}].{path[4:]}"
    return path


def look_up(facts: Facts, path: str) -> tuple[str, str] | None:
    """Return value (as text) and source of the fact at a path; None where it is unknown. Raises PathError."""
    node: object = facts
    key: str | None = None
    for step in path.split(".", 2) if "[" in path else path.split("."):
        match = _STEP.match(step)
        if match is None or not hasattr(node, match["name"]):
            raise PathError(path)
        node, key = getattr(node, match["name"]), match["key"]
        if key is not None and isinstance(node, tuple):
            node, key = node[int(key)], None
    match node:
        case Known(value=dict() as items) if key is not None:
            return (str(items[key]), node.source) if key in items else ("not set", node.source)
        case Known():
            return show(node.value), node.source
        case Absent():
            return "absent", node.source
        case Unknown():
            return None
    raise PathError(path)


def _show_items(values: tuple[object, ...]) -> str:
    texts = [show(value) for value in values[:_SHOWN_ITEMS]]
    more = len(values) - _SHOWN_ITEMS
    return ", ".join(texts or ["none"]) + (f" and {more} more" if more > 0 else "")


def show(value: object) -> str:
    """Return a value as it stands in a sentence."""
    match value:
        case enum.Enum():
            return str(value.value)
        case bool():
            return "yes" if value else "no"
        case tuple():
            return _show_items(value)
        case ApiAnswer():
            named = f"{value.name} ({value.code})" if value.name else ""
            return ": ".join(part for part in (named, value.detail) if part) or value.outcome.value
        case TensorFlowRun():
            return f"{value.outcome.value} while {value.stage}: {value.detail}".rstrip(": ")
        case dict():
            return " ".join(f"{name}={item}" for name, item in sorted(value.items()))
    if isinstance(value, KernelModule):
        return f"{value.kernel} ({value.version or value.made_by or 'version not told'})"
    if isinstance(value, GpuPair):
        return f"{value.first} and {value.second}: {value.distance or value.obstacle or 'not told'}"
    address, device = getattr(value, "address", None), getattr(value, "device_id", None)
    if address is not None and device is not None:
        return f"{address} (10de:{device})"
    return str(getattr(value, "path", getattr(value, "name", value)))
