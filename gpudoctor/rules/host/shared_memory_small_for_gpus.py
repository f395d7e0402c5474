"""shared-memory-small-for-gpus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.registry import Draft, Rule, rule

MIB = 1 << 20
# What Docker gives unless told otherwise.
SMALL_BYTES = 64 * MIB
LARGER = Remedy(
    summary="Start the container with more shared memory, or with that of its host.",
    commands=("docker run --gpus all --shm-size=8g IMAGE COMMAND",),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.WARNING,
    breaks=Capability.SPEED,
    message="this container has {have} MiB of shared memory for {gpus} GPUs: NCCL and the workers of input pipelines "
    "need more",
)
def shared_memory_small_for_gpus(self: Rule, facts: Facts) -> Iterator[Draft]:
    """A container with several GPUs has the small shared memory that Docker gives by default.

    Why it matters: NCCL exchanges gradients between GPUs through /dev/shm where it cannot do so directly, and worker
    processes pass batches through it; when it is full, programs end with a bus error.
    How to fix: start the container with --shm-size=8g or --ipc=host (Kubernetes: a volume of medium Memory).
    """
    facts.host.container.require()
    have = facts.host.shm_bytes.require()
    gpus = sum(1 for gpu in facts.gpus if gpu.visible.get() is not False)
    if gpus > 1 and have <= SMALL_BYTES:
        yield self.finding(
            ("host.container", "host.shm_bytes"),
            confidence=Confidence.LIKELY,
            remedies=(LARGER,),
            have=have // MIB,
            gpus=gpus,
        )
