"""Policies from TOML: pyproject.toml, gpudoctor.toml or a file that the user names."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpudoctor.findings import Severity
from gpudoctor.policy.keys import KEYS, LISTS
from gpudoctor.policy.locate import line_of
from gpudoctor.policy.model import Ignore, Policy

OWN_FILE, PYPROJECT = "gpudoctor.toml", "pyproject.toml"
TABLE = ("tool", "gpudoctor")
SIZE_LIMIT_BYTES = 4 << 20
SEVERITIES = {item.label: item for item in Severity}


class PolicyError(Exception):
    """A policy that cannot be used; the text names file, line, what is wrong, and what may have been meant."""


class _Fault(Exception):
    """Something wrong at a place in the tree."""

    def __init__(self, text: str, keys: tuple[str, ...], item: int | None = None) -> None:
        super().__init__(text)
        self.keys, self.item = keys, item


def _toml() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def find(folder: Path | None = None) -> Path | None:
    """Return the policy's file: in the nearest folder upwards that has one; gpudoctor.toml goes before pyproject.toml.

    A pyproject.toml without a table tool.gpudoctor is passed by. folder: None for the current one.
    """
    if folder is None:
        try:
            folder = Path.cwd()
        except OSError:  # it was removed meanwhile
            return None
    for place in (folder, *folder.parents):
        if os.path.isfile(place / OWN_FILE):
            return place / OWN_FILE
        if has_table(place / PYPROJECT):
            return place / PYPROJECT
    return None


def has_table(path: Path) -> bool:
    """Whether a pyproject.toml has a table tool.gpudoctor."""
    try:
        with path.open("rb") as file:
            raw = file.read(SIZE_LIMIT_BYTES)
    except OSError:
        return False
    if b"gpudoctor" not in raw:  # spares the parser, which takes its time
        return False
    try:
        tool = _toml().loads(raw.decode("utf-8")).get("tool")
    except (ValueError, RecursionError):
        return b"[tool.gpudoctor" in raw  # broken: to be told, not passed by
    return isinstance(tool, dict) and "gpudoctor" in tool


def read(path: Path) -> Policy:
    """Return the policy in a file. Raises PolicyError."""
    shown = _shown(path)
    try:
        with path.open("rb") as file:
            text = file.read(SIZE_LIMIT_BYTES).decode("utf-8")
    except OSError as exc:
        raise PolicyError(f"{shown}: {exc.strerror or exc}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{shown}: not UTF-8") from None
    toml = _toml()
    try:
        tree = toml.loads(text)
    except toml.TOMLDecodeError as exc:
        raise PolicyError(f"{shown}: {exc}") from None
    except RecursionError:
        raise PolicyError(f"{shown}: lists or tables in it are nested too deeply") from None
    table, above = _table_of(path, tree)
    try:
        policy = _policy(table)
    except _Fault as fault:
        line = line_of(text, (*above, *fault.keys), fault.item, toml.loads, toml.TOMLDecodeError)
        raise PolicyError(f"{shown}:{line or 1}: {fault}") from None
    if policy.benchmark is not None:
        policy = replace(policy, benchmark=str(path.parent / policy.benchmark))
    return replace(policy, source=shown)


def _shown(path: Path) -> str:
    try:
        return os.path.relpath(path)
    except (OSError, ValueError):  # no current folder; another drive
        return str(path)


def of_table(table: Mapping[str, object], source: str = "") -> Policy:
    """Return the policy in a table that was read elsewhere. Raises PolicyError."""
    try:
        return replace(_policy(dict(table)), source=source)
    except _Fault as fault:
        raise PolicyError(str(fault)) from None


def _table_of(path: Path, tree: dict[str, Any]) -> tuple[object, tuple[str, ...]]:
    """Return the policy's table and the keys that lead to it."""
    if path.name != PYPROJECT and "tool" not in tree:
        return tree, ()
    tool = tree.get("tool", {})
    return (tool.get("gpudoctor", {}) if isinstance(tool, dict) else tool), TABLE


