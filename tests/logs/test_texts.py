"""Whole texts: what leads, and that healthy ones stay silent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import engine
from gpudoctor.facts.from_text import facts_of_texts
from gpudoctor.facts.model import Known
from gpudoctor.facts.text_files import Part
from gpudoctor.findings import Outcome, Report, Role, Severity, Source, SourceKind, Verdict
from gpudoctor.rules.registry import load_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS: dict[str, dict[str, Any]] = {
    name: text
    for file in sorted(Path(__file__).parent.glob("texts*.toml"))
    for name, text in tomllib.loads(file.read_text("utf-8")).items()
}


def report_of(text: str | bytes) -> Report:
    raw = text.encode() if isinstance(text, str) else text
    facts = facts_of_texts([Part("log.txt", [raw])])
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.TEXT, names=("log.txt",)))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    return report


def lead_of(report: Report) -> str:
    loud = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [item.rule for item in loud if item.role is Role.ROOT_CAUSE]
    return roots[0] if roots else ""


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    report = report_of(TEXTS[name]["text"])
    assert lead_of(report) == TEXTS[name]["lead"]
    if not TEXTS[name]["lead"]:
        assert report.verdict is Verdict.OK


@pytest.mark.parametrize("name", TEXTS)
def test_dressed_text(name: str) -> None:
    """CRLF, colours, quotation and words before and after change nothing."""
    lines = TEXTS[name]["text"].splitlines()
    dressed = ["Привет, помогите!", *(f"> \x1b[33m{line}\x1b[0m" for line in lines), "谢谢"]
    assert lead_of(report_of("\r\n".join(dressed))) == TEXTS[name]["lead"]


# What engines, schedulers and terminals put before each line.
CARRIED = {
    "docker logs -t": "2024-05-06T07:08:09.123456789Z ",
    "kubectl logs": "2024-05-06T07:08:09.123456789Z stdout F ",
    "docker compose": "trainer-1  | ",
    "journal": "May 06 07:08:09 node7 train.sh[4123]: ",
    "mpirun": "[1,0]<stderr>:",
    "horovodrun": "[0]<stderr>:",
    "srun -l": "0: ",
    "logging": "2024-05-06 07:08:09,123 INFO ",
    "cat -n": "     7\t",
    "a margin": "            ",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_was_carried(name: str) -> None:
    """What stands before each line of a log that another tool has carried changes nothing."""
    for tool, prefix in CARRIED.items():
        text = "".join(f"{prefix}{line}\n" for line in TEXTS[name]["text"].strip("\n").splitlines())
        assert lead_of(report_of(text)) == TEXTS[name]["lead"], tool


# What a training shows where a line of its log begins: the bar ends without a line feed.
BARS = {
    "Keras 2, running": "  1/782 [..............................] - ETA: 41s",
    "Keras 2, with a metric": "  1/782 [..............................] - ETA: 41s - loss: 0.6931",
    "Keras 2, at its end": "782/782 [==============================] - 41s 52ms/step - loss: 0.6931 - acc: 0.5012",
    "Keras 3": "\x1b[1m  1/782\x1b[0m \x1b[37m" + "\u2501" * 20 + "\x1b[0m \x1b[1m41s\x1b[0m 52ms/step - loss: 0.6931",
    "tqdm": "  3%|\u258e         | 3/100 [00:01<00:40,  2.40it/s]",
}


@pytest.mark.parametrize("bar", BARS)
def test_text_behind_a_progress_bar(bar: str) -> None:
    """A bar that stands before the first line changes nothing, but where it tells of a training by itself."""
    for name, item in TEXTS.items():
        if "training" not in name and not name.startswith("said-"):
            assert lead_of(report_of(BARS[bar] + item["text"].lstrip("\n"))) == item["lead"], name


@pytest.mark.parametrize("width", [70, 80, 120])
def test_log_that_a_terminal_has_broken(width: int) -> None:
    """TensorFlow's long lines, broken at a terminal's width, are read as one; the numbers of lines stay."""
    log = (
        "2023-09-27 21:10:02.247000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load "
        "dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file"
    )
    again = log.replace("cudart", "cublas").replace("02.247000", "02.247111")
    pieces = [line[at : at + width] for line in (log, again) for at in range(0, len(log), width)]
    report = report_of("\n".join([*pieces, "Python 3.9.1"]))
    named = next(item for item in report.findings if item.rule == "cuda-libs-missing")
    assert "libcudart.so.11.0 and libcublas.so.11.0" in named.message
    python = report.facts.python.version
    assert isinstance(python, Known) and python.source == f"log.txt:{len(pieces) + 1}"


def test_text_with_lines_that_were_cut() -> None:
    """Half a line before the first and after the last one changes nothing."""
    for name, item in TEXTS.items():
        text = f"ow/core/some_file.cc:99] half of a line that was cut of\n{item['text'].lstrip()}2024-05-02 09:11:02.10"
        assert lead_of(report_of(text)) == item["lead"], name


@pytest.mark.parametrize("line", ["failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
                                  "cudaGetDeviceCount returned 100"])  # fmt: skip
def test_a_gpu_that_is_left_out_without_a_reason_is_no_health(line: str) -> None:
    report = report_of(f"{line}\n")
    assert report.verdict is Verdict.UNKNOWN
    assert lead_of(report) == ""


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "CUDA_ERROR_NO_DEVICE"),
        ("failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("Failed to initialize NVML: Timeout", "Timeout"),
    ],
)
def test_a_failure_that_nothing_explains_is_never_well(text: str, failure: str) -> None:
    report = report_of(f"{text}\n")
    assert report.verdict in (Verdict.UNKNOWN, Verdict.ERRORS)
    if report.verdict is Verdict.UNKNOWN:
        assert failure in report.summary


def test_a_text_that_tells_nothing() -> None:
    report = report_of("Dear all,\nthe coffee machine is broken.\n")
    assert report.verdict is Verdict.UNKNOWN
    assert report.findings == ()
    assert "nvidia-smi" in report.remedies[0].commands[0]
