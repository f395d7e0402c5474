"""shared-memory-too-small."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.memory._state import gib
from gpudoctor.rules.registry import Draft, Rule, rule

LARGER = Remedy(
    summary="Give the container more shared memory; outside a container, mount /dev/shm larger.",
    commands=("docker run --shm-size=SIZE ...", "sudo mount -o remount,size=SIZE /dev/shm"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    asks="min_shm",
    message="shared memory (/dev/shm) is {have} large, and the policy asks for {need}",
)
def shared_memory_too_small(self: Rule, facts: Facts, asked: int) -> Iterator[Draft]:
    """The shared memory, /dev/shm, is smaller than the policy asks for.

    Why it matters: NCCL and worker processes of input pipelines pass data through it, and end with a bus error when it
    is full; Docker gives a container 64 MB unless told otherwise.
    How to fix: start the container with a larger --shm-size (Kubernetes: a volume of medium Memory at /dev/shm).
    """
    have = facts.host.shm_bytes.require()
    if have < asked:
        yield self.finding(("host.shm_bytes", "host.container"), remedies=(LARGER,), have=gib(have), need=gib(asked))
