"""The output formats by name. To add one: one file beside this, one line here."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.findings import Report

# Imported when asked for: rich alone takes longer than all else that a quick check does.
FORMATS = {
    name: f"gpudoctor.report.{name}" for name in ("text", "json", "junit", "sarif", "github", "markdown", "html")
}


def load(names: Iterable[str]) -> None:
    """Import renderers ahead of their use. Raises KeyError for an unknown name."""
    for name in names:
        importlib.import_module(FORMATS[name])


def render(report: Report, name: str) -> str:
    """Return the report in a format, plain and 80 columns wide. Raises KeyError for an unknown name."""
    text: str = importlib.import_module(FORMATS[name]).render(report)
    return text
