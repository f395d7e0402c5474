"""Commands that start fast: a default is not converted, since it has its type already.

Newer typer converts every value by pydantic, whose import takes as long as all else that a quick check does before it
asks the machine. What the user gives is converted by typer as ever, and with an older typer all is as ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from typing import Any

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
    if given and _is_texts(parameter, value):
        return list(value)
    if given or not (value is None or isinstance(value, bool | int | float | Enum)):
        return convert(ctx, value)
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _is_texts(parameter: Any, value: Any) -> bool:
    """Whether it is a list of texts, which are words of the command line already."""
    declared = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    takes_texts = declared == list[str] and parameter.nargs == -1 and parameter.callback is None
    return takes_texts and isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
