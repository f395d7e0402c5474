"""The kernel's log: what it tells of the GPU, and that no kind of file blocks."""

from __future__ import annotations

import os
from pathlib import Path

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Known, Unknown
from gpudoctor.facts.probes import kernel_log

LOG = (
    "6,1201,5140900,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01\n"
    "3,1301,9140900,-;NVRM: Xid (PCI:0000:19:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    " SUBSYSTEM=pci\n"
)


def log(root: Path, text: str) -> Host:
    (root / "dev").mkdir()
    (root / "dev" / "kmsg").write_text(text)
    return Host(root, {})


def test_an_xid_is_found_with_number_and_address(tmp_path: Path) -> None:
    fact = kernel_log.probe(log(tmp_path, LOG))
    assert isinstance(fact, Known)
    xids = [event for event in fact.value if event.message == "xid"]
    assert [event.parameters["xid"] for event in xids] == ["79"]
    assert "0000:19:00" in xids[0].parameters["pci"]
    assert {event.source for event in fact.value} == {"the kernel's log"}


def test_a_log_without_a_fault_tells_nothing(tmp_path: Path) -> None:
    assert kernel_log.probe(log(tmp_path, LOG.splitlines()[0])) == Known((), "the kernel's log")


def test_a_log_that_cannot_be_read_is_unknown_and_does_not_block(tmp_path: Path) -> None:
    assert isinstance(kernel_log.probe(Host(tmp_path, {})), Unknown)
    (tmp_path / "dev").mkdir()
    os.mkfifo(tmp_path / "dev" / "kmsg")
    assert isinstance(kernel_log.probe(Host(tmp_path, {})), Unknown)
