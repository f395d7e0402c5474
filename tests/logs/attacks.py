"""Texts that a regular expression may take too long for, made from the expression itself."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor.logs.messages import MESSAGES
from gpudoctor.logs.sentences import SENTENCES

PACKAGES = ("logs", "facts", "rules", "report", "compat", "processes")
# From Python 3.11 on the parser of expressions lies in the package re.
_PARSER: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_OP: Any = importlib.import_module("re._constants" if sys.version_info >= (3, 11) else "sre_constants")
_USES = ("match", "search", "sub", "subn", "finditer", "findall", "fullmatch", "split")
_LOOKS_LIKE_ONE = re.compile(r"\\[a-zA-Z.]|\[|\{\d|\(\?")
_CANDIDATES = "a0 -_.:/'\"([{,\\=x1\t%"
# What patterns have in common, and long runs of what logs are made of.
_USUAL = (" ", "0", "a", "/", "a ", "0 ", '"', "'", "(", "[", ",", "\\", "a.", "0,", "0.", "-", "#", "=", ">", "gpu ")


class Pattern(Struct):
    """An expression, where it stands, and whether it is only tried at the beginning of a text."""

    text: str | bytes
    flags: int
    where: str
    anchored: bool = False


def patterns() -> list[Pattern]:
    """Return all expressions of the modules that read texts, and of their tables."""
    found: dict[str | bytes, Pattern] = {}
    uses: dict[str | bytes, set[str]] = {}
    for name in PACKAGES:
        package = importlib.import_module(f"gpudoctor.{name}")
        for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(item.name)
            for text, flags in _in_values(list(vars(module).values())):
                found.setdefault(text, Pattern(text, flags, item.name))
            for text, flags, use in _in_calls(module):
                found.setdefault(text, Pattern(text, flags, item.name))
                uses.setdefault(text, set()).add(use)
    for row in MESSAGES:
        if row.pattern:
            found[row.pattern] = Pattern(row.pattern, re.ASCII, f"row {row.id}")
    for sentence in SENTENCES:
        for text in (*sentence.ways, sentence.unless):
            found[text] = Pattern(text, re.ASCII, f"sentence {sentence.event}")
    for text, ways in uses.items():
        found[text].anchored = ways <= {"match", "fullmatch"}
    return [item for item in found.values() if item.text]


def _in_values(values: object, depth: int = 0) -> Iterator[tuple[str | bytes, int]]:
    """Yield what is an expression, or looks like one, in the tables of a module."""
    match values:
        case re.Pattern():
            yield values.pattern, values.flags & ~(re.UNICODE if values.flags & re.ASCII else 0)
        case str() if _LOOKS_LIKE_ONE.search(values) and len(values) < 5000 and _compiles(values):
            yield values, re.ASCII
        case tuple() | list() | set() | frozenset() if depth < 6:
            for item in values:
                yield from _in_values(item, depth + 1)
        case dict() if depth < 6:
            yield from _in_values([item for key, item in values.items() if not str(key).startswith("__")], depth + 1)
        case Struct():
            yield from _in_values([getattr(values, name) for name in values.__struct_fields__], depth + 1)


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():  # of a text that is no expression
        warnings.simplefilter("error")
        try:
            re.compile(text, re.ASCII)
        except (re.error, RecursionError, Warning):
            return False
    return True


def _in_calls(module: Any) -> Iterator[tuple[str | bytes, int, str]]:
    """Yield the expressions that a module uses in calls, with the method: compiled(X).match, re.search(X, ...)."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _USES:
            continue
        owner, use = node.func.value, node.func.attr
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id.endswith("compiled"):
            argument, flags = owner.args[0], int(re.ASCII)
        elif isinstance(owner, ast.Name) and owner.id == "re" and node.args:
            argument, flags = node.args[0], 0
        elif isinstance(owner, ast.Name):
            argument, flags = owner, 0
        else:
            continue
        try:
            value = eval(compile(ast.Expression(argument), "", "eval"), vars(module))  # noqa: S307 (our own source)
        except (NameError, AttributeError, KeyError, TypeError):
            continue  # a variable: what it holds comes from a table
        if isinstance(value, re.Pattern):
            yield value.pattern, value.flags & ~(re.UNICODE if value.flags & re.ASCII else 0), use
        elif isinstance(value, (str, bytes)) and value and owner is not argument:
            yield value, flags, use


def attacks(pattern: Pattern) -> list[tuple[str, str]]:
    """Return what to begin with and what to repeat."""
    tree = _PARSER.parse(pattern.text, pattern.flags)
    found: dict[tuple[str, str], None] = {}
    for branch in (0, 1):
        whole, full = _matching(tree, 1, branch), _matching(tree, 3, branch)
        found.update(dict.fromkeys([("", whole), ("", full), ("", whole[:-1]), *(("", usual) for usual in _USUAL)]))
        for before, body, most in _repeats(tree, branch):
            if most > 2:
                found.update(dict.fromkeys([(before, body), ("", before + body), (before, body + " "), ("", before)]))
    return [item for item in found if item[1] and len(item[0]) < 400]


def _matching(tree: Any, times: int, branch: int) -> str:
    """Return a text that these parts of an expression fit. times: how often what may be repeated is."""
    text = ""
    for kind, value in tree:
        if kind is _OP.LITERAL:
            text += chr(value)
        elif kind is _OP.NOT_LITERAL:
            text += "a" if value != ord("a") else "b"
        elif kind is _OP.ANY:
            text += "a"
        elif kind is _OP.IN:
            text += _member(value)
        elif kind is _OP.BRANCH:
            text += _matching(value[1][branch % len(value[1])], times, branch)
        elif kind is _OP.SUBPATTERN:
            text += _matching(value[3], times, branch)
        elif kind in (_OP.MAX_REPEAT, _OP.MIN_REPEAT):
            least, most, body = value
            text += _matching(body, times, branch) * max(least, min(times, most))
    return text


def _member(items: Any) -> str:
    """Return a character of a set, a usual one where it has some."""
    negated = any(kind is _OP.NEGATE for kind, _ in items)
    others = (chr(number) for number in range(32, 500))
    own = [chr(value if kind is _OP.LITERAL else value[0]) for kind, value in items if kind in (_OP.LITERAL, _OP.RANGE)]
    return next((sign for sign in (*_CANDIDATES, *own, *others) if _holds(items, sign) is not negated), "a")


def _holds(items: Any, sign: str) -> bool:
    classes = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}
    for kind, value in items:
        if kind is _OP.LITERAL and value == ord(sign):
            return True
        if kind is _OP.RANGE and value[0] <= ord(sign) <= value[1]:
            return True
        if kind is _OP.CATEGORY and re.match(classes[str(value).removeprefix("CATEGORY_")], sign, re.ASCII):
            return True
    return False


def _repeats(tree: Any, branch: int, before: str = "") -> Iterator[tuple[str, str, int]]:
    """Yield for each part that may be repeated what stands before it, what it fits, and how often at most."""
    for kind, value in tree:
        if kind is _OP.BRANCH:
            for way in value[1]:
                yield from _repeats(way, branch, before)
        elif kind is _OP.SUBPATTERN:
            yield from _repeats(value[3], branch, before)
        elif kind in (_OP.ASSERT, _OP.ASSERT_NOT):
            yield from _repeats(value[1], branch, before)
        elif kind in (_OP.MAX_REPEAT, _OP.MIN_REPEAT):
            yield before, _matching(value[2], 1, branch), value[1]
            yield from _repeats(value[2], branch, before)
        before += _matching([(kind, value)], 1, branch)
