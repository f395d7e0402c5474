"""nccl-or-distributed-failure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "TF_CONFIG"
# The child hands on no longer values; a cut text proves nothing.
LONGEST = 4096
SHOW_NCCL = Remedy(
    summary="Let NCCL say what it tries, and look at the lines with WARN.",
    commands=("export NCCL_DEBUG=INFO",),
    applicability=Applicability.SAFE,
)
RESTART = Remedy(
    summary="Look into the log of the worker that is gone: its own error comes first. Then start all workers again, "
    "from a checkpoint.",
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    message="NCCL, which joins the GPUs, failed: {error}",
    variants={
        "worker": "a worker of the distributed training is gone, or did not answer in time",
        "cluster": "the workers of the cluster do not reach each other",
        "config": "TF_CONFIG is set and cannot be used: {why}; a distributed strategy fails at its start",
    },
)
def nccl_or_distributed_failure(self: Rule, facts: Facts) -> Iterator[Draft]:
    """NCCL, the network or the set-up of a cluster failed.

    Why it matters: a training on several GPUs or hosts stops, or never starts, though each GPU is well.
    How to fix: for NCCL set NCCL_DEBUG=INFO and see which transport fails; a container needs --ipc=host or a larger
    --shm-size. For a cluster: the same TF_CONFIG on all hosts but for the task, addresses and ports that are open.
    """
    nccl = events(facts, "nccl-error") + tuple(
        e for e in events(facts, "no-kernel-registered") if e.parameters.get("op", "").startswith("Nccl")
    )
    if nccl:
        error = nccl[0].parameters.get("error", "an unknown error")
        yield self.finding((*seen(nccl), "host.shm_bytes"), remedies=(SHOW_NCCL,), error=error)
    gone = events(facts, "collective-failed", "horovod-stalled")
    apart = events(facts, "cluster-not-formed", "mpi-failed")
    warned = () if nccl else events(facts, "nccl-warning")
    if warned:
        detail = warned[0].parameters.get("detail", "see its warnings")
        yield self.finding(seen(warned), confidence=Confidence.LIKELY, remedies=(SHOW_NCCL,), error=detail)
    if gone:
        yield self.finding(seen(gone), variant="worker", remedies=(RESTART,))
    elif apart:
        yield self.finding(seen(apart), variant="cluster", confidence=Confidence.LIKELY, remedies=(RESTART,))
    if nccl or gone or apart or warned:
        return
    config = facts.python.environment.require().get(VARIABLE)
    why = _fault(config) if config and len(config) < LONGEST else None
    if why is not None:
        yield self.finding((f"python.environment[{VARIABLE}]",), variant="config", severity=Severity.WARNING, why=why)


def _fault(config: str) -> str | None:
    """Return why a value of TF_CONFIG cannot be used; None if it can, or asks for no cluster."""
    try:
        content = msgspec.json.decode(config)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "it is not JSON"
    if not isinstance(content, dict):
        return "it is not a JSON object"
    cluster, task = content.get("cluster"), content.get("task")
    if not cluster:
        return None
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        return "it names a cluster and no task"
    workers, index = cluster.get(task.get("type")), task.get("index")
    if not isinstance(workers, list):
        return None if task.get("type") == "evaluator" else f"the cluster has no tasks of the type {task.get('type')}"
    if not isinstance(index, int):
        return "the task has no index"
    if not 0 <= index < len(workers):
        return f"the task has the index {index}, and there are {len(workers)} of its type"
    return None
