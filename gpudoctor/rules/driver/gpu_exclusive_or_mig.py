"""gpu-exclusive-or-mig."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.compat import Os
from gpudoctor.facts.model import Api, Facts, Gpu, ProcessKind
from gpudoctor.findings import Applicability, Capability, Confidence, Evidence, Remedy, Severity
from gpudoctor.plan import quote
from gpudoctor.rules.driver._state import outcome, vgpu_by_name
from gpudoctor.rules.observed import seen_gpu_devices, working_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

EXCLUSIVE = ("exclusive-process", "exclusive-thread")
PROHIBITED = "prohibited"
SHOWN = 8
DEFAULT_MODE = Remedy(
    summary="Let several processes use the GPU, or end the one that holds it.",
    commands=("nvidia-smi", "sudo nvidia-smi -c DEFAULT"),
    applicability=Applicability.UNSAFE,
)
MAKE_INSTANCES = Remedy(
    summary="List the MIG instances, make one if there is none, and name one by its UUID; or switch MIG off.",
    commands=("nvidia-smi -L", "sudo nvidia-smi mig -lgip", "export CUDA_VISIBLE_DEVICES=MIG-UUID-OF-AN-INSTANCE"),
    applicability=Applicability.MANUAL,
)


def _choose(gpu: Gpu) -> Remedy:
    """Return how to bring an instance into use: by its UUID where there is one, one that nobody uses before others."""
    instances = gpu.mig_instances.get()
    if not instances:
        return MAKE_INSTANCES
    taken = {item.mig_instance for item in gpu.processes.get() or ()}
    free = next((name for name in instances if name not in taken), instances[0])
    more = f" There are {len(instances)}: {', '.join(instances[:SHOWN])}." if len(instances) > 1 else ""
    return Remedy(
        summary=f"Name one of the MIG instances by its UUID; CUDA uses one at a time.{more}",
        commands=(f"export CUDA_VISIBLE_DEVICES={quote(free, Os.LINUX)}",),
        applicability=Applicability.SAFE,
    )


@rule(
    Severity.ERROR,
    breaks=Capability.DEVICE_INIT,
    needs=(Capability.KERNEL_DRIVER, Capability.USER_DRIVER, Capability.VISIBLE),
    message="the GPU is in compute mode {mode}, and another process holds it: no second one may use it",
    variants={
        "prohibited": "the GPU is in compute mode prohibited: no program may compute on it",
        "busy": "the driver says that the GPU is busy or unavailable: another process holds it exclusively, or compute "
        "is prohibited on it",
        "mig": "the GPU is in MIG mode, and CUDA sees none of its instances",
    },
)
def gpu_exclusive_or_mig(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The GPU is held exclusively by another process, or MIG gives this program no instance.

    Why it matters: CUDA answers that the device is busy or unavailable, or that there is none, and TensorFlow runs on
    the CPU or stops.
    How to fix: set the compute mode to default or end the other process; with MIG, make instances and name one.
    """
    if working_gpu_devices(facts):
        return
    told = events(facts, "device-busy")
    failed = outcome(facts.driver.cuda_init.get()) is Api.ERROR or facts.driver.cuda_device_count.get() == 0
    yielded = False
    for index, gpu in enumerate(facts.gpus):
        mode, mig = gpu.compute_mode.get(), gpu.mig.get()
        others = [item for item in gpu.processes.get() or () if item.kind is ProcessKind.COMPUTE]
        if gpu.visible.get() is False and any(other.visible.get() for other in facts.gpus):
            mode = None  # of another program, as on a cluster
        paths: tuple[str | Evidence, ...] = (f"gpus[{index}].compute_mode", f"gpus[{index}].processes", *seen(told))
        if mode == PROHIBITED:
            yielded = True
            yield self.finding(paths, variant="prohibited", remedies=(DEFAULT_MODE,))
        elif mode in EXCLUSIVE and (
            told or events(facts, "device-not-opened") or (others and not seen_gpu_devices(facts))
        ):
            yielded = True
            yield self.finding(paths, confidence=Confidence.LIKELY, remedies=(DEFAULT_MODE,), mode=mode or "")
        elif mig and (failed or gpu.mig_instances.get() == ()) and not seen_gpu_devices(facts):
            yielded = True
            yield self.finding(
                (f"gpus[{index}].mig", f"gpus[{index}].mig_instances", "driver.cuda_init", "driver.cuda_device_count"),
                variant="mig",
                confidence=Confidence.LIKELY,
                remedies=(_choose(gpu),),
            )
    # A virtual GPU without a licence answers the same; that rule says so.
    virtual = events(facts, "vgpu-unlicensed") or vgpu_by_name(facts) is not None
    if told and not yielded and not virtual:
        yield self.finding(seen(told), variant="busy", confidence=Confidence.LIKELY, remedies=(DEFAULT_MODE,))
    if not told and not yielded and not facts.gpus:
        facts.tensorflow.events.require()
