"""cpu-only-tensorflow."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, FactUnavailable, Known, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._again import once
from gpudoctor.rules.python._conda import cpu_build, install_command
from gpudoctor.rules.python._state import older
from gpudoctor.rules.python._wheels import ARM
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

# Up to here the package tensorflow is for the CPU and tensorflow-gpu for the GPU (1.15.0 is an exception).
FIRST_FOR_BOTH = "2.1"
CPU_PACKAGES = ("tensorflow-cpu", "tensorflow-intel", "intel-tensorflow")
JETSON = Remedy(
    summary="Install NVIDIA's TensorFlow for Jetson: the wheel for your JetPack release (its version ends in +nv), as "
    "NVIDIA's page on TensorFlow for the Jetson platform tells, or NVIDIA's container for it.",
    commands=("cat /etc/nv_tegra_release",),
    applicability=Applicability.MANUAL,
)
ARM_SERVER = Remedy(
    summary="Use NVIDIA's TensorFlow container for this processor (nvcr.io/nvidia/tensorflow, tags that end in "
    "tf2-py3), or build TensorFlow from source.",
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.DEVICE_INIT,
    message="the installed TensorFlow {version} ({distribution}) is built without CUDA: it cannot use an NVIDIA GPU",
    variants={
        "unnamed": "this TensorFlow is built without CUDA: it cannot use an NVIDIA GPU",
        "conda": "the installed TensorFlow {version} is conda's CPU build ({build}): it cannot use an NVIDIA GPU",
        "jetson": "the installed TensorFlow {version} is the public wheel for 64-bit ARM, which is built without CUDA: "
        "the GPU of a Jetson needs NVIDIA's build",
        "jetson-likely": "TensorFlow lists no GPU on a Jetson: mostly it is the public wheel for 64-bit ARM, which is "
        "built without CUDA; the GPU of a Jetson needs NVIDIA's build",
        "arm": "the installed TensorFlow {version} is the public wheel for 64-bit ARM, which is built without CUDA: it "
        "cannot use an NVIDIA GPU",
        "old": "the package tensorflow {version} is built without CUDA: before 2.1 the one for the GPU is "
        "tensorflow-gpu",
        "own": "the installed TensorFlow {version} is built without CUDA, unlike the published wheel of this release: "
        "it was built from source, or comes from another index",
        "overwritten": "the installed TensorFlow {version} is built without CUDA: {other} was installed over "
        "{distribution}",
        "rocm": "the installed TensorFlow {version} ({distribution}) is built for AMD GPUs: it cannot use an NVIDIA "
        "GPU",
    },
)
def cpu_only_tensorflow(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The installed TensorFlow is a build for the CPU only.

    Why it matters: no driver or CUDA library makes such a build use the GPU. tensorflow-cpu, tensorflow-intel, the CPU
    variant of conda-forge, every wheel for aarch64, and most builds from source are of this kind.
    How to fix: uninstall it, and install a build with CUDA.
    """
    if _unsaid_on_jetson(facts):
        yield self.finding(
            ("host.tegra", "tensorflow.devices"),
            variant="jetson-likely",
            confidence=Confidence.POSSIBLE,
            remedies=(JETSON,),
        )
        return
    if facts.tensorflow.cuda_build.require():
        return
    system = facts.host.os.get()
    version, distribution = facts.tensorflow.version.get(), facts.tensorflow.distribution.get()
    if system == "macos" or (system == "windows" and version and not older(version, "2.11")):
        raise FactUnavailable("there is no TensorFlow with CUDA for this system")
    variant, remedies = _kind(facts, version, distribution)
    yield self.finding(
        (
            "tensorflow.cuda_build",
            "tensorflow.distribution",
            "tensorflow.version",
            "host.machine",
            "python.conda_packages",
        ),
        variant=variant,
        remedies=remedies,
        version=version or "of unknown version",
        distribution=distribution or "unknown package",
        build=cpu_build(facts) or "",
        other=" and ".join(_others(facts, distribution)),
    )


def _unsaid_on_jetson(facts: Facts) -> bool:
    """Whether a text tells of a Jetson whose GPU TensorFlow does not list, and of no TensorFlow by version."""
    listed = facts.tensorflow.devices.get()
    none = listed is not None and all(device.kind != "GPU" for device in listed)
    unknown = isinstance(facts.tensorflow.version, Unknown) and isinstance(facts.tensorflow.cuda_build, Unknown)
    return isinstance(facts.host.tegra, Known) and none and unknown and not facts.tensorflow.events.get()


def _kind(facts: Facts, version: str | None, distribution: str | None) -> tuple[str | None, tuple[Remedy, ...]]:
    """Return which CPU build it is, and what mends it."""
    if isinstance(facts.host.tegra, Known):
        return "jetson", (JETSON,)
    if facts.host.machine.get() in ARM:
        return "arm", (ARM_SERVER,)
    if cpu_build(facts):
        summary = "Let conda install a build with CUDA in its place."
        return "conda", (
            Remedy(summary=summary, commands=(install_command(facts),), applicability=Applicability.UNSAFE),
        )
    if others := _others(facts, distribution):
        return "overwritten", once(facts, (distribution or "tensorflow", *others), version)
    if distribution == "tensorflow-rocm":
        return "rocm", tensorflow_that_fits(facts)
    if distribution is None and version is None:
        return "unnamed", tensorflow_that_fits(facts)
    if distribution == "tensorflow" and older(version, FIRST_FOR_BOTH):
        return "old", tensorflow_that_fits(facts)
    return ("own" if _published_with_cuda(version, distribution) else None), tensorflow_that_fits(facts)


def _others(facts: Facts, distribution: str | None) -> tuple[str, ...]:
    """Return the CPU packages that lie in the same folder as the one that names itself first."""
    found = {item.name: item for item in facts.python.packages.get() or () if not item.empty}
    if distribution is None or distribution in CPU_PACKAGES or distribution not in found:
        return ()
    place = found[distribution].location
    return tuple(name for name in CPU_PACKAGES if name in found and found[name].location == place)


def _published_with_cuda(version: str | None, distribution: str | None) -> bool:
    """Whether the published Linux wheel of this package and release is a CUDA build."""
    try:
        return bool(version and distribution and compat.wheel(version, distribution, "linux-x86_64").cuda_build)
    except compat.NotCovered:
        return False
