"""cudnn-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.libraries._remedies import bring_cudnn
from gpudoctor.rules.libraries._stack import (
    CUDNN_FAILED,
    compiled_cudnn,
    cuda_major,
    cudnn_major,
    gpu_listed,
    lack,
    shown,
    winner,
)
from gpudoctor.rules.libraries._unsaid import nothing_else_explains
from gpudoctor.rules.observed import working_gpu_devices
from gpudoctor.rules.python._state import events, package, seen, told
from gpudoctor.rules.registry import Draft, Rule, rule

MINOR = 2
TOO_OLD = ("cudnn-runtime-too-old", "cudnn-said-too-old")


@rule(
    Severity.ERROR,
    breaks=Capability.CUDNN,
    needs=(Capability.CUDA_LIBS,),
    message="cuDNN {have} is loaded, and TensorFlow was compiled with {need}: it takes the same major version with the "
    "same or a higher minor version only",
    variants={
        "major": "cuDNN {have} is there, and TensorFlow {version} was compiled with {need}: a lower major version "
        "does not do",
        "text": "cuDNN {have} is there, and TensorFlow {version} was compiled with {need}: it takes the same major "
        "version with the same or a higher minor version only",
    },
)
def cudnn_too_old(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The cuDNN that is found is older than the one that TensorFlow was compiled with.

    Why it matters: TensorFlow compares the two when it first uses cuDNN, and refuses an older one: convolutions fail.
    Another package in the same environment, PyTorch for one, often asks for the older one.
    How to fix: install a cuDNN of the same major version with at least the minor version of the compiled one; if
    another package needs the older one, give each package an environment of its own.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    logged = [e for e in events(facts, *TOO_OLD) if {"loaded", "compiled"} <= e.parameters.keys()]
    if logged:
        yield self.finding(
            (*seen(tuple(logged)), *shown(facts)),
            remedies=bring_cudnn(facts),
            have=logged[-1].parameters["loaded"],
            need=logged[-1].parameters["compiled"],
        )
        return
    if facts.host.os.get() not in (None, "linux"):
        return
    if not isinstance(facts.libraries.found, Known):
        by_list = tuple(_by_wheel(self, facts))
        yield from by_list
        if by_list or isinstance(facts.libraries.told, Known):
            yield from () if by_list else _in_text(self, facts)
            return
    version, major = facts.tensorflow.version.require(), cudnn_major(facts)
    library = winner(facts, f"libcudnn.so.{major}")
    if library is None:
        yield from _older_major(self, facts, version, major)
        return
    have, need = library.version.require(), compiled_cudnn(facts)
    if _is_older(have, need):
        yield self.finding(
            (*shown(facts, library), "tensorflow.version", "tensorflow.built_with_cudnn"),
            remedies=bring_cudnn(facts),
            have=have,
            need=need,
        )


def _older_major(self: Rule, facts: Facts, version: str, major: int) -> Iterator[Draft]:
    """Find a cuDNN of a lower major version where there is none of the right one."""
    found = [item for item in facts.libraries.found.require() if item.name == "cudnn" and item.wins]
    older = [item for item in found if int(item.soname.rpartition(".")[2]) < major]
    if not older or len(older) < len(found) or gpu_listed(facts):
        return
    have = older[0].version
    yield self.finding(
        (*shown(facts, older[0]), "tensorflow.version", "tensorflow.built_with_cudnn"),
        variant="major",
        remedies=bring_cudnn(facts),
        have=have.value if isinstance(have, Known) else older[0].soname.rpartition(".")[2],
        need=compiled_cudnn(facts),
        version=version,
    )


def _in_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it by the files and packages that a text names, where a lack or a failure of cuDNN is told as well."""
    version, need = facts.tensorflow.version.require(), compiled_cudnn(facts)
    lacks = None if events(facts, *CUDNN_FAILED) else lack(facts, silent=nothing_else_explains(facts))
    named = [item for item in facts.libraries.told.get() or () if item.name == "cudnn"]
    numbers = [int(item.soname.rpartition(".")[2]) for item in named]
    only_older = bool(named) and max(numbers) < cudnn_major(facts)
    failed = events(facts, *CUDNN_FAILED) and not _brings_its_own(facts)
    if lacks is not None and lacks.by_text and not lacks.cuda and only_older:
        variant, have = "major", named[0].version.get() or str(numbers[0])
    elif failed and len(named) == 1 and numbers[0] == cudnn_major(facts) and _is_older(named[0].version.get(), need):
        variant, have = "text", named[0].version.require()
    else:
        return
    yield self.finding(
        (
            *shown(facts, named[0]),
            "tensorflow.version",
            "tensorflow.built_with_cudnn",
            *seen(events(facts, *CUDNN_FAILED)),
        ),
        variant=variant,
        confidence=Confidence.LIKELY,
        remedies=bring_cudnn(facts),
        have=have,
        need=need,
        version=version,
    )


def _by_wheel(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it by the wheel of cuDNN in a list of packages: TensorFlow looks there first."""
    wheels = any(item.name.startswith("nvidia-cudnn-cu") for item in facts.python.packages.get() or ())
    if not wheels or working_gpu_devices(facts):
        return  # before tables are read
    wheel = package(facts, f"nvidia-cudnn-cu{cuda_major(facts)}")
    version, need = facts.tensorflow.version.require(), compiled_cudnn(facts)
    same = wheel is not None and compat.version(wheel.version).major == compat.version(need).major
    if wheel is None or not same or not _is_older(wheel.version, need) or events(facts, "loaded-cudnn"):
        return
    yield self.finding(
        (*told(wheel), "tensorflow.version", "tensorflow.built_with_cudnn"),
        variant="text",
        confidence=Confidence.LIKELY,
        remedies=bring_cudnn(facts),
        have=wheel.version,
        need=need,
        version=version,
    )


def _is_older(have: str | None, need: str) -> bool:
    return have is not None and compat.version(have).release[:MINOR] < compat.version(need).release[:MINOR]


def _brings_its_own(facts: Facts) -> bool:
    """Whether cuDNN came by a wheel or by conda: then that of the system is not loaded."""
    names = [item.name for item in facts.python.packages.get() or ()]
    names += [item.name for item in facts.python.conda_packages.get() or ()]
    return any(name == "cudnn" or name.startswith("nvidia-cudnn") for name in names)
