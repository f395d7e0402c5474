"""The keys of a policy: how each is read, what an editor may suggest, what it says in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from gpudoctor.findings import Expect

FAIL_ON = ("note", "warning", "error", "never")
MODES = ("cpu", "cpu-optimized", "gpu-baseline", "gpu-optimized")
UNITS = {"": 1, "B": 1, **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}
_SIZE = r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)\Z"
SIZE_PATTERN = r"^\d+(\.\d+)?\s*(B|[KMGT]iB|[kMGT]B)?$"
_CAPABILITY = r"\d{1,2}\.\d\Z"


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError("a number, 0 or more")
    return float(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 (one kind of error for all values)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items or not all(isinstance(item, str) and item.strip() for item in items):
        raise ValueError("a text, or a list of texts")
    return tuple(items)


def size(value: object) -> int:
    """Return a size in bytes: 8589934592, "8 GiB", "500MB". Raises ValueError with what is wanted."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = re.match(_SIZE, value.strip()) if isinstance(value, str) else None
    if match is None or match[2] not in UNITS:
        raise ValueError('a size such as "6GiB", "500 MB" or a number of bytes')
    return int(float(match[1]) * UNITS[match[2]])


def _capability(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else value
    if not isinstance(text, str) or not re.match(_CAPABILITY, text):
        raise ValueError('a compute capability such as "7.0"')
    return text


def _specifier(value: object) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    wanted = 'versions such as ">=2.15,<2.22"'
    if not isinstance(value, str) or not value.strip():
        raise ValueError(wanted)
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        raise ValueError(wanted) from None
    return value


def _choice(*choices: str) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return value

    return convert


def _expect(value: object) -> Expect:
    return Expect(_choice(*(item.value for item in Expect))(value))


class Key(Struct, frozen=True, kw_only=True):
    """One key. convert: from what TOML gives, raises ValueError with what is wanted; says: a sentence with {value}."""

    name: str
    convert: Callable[[object], Any]
    schema: dict[str, Any]
    says: str
    shown: Callable[[Any], str] = str


def size_text(count: int) -> str:
    """Return a size as people write it: 8 GiB."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count >= UNITS[unit]:
            return f"{count / UNITS[unit]:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"


def _listed(values: tuple[str, ...]) -> str:
    return " or ".join(values)


_SIZE_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": SIZE_PATTERN}]
}
_WHOLE_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 0}
_TEXT_SCHEMA: dict[str, Any] = {"type": "string", "minLength": 1}


def _sized(name: str, says: str) -> Key:
    return Key(name=name, convert=size, schema=_SIZE_SCHEMA, says=says, shown=size_text)


def _versions(name: str, who: str) -> Key:
    return Key(name=name, convert=_specifier, schema=_TEXT_SCHEMA, says=f"The version of {who} has to be in {{value}}.")


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            name="expect",
            convert=_expect,
            schema={"enum": [item.value for item in Expect]},
            says="The machine is to train on: {value}.",
            shown=lambda value: str(value.value),
        ),
        Key(
            name="fail_on",
            convert=_choice(*FAIL_ON),
            schema={"enum": list(FAIL_ON)},
            says="The exit status is 1 from findings of this severity on: {value}.",
        ),
        Key(
            name="min_gpus",
            convert=_whole,
            schema=_WHOLE_SCHEMA,
            says="A CUDA program has to see at least this many GPUs: {value}.",
        ),
        Key(
            name="gpu_name",
            convert=_texts,
            schema={"anyOf": [_TEXT_SCHEMA, {"type": "array", "items": _TEXT_SCHEMA, "minItems": 1}]},
            says="The name of each GPU has to contain {value}.",
            shown=_listed,
        ),
        Key(
            name="min_compute_capability",
            convert=_capability,
            schema={"anyOf": [{"type": "string", "pattern": r"^\d{1,2}\.\d$"}, {"type": "number"}]},
            says="Each GPU has to have at least compute capability {value}.",
        ),
        _sized("min_memory", "Each GPU has to have at least {value} of memory."),
        _sized("min_free_memory", "Each GPU has to have at least {value} of memory free."),
        _sized("max_used_memory", "Of each GPU's memory at most {value} may be in use."),
        Key(
            name="max_gpu_processes",
            convert=_whole,
            schema=_WHOLE_SCHEMA,
            says="On each GPU at most this many processes may compute: {value}.",
        ),
        Key(
            name="max_gpu_temperature",
            convert=_whole,
            schema=_WHOLE_SCHEMA,
            says="No GPU may be hotter than {value} °C.",
        ),
        Key(
            name="require_native_code",
            convert=_switch,
            schema={"type": "boolean"},
            says="TensorFlow has to carry native code for each GPU: {value}.",
            shown=lambda value: "yes" if value else "no",
        ),
        _versions("driver", "the NVIDIA driver"),
        _versions("tensorflow", "TensorFlow"),
        _versions("keras", "Keras"),
        _versions("python", "Python"),
        _sized("min_shm", "The shared memory (/dev/shm) has to be at least {value} large."),
        Key(
            name="min_images_per_second",
            convert=_number,
            schema={"type": "number", "minimum": 0},
            says="The stored benchmark result has to reach {value} images a second.",
            shown=lambda value: f"{value:g}",
        ),
        Key(
            name="benchmark",
            convert=_text,
            schema=_TEXT_SCHEMA,
            says="The benchmark result is {value} (gpudoctor bench -o json=FILE).",
        ),
        Key(
            name="benchmark_mode",
            convert=_choice(*MODES),
            schema={"enum": list(MODES)},
            says="Of the benchmark result the mode {value} counts.",
        ),
    )
}

# What lists and tables are made of is checked in read.py, since it needs the names of the rules.
_UNTIL: dict[str, Any] = {"type": "string", "format": "date", "description": "TOML date: the last day it is ignored"}
_IGNORED: dict[str, Any] = {
    "type": "object",
    "properties": {"rule": _TEXT_SCHEMA, "until": _UNTIL, "reason": {"type": "string"}},
    "required": ["rule"],
    "additionalProperties": False,
}
LISTS: dict[str, dict[str, Any]] = {
    "select": {"type": "array", "items": _TEXT_SCHEMA},
    "ignore": {"type": "array", "items": {"anyOf": [_TEXT_SCHEMA, _IGNORED]}},
    "severity": {"type": "object", "additionalProperties": {"enum": ["note", "warning", "error"]}},
}
LIST_SAYS = {
    "select": "Rules or areas of rules to run; all others are left out.",
    "ignore": "Rules whose findings do not count: ids, or tables with rule, until (a date) and reason.",
    "severity": "A rule's id, and the severity that its findings are to have.",
}


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of gpudoctor.toml and of [tool.gpudoctor] in pyproject.toml, for editors."""
    properties = {
        name: {"description": key.says.replace("{value}", "the value"), **key.schema} for name, key in KEYS.items()
    }
    properties |= {name: {"description": LIST_SAYS[name], **schema} for name, schema in LISTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpudoctor policy",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
