"""cublas-or-cudnn-init-oom."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, LogEvent
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.memory._state import OUT_OF_MEMORY
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

HANDLES = ("cublas-handle", "cudnn-handle")
STATUS = ("cublas-status", "cudnn-status")
NO_HANDLE = ("NOT_INITIALIZED", "ALLOC_FAILED")
# What cuDNN says where it could not take what it needs, among other troubles.
INTERNAL = "INTERNAL_ERROR"
# What explains a failed start better than a lack of memory does.
OTHER_CAUSES = (
    "cudnn-runtime-too-old",
    "cudnn-old-driver",
    "cudnn-part-missing",
    "driver-insufficient",
    "zlib-missing",
)
# They name no cause; alone, it is mostly this one.
NOT_STARTED = ("convolution-not-started", "blas-failed", "no-algorithm-worked")
OTHER_REASONS = ("no-kernel-image", "invalid-kernel-image", "invalid-ptx", "gpu-lost", "library-not-loaded",
                 "compiled-from-ptx", "cudnn-status", "cublas-status")  # fmt: skip

GROW = Remedy(
    summary="Let TensorFlow take memory as it needs it, in this shell, and end other programs that hold the GPU's.",
    commands=("export TF_FORCE_GPU_ALLOW_GROWTH=true", "nvidia-smi"),
    applicability=Applicability.SAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.MEMORY,
    needs=(Capability.USER_DRIVER, Capability.CUDA_LIBS, Capability.CUDNN, Capability.KERNELS),
    message="{library} could not start on the GPU, mostly for lack of GPU memory",
    variants={"memory": "{library} could not start on the GPU: its memory is taken"},
)
def cublas_or_cudnn_init_oom(self: Rule, facts: Facts) -> Iterator[Draft]:
    """CuBLAS or cuDNN could not be started on the GPU, mostly for lack of its memory.

    Why it matters: TensorFlow takes nearly all memory of the GPU at its start, and what is left, beside other programs
    or the display, may not do for cuBLAS and cuDNN. The first matrix product or convolution then fails.
    How to fix: end what else uses the GPU, and let TensorFlow take memory as it needs it
    (TF_FORCE_GPU_ALLOW_GROWTH=true). If that does not help, look for two versions of the libraries.
    """
    told = tuple(e for e in events(facts, *HANDLES, *STATUS) if e.message in HANDLES or _no_handle(e))
    alone = () if told else _alone(facts)
    if not told and not alone:
        facts.tensorflow.events.require()
        return
    # That the driver may be too old is TensorFlow's guess after each handle that failed.
    guessed = {id(e) for e in events(facts, "cudnn-old-driver") if "driver" in e.parameters}
    if any(id(event) not in guessed for event in events(facts, *OTHER_CAUSES)):
        return
    told = told or alone
    full = events(facts, *OUT_OF_MEMORY) or tuple(e for e in told if "ALLOC_FAILED" in e.parameters.get("status", ""))
    names = {"cuBLAS" if event.message.startswith(("cublas", "blas")) else "cuDNN" for event in told}
    yield self.finding(
        (*seen(told), *seen(full)),
        variant="memory" if full else None,
        confidence=Confidence.POSSIBLE if alone else Confidence.CERTAIN if full else Confidence.LIKELY,
        remedies=(GROW,),
        library=" and ".join(sorted(names)),
    )


def _alone(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what says that cuBLAS or cuDNN did not start, where no other line gives a reason."""
    reasons = [*OTHER_REASONS, *OUT_OF_MEMORY]
    told = events(facts, "cudnn-status")
    if told and all(event.parameters.get("status", "").endswith(INTERNAL) for event in told):
        reasons.remove("cudnn-status")
    else:
        told = ()
    return () if events(facts, *reasons) else events(facts, *NOT_STARTED) or told


def _no_handle(event: LogEvent) -> bool:
    return event.parameters.get("status", "").endswith(NO_HANDLE)
