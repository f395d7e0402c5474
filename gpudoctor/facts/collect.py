"""Reads the machine: all probes side by side, each bounded, none able to stop another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts.host import Host
from gpudoctor.facts.merge import merge_drivers, merge_gpus
from gpudoctor.facts.model import (
    Absent,
    CondaPackage,
    DriverFacts,
    Fact,
    Facts,
    HostFacts,
    Known,
    LibraryFacts,
    PythonFacts,
    TensorFlowFacts,
    Unknown,
)
from gpudoctor.facts.probes import conda, driver_files, host_files, libcuda, nvml
from gpudoctor.facts.probes.driver_answers import DriverAnswers
from gpudoctor.facts.probes.libraries import read_libraries
from gpudoctor.facts.probes.libraries_stdcxx import read_stdcxx
from gpudoctor.facts.probes.python_environment import PythonAnswer, read_python
from gpudoctor.facts.probes.target import Target, choose_target
from gpudoctor.facts.probes.tensorflow_run import join, run_tensorflow

DRIVER_SECONDS = 10.0
TENSORFLOW_SECONDS = 120.0
INTERRUPTED = Unknown("gpudoctor was interrupted before this was read")
NOT_STARTED = Unknown("TensorFlow was not started (--quick)")
NOT_ASKED = Unknown("conda was not asked (--quick)")

# Called with the names of the probes that still run, each time one ends and about ten times a second.
Progress = Callable[[tuple[str, ...]], None]


class Collected(Struct, frozen=True, kw_only=True):
    """Facts, and whether the user interrupted us before all were read."""

    facts: Facts
    interrupted: bool = False


def collect(
    host: Host,
    *,
    python: str | None = None,
    start_tensorflow: bool = True,
    driver_seconds: float = DRIVER_SECONDS,
    tensorflow_seconds: float = TENSORFLOW_SECONDS,
    progress: Progress | None = None,
) -> Collected:
    """Return the facts of a machine. python: the interpreter to judge, chosen from the environment if None."""
    target = choose_target(host, python)
    jobs: dict[str, Callable[[], object]] = {
        "Python environment": lambda: _python(host, target),
        "NVML": lambda: nvml.probe(host, driver_seconds, thorough=start_tensorflow),
        "CUDA driver": lambda: libcuda.probe(host, driver_seconds),
        "host": lambda: (host_files.probe(host), driver_files.probe(host)),
    }
    if start_tensorflow:
        # First, since it takes longest.
        jobs = {
            "TensorFlow": lambda: run_tensorflow(host, target, tensorflow_seconds),
            **jobs,
            "conda": lambda: conda.virtual_packages(host, target),
        }
    results, interrupted = _side_by_side(host, jobs, progress or (lambda _: None))
    return Collected(facts=_assemble(results, start_tensorflow), interrupted=interrupted)


def _python(host: Host, target: Target) -> tuple[PythonAnswer, LibraryFacts]:
    """Read the environment, then the libraries: where they are looked for depends on it."""
    answer = read_python(host, target)
    libraries = read_libraries(host, answer.python, answer.tensorflow)
    return PythonAnswer(*read_stdcxx(host, answer.python, answer.tensorflow)), libraries


def _side_by_side(
    host: Host, jobs: dict[str, Callable[[], object]], progress: Progress
) -> tuple[dict[str, object], bool]:
    """Run the jobs in threads (they wait for children); what is not done when the user interrupts is left out."""
    results: dict[str, object] = {}
    failures: list[BaseException] = []
    lock, stopped = threading.Lock(), threading.Event()

    def work(name: str, job: Callable[[], object]) -> None:
        try:
            result = job()
        except BaseException as exc:  # noqa: BLE001 (a probe that raises is a fault of ours: it is raised below)
            failures.append(exc)
            return
        with lock:
            if not stopped.is_set():
                results[name] = result

    threads = {name: threading.Thread(target=work, args=(name, job), name=name) for name, job in jobs.items()}
    try:
        for thread in threads.values():
            thread.start()
        while running := tuple(name for name, thread in threads.items() if thread.is_alive()):
            progress(running)
            threads[running[-1]].join(0.1)
        progress(())
    except KeyboardInterrupt:
        with lock:
            stopped.set()
        host.stop()
        deadline = time.monotonic() + 2
        for thread in threads.values():
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return results, True
    if failures:
        raise failures[0]
    return results, False


def _assemble(results: dict[str, object], start_tensorflow: bool) -> Facts:
    host, files = HostFacts(), DriverFacts()
    match results.get("host"):
        case (HostFacts() as host, DriverFacts() as files):
            pass
    asked = {name: results.get(name) for name in ("NVML", "CUDA driver")}
    answers = {
        name: answer
        if isinstance(answer, DriverAnswers)
        else DriverAnswers(DriverFacts(nvml=INTERRUPTED, cuda_init=INTERRUPTED))
        for name, answer in asked.items()
    }
    from_nvml, from_cuda = answers["NVML"], answers["CUDA driver"]
    driver = merge_drivers(files, from_nvml.driver, from_cuda.driver)
    python, tensorflow, libraries = PythonFacts(), TensorFlowFacts(version=INTERRUPTED), LibraryFacts(found=INTERRUPTED)
    match results.get("Python environment"):
        case (PythonAnswer(python=python, tensorflow=tensorflow), LibraryFacts() as libraries):
            pass
    python = replace(python, conda_virtual_packages=_virtual_packages(results, python, start_tensorflow))
    started = results.get("TensorFlow")
    if isinstance(started, TensorFlowFacts):
        tensorflow = join(tensorflow, started)
    else:
        reason = INTERRUPTED if start_tensorflow else NOT_STARTED
        tensorflow = replace(tensorflow, run=reason, devices=reason, computations=reason, events=reason)
    return Facts(
        host=host,
        driver=driver,
        gpus=tuple(merge_gpus(from_nvml.gpus, from_cuda.gpus, host.pci_gpus.get() or (), driver)),
        libraries=libraries,
        python=python,
        tensorflow=tensorflow,
    )


def _virtual_packages(results: dict[str, object], python: PythonFacts, asked: bool) -> Fact[tuple[CondaPackage, ...]]:
    told = results.get("conda")
    if isinstance(told, Known | Absent | Unknown):
        return told
    if isinstance(python.conda_packages, Absent):
        return python.conda_packages
    return INTERRUPTED if asked else NOT_ASKED
