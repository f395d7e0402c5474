"""tensorflow-gpu-package-removed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Remedy, Severity
from gpudoctor.rules.python._pip import install, tensorflow_again
from gpudoctor.rules.python._state import at_least, events, imported, package, seen, told
from gpudoctor.rules.registry import Draft, Rule, rule

# 2.12.0 is a source package whose only act is to refuse.
FIRST_DEAD = "2.12"
NAME = "tensorflow-gpu"


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="the package tensorflow-gpu {version} holds no TensorFlow: it was given up with 2.12",
    variants={"log": "the package tensorflow-gpu refuses to install: it was given up with 2.12"},
)
def tensorflow_gpu_package_removed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The package tensorflow-gpu is dead from 2.12 on.

    Why it matters: it installs nothing, or does not install at all. Since 2.1 the package tensorflow has the GPU
    itself.
    How to fix: uninstall tensorflow-gpu and install tensorflow; on Linux tensorflow[and-cuda], which brings
    the CUDA libraries from 2.14 on.
    """
    logged = events(facts, "tensorflow-gpu-removed")
    if logged:
        yield self.finding(seen(logged), variant="log", remedies=_remedies(facts))
        return
    facts.python.packages.require()
    found = package(facts, NAME)
    if found is None or not at_least(found.version, FIRST_DEAD):
        return
    yield self.finding(
        (*told(found), "tensorflow.distribution"),
        severity=Severity.NOTE if imported(facts) or package(facts, "tensorflow") else Severity.ERROR,
        remedies=_remedies(facts),
        version=found.version,
    )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    wanted = tensorflow_again(facts) or "tensorflow[and-cuda]"
    return install(facts, wanted, f"Install the package tensorflow instead ({wanted}).", of="tensorflow")
