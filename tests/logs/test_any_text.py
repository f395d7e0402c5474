"""Whatever the bytes are: no crash, no control character passed through, bounded work."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.facts import codec
from gpudoctor.facts.from_text import facts_of_texts
from gpudoctor.facts.model import Facts, Known
from gpudoctor.facts.text_files import Part, parts_of
from gpudoctor.logs import text as text_module
from gpudoctor.logs.marked import marked_lines
from gpudoctor.logs.seen import VALUES, Told, plain_address
from gpudoctor.logs.text import FIRST_EVENTS, LAST_EVENTS
from gpudoctor.report import formats
from tests.logs.test_texts import TEXTS, report_of
from tests.rule_case import facts_of

lines = st.sampled_from([line for entry in TEXTS.values() for line in entry["text"].splitlines()])
mangled = st.builds(
    lambda line, cut, noise: (line[:cut] + noise).encode("utf-8", "replace"),
    lines,
    st.integers(0, 200),
    st.text(max_size=6),
)
oddities = st.sampled_from([b"\x1b[31m", b"\r", b"\x08" * 30, b"| 1 ", b"\x00", b"\xff\xfe"])
pieces = st.lists(lines.map(str.encode) | mangled | st.binary(max_size=40) | oddities, max_size=25)


def read(raw: bytes, name: str = "log.txt") -> Facts:
    return facts_of_texts(parts_of(io.BytesIO(raw), name))


def strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list() | tuple():
            return [text for item in value for text in strings(item)]
        case dict():
            return [text for pair in value.items() for text in strings(list(pair))]
    return []


@given(parts=pieces)
@settings(deadline=None, max_examples=150)
def test_any_mixture_gives_facts_that_can_be_saved_and_judged(parts: list[bytes]) -> None:
    raw = b"\n".join(parts)
    facts = read(raw)
    assert codec.decode(codec.encode(facts)) is not None
    report = report_of(raw)
    for finding in report.findings:
        shown = [finding.message, *(item.value for item in finding.evidence)]
        assert all(not any(ord(sign) < 32 or ord(sign) == 127 for sign in text) for text in shown), shown
    assert all("\x1b" not in text for text in strings(msgspec.to_builtins(facts)))


@given(raw=st.binary(max_size=400))
@settings(deadline=None)
def test_any_bytes_as_a_file(raw: bytes) -> None:
    read(raw)
    read(b"{" + raw + b'"cells" "nbformat"')
    for line in marked_lines([raw]):
        assert "\x1b" not in line


def test_deeply_nested_json_is_text() -> None:
    deep = b'{"cells": ' + b"[" * 200_000 + b', "nbformat": 4} Loaded cuDNN version 8100'
    events = read(deep).tensorflow.events.get() or ()
    assert [event.message for event in events] == ["loaded-cudnn"]


def test_a_line_of_megabytes() -> None:
    line = b"7/9 [====>....] - ETA: 3s\r" * 400_000 + b"failed call to cuInit: UNKNOWN ERROR (303)\n"
    facts = read(line + b"Python 3.9.1\n")
    assert facts.python.version.get() == "3.9.1"
    assert any(event.message == "cuinit-failed" for event in facts.tensorflow.events.get() or ())


def test_what_repeats_is_kept_from_both_ends() -> None:
    text = b"".join(b"CUDA_ERROR_LAUNCH_TIMEOUT %d\n" % number for number in range(10_000))
    events = read(text).tensorflow.events.get() or ()
    assert len(events) == FIRST_EVENTS + LAST_EVENTS
    assert (events[0].line, events[-1].line) == (1, 10_000)


def test_beginning_end_and_openers_of_a_large_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "SMALL_BYTES", 1000)
    monkeypatch.setattr(text_module, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(text_module, "END_BYTES", 1000)
    filler = b"nothing of interest here, line after line\n" * 2000
    table = TEXTS["healthy-table-in-use"]["text"].encode()
    facts = read(b"Python 3.8.10\n" + filler + table + filler + b"glibc\nldd (Ubuntu GLIBC 2.31-0ubuntu9) 2.31\n")
    assert facts.python.version.get() == "3.8.10"
    assert facts.driver.version.get() == "550.54.15"
    assert facts.host.libc.get() == "glibc 2.31"
    assert isinstance(facts.gpus[0].name, Known) and facts.gpus[0].name.source == "log.txt:2007"


def test_two_attempts_keep_both_values() -> None:
    facts = read(b"Python 3.8.10\n...\nPython 3.12.1\n")
    assert facts.python.version == Known("3.12.1", "log.txt:3", (("3.8.10", "log.txt:1"),))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"])
def test_encodings(encoding: str) -> None:
    text = TEXTS["smi-no-communication-only"]["text"].replace("\n", "\r\n") * 3
    facts = read(text.encode(encoding))
    assert [event.line for event in facts.tensorflow.events.get() or ()] == [1, 2, 3]


def test_notebook() -> None:
    def cell(source: object, **output: object) -> dict[str, object]:
        return {"cell_type": "code", "source": source, "outputs": [{"output_type": "any", **output}]}

    listed = "GPU 0: Tesla T4 (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)\n"
    cells = [
        {"cell_type": "markdown", "source": "# CUDA_ERROR_UNKNOWN"},
        cell(["import tensorflow as tf\n", "tf.__version__"], data={"text/plain": ["'2.9.1'"]}),
        cell("!nvidia-smi -L", text=[listed]),
        cell("fit()", traceback=["\x1b[0;31mModuleNotFoundError\x1b[0m: No module named 'tensorflow_hub'"]),
    ]
    facts = read(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode(), "a.ipynb")
    assert facts.tensorflow.version.get() == "2.9.1"
    assert facts.gpus[0].name == Known("Tesla T4", "a.ipynb, cell 3:2")
    assert [event.message for event in facts.tensorflow.events.get() or ()] == ["no-module"]


def test_own_files_fill_what_a_text_leaves_open() -> None:
    saved = codec.encode(facts_of("desktop-rtx4090"))
    report = b'{"schema": 1, "facts": ' + saved + b"}"
    for own in (saved, report):
        parts = [*parts_of(io.BytesIO(b"Python 3.7.1\n"), "log.txt"), *parts_of(io.BytesIO(own), "facts.json")]
        facts = facts_of_texts(parts)
        assert facts.python.version.get() == "3.7.1"
        assert facts.gpus[0].name.get() == "NVIDIA GeForce RTX 4090"


def test_nothing_is_absent_that_a_text_does_not_mention() -> None:
    facts = facts_of_texts([Part("log.txt", [b"hello\n"])])
    for name in ("host", "driver", "libraries", "python", "tensorflow", "training"):
        group = getattr(facts, name)
        assert {getattr(group, field).reason for field in group.__struct_fields__} == {"not in the text"}


def test_values_of_one_fact_are_bounded() -> None:
    told = Told()
    for number in range(100):
        told.add(number, f"log.txt:{number}")
    fact = told.fact()
    assert isinstance(fact, Known)
    assert (fact.value, len(fact.also), fact.also[0][0]) == (99, VALUES - 1, 0)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("00000000:0A:00.0", "0000:0a:00.0"),
        ("0000:01:00.0", "0000:01:00.0"),
        ("01:00.0", "0000:01:00.0"),
        ("0000:dc:00", "0000:dc:00.0"),
    ],
)
def test_addresses(text: str, plain: str) -> None:
    assert plain_address(text) == plain


def test_versions_of_newest_drivers_are_told_by_other_words() -> None:
    text = b"==============NVSMI LOG==============\nKMD Version    : 610.43.02\nCUDA UMD Version   : 13.3\n"
    driver = facts_of_texts([Part("log.txt", [text])]).driver
    assert (driver.version.get(), driver.cuda_version.get()) == ("610.43.02", "13.3")


# What a page, a summary or a workflow might take for its own.
MARKUP = (
    "<script>x()</script>",
    "<img src=x>",
    "::error::x",
    "##[error]x",
    "[x](http://x)",
    "\x1b]8;;http://x\x07",
    "\u202e",
)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLACES = (
    "Could not load dynamic library 'libcudnn.so.8{0}'; dlerror: libcudnn.so.8: cannot open{0}",
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 1 MB memory:  -> device: 0, name: A{0}, "
    "pci bus id: 0000:01:00.0, compute capability: 8.6",
    "GPU 0: Tesla {0} (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)",
    "ModuleNotFoundError: No module named '{0}'",
    "tensorflow 2.11.0 requires {0}, but you have {0} 1.0 which is incompatible.",
    "export LD_LIBRARY_PATH=/opt/{0}/lib",
    "{0}: undefined symbol: {0}, version libcudart.so.11.0",
)


class Tags(HTMLParser):
    """Collects the names of a page's elements, and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        self.found |= {tag, *(name for name, _ in attrs)}


