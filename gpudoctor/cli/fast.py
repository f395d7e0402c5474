"""Commands that start fast: a default is not converted, since it has its type already.

Newer typer converts every value by pydantic, whose import takes as long as all else that a quick check does before it
asks the machine. What the user gives is converted by typer as ever, and with an older typer all is as ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

# In typer's copy of click, this method turns what was given, or else the default, into the argument.
_METHOD = "process_value"
# What a parameter of a typer with pydantic has.
_SIGN = "get_runtime_param"


class Command(TyperCommand):
    """A command whose defaults are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, among them --help."""
        return [_light(parameter) for parameter in super().get_params(ctx)]


class Group(TyperGroup):
    """A group of commands whose own defaults are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, among them --help."""
        return [_light(parameter) for parameter in super().get_params(ctx)]


def _light(parameter: Any) -> Any:
    """Return the same parameter, changed once."""
    convert = getattr(parameter, _METHOD)
    if hasattr(parameter, _SIGN) and not isinstance(convert, functools.partial) and not parameter.required:
        setattr(parameter, _METHOD, functools.partial(_process, parameter, convert))
    return parameter


def _process(parameter: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    source = ctx.get_parameter_source(parameter.name)
    given = source is None or source.name != "DEFAULT"
    if given and parameter.callback is None:
        plain = _plain(parameter, value)
        if plain is not None:
            return plain
    if given or not (value is None or isinstance(value, bool | int | float | Enum)):
        return convert(ctx, value)
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _plain(parameter: Any, value: Any) -> Any:
    """Return what was given, where words are all that it takes; None where typer is to convert it, or to complain."""
    descriptor = getattr(parameter, "type_descriptor", None)
    declared, info = getattr(descriptor, "annotation", None), getattr(descriptor, "parameter_info", None)
    if info is None or any(getattr(info, name, None) for name in ("exists", "writable", "resolve_path")):
        return None
    if not isinstance(value, list | tuple):
        return _item(declared, info, value)
    if get_origin(declared) is not list:
        return None
    items = [_item(get_args(declared)[0], info, item) for item in value]
    return None if None in items else items


def _item(kind: Any, info: Any, text: object) -> Any:
    """Return a word as a text, a path, one of a choice, or what the option's own parser makes of it; else None."""
    if not isinstance(text, str) or not isinstance(kind, type):
        return None
    parser = getattr(info, "parser", None)
    if parser is not None:
        try:
            return parser(text)
        except BadParameter:
            return None
    if issubclass(kind, Enum):
        return next((item for item in kind if item.value == text), None)
    return kind(text) if kind in (str, Path) else None
