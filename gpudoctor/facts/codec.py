"""Facts to JSON and back: strict, bounded, the same bytes for the same facts, and without what is nobody's business."""

from __future__ import annotations

import functools
import getpass
import os
import re
import socket
import typing
from collections.abc import Callable
from pathlib import Path
from types import GenericAlias

import msgspec
from msgspec import Struct

from gpudoctor.facts.model import Facts

SIZE_LIMIT_BYTES = 16 * 1024 * 1024
SCHEMA = 1

# A word is looked at once, as a whole: a line of words like these must not take the square of its length.
_SECRET = re.compile(
    r"""(?ix) (?<![-\w]) (?= [-\w]* (?: token | secret | password | passwd | api[-_]?key | auth | credential ) )
    (?= (?P<name> [-\w]+ ) ) (?P=name) (?P<gap> \s*[=:]\s* | \s+ ) (?P<value> "[^"]*" | '[^']*' | \S+ )"""
)
_URL_USER = re.compile(r"(?<!\w)(?P<scheme>\w+://)[^/\s@]+@")
_OTHER_HOME = re.compile(r"(?P<root>/home/|/Users/|\\Users\\)(?P<name>[^/\\\s:\"']+)")


class FactsFileError(Exception):
    """A facts file cannot be used; the text says what is wrong and where ($.gpus[0].name)."""


class Identity(Struct, frozen=True):
    """Names that are taken out of facts before they are saved."""

    home: str
    user: str
    host: str

    @classmethod
    def of_this_process(cls) -> Identity:
        """Return the names of the user and machine that run this process; empty where they cannot be told."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container without a passwd entry for this user
            user = ""
        return cls(home=os.environ.get("HOME", "") or str(Path("~").expanduser()), user=user, host=socket.gethostname())


def encode(facts: Facts, identity: Identity | None = None) -> bytes:
    """Return facts as JSON, redacted; the same facts give the same bytes."""
    clean = redact(facts, identity or Identity.of_this_process())
    raw = msgspec.json.encode(clean, order="deterministic")
    return msgspec.json.format(raw, indent=1) + b"\n"


def decode(raw: bytes) -> Facts:
    """Return the facts in a JSON text. Raises FactsFileError with the place of the first fault."""
    if len(raw) > SIZE_LIMIT_BYTES:
        raise FactsFileError(f"larger than {SIZE_LIMIT_BYTES // 2**20} MiB")
    try:
        facts = _decoder().decode(raw)
    except msgspec.ValidationError as exc:
        raise FactsFileError(_foreign_schema(raw) or str(exc)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as exc:
        raise FactsFileError(str(exc)) from None
    if facts.schema != SCHEMA:
        raise FactsFileError(f"schema {facts.schema}, but this gpudoctor reads schema {SCHEMA} - at `$.schema`")
    return facts


def read(path: Path) -> Facts:
    """Return the facts in a file. Raises FactsFileError."""
    try:
        with path.open("rb") as file:
            return decode(file.read(SIZE_LIMIT_BYTES + 1))
    except OSError as exc:
        raise FactsFileError(exc.strerror or str(exc)) from None


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a facts file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Facts)}


@functools.cache
def _decoder() -> msgspec.json.Decoder[Facts]:
    return msgspec.json.Decoder(Facts)


def _foreign_schema(raw: bytes) -> str | None:
    """Return a better reason where a file was written by a gpudoctor with another schema."""
    try:
        schema = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).get("schema")
        number = msgspec.json.decode(schema, type=int) if schema is not None else SCHEMA
    except (msgspec.DecodeError, RecursionError):
        return None
    if number == SCHEMA:
        return None
    return f"schema {number}, but this gpudoctor reads schema {SCHEMA} - at `$.schema`"


def redact(facts: Facts, identity: Identity) -> Facts:
    """Return the same facts without user, host and home names and without secrets in command lines.

    Which field needs what is said by its type (PathText, LogText, CommandLine, UserName); it is idempotent.
    """
    return typing.cast("Facts", _redacted(facts, Facts, _cleaners(identity)))


Cleaner = Callable[[str], str]


def _cleaners(identity: Identity) -> dict[str, Cleaner]:
    home = identity.home.rstrip("/")
    own_home = re.compile(re.escape(home) + r"(?![\w.-])") if len(home) > 1 else None
    host = re.compile(rf"(?<![\w.-]){re.escape(identity.host)}(?![\w-])") if len(identity.host) > 1 else None

    def path(text: str) -> str:
        text = own_home.sub("~", text) if own_home else text
        return _OTHER_HOME.sub(lambda match: match["root"] + "user", text)

    def log(text: str) -> str:
        text = path(text)
        return host.sub("host", text) if host and identity.host != "localhost" else text

    def command_line(text: str) -> str:
        text = _SECRET.sub(lambda match: f"{match['name']}{match['gap']}***", log(text))
        return _URL_USER.sub(lambda match: f"{match['scheme']}***@", text)

    def user(text: str) -> str:
        return text if text in ("me", "other") else "me" if text == identity.user else "other"

    return {"path": path, "log": log, "command-line": command_line, "user": user}


@functools.cache
def _field_types(kind: type) -> dict[str, object]:
    return typing.get_type_hints(kind, include_extras=True)


def _redacted(value: object, kind: object, cleaners: dict[str, Cleaner]) -> object:
    """Return value with every string whose declared type asks for it cleaned."""
    match value:
        case str():
            name = _redaction(kind)
            return encodable(cleaners[name](value) if name else value)
        case Struct():
            return _redacted_struct(value, kind, cleaners)
        case tuple():
            parts = [part for part in typing.get_args(_plain(kind, tuple)) if part is not Ellipsis]
            kinds = parts * len(value) if len(parts) == 1 else parts
            return tuple(_redacted(item, part, cleaners) for item, part in zip(value, kinds, strict=False))
        case dict():
            _, part = typing.get_args(_plain(kind, dict))
            return {encodable(key): _redacted(item, part, cleaners) for key, item in value.items()}
    return value


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: Python reads bytes of file names and variables that are none as surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _redacted_struct(value: Struct, kind: object, cleaners: dict[str, Cleaner]) -> Struct:
    types = _field_types(type(value))
    arguments = typing.get_args(_plain(kind, type(value)))
    declared_source = types.get("source")
    changes = {}
    for name in value.__struct_fields__:
        declared = types[name]
        if arguments and name == "value":
            declared = arguments[0]
        elif arguments and name == "also":
            declared = GenericAlias(tuple, (GenericAlias(tuple, (arguments[0], declared_source)), ...))
        old = getattr(value, name)
        new = _redacted(old, declared, cleaners)
        if new is not old and new != old:
            changes[name] = new
    return msgspec.structs.replace(value, **changes) if changes else value


def _redaction(kind: object) -> str | None:
    """Return what the declared type of a string asks for."""
    for part in (kind, *typing.get_args(kind)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.extra and "redact" in meta.extra:
                return str(meta.extra["redact"])
    return None


def _plain(kind: object, origin: type) -> object:
    """Return the part of a (possibly optional or annotated) declared type that is of this origin."""
    for part in (kind, *typing.get_args(kind)):
        if typing.get_origin(part) is origin:
            return part
    return kind
