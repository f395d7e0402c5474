"""Lines that were broken behind a margin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.logs.margins import without_margins
from tests.logs.test_texts import lead_of, report_of


def test_a_margin_that_goes_on_is_joined() -> None:
    text = b"Loaded runtime CuDNN library: 7.3.1 but source was\n    compiled with: 7.4.2.\nnext"
    joined = b"Loaded runtime CuDNN library: 7.3.1 but source was compiled with: 7.4.2.\n\nnext"
    assert without_margins(text) == joined


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_broken_message_is_read(end: str) -> None:
    lines = ["Loaded runtime CuDNN library: 7.3.1 but source was", "    compiled with: 7.4.2.  CuDNN library major and"]
    assert lead_of(report_of(end.join(lines))) == "cudnn-too-old"


@pytest.mark.parametrize(
    "text",
    [
        b"one\ntwo\nthree",
        b"for item in a_list_of_things_that_is_long:\n    use(item)",
        b"a sentence that ends here, with a full stop.\n   another begins",
        b"a line that is long enough to be broken\nand goes on without a margin",
    ],
)
def test_whole_lines_stay(text: bytes) -> None:
    assert without_margins(text) == b""


@given(st.lists(st.text(alphabet=" ab.|\u00e9", max_size=90), max_size=12))
def test_numbers_of_lines_stay(lines: list[str]) -> None:
    text = "\n".join(lines).encode()
    found = without_margins(text)
    assert not found or found.count(b"\n") == text.count(b"\n")
