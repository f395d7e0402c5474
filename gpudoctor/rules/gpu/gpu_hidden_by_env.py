"""gpu-hidden-by-env."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, Facts, Known, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._state import failed_with, has_pci_gpu, outcome, slurm_job_without_gpu
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

VARIABLE = "CUDA_VISIBLE_DEVICES"
UNSET = Remedy(
    summary="Unset the variable for this shell.", commands=(f"unset {VARIABLE}",), applicability=Applicability.SAFE
)
UNSET_ON_WINDOWS = Remedy(
    summary="Unset the variable at this prompt.", commands=(f"set {VARIABLE}=",), applicability=Applicability.SAFE
)


ASK_SLURM = Remedy(
    summary="Ask Slurm for a GPU, in the script's header or on the command line; some clusters need a partition too.",
    commands=("srun --gres=gpu:1 COMMAND", "sinfo -o '%P %G'"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.VISIBLE,
    needs=(Capability.KERNEL_DRIVER, Capability.USER_DRIVER),
    message="CUDA_VISIBLE_DEVICES={value} hides every GPU of this machine from CUDA programs",
    variants={
        "perhaps": "the driver is well and offers CUDA no device: mostly CUDA_VISIBLE_DEVICES hides the GPUs, or names "
        "one that does not exist",
        "slurm": "this job of Slurm was given no GPU, on a node that has some: none was asked for",
        "gres": "Slurm gives no GPU: it was asked for one by a name or number that this partition or job does not have",
        "unset": "CUDA_VISIBLE_DEVICES is empty, which hides every GPU of this machine from CUDA programs",
    },
)
def gpu_hidden_by_env(self: Rule, facts: Facts) -> Iterator[Draft]:
    """An environment variable hides every GPU.

    Why it matters: CUDA shows a program only the GPUs that CUDA_VISIBLE_DEVICES names, up to the first that does not
    exist. An empty value, -1 or a number that is too high leaves none, and TensorFlow runs on the CPU.
    How to fix: unset the variable, or name a GPU that exists (numbers count from 0; a UUID is safer). In a script, look
    for os.environ["CUDA_VISIBLE_DEVICES"]; under Slurm, ask for a GPU.
    """
    value = (facts.python.environment.get() or {}).get(VARIABLE)
    unknown = events(facts, "slurm-no-such-gpu")
    if unknown and not seen_gpu_devices(facts):
        yield self.finding(seen(unknown), variant="gres", remedies=(ASK_SLURM,))
        return
    if draft := _hidden_by_another(self, facts, value):
        yield draft
        return
    facts.python.environment.require()
    if value is None:
        return
    if _not_asked(facts) and (_hides_all(value) or _names_none(facts, value)):
        yield from _from_text(self, facts, value)
    elif _leaves_none(facts, value):
        yield self.finding(
            (f"python.environment[{VARIABLE}]", "driver.cuda_device_count", "driver.cuda_device_count_unmasked",
             "driver.nvml_device_count"),
            variant=None if value.strip() else "unset",
            remedies=(UNSET,),
            value=value,
        )  # fmt: skip


def _hidden_by_another(self: Rule, facts: Facts, value: str | None) -> Draft | None:
    """Find a job of Slurm without a GPU, or a variable that no text shows but only its effect."""
    if _slurm_gave_none(facts, value):
        return self.finding(
            ("python.environment[SLURM_JOB_ID]", "host.pci_gpus", "driver.cuda_device_count"),
            variant="slurm",
            confidence=Confidence.LIKELY,
            remedies=(ASK_SLURM,),
        )
    if value is None and _offers_none(facts):
        return self.finding(
            ("driver.cuda_init", *seen(events(facts, "versions-agree"))),
            variant="perhaps",
            confidence=Confidence.POSSIBLE,
            remedies=(UNSET_ON_WINDOWS if facts.host.os.get() == "windows" else UNSET,),
        )
    return None


def _leaves_none(facts: Facts, value: str) -> bool:
    """Whether CUDA counts no GPU with the variable, and there is one without it."""
    visible = facts.driver.cuda_device_count.require()
    unmasked = facts.driver.cuda_device_count_unmasked.get()
    there = unmasked or facts.driver.nvml_device_count.get() or len(facts.gpus)
    if unmasked is None and any(gpu.mig.get() for gpu in facts.gpus):
        return False  # the numbers do not count instances: see gpu-exclusive-or-mig
    if visible > 0 or there == 0 or unmasked == 0:  # without the variable CUDA sees none either
        return False
    return unmasked is not None or not _names_one_of(value, there)


NO_DEVICE = 100


def _slurm_gave_none(facts: Facts, value: str | None) -> bool:
    """Whether a job of Slurm has no GPU since none was asked for; the node has some."""
    if not slurm_job_without_gpu(facts) or facts.driver.cuda_device_count.get() != 0:
        return False
    return has_pci_gpu(facts) and (value is None or _hides_all(value))


def _hides_all(value: str) -> bool:
    return value.strip().strip("\"'") in ("", "-1", "NoDevFiles", "none", "void")


def _names_one_of(value: str, count: int) -> bool:
    """Whether the first number that is named is that of a GPU which exists: then the variable hides nothing."""
    first = value.partition(",")[0].strip()
    return first.isdecimal() and int(first) < count


# What explains a CUDA without devices better than a number in a variable.
_OTHERWISE = (
    *(
        "kernel-driver-not-running",
        "no-device-node",
        "kernel-library-mismatch",
        "smi-no-communication",
        "smi-not-found",
    ),
    *("smi-no-devices", "container-without-driver"),
)


def _names_none(facts: Facts, value: str) -> bool:
    """Whether, in a text, CUDA finds no device and the first number that is named may be that of no GPU."""
    first = value.strip().strip("\"'").partition(",")[0].strip()
    refused = failed_with(facts.driver.cuda_init.get(), NO_DEVICE)
    high = first.isdecimal() and int(first) >= max(1, len(facts.gpus))
    instances = any(gpu.mig.get() for gpu in facts.gpus)  # gpu-exclusive-or-mig tells of them
    return refused and high and not instances and facts.host.container.get() is None and not events(facts, *_OTHERWISE)


def _not_asked(facts: Facts) -> bool:
    """Whether nobody counted the GPUs with and without the variable: then these are the facts of a text."""
    driver = facts.driver
    return not isinstance(driver.cuda_device_count_unmasked, Known) and not isinstance(driver.nvml_device_count, Known)


def _from_text(self: Rule, facts: Facts, value: str) -> Iterator[Draft]:
    """Find a value that hides every GPU, whichever there are."""
    if seen_gpu_devices(facts):
        return
    refused = failed_with(facts.driver.cuda_init.get(), NO_DEVICE)
    if not refused and facts.tensorflow.devices.get() is None and not facts.tensorflow.events.get():
        facts.driver.cuda_device_count.require()
    windows, told = facts.host.os.get() == "windows", facts.tensorflow.devices.get() is not None
    yield self.finding(
        (f"python.environment[{VARIABLE}]", "driver.cuda_init", "tensorflow.devices"),
        variant=None if value.strip() else "unset",
        confidence=Confidence.CERTAIN if _hides_all(value) and (refused or told) else Confidence.LIKELY,
        remedies=(UNSET_ON_WINDOWS if windows else UNSET,),
        value=value,
    )


def _offers_none(facts: Facts) -> bool:
    """Whether a log tells that the driver is well, and that CUDA finds no device.

    On Windows TensorFlow prints no versions; that CUDA's library is there shows the driver.
    """
    well = events(facts, "versions-agree") or outcome(facts.driver.nvml.get()) is Api.OK
    on_windows = facts.host.os.get() == "windows" and isinstance(facts.driver.nvml, Unknown)
    refused = failed_with(facts.driver.cuda_init.get(), NO_DEVICE) and bool(well or on_windows)
    # A container that is told by its host's name alone has the driver's libraries: it was given the GPU.
    inside = facts.host.container.get() is not None and not events(facts, "reported-host")
    return refused and _not_asked(facts) and not inside and not seen_gpu_devices(facts)