def _policy(table: object) -> Policy:
    if not isinstance(table, dict):
        raise _Fault("tool.gpudoctor has to be a table", ())
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name in KEYS:
            values[name] = _converted(name, value)
        elif name == "select":
            values[name] = _selected(value)
        elif name == "ignore":
            values[name] = _ignored(value)
        elif name == "severity":
            values[name] = _severities(value)
        else:
            raise _Fault(f"there is no key {name!r}{_near(name, (*KEYS, *LISTS))}", (name,))
    return Policy(**values)


def _converted(name: str, value: object) -> object:
    try:
        return KEYS[name].convert(value)
    except ValueError as exc:
        raise _Fault(f"{name} has to be {exc}, not {_toml_text(value)}", (name,)) from None


def _toml_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 2, 0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _rule(name: object, key: tuple[str, ...], item: int | None = None) -> str:
    """Return the present id of a rule. Raises _Fault."""
    if not isinstance(name, str):
        raise _Fault(f"a rule's id is wanted, not {_toml_text(name)}", key, item)
    from gpudoctor.rules import registry

    known = registry.rule_areas()
    if name in known:
        return name
    for rule in registry.load_rules(policy=True).values():
        if name in rule.former_ids:
            return rule.id
    raise _Fault(f"there is no rule {name!r}{_near(name, known)}", key, item)


def _list(key: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _Fault(f"{key} has to be a list, not {_toml_text(value)}", (key,))
    return value


def _selected(value: object) -> tuple[str, ...]:
    from gpudoctor.rules.registry import rule_areas

    areas = set(rule_areas().values())
    items = enumerate(_list("select", value))
    return tuple(
        item if isinstance(item, str) and item in areas else _rule(item, ("select",), number) for number, item in items
    )


def _ignored(value: object) -> tuple[Ignore, ...]:
    found = []
    for number, item in enumerate(_list("ignore", value)):
        if not isinstance(item, dict):
            found.append(Ignore(rule=_rule(item, ("ignore",), number)))
            continue
        for name in item:
            if name not in ("rule", "until", "reason"):
                near = _near(name, ("rule", "until", "reason"))
                raise _Fault(f"an ignore has no {name!r}{near}", ("ignore",), number)
        rule = _rule(item.get("rule"), ("ignore",), number)
        until, reason = item.get("until"), item.get("reason", "")
        if isinstance(until, dt.datetime) or not isinstance(until, dt.date | None):
            raise _Fault(f"until has to be a date such as 2027-01-31, not {_toml_text(until)}", ("ignore",), number)
        if not isinstance(reason, str):
            raise _Fault(f"reason has to be a text, not {_toml_text(reason)}", ("ignore",), number)
        found.append(Ignore(rule=rule, until=until, reason=reason))
    return tuple(found)


def _severities(value: object) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise _Fault("severity has to be a table of rules", ("severity",))
    found = {}
    for name, label in value.items():
        if label not in SEVERITIES:
            known = ", ".join(SEVERITIES)
            raise _Fault(f"a severity has to be one of {known}, not {_toml_text(label)}", ("severity", name))
        found[_rule(name, ("severity", name))] = SEVERITIES[label]
    return found


def override(
    policy: Policy,
    values: Mapping[str, object],
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Policy:
    """Return the policy with what was given on the command line or by a caller. Raises PolicyError.

    values: as TOML would give them; a text is taken for a number or a switch where one is wanted.
    """
    given: dict[str, Any] = {}
    for name in values:
        if name not in KEYS:
            raise PolicyError(f"there is no key {name!r}{_near(name, KEYS)}")
    try:
        for name, value in values.items():
            given[name] = _converted(name, _plain(name, value))
        chosen, left_out = list(select), list(ignore)
        if chosen:
            given["select"] = _selected(chosen)
        if left_out:
            given["ignore"] = (*policy.ignore, *_ignored(left_out))
    except _Fault as fault:
        raise PolicyError(str(fault)) from None
    return replace(policy, **given, given=(*policy.given, *given))


def _plain(name: str, value: object) -> object:
    """Return a text as the number or switch that the key wants; everything else as it is."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, tuple) else value
    kind = KEYS[name].schema.get("type")
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.lower(), value)
    try:
        return int(value) if kind == "integer" else float(value) if kind == "number" else value
    except ValueError:
        return value
