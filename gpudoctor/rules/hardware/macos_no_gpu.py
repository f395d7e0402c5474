"""macos-no-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.hardware._packages import is_installed, tells_of_installing
from gpudoctor.rules.hardware.no_nvidia_gpu import USE_THE_CPU
from gpudoctor.rules.registry import Draft, Rule, rule

METAL = "tensorflow-metal"
USE_METAL = Remedy(
    summary="On a Mac with an Apple chip, TensorFlow up to 2.18 computes on Apple's GPU through the plug-in "
    "tensorflow-metal.",
    commands=("python3 -m venv tf-metal", "tf-metal/bin/python -m pip install 'tensorflow==2.18.*' tensorflow-metal"),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.HARDWARE,
    message="this is macOS: TensorFlow has no CUDA build for it, and Macs have no NVIDIA GPU that CUDA still serves",
    variants={
        "metal": "this is macOS: there is no CUDA; tensorflow-metal lets TensorFlow compute on Apple's GPU, which "
        "gpudoctor does not look at"
    },
)
def macos_no_gpu(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The machine runs macOS, where TensorFlow cannot use an NVIDIA GPU.

    Why it matters: no driver, CUDA or TensorFlow release changes that. The last TensorFlow with CUDA on macOS was 1.1.
    How to fix: train on a Linux machine with an NVIDIA GPU, or on the CPU; on Apple chips the plug-in tensorflow-metal
    computes on Apple's own GPU, which is another matter.
    """
    if facts.host.os.require() != "macos":
        return
    if is_installed(facts, METAL):
        yield self.finding(("host.os",), variant="metal", severity=Severity.WARNING, remedies=(USE_THE_CPU,))
        return
    apple = facts.host.machine.get() in (None, "arm64", "aarch64")
    if tells_of_installing(facts):
        # The text asks why TensorFlow cannot be had here at all, with or without a GPU.
        yield self.finding(("host.os",), severity=Severity.NOTE, confidence=Confidence.CERTAIN)
        return
    yield self.finding(("host.os", "host.machine"), remedies=((USE_METAL,) if apple else ()) + (USE_THE_CPU,))
