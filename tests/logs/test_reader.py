"""The log reader: one pass over anything, however it is cut."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.facts.model import LogEvent
from gpudoctor.logs import reader
from gpudoctor.logs.messages import MESSAGES
from gpudoctor.logs.reader import BLOCK_BYTES, HITS_PER_LINE, LogReader, read_log, read_text
from gpudoctor.logs.seen import compiled
from gpudoctor.logs.text import TextReader
from tests.logs.test_messages import LINES

SMALL_BLOCK = 4096
known_lines = st.sampled_from([line.encode() for line, _, _ in LINES])
literals = st.sampled_from([literal.encode() for message in MESSAGES for literal in message.literals])
noise = st.binary(max_size=300) | st.sampled_from([b"\n", b"\r\n", b"\x1b[31m", b"\xff\xfe", b"x" * 3000, b"\r"])
texts = st.lists(known_lines | literals | noise, max_size=30).map(b"".join)


def cut(text: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(place % (len(text) + 1) for place in places)
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


@given(text=texts, places=st.lists(st.integers(min_value=0), max_size=8))
@settings(deadline=None)
def test_any_bytes_however_cut(text: bytes, places: list[int]) -> None:
    whole = list(read_log([text], "t"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "BLOCK_BYTES", SMALL_BLOCK)
        assert list(read_log(cut(text, places), "t")) == whole
    last = text.count(b"\n") + 1
    assert all(1 <= event.line <= last for event in whole)
    assert [event.line for event in whole] == sorted(event.line for event in whole)
    assert all(value.isprintable() for event in whole for value in event.parameters.values())


@given(text=texts)
@settings(deadline=None)
def test_both_ways_to_find_words_agree(text: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "MATCHER_FROM_BYTES", 10**9)
        one_by_one = list(read_log([text]))
        patch.setattr(reader, "MATCHER_FROM_BYTES", 0)
        assert list(read_log([text])) == one_by_one


def test_without_the_matcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    monkeypatch.setattr(reader, "MATCHER_FROM_BYTES", 0)
    reader._words.cache_clear()
    assert [e.message for e in read_text("Loaded cuDNN version 8100")] == ["loaded-cudnn"]
    reader._words.cache_clear()


@given(text=st.text())
def test_any_text(text: str) -> None:
    list(read_text(text))
    list(read_text(text + "\ud800 failed call to cuInit: UNKNOWN ERROR (303)"))


def test_lines_are_pieces_too() -> None:
    lines = [b"first\n", b"Loaded cuDNN version 8100\n", b"no end"]
    assert list(read_log(lines, "a")) == [
        LogEvent(message="loaded-cudnn", line=2, source="a", parameters={"version": "8100"})
    ]


def test_several_messages_on_one_line() -> None:
    glued = "1/10 [=>....] - ETA: 3s\rLoaded cuDNN version 8100\r2/10\rfailed call to cuInit: UNKNOWN ERROR (303)\n"
    assert [(e.message, e.line) for e in read_text(glued)] == [("loaded-cudnn", 1), ("cuinit-failed", 1)]


def test_words_belong_to_one_message() -> None:
    events = list(read_text("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no device. CUDA_ERROR_UNKNOWN"))
    assert [(e.message, e.parameters["error"]) for e in events] == [
        ("cuinit-failed", "CUDA_ERROR_NO_DEVICE"),
        ("cuda-error", "CUDA_ERROR_UNKNOWN"),
    ]


def test_message_after_a_line_of_megabytes() -> None:
    text = (
        b"x" * (10 * BLOCK_BYTES) + b" Loaded cuDNN version 8100 " + b"y" * BLOCK_BYTES + b"\nLoaded cuDNN version 7\n"
    )
    found = [(e.line, e.parameters["version"]) for e in read_log([text])]
    assert found == [(1, "8100"), (2, "7")]


def test_memory_is_bounded_by_a_block() -> None:
    log = LogReader()
    piece = b"CUDA_ERROR_" * 100_000
    for _ in range(20):
        for _ in log.feed(piece):
            pass
        assert len(log._buffer) < 2 * BLOCK_BYTES


def test_a_line_that_repeats_itself_tells_it_so_often() -> None:
    repeated = "CUDA_ERROR_UNKNOWN, " * 1000
    events = [e.message for e in read_text(f"{repeated} Cannot dlopen some GPU libraries\nCUDA_ERROR_UNKNOWN")]
    assert events == ["cuda-error"] * HITS_PER_LINE + ["cannot-dlopen", "cuda-error"]


def test_pattern_sees_a_window_not_the_line() -> None:
    far = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2GiB" + " " * 5000
    events = [e.message for e in read_text(far + "The caller indicates that this is not a failure")]
    assert events == ["out-of-memory"]


def test_parameters_are_clean() -> None:
    line = "Created device /device:GPU:0 with 1 MB memory:  -> device: 0, name: A\x1b[31m\u202eé"
    (event,) = read_text(f"{line}, pci bus id: 0000:01:00.0, compute capability: 8.6")
    assert event.parameters["gpu_name"] == "Aé"


# Each pattern that is compiled for nothing takes as long as to read twenty lines.
MOST_PATTERNS = 8


def test_lines_that_no_format_knows_are_left_out_by_words_not_by_patterns() -> None:
    lines = (
        "2024-03-01 10:00:11.000123: I app/worker_3.cc:41] request id=381 status=OK latency=12ms queue depth 3",
        "2022-10-10 10:00:00.000001: I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary is",
        "2022-10-10 10:00:00.000002: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load",
        "2022-10-10 10:00:00.000003: W tensorflow/core/common_runtime/gpu/gpu_device.cc:1850] Cannot dlopen some GPU",
        "Skipping registering GPU devices...",
    )
    compiled.cache_clear()
    TextReader().read(["\n".join(lines).encode()], "log.txt")
    assert compiled.cache_info().currsize <= MOST_PATTERNS
