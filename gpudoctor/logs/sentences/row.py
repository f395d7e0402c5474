"""The form of a row about sentences."""

from __future__ import annotations

from typing import TypeAlias

Row: TypeAlias = tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...], str]
"""Event: name of the row in gpudoctor.logs.rows.said, which tells what it means.

Words: groups of parts of words in small letters, of each of which one stands on the line. Ways: patterns, of which one
fits. Unless: a pattern of what makes it mean something else, or empty.
"""
