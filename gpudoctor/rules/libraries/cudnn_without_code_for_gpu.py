"""cudnn-without-code-for-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu, Known, LogEvent
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.gpu._code import RUNS, another_runs, capability_of, gpu_code, is_hidden, shown_name
from gpudoctor.rules.libraries._remedies import bring_cudnn
from gpudoctor.rules.libraries._stack import cuda_major, cudnn_major, shown, winner
from gpudoctor.rules.observed import working_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, Scope, rule


@rule(
    Severity.ERROR,
    scope=Scope.GPU,
    breaks=Capability.CUDNN,
    needs=(Capability.CUDA_LIBS,),
    message="cuDNN {have} has no code for {gpu}: it starts at {lowest}",
    variants={"log": "cuDNN{have} has no code for {gpu}: it says so itself (ARCH_MISMATCH)"},
)
def cudnn_without_code_for_gpu(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The cuDNN that is found has no code for this GPU, though TensorFlow has.

    Why it matters: TensorFlow lists the GPU, and the first convolution on it fails. cuDNN 9.11 dropped all GPUs below
    compute capability 7.5; TensorFlow 2.20 and newer take the newest cuDNN 9 and still serve 6.0.
    How to fix: install the newest cuDNN that still has code for the GPU; for Pascal and Volta that is 9.10.
    """
    told_in_text = tuple(_from_log(self, facts, gpu))
    if told_in_text:
        yield from told_in_text
        return
    if not facts.tensorflow.cuda_build.require():
        return
    cuda = cuda_major(facts)
    library = winner(facts, f"libcudnn.so.{cudnn_major(facts)}")
    if library is None:
        return
    cc, evidence = capability_of(gpu)
    have = library.version.require()
    lowest, _ = compat.cudnn_lowest_capability(have, cuda)
    if compat.capability(cc) >= compat.capability(lowest) or gpu_code(facts, gpu).code not in RUNS:
        return
    told = _refused(facts)
    spared = is_hidden(gpu) or another_runs(facts, gpu)
    yield self.finding(
        (*evidence, *shown(facts, library), "tensorflow.version", *seen(told)),
        severity=Severity.NOTE if spared else None,
        confidence=Confidence.CERTAIN if told else Confidence.LIKELY,
        remedies=() if spared else bring_cudnn(facts),
        have=have,
        gpu=shown_name(gpu, cc),
        lowest=lowest,
    )


ARCHITECTURE = "ARCH_MISMATCH"


def _refused(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what cuDNN said of a GPU that it has no code for."""
    return tuple(e for e in events(facts, "cudnn-status") if ARCHITECTURE in e.parameters.get("status", ""))


def _from_log(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Find what cuDNN says of the GPU in a text."""
    if isinstance(facts.libraries.found, Known) or gpu is not facts.gpus[0]:
        return
    told = _refused(facts)
    if not told:
        yield from _from_packages(self, facts, gpu)
        return
    number = next((e.parameters.get("version", "") for e in events(facts, "loaded-cudnn")), "")
    have = f" {int(number) // 10000}.{int(number) // 100 % 100}" if number.isdecimal() and len(number) > 4 else ""  # noqa: PLR2004
    yield self.finding(
        (*seen(told), "gpu.name", "gpu.compute_capability"),
        variant="log",
        confidence=Confidence.LIKELY,
        remedies=bring_cudnn(facts),
        have=have,
        gpu=gpu.name.get() or "the GPU",
    )


CUDNN_WHEEL = "nvidia-cudnn-cu"


def _from_packages(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Find a cuDNN that a list of packages names, for a GPU that TensorFlow has code for; both stand in a text."""
    wheels = [item for item in facts.python.packages.get() or () if item.name.startswith(CUDNN_WHEEL)]
    named = gpu.name.get() is not None or gpu.compute_capability.get() is not None
    if len(wheels) != 1 or not named or working_gpu_devices(facts) or another_runs(facts, gpu):
        return
    cc, evidence = capability_of(gpu)
    have, cuda = ".".join(wheels[0].version.split(".")[:3]), wheels[0].name.removeprefix(CUDNN_WHEEL)
    lowest, _ = compat.cudnn_lowest_capability(have, int(cuda) if cuda.isdecimal() else 0)
    if compat.capability(cc) >= compat.capability(lowest) or gpu_code(facts, gpu).code not in RUNS:
        return
    yield self.finding(
        (*evidence, "python.packages", "tensorflow.version"),
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        remedies=bring_cudnn(facts),
        have=have,
        gpu=shown_name(gpu, cc),
        lowest=lowest,
    )
