"""Each stage of a report by itself: run `python -m pytest bench/micro/test_stages.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from gpudoctor.compat import tables
from gpudoctor.engine import judge
from gpudoctor.facts.codec import Identity, decode, encode
from gpudoctor.facts.model import Facts
from gpudoctor.findings import Report, Source, SourceKind
from gpudoctor.logs.reader import read_log
from gpudoctor.report import formats
from gpudoctor.rules.registry import load_rules

ROOT = Path(__file__).parent.parent.parent
MACHINES = sorted((ROOT / "tests" / "facts_base").glob("*.json"))
SOURCE = Source(kind=SourceKind.FACTS)
NOBODY = Identity(home="/home/somebody", user="somebody", host="somewhere")
NOISE = b"Epoch 3/20: 127/782 [===>..................] - ETA: 12s - loss: 0.6931 - accuracy: 0.5023\n"
MESSAGE = (
    b"E0000 00:00:1731414896.4 1 cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: Failed call to "
    b"cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
)
LOG_BYTES = 8 << 20


def facts(name: str) -> Facts:
    return decode((ROOT / "tests" / "facts_base" / f"{name}.json").read_bytes())


def report(name: str) -> Report:
    return judge(facts(name), load_rules(), source=SOURCE)


def test_reading_facts(benchmark: BenchmarkFixture) -> None:
    raw = (ROOT / "tests" / "facts_base" / "laptop-940m.json").read_bytes()
    assert benchmark(decode, raw).gpus


def test_writing_facts(benchmark: BenchmarkFixture) -> None:
    assert benchmark(encode, facts("laptop-940m"), NOBODY)


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: str(path.stem))
def test_judging(benchmark: BenchmarkFixture, path: Path) -> None:
    seen = decode(path.read_bytes())
    assert benchmark(judge, seen, load_rules(), source=SOURCE).checks


@pytest.mark.parametrize("name", ["text", "json"])
def test_rendering(benchmark: BenchmarkFixture, name: str) -> None:
    assert benchmark(formats.render, report("laptop-940m"), name)


def test_naming_the_tables(benchmark: BenchmarkFixture) -> None:
    assert benchmark(tables)


def test_reading_a_long_log(benchmark: BenchmarkFixture) -> None:
    block = NOISE * 999 + MESSAGE
    pieces = [block] * (LOG_BYTES // len(block))
    assert benchmark(lambda: len(list(read_log(pieces)))) >= 1
