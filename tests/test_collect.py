"""All probes side by side: none stops another, and an interruption keeps what was read."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from gpudoctor.facts.collect import INTERRUPTED, NOT_STARTED, collect
from gpudoctor.facts.host import ChildOutcome, ChildRun, Host
from gpudoctor.facts.model import Api, Known, RunOutcome, Unknown
from gpudoctor.facts.probes import libcuda, nvml

SCAN = "sys/bus/pci/devices/0000:01:00.0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder that looks like / of a machine with an RTX 4090 and no driver."""
    (tmp_path / SCAN).mkdir(parents=True)
    for name, text in (("vendor", "0x10de"), ("class", "0x030000"), ("device", "0x2684")):
        (tmp_path / SCAN / name).write_text(text + "\n")
    return tmp_path


class Dying(Host):
    """A host whose children all end in the same way."""

    def __init__(self, root: Path, run: ChildRun) -> None:
        super().__init__(root, {})
        self.ended = run

    def run_child(self, *_: object, **__: object) -> ChildRun:
        return self.ended


@pytest.mark.parametrize("outcome", ChildOutcome)
def test_files_are_read_however_the_children_end(root: Path, outcome: ChildOutcome) -> None:
    run = ChildRun(outcome=outcome, reason="ended so", exit_code=1, signal_name="SIGABRT")
    facts = collect(Dying(root, run)).facts
    assert [device.device_id for device in facts.host.pci_gpus.require()] == ["2684"]
    assert [gpu.pci_id.get() for gpu in facts.gpus] == ["2684"]
    for fact in (facts.driver.version, facts.tensorflow.version, facts.python.version):
        assert isinstance(fact, Unknown) and fact.reason
    for answer in (facts.driver.nvml.get(), facts.driver.cuda_init.get()):
        assert answer is None or answer.outcome is not Api.OK
    started = facts.tensorflow.run.get()
    assert started is None or started.outcome is not RunOutcome.OK


def test_quick_says_that_tensorflow_was_not_started(root: Path) -> None:
    facts = collect(Dying(root, ChildRun(outcome=ChildOutcome.EXITED)), start_tensorflow=False).facts
    tensorflow = facts.tensorflow
    for fact in (tensorflow.run, tensorflow.devices, tensorflow.computations, tensorflow.events):
        assert fact == NOT_STARTED


def test_probes_run_side_by_side_and_are_told_of(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met = threading.Barrier(2, timeout=30)
    of_nvml, of_libcuda = nvml.probe, libcuda.probe
    monkeypatch.setattr(nvml, "probe", lambda *a, **k: (met.wait(), of_nvml(*a, **k))[1])
    monkeypatch.setattr(libcuda, "probe", lambda *a: (met.wait(), of_libcuda(*a))[1])
    seen: list[tuple[str, ...]] = []
    host = Dying(root, ChildRun(outcome=ChildOutcome.EXITED))
    collect(host, start_tensorflow=False, progress=seen.append)
    assert seen[-1] == ()
    assert set().union(*seen) <= {"Python environment", "NVML", "CUDA driver", "host"}


def test_a_probe_that_raises_is_a_fault_of_ours_and_not_hidden(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(nvml, "probe", broken)
    with pytest.raises(ZeroDivisionError, match="ours"):
        collect(Dying(root, ChildRun(outcome=ChildOutcome.EXITED)), start_tensorflow=False)


def test_an_interruption_keeps_what_was_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    host = Dying(root, ChildRun(outcome=ChildOutcome.EXITED, reason="ended"))
    monkeypatch.setattr(host, "stop", stopped.set)
    hang = nvml.probe
    monkeypatch.setattr(nvml, "probe", lambda *a, **k: (stopped.wait(30), hang(*a, **k))[1])

    def impatient(running: tuple[str, ...]) -> None:
        if running == ("NVML",):
            raise KeyboardInterrupt

    collected = collect(host, start_tensorflow=False, progress=impatient)
    assert collected.interrupted and stopped.is_set()
    assert isinstance(collected.facts.host.pci_gpus, Known)
    assert collected.facts.driver.nvml == INTERRUPTED


def test_an_interruption_ends_real_children() -> None:
    host = Host(environ={})
    began = time.monotonic()

    def impatient(_: tuple[str, ...]) -> None:
        raise KeyboardInterrupt

    collected = collect(host, progress=impatient)
    assert collected.interrupted
    assert time.monotonic() - began < 60  # not the two minutes that TensorFlow may take
    assert collected.facts.tensorflow.run == INTERRUPTED
    assert not host._children.running
