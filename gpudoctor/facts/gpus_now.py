"""Reads the GPUs and what is on them, again and again: what changes from one second to the next, and nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from gpudoctor.facts.host import Host
from gpudoctor.facts.merge import merge_drivers, merge_gpus
from gpudoctor.facts.model import DriverFacts, Facts, HostFacts
from gpudoctor.facts.probes import host_files, libcuda, nvml
from gpudoctor.facts.probes.driver_answers import DriverAnswers


class GpuReader:
    """Reads a machine's GPUs. What CUDA sees and what the host is does not change: it is read once."""

    def __init__(self, host: Host, driver_seconds: float) -> None:
        self.host = host
        self.driver_seconds = driver_seconds
        self._cuda: DriverAnswers | None = None
        self._host_facts: HostFacts | None = None

    def read(self) -> Facts:
        """Return the facts of the GPUs, the driver and the host; all else is not read. Never raises."""
        if self._cuda is None or self._host_facts is None:
            self._host_facts = host_files.probe(self.host)
            self._cuda = libcuda.probe(self.host, self.driver_seconds)
        answers = nvml.probe(self.host, self.driver_seconds)
        driver = merge_drivers(DriverFacts(), answers.driver, self._cuda.driver)
        gpus = merge_gpus(answers.gpus, self._cuda.gpus, self._host_facts.pci_gpus.get() or (), driver)
        return replace(Facts(), host=self._host_facts, driver=driver, gpus=tuple(gpus))