@given(markup=st.lists(st.sampled_from(MARKUP), min_size=len(PLACES), max_size=len(PLACES)), more=pieces)
@settings(deadline=None, max_examples=40)
def test_no_format_takes_a_text_for_its_own(markup: list[str], more: list[bytes]) -> None:
    lines = [place.format(word).encode() for place, word in zip(PLACES, markup, strict=True)]
    report = report_of(b"\n".join([*lines, *more]))
    shown = {name: formats.render(report, name) for name in formats.FORMATS}
    for name in ("text", "github", "markdown", "html", "junit"):
        assert not CONTROL.findall(shown[name]), name
    for name in ("json", "sarif"):
        assert json.loads(shown[name])
    tags = Tags()
    tags.feed(shown["html"])
    assert not tags.found & {"script", "img", "src", "href", "onerror"}
    *annotations, last = shown["github"].splitlines()
    assert all(re.match(r"::(?:error|warning|notice) title=gpudoctor [\w-]+::", line) for line in annotations)
    assert all(line.count("::") == 2 and "##[" not in line for line in annotations) and "::" not in last
    outside = re.sub(r"(?ms)^   (`{3,})sh$.*?^   \1$", "", shown["markdown"])
    assert not re.search(r"<(?:script|img)|(?<!\\)\]\(http", outside)


