"""A hypothesis strategy for any Facts value, built from the declared types, so that a new field is covered at once."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace

from gpudoctor.facts.model import Facts, Gpu, Group
from tests.rule_case import base_names, facts_of

T = TypeVar("T", bound=Group)

# Values that rules compare, beside texts that mean nothing: only so do the properties get past the first `if`.
TELLING = (
    *("", " ", "N/A", "linux", "windows", "macos", "x86_64", "aarch64", "arm64", "docker", "nouveau", "nvidia"),
    *("525.60.12", "525.60.13", "450.80.02", "470.57.02", "535.183.01", "12.10", "11.4", "12.5.1", "64_112", "1!2.0"),
    *("2.21.0", "2.11", "2.10.1", "1.15.0", "99.0", "2.22.0rc0", "0.0", "sm_60", "compute_90", "sm_90a", "5.0", "12.0"),
    *("GPU", "CPU", "GPU:0", "GPU:1", "CPU:0", "matmul", "importing", "computing on GPU:0", "done", "own", "venv"),
    *("glibc 2.17", "glibc", "musl 1.2.4", "0000:01:00.0", "2684", "1347", "NVIDIA GeForce RTX 4090", "Tesla T4"),
    *("CUDA_VISIBLE_DEVICES", "-1", "0,1", "tensorflow", "tensorflow-cpu", "tensorflow-metal", "/dev/nvidia0"),
    # What a terminal, a template, a markup or a path might trip over.
    *(
        "\x1b[31mred\x1b[0m",
        "a\tb\r\nc\n\n",
        "{have}",
        "%s %(x)s",
        "[bold]x[/bold]",
        "[/]",
        "\\",
        "\u202egnp.exe",
        "\x00",
    ),
    *("\udcff", "\ufeff", "e\u0301", "\u4e2d\u6587" * 40, "x" * 3000, "\U0001f600", "\x85", "\u2028"),
)
texts = st.one_of(st.sampled_from(TELLING), st.text(st.characters(), max_size=30))
integers = st.one_of(st.sampled_from((0, 1, 2, 9, 18, 34, 100, 803, 999)), st.integers(-(2**63), 2**64 - 1))


def of_type(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type, as msgspec describes it."""
    match kind:
        case inspect.Metadata():
            return of_type(kind.type)
        case inspect.StrType():
            return texts
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return integers
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.NoneType():
            return st.none()
        case inspect.EnumType():
            return st.sampled_from(list(kind.cls))
        case inspect.VarTupleType():
            return st.lists(of_type(kind.item_type), max_size=4).map(tuple)
        case inspect.TupleType():
            return st.tuples(*map(of_type, kind.item_types))
        case inspect.DictType():
            return st.dictionaries(of_type(kind.key_type), of_type(kind.value_type), max_size=4)
        case inspect.UnionType():
            return st.one_of(*map(of_type, kind.types))
        case inspect.StructType():
            fields = {field.name: of_type(field.type) for field in kind.fields}
            return st.builds(getattr(kind.cls, "__origin__", kind.cls), **fields)
    raise AssertionError(f"no strategy for {kind}: add one")


@functools.cache
def _fields(kind: type) -> dict[str, st.SearchStrategy[Any]]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return {field.name: of_type(field.type) for field in described.fields}


@st.composite
def changed(draw: st.DrawFn, group: T) -> T:
    """Return a group of facts of which some have any value."""
    fields = _fields(type(group))
    names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=6, unique=True))
    return replace(group, **{name: draw(fields[name]) for name in names})


@st.composite
def any_facts(draw: st.DrawFn) -> Facts:
    """Return a machine (or nothing known) of which any part may have any value."""
    base = _base(draw(st.sampled_from([None, *base_names()])))
    gpus = list(base.gpus) + [Gpu()] * draw(st.integers(0, 2))
    groups = ("host", "driver", "libraries", "python", "tensorflow", "training")
    return replace(
        base,
        gpus=tuple(draw(changed(gpu)) for gpu in gpus),
        **{name: draw(changed(getattr(base, name))) for name in groups},
    )


@functools.cache
def _base(name: str | None) -> Facts:
    return facts_of(name)
