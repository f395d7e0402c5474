"""gpu-arch-too-new-for-wheel."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu, Known, Unknown
from gpudoctor.findings import Capability, Confidence, Remedy, Severity
from gpudoctor.rules.ask_for import what_fits
from gpudoctor.rules.driver._install import install_driver
from gpudoctor.rules.gpu._code import another_runs, capability_of, gpu_code, is_hidden, ptx_driver, shown_name
from gpudoctor.rules.gpu._log import is_newer_than_build, newest_of_runtime, of_gpu
from gpudoctor.rules.observed import working_gpus
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.rules.tensorflow._install import newer_than_any_wheel, tensorflow_that_fits

SLOW = "slow"
PARTLY = "partly"


@rule(
    Severity.WARNING,
    scope=Scope.GPU,
    breaks=Capability.KERNELS,
    message="TensorFlow {version} has only PTX for {gpu}: the driver compiles it at the first start, which takes "
    "minutes, and again whenever its cache is lost",
    variants={
        "fails": "TensorFlow {version} has only PTX for {gpu}, and on this generation it is reported to fail with "
        "CUDA_ERROR_INVALID_PTX",
        "driver": "TensorFlow {version} has only PTX of CUDA {cuda} for {gpu}, and driver {driver} compiles PTX up to "
        "CUDA {serves} only",
        PARTLY: "TensorFlow {version} has most of its kernels for {gpu} as PTX of CUDA {cuda} only, and driver "
        "{driver} compiles PTX up to CUDA {serves}: kernels without native code fail",
        "failed": "the driver could not compile TensorFlow's code for {gpu}: the build is older than this generation",
        "compiles": "this TensorFlow has no native code for {gpu}: the driver compiles it at the first start, for "
        "minutes",
        "runtime": "{gpu} is newer than CUDA {cuda}, which this TensorFlow is built with: the driver compiles its "
        "code at each first start, for minutes, or cannot",
        "none": "TensorFlow {version} has no code for {gpu}: it has {carries}",
    },
)
def gpu_arch_too_new_for_wheel(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The TensorFlow wheel has no native code for this newer GPU.

    Why it matters: the driver has to compile every kernel from PTX: a first start of many minutes where that works,
    and no GPU at all where it does not (reported for Blackwell with the official wheels to 2.21).
    How to fix: install a TensorFlow whose wheel has native code for this GPU, where there is one, or a build of NVIDIA
    for it. Where PTX works, keep its cache: raise CUDA_CACHE_MAXSIZE, and keep the folder of CUDA_CACHE_PATH.
    """
    told = tuple(_from_log(self, facts, gpu))
    if told:
        yield from told
        return
    unsaid = _in_text_alone(facts)
    if not unsaid and not facts.tensorflow.cuda_build.require():
        return
    answer = gpu_code(facts, gpu)
    cc, evidence = capability_of(gpu)
    variant = _variant(facts, answer, cc)
    if variant is None or (variant == PARTLY and facts.gpus.index(gpu) in working_gpus(facts)):
        return
    hard = variant not in (SLOW, PARTLY)
    by_driver = variant in (PARTLY, "driver")
    spared = is_hidden(gpu) or another_runs(facts, gpu)
    severity = Severity.ERROR if hard else Severity.WARNING
    yield self.finding(
        (*evidence, "tensorflow.compute_capabilities", "tensorflow.version")
        + (("driver.version", "driver.cuda_version", "tensorflow.built_with_cuda") if by_driver else ()),
        variant=None if variant == SLOW else variant,
        severity=Severity.NOTE if spared else severity,
        # Reports of others, and tables, not something seen on this machine.
        confidence=Confidence.LIKELY if variant == "fails" or by_driver or unsaid else Confidence.CERTAIN,
        remedies=() if spared else _remedies(facts, answer, hard=hard, by_driver=by_driver),
        version=facts.tensorflow.version.require(),
        gpu=shown_name(gpu, cc),
        carries=answer.reason.partition(" has ")[2] or answer.reason,
        driver=facts.driver.version.get() or "of unknown version",
        cuda=answer.ptx_cuda or facts.tensorflow.built_with_cuda.get() or "",
        serves=facts.driver.cuda_version.get() or "",
    )


