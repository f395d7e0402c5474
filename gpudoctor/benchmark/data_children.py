"""Start the programs that draw or check images in the target interpreter, and follow how far they are.

A child reports progress by letting a file grow by one byte for each image: it needs no pipe that someone must drain,
and several children can share the file.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpudoctor.benchmark.data_model import DataError, OnProgress, Progress
from gpudoctor.facts.host import ChildOutcome, ChildRun

if TYPE_CHECKING:
    from gpudoctor.facts.host import Host

START_SECONDS = 120.0
IMAGE_SECONDS = 0.2  # fifty times what an image takes: a child that needs longer hangs
POLL_SECONDS = 0.1
# What a program imports, and what is then missing: where there is no NumPy there is no Pillow either, most likely.
PACKAGES = {
    "numpy": ("NumPy and Pillow", "numpy pillow"),
    "PIL": ("Pillow", "pillow"),
    "tensorflow": ("TensorFlow", "tensorflow"),
}


class Work(Struct, frozen=True, kw_only=True):
    """One program, started once per request, side by side.

    task: what it does, as in "drawing images". progress: the file that the children let grow. total: images in all.
    """

    program: str
    task: str
    python: str
    requests: tuple[Mapping[str, object], ...]
    environ: Mapping[str, str]
    progress: Path
    total: int


def usable_cores() -> int:
    """Return on how many cores this process may run."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def program_text(name: str) -> str:
    """Return the source of one of our workloads."""
    data = pkgutil.get_data("gpudoctor.workloads", f"{name}.py")
    if data is None:
        raise FileNotFoundError(f"the workload {name} is missing from this installation")
    return data.decode("utf-8")


def run_work(host: Host, work: Work, on_progress: OnProgress | None) -> list[dict[str, object]]:
    """Return the children's answers in the order of the requests. Raises DataError when one of them failed."""
    text = program_text(work.program)
    limit = START_SECONDS + IMAGE_SECONDS * work.total
    work.progress.touch()
    with ThreadPoolExecutor(len(work.requests)) as pool:
        running = [
            pool.submit(host.run_child, text, request, timeout=limit, python=work.python, environ=work.environ)
            for request in work.requests
        ]
        try:
            while wait(running, POLL_SECONDS).not_done:
                _tell(work, on_progress)
        except (
            BaseException
        ):  # the user interrupted us, or the callback raised: leaving the pool waits for the children
            host.stop()
            raise
    _tell(work, on_progress)
    return [_answer(work, future.result()) for future in running]


def _tell(work: Work, on_progress: OnProgress | None) -> None:
    if on_progress is not None:
        on_progress(Progress(work.task, min(work.progress.stat().st_size, work.total), work.total))


def _answer(work: Work, run: ChildRun) -> dict[str, object]:
    if run.outcome is ChildOutcome.OK and run.result is not None:
        return run.result
    missing = re.findall(r"^ModuleNotFoundError: No module named '(\w+)", run.log, re.MULTILINE)
    if missing and missing[-1] in PACKAGES:
        names, packages = PACKAGES[missing[-1]]
        raise DataError(
            f"{work.task} needs {names} in the Python that is measured; install with: "
            f"{shlex.quote(work.python)} -m pip install {packages}"
        )
    last = next((line.strip() for line in reversed(run.log.splitlines()) if line.strip()), "")
    if run.outcome is ChildOutcome.NOT_STARTED:
        raise DataError(f"{work.task} failed: {run.reason}")
    raise DataError(f"{work.task} failed: {work.python} {run.reason}" + (f" ({last})" if last else ""))


def quiet_environment(environ: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return the user's environment with one thread per library: the children themselves are what runs side by side."""
    return {**environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **more}


def split_evenly(total: int, at_least: int) -> int:
    """Return how many children are worth starting for this many images, `at_least` images for each."""
    return max(1, min(usable_cores(), total // at_least))


def sum_of(answers: Sequence[Mapping[str, object]], key: str) -> int:
    """Return the sum of a number over answers. Raises DataError where one of them lacks it."""
    values = [answer.get(key) for answer in answers]
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) != len(values):
        raise DataError(f"a child's answer lacks {key}")
    return sum(numbers)
