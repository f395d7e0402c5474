"""no-nvidia-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, Facts, Known, LogEvent, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import answers
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

USE_THE_CPU = Remedy(
    summary="Train on the CPU, and tell gpudoctor that a CPU is enough; or use a machine with an NVIDIA GPU.",
    commands=("gpudoctor check --expect cpu",),
    applicability=Applicability.SAFE,
)


COLAB = Remedy(
    summary="In Colab's menu choose Runtime > Change runtime type, then a GPU; then run the notebook from the top.",
    applicability=Applicability.MANUAL,
)

KAGGLE = Remedy(
    summary="In the notebook's settings at Kaggle choose an accelerator with a GPU (an account has some hours of it a "
    "week), then run the notebook from the top.",
    applicability=Applicability.MANUAL,
)


def _here(facts: Facts) -> Remedy:
    """Return what to do where the machine itself was looked at."""
    names = facts.python.environment.get() or {}
    if any(name.startswith("COLAB_") for name in names):
        return COLAB
    return KAGGLE if any(name.startswith("KAGGLE_") for name in names) else USE_THE_CPU


@rule(
    Severity.ERROR,
    breaks=Capability.HARDWARE,
    message="this machine has no NVIDIA GPU: none is on its PCI bus, and neither NVML nor CUDA reports one",
    variants={
        "colab": "the runtime of this Colab notebook gives TensorFlow no GPU: mostly it is one without a GPU",
        "kaggle": "the session of this Kaggle notebook gives TensorFlow no GPU: mostly none was chosen for it",
        "said": "the machine is said to have no GPU: TensorFlow computes on its CPU, and what it prints of CUDA is as "
        "it has to be",
    },
)
def no_nvidia_gpu(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The machine has no NVIDIA GPU.

    Why it matters: TensorFlow computes on NVIDIA GPUs only; without one it runs on the CPU, however well the rest is
    installed.
    How to fix: train on the CPU, or use a machine with an NVIDIA GPU. In a virtual machine the GPU has to be passed
    through by the host.
    """
    if facts.host.os.get() == "macos":
        return
    if isinstance(facts.host.pci_gpus, Unknown) and (draft := _from_text(self, facts)):
        yield draft
        return
    if _one_is_there(facts):
        return
    answers = (facts.driver.nvml.get(), facts.driver.cuda_init.get())
    if any(answer is not None and answer.outcome is Api.NO_ANSWER for answer in answers):
        return  # a driver that hangs has something to hang on: the scan alone does not outweigh it
    # A loaded kernel module without a device on the bus: a sandbox may hide the bus.
    loaded = isinstance(facts.driver.kernel_module_version, Known)
    yield self.finding(
        ("host.pci_gpus", "driver.nvml", "driver.cuda_init"),
        confidence=Confidence.LIKELY if loaded else Confidence.CERTAIN,
        remedies=(_here(facts),),
    )


def _from_text(self: Rule, facts: Facts) -> Draft | None:
    """Find it in what a notebook's own check printed, or in what somebody says."""
    if told := _told_by_colab(facts):
        # A TensorFlow that was installed there may miss its CUDA libraries instead.
        own = isinstance(facts.python.packages, Known)
        kaggle = any(event.parameters.get("place") == "Kaggle" for event in told)
        return self.finding(
            seen(told),
            variant="kaggle" if kaggle else "colab",
            confidence=Confidence.POSSIBLE if own else Confidence.LIKELY,
            remedies=(KAGGLE if kaggle else COLAB,),
        )
    if said := _without_driver(facts, "said-no-gpu-here"):
        return self.finding(seen(said), variant="said", confidence=Confidence.LIKELY, remedies=(USE_THE_CPU,))
    return None


def _one_is_there(facts: Facts) -> bool:
    """Whether the bus, the driver or TensorFlow shows a GPU, or it may be where the bus does not tell."""
    devices = facts.host.pci_gpus.require()
    reported = (facts.driver.nvml_device_count.get() or 0) + (facts.driver.cuda_device_count_unmasked.get() or 0)
    reported += facts.driver.cuda_device_count.get() or 0
    listed = any(device.kind == "GPU" for device in facts.tensorflow.devices.get() or ())
    # Under WSL2 and on Jetson boards the GPU is on no PCI bus that Linux lists.
    elsewhere = isinstance(facts.host.wsl, Known) or isinstance(facts.host.tegra, Known)
    return bool(devices or reported or listed or facts.gpus or elsewhere)


def _told_by_colab(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what Colab's own check printed, where nothing shows another cause."""
    other = events(facts, "cannot-dlopen", "library-not-loaded", "hidden-by-variable")
    return () if other else _without_driver(facts, "colab-no-gpu")


def _without_driver(facts: Facts, message: str) -> tuple[LogEvent, ...]:
    """Return the events of a message, where nothing shows a driver or a GPU."""
    driver = isinstance(facts.driver.version, Known) or answers(facts) or facts.gpus
    listed = any(device.kind == "GPU" for device in facts.tensorflow.devices.get() or ())
    return () if driver or listed else events(facts, message)
