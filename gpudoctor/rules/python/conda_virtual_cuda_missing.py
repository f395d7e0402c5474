"""conda-virtual-cuda-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Facts, Known
from gpudoctor.findings import Applicability, Confidence, Remedy, Severity
from gpudoctor.rules.python._conda import cpu_build, install_command, sees_no_driver
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "CONDA_OVERRIDE_CUDA"


@rule(
    Severity.ERROR,
    message="conda saw no NVIDIA driver (its virtual package __cuda was absent): it offers no TensorFlow with CUDA",
    variants={
        "unseen": "conda sees no NVIDIA driver on this machine (__cuda is not among its virtual packages), and chose "
        "the CPU build {build}",
        "variable": "CONDA_OVERRIDE_CUDA is empty: conda takes it that there is no NVIDIA driver, and chose the CPU "
        "build "
        "{build}",
        "chosen": "conda chose the CPU build {build} of TensorFlow; it does so where it sees no NVIDIA driver when it "
        "resolves, as on a login node or in an image",
    },
)
def conda_virtual_cuda_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """conda did not see the NVIDIA driver when it chose the packages.

    Why it matters: conda installs builds with CUDA only where its virtual package __cuda exists, which it makes from
    the driver of the machine that resolves. On a login node or in an image without a GPU it takes the CPU build
    silently.
    How to fix: say which CUDA the driver serves (CONDA_OVERRIDE_CUDA), and ask for a CUDA build by name.
    """
    logged = events(facts, "conda-cuda-missing")
    if logged:
        yield self.finding(seen(logged), remedies=_remedies(facts))
        return
    if isinstance(facts.python.conda_packages, Absent):
        return
    facts.python.conda_packages.require()
    build = cpu_build(facts)
    if build is not None and not facts.tensorflow.cuda_build.get():
        yield from _chosen(self, facts, build)


def _chosen(self: Rule, facts: Facts, build: str) -> Iterator[Draft]:
    """Find why conda chose this CPU build."""
    if (facts.python.environment.get() or {}).get(VARIABLE) == "":
        yield self.finding(
            (f"python.environment[{VARIABLE}]", "python.conda_packages"),
            variant="variable",
            severity=Severity.WARNING,
            remedies=_remedies(facts),
            build=build,
        )
    elif facts.gpus and isinstance(facts.driver.cuda_version, Known) and sees_no_driver(facts):
        yield self.finding(
            ("python.conda_virtual_packages", "python.conda_packages", "driver.cuda_version"),
            variant="unseen",
            severity=Severity.WARNING,
            remedies=_remedies(facts),
            build=build,
        )
    elif facts.gpus and isinstance(facts.driver.cuda_version, Known):
        yield self.finding(
            ("python.conda_packages", "driver.cuda_version"),
            variant="chosen",
            severity=Severity.NOTE,
            confidence=Confidence.POSSIBLE,
            build=build,
        )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    summary = "Tell conda which CUDA the driver serves, and ask for a build with CUDA."
    return (Remedy(summary=summary, commands=(install_command(facts),), applicability=Applicability.UNSAFE),)
