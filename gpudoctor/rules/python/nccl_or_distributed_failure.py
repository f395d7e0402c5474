"""nccl-or-distributed-failure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.facts.model import Facts, LogEvent
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
FIRST = Remedy(
    summary="Set TF_CONFIG and make the strategy (tf.distribute.MultiWorkerMirroredStrategy) right after the imports, "
    "before any tensor, dataset, model or list of devices.",
    applicability=Applicability.MANUAL,
)
REACH = Remedy(
    summary="Start all workers; each waits for the others. From each host try the addresses and ports of TF_CONFIG, or "
    "of the host list, with firewalls and network cards in mind (NCCL_SOCKET_IFNAME chooses one).",
    applicability=Applicability.MANUAL,
)
CONFIGURE = Remedy(
    summary="Write it for each host as JSON with the same cluster and the host's own task, or leave it out to "
    "train on this host alone.",
    commands=('echo "$TF_CONFIG" | python3 -m json.tool', "unset TF_CONFIG"),
    applicability=Applicability.MANUAL,
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
        "late": "the strategy for several workers was made too late: it has to come before everything else of "
        "TensorFlow in the program",
        "hangs": "a training with several workers is said to hang: as a rule they wait for a worker that they do not "
        "reach, or that has not started",
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
    elif late := events(facts, "collective-too-late"):
        yield self.finding(seen(late), variant="late", remedies=(FIRST,))
    elif not nccl and not warned and (hangs := _hangs(facts)):
        yield self.finding(
            seen(hangs),
            variant="hangs",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            remedies=(REACH, SHOW_NCCL),
        )
    elif not nccl and not warned:
        yield from _config(self, facts)


def _hangs(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the words in which somebody says that a training with several workers hangs."""
    hangs = events(facts, "said-hangs")
    several = events(facts, "worker-awaited", "said-distributed", "grpc-server-started", "horovod-versions")
    return (*hangs[:1], *several[:1]) if hangs and several else ()


def _config(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Look at the variable with the cluster."""
    config = facts.python.environment.require().get(VARIABLE)
    why = _fault(config) if config and len(config) < LONGEST else None
    if why is not None:
        yield self.finding(
            (f"python.environment[{VARIABLE}]",),
            variant="config",
            severity=Severity.WARNING,
            remedies=(CONFIGURE,),
            why=why,
        )


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
