"""Pages for a terminal: nothing is lost, nothing is too wide, and it reads as rich would break it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from gpudoctor.report.clean import clean
from gpudoctor.report.page import Page, width_of, wrapped
from gpudoctor.report.parts import capital

words = st.lists(st.text("abc -./é漢", min_size=1, max_size=30), max_size=20).map(" ".join).map(clean)


@given(text=words, width=st.integers(8, 60))
def test_no_word_is_lost_and_no_line_too_wide(text: str, width: int) -> None:
    lines = [text[start:end] for start, end in wrapped(text, width)]
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width_of(line) <= width for line in lines)


@given(
    text=st.lists(st.text("abcdefg.,-", min_size=1, max_size=12), min_size=1, max_size=30).map(" ".join),
    width=st.integers(13, 60),
)
def test_lines_break_where_rich_breaks_them(text: str, width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    expected = [str(line).rstrip() for line in Text(text).wrap(console, width)]
    assert [text[start:end] for start, end in wrapped(text, width)] == expected


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("the driver is old", "The driver is old"),
        ("driver 470 is old", "Driver 470 is old"),
        ("cuDNN is missing", "cuDNN is missing"),
        ("libcuda.so.1, the library", "libcuda.so.1, the library"),
        ("nvidia-smi finds no libcuda", "nvidia-smi finds no libcuda"),
        ("tf-nightly 2.22 requires absl-py", "tf-nightly 2.22 requires absl-py"),
        ("pip finds none", "pip finds none"),
        ("conda's own", "conda's own"),
        ("", ""),
    ],
)
def test_names_keep_their_small_letters(message: str, shown: str) -> None:
    assert capital(message) == shown


def test_styles_end_with_the_line() -> None:
    page = Page(10, color=True)
    page.heading(("one two three", "bold red"), (" four", ""))
    assert page.text() == "\n\x1b[1;31mone two\x1b[0m\n\x1b[1;31mthree\x1b[0m four\n"


def test_without_colour() -> None:
    page = Page(10)
    page.heading(("one two three", "bold red"), (" four", ""))
    page.command("nvidia-smi --query-gpu=name")
    assert page.text() == "\none two\nthree four\n       nvidia-smi --query-gpu=name\n"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("é", 1), ("✓", 1), ("", 0)])
def test_columns(text: str, columns: int) -> None:
    assert width_of(text) == columns
