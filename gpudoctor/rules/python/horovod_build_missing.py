"""horovod-build-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.compat.bundle import load
from gpudoctor.compat.rows import Horovod, Trust
from gpudoctor.facts.model import Facts, Known, Package
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.python._pip import interpreter
from gpudoctor.rules.python._state import at_least, events, package, seen, told
from gpudoctor.rules.registry import Draft, Rule, rule

EXTENSION = "mpi_lib"
TENSORFLOW = "tensorflow"


@rule(
    Severity.ERROR,
    message="Horovod {horovod} is installed without its part for TensorFlow: `import horovod.tensorflow` fails",
    variants={
        "log": "Horovod is installed without its part for TensorFlow ({extension})",
        "another": "Horovod is built against another TensorFlow than the one installed: its library lacks a symbol "
        "({symbol})",
        "version": "Horovod is built against {framework} {built}, and {found} is installed",
        "no-nccl": "Horovod is built without NCCL, and the program asks for it",
        "by-cpu": "Horovod {horovod} is built without NCCL ({ways} only): what {count} GPUs exchange goes through the "
        "processor",
        "nothing": "Horovod {horovod} is installed without a part for any framework: none of its extensions was built",
        "keras": "Horovod {horovod} does not work with the Keras of TensorFlow {version}: its callbacks fail from "
        "TensorFlow {broken} on",
    },
)
def horovod_build_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Horovod lacks its part for TensorFlow, or was built against another TensorFlow.

    Why it matters: Horovod is compiled when it is installed, for the frameworks that are there at that time; afterwards
    nothing is trained on several GPUs with it. `horovodrun --check-build` does not tell it rightly.
    How to fix: install TensorFlow first, then Horovod anew with HOROVOD_WITH_TENSORFLOW=1, which makes a failed build
    an error. Horovod 0.28.1, its last release, builds up to TensorFlow 2.18; for newer ones use TensorFlow's own
    MultiWorkerMirroredStrategy.
    """
    logged = tuple(_from_log(self, facts))
    yield from logged
    if logged:
        return
    facts.python.packages.require()
    found = package(facts, "horovod")
    if found is None:
        return
    extensions = facts.python.horovod_extensions.require()
    if not isinstance(facts.tensorflow.version, Known):
        return
    if TENSORFLOW not in extensions:
        yield self.finding(
            ("python.horovod_extensions", *told(found), "tensorflow.version"),
            variant=None if extensions else "nothing",
            # It may be meant for another framework that is installed too.
            severity=Severity.NOTE if extensions else Severity.WARNING,
            remedies=_rebuild(facts),
            horovod=found.version,
        )
    else:
        yield from _built_and_limited(self, facts, found)


def _built_and_limited(self: Rule, facts: Facts, found: Package) -> Iterator[Draft]:
    """Find a part for TensorFlow that has no NCCL, or does not work with the Keras that came since."""
    if _without_nccl(facts):
        count = sum(1 for gpu in facts.gpus if gpu.visible.get() is not False)
        yield self.finding(
            ("python.horovod_operations", *told(found)),
            variant="by-cpu",
            severity=Severity.NOTE,
            confidence=Confidence.LIKELY,
            remedies=_rebuild(facts),
            horovod=found.version,
            ways=" and ".join(facts.python.horovod_operations.get() or ()),
            count=count,
        )
    elif (broken := _first_broken(found.version)) and at_least(facts.tensorflow.version.require(), broken):
        yield self.finding(
            (*told(found), "tensorflow.version"),
            variant="keras",
            severity=Severity.NOTE,
            confidence=Confidence.LIKELY,
            horovod=found.version,
            version=facts.tensorflow.version.require(),
            broken=broken,
        )


def _from_log(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what importing Horovod printed."""
    missing = events(facts, "horovod-extension-missing") + tuple(
        event for event in events(facts, "no-module") if event.parameters.get("module", "").startswith("horovod.")
    )
    if missing:
        named = (missing[0].parameters.get(key) for key in ("extension", "checked", "module"))
        extension = next(filter(None, named), "none of its controllers was built")
        yield self.finding(seen(missing), variant="log", remedies=_rebuild(facts), extension=extension)
        return
    versions, without = events(facts, "horovod-versions"), events(facts, "horovod-without-nccl")
    if versions:
        told_by = versions[0].parameters
        yield self.finding(
            seen(versions),
            variant="version",
            remedies=_rebuild(facts),
            framework=told_by.get("framework", "another framework"),
            built=told_by.get("built", ""),
            found=told_by.get("found", "another version"),
        )
        return
    unticked = events(facts, "horovod-check-build")
    parts = {event.parameters.get("part") for event in unticked}
    if "TensorFlow" in parts:
        yield self.finding(seen(unticked), variant="log", remedies=_rebuild(facts), extension="TensorFlow")
        return
    without += unticked
    if without:
        yield self.finding(seen(without), variant="no-nccl", remedies=_rebuild(facts))
        return
    other = tuple(
        event for event in events(facts, "undefined-symbol") if event.parameters.get("file", "").startswith(EXTENSION)
    )
    if other:
        symbol = other[0].parameters.get("symbol", "")
        yield self.finding(seen(other), variant="another", remedies=_rebuild(facts), symbol=symbol)


def _without_nccl(facts: Facts) -> bool:
    """Whether several GPUs would exchange their gradients without NCCL."""
    ways = facts.python.horovod_operations.get()
    several = sum(1 for gpu in facts.gpus if gpu.visible.get() is not False) > 1
    return several and bool(ways) and "nccl" not in (ways or ())


def _first_broken(horovod: str) -> str | None:
    """Return the first TensorFlow release with which this Horovod is known to fail."""
    try:
        wanted = compat.version(horovod)
    except compat.NotCovered:
        return None
    for row in load(Horovod).rows:
        if row.confidence is not Trust.LOW and compat.version(row.horovod) == wanted:
            return row.tensorflow_first_broken or None
    return None


def _rebuild(facts: Facts) -> tuple[Remedy, ...]:
    operations = " HOROVOD_GPU_OPERATIONS=NCCL" if facts.gpus else ""
    python = interpreter(facts)
    return (
        Remedy(
            summary="Build Horovod anew, with TensorFlow already there, so that a failed build is an error. It needs "
            "cmake and a C++17 compiler (g++ 8 or newer).",
            commands=(
                f"{python} -m pip uninstall -y horovod",
                f"HOROVOD_WITH_TENSORFLOW=1{operations} {python} -m pip install --no-cache-dir --no-build-isolation -v "
                f"horovod",
            ),
            applicability=Applicability.UNSAFE,
        ),
    )