@pytest.mark.parametrize("number", ["\u00b2", "\u0663", "9" * 3000, "-1", "1e999", "NaN", "0x10", "\u2460"])
@pytest.mark.parametrize(
    "text",
    [
        "export CUDA_VISIBLE_DEVICES={0}\nno CUDA-capable device is detected\nCUDA_ERROR_NO_DEVICE",
        "index, name, driver_version, memory.total [MiB], utilization.gpu [%]\n{0}, Tesla T4, 470.{0}, {0} MiB, {0} %",
        "# gpu   pwr gtemp mtemp    sm   mem\n# Idx     W     C     C     %     %\n"
        "    {0}    {0}    {0}     -    {0}     {0}",
        "|   {0}  NVIDIA A  Off  | 00000000:01:00.0 Off |   {0} |\n"
        "| {0}%  41C  P8  12W / 17W |  {0}MiB / {0}MiB |  {0}%  Default |",
        "tensorflow=={0}\nkeras=={0}\nPython {0}\nCuda compilation tools, release {0}, V{0}",
        "NVRM: Xid (PCI:0000:01:00): {0}, pid={0}, {0}",
        "Total params: {0}\nLoaded cuDNN version {0}\n{0}/{0} [====] - {0}s {0}ms/step",
        "Loaded runtime CuDNN library: {0} but source was compiled with: {0}.",
    ],
)
def test_what_is_no_number_or_too_long_for_one(text: str, number: str) -> None:
    report_of(text.format(number))
