"""A benchmark's results as JSON, schema 1."""

from __future__ import annotations

from gpudoctor.benchmark.results import BenchResult, encode


def render(result: BenchResult) -> str:
    """Return the results as JSON."""
    return encode(result)