def _in_text_alone(facts: Facts) -> bool:
    """Whether a text names release and GPU, not the build: it changes nothing of what the release has code for."""
    asked = (facts.tensorflow.cuda_build, facts.tensorflow.run, facts.libraries.found)
    return all(isinstance(fact, Unknown) for fact in asked)


def _remedies(facts: Facts, answer: compat.CodeAnswer, *, hard: bool, by_driver: bool) -> tuple[Remedy, ...]:
    fitting = tensorflow_that_fits(facts)
    if not by_driver:
        return fitting or newer_than_any_wheel(facts, hard=hard)
    return fitting + install_driver(facts, at_least=ptx_driver(facts, answer))


def _variant(facts: Facts, answer: compat.CodeAnswer, cc: str) -> str | None:
    """Return what is wrong: a key of the rule's variants, SLOW (PTX works), or None if all is well."""
    code = answer.code
    if code is compat.GpuCode.PTX_KNOWN_TO_FAIL:
        return "fails"
    if code in (compat.GpuCode.PTX, compat.GpuCode.NATIVE_PARTIAL):
        # Minor-version compatibility does not cover PTX: the driver must know the PTX that the wheel holds.
        serves, cuda = facts.driver.cuda_version.get(), answer.ptx_cuda or facts.tensorflow.built_with_cuda.get()
        known = serves is not None and cuda is not None
        unread = known and compat.cuda_release(serves or "")[:2] < compat.cuda_release(cuda or "")[:2]
        if code is compat.GpuCode.PTX:
            return "driver" if unread else SLOW
        # Only where the wheel was counted: the list alone does not tell how much is compiled from PTX.
        return PARTLY if unread and answer.confidence is compat.Trust.HIGH else None
    carried = facts.tensorflow.compute_capabilities.get() or ()
    if code is compat.GpuCode.NONE and carried:
        newest = max(compat.capability(entry) for entry in carried)
        return "none" if compat.capability(cc) > newest else None
    return None


def _from_log(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """Find what TensorFlow and CUDA said of this GPU's code, or what their versions say where no wheel is named."""
    if isinstance(facts.tensorflow.computations, Known):
        return  # it was tried here: what came of that outweighs words
    failed = of_gpu(events(facts, "invalid-ptx"), facts, gpu)
    compiles = of_gpu(events(facts, "compiled-from-ptx"), facts, gpu)
    unnamed = gpu.compute_capability.get() is None and gpu.name.get() is None
    if not failed and (unnamed or is_newer_than_build(facts, gpu)):
        handles = (e for e in events(facts, "cuda-error") if e.parameters.get("error") == "CUDA_ERROR_INVALID_HANDLE")
        failed = tuple(handles)  # of a kernel that was never loaded: so it ends on GPUs that no wheel has code for
    if not failed and is_newer_than_build(facts, gpu):
        failed = of_gpu(events(facts, "no-kernel-image", "invalid-kernel-image"), facts, gpu)
    cc, cuda = gpu.compute_capability.get(), facts.tensorflow.built_with_cuda.get()
    newest = newest_of_runtime(facts) if facts.tensorflow.version.get() is None else None
    # Code of a lower minor number runs on a GPU of the same major one.
    beyond = cc is not None and newest is not None and compat.capability(cc)[0] > compat.capability(newest)[0]
    if not failed and not compiles and not beyond:
        return
    name = gpu.name.get() or "the GPU"
    yield self.finding(
        (*seen(failed or compiles), "gpu.name", "gpu.compute_capability", "tensorflow.built_with_cuda",
         "tensorflow.version"),
        variant="failed" if failed else "compiles" if compiles else "runtime",
        severity=Severity.ERROR if failed else Severity.WARNING,
        confidence=Confidence.CERTAIN if failed or compiles else Confidence.LIKELY,
        remedies=tensorflow_that_fits(facts) or newer_than_any_wheel(facts, hard=bool(failed)) or what_fits(facts, gpu),
        gpu=f"{name} (compute capability {cc})" if cc else name,
        cuda=cuda or "",
    )  # fmt: skip
