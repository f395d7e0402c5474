"""A judged wheel as a stack: versions, requirements for pip, what has to be done by hand, evidence."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.compat import CodeAnswer, GpuCode, NotCovered, Os, Trust, version
from gpudoctor.compat.bundle import load
from gpudoctor.compat.rows import CondaCuda, CudaDriver, CudaPin, Cudnn, KerasRow, OfficialBuild, PipRoute, Wheel
from gpudoctor.compat.specifiers import satisfies
from gpudoctor.plan.families import first_branch
from gpudoctor.plan.model import Evidence, Machine, Provider, Stack

# Releases below it break with numpy 2, whether their metadata says so or not.
FIRST_WITH_NUMPY_2 = "2.18"
# Releases below it break with protobuf 4 ("Descriptors cannot be created directly").
FIRST_WITH_PROTOBUF_4 = "2.12"
# From the first of these on Keras compiles by XLA, and before the other XLA takes whichever ptxas it finds first.
XLA_TAKES_FROM, XLA_TAKES_BEFORE = "2.11", "2.17"
# TensorRT is no part of CUDA and its pinned wheels are not served for each Python.
GIB = 2**30
SMALL_MEMORY = 4 * GIB
NOT_CUDA = ("tensorrt", "tensorrt-bindings", "tensorrt-libs")


def provider(wheel: Wheel) -> Provider:
    """Where the CUDA libraries of a wheel come from on its platform."""
    try:
        if wheel.platform == "linux-x86_64" and (route := compat.pip_route(wheel.tensorflow)).nvidia_runpath:
            compat.and_cuda_pins(wheel.tensorflow)
            return Provider.AND_CUDA if route.extra_installs else Provider.PIP
    except NotCovered:
        pass
    try:
        compat.conda_cuda(wheel.tensorflow, wheel.platform)
    except NotCovered:
        return Provider.SYSTEM
    return Provider.CONDA


def pip_provides(wheel: Wheel) -> bool:
    """Whether wheels of pip bring the CUDA libraries, and TensorFlow finds them there."""
    return provider(wheel) in {Provider.AND_CUDA, Provider.PIP}


def _allows(requirement: str, text: str) -> bool:
    """Whether a requirement as the table writes it (alternatives with markers, parted by a bar) admits a version."""
    return any(satisfies(version(text), part.partition(";")[0]) for part in requirement.split("|"))


def _first_without_code(major: int, cuda_major: int, capabilities: tuple[str, ...]) -> Cudnn | None:
    """The first cuDNN release of a major version that has no code for one of the GPUs."""
    rows = [row for row in load(Cudnn).rows if row.cuda_major == cuda_major and version(row.first).major == major]
    rows.sort(key=lambda row: version(row.first))
    for row in rows:
        if row.confidence is not Trust.LOW and any(
            compat.capability(cc) < compat.capability(row.lowest_cc) for cc in capabilities
        ):
            return row
    return None


def cudnn_cap(wheel: Wheel, pins: tuple[CudaPin, ...], capabilities: tuple[str, ...]) -> tuple[str, Cudnn] | None:
    """A pin such as nvidia-cudnn-cu12<9.11 where the extra would bring a cuDNN without code for a GPU, and its row."""
    pin = next((pin for pin in pins if pin.package.startswith("nvidia-cudnn-")), None)
    if pin is None:
        return None
    row = _first_without_code(int(wheel.cudnn), compat.cuda_release(compat.cuda_of(wheel))[0], capabilities)
    if row is None or not _allows(pin.specifier, row.first):
        return None
    return f"{pin.package}<{row.first.removesuffix('.0')}", row


def companions(wheel: Wheel) -> list[str]:
    """Pins that the wheel's own metadata lacks."""
    found = []
    if version(wheel.tensorflow) < version(FIRST_WITH_NUMPY_2) and _allows(wheel.numpy, "2.0.0"):
        found.append("numpy<2")
    if version(wheel.tensorflow) < version(FIRST_WITH_PROTOBUF_4) and _allows(wheel.protobuf, "4.21.6"):
        found.append("protobuf<3.20")
    return found


def requirements(wheel: Wheel, capabilities: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments for pip that bring TensorFlow and, where pip can provide them, its CUDA libraries."""
    by = provider(wheel)
    if not pip_provides(wheel):
        return (f"{wheel.package}=={wheel.tensorflow}", *companions(wheel))
    pins = compat.and_cuda_pins(wheel.tensorflow)
    if by is Provider.PIP:
        named = [f"{pin.package}{pin.specifier}" for pin in pins if pin.package not in NOT_CUDA]
        return (f"{wheel.package}=={wheel.tensorflow}", *named, *companions(wheel))
    cap = cudnn_cap(wheel, pins, capabilities)
    return (f"{wheel.package}[and-cuda]=={wheel.tensorflow}", *([cap[0]] if cap else []), *companions(wheel))


def _cudnn_version(wheel: Wheel) -> str:
    """The cuDNN that the wheel was built with: of the tested build where there is one, else the major number."""
    try:
        return compat.tested_build(wheel.tensorflow, "windows" if wheel.platform == "win-amd64" else "linux").cudnn
    except NotCovered:
        return wheel.cudnn


def _limits(code: CodeAnswer | None, machine: Machine) -> tuple[str, ...]:
    found = []
    if code is not None and code.code is GpuCode.PTX:
        found.append("slow first start: the driver compiles all kernels from PTX")
    if code is not None and code.code is GpuCode.NATIVE_PARTIAL:
        found.append("slower first start: the driver compiles some kernels from PTX")
    if any(compat.capability(cc) < (7, 0) for cc in machine.compute_capabilities):
        found.append("no tensor cores")
    if machine.memory_bytes is not None and machine.memory_bytes < SMALL_MEMORY:
        found.append(f"{machine.memory_bytes / GIB:.1f} GiB of GPU memory: small models and small batches only")
    return tuple(found)


def _compiler_limit(wheel: Wheel, machine: Machine) -> tuple[str, ...]:
    """What a toolkit of the user has to bring where XLA takes its ptxas and that of TensorFlow's CUDA is too old."""
    takes = version(XLA_TAKES_FROM) <= version(wheel.tensorflow) < version(XLA_TAKES_BEFORE)
    newest = max(machine.compute_capabilities, key=compat.capability, default=None)
    if not takes or newest is None or pip_provides(wheel):
        return ()
    try:
        known = compat.highest_capability(compat.cuda_of(wheel))[0]
        first = compat.first_cuda_for(newest)
    except NotCovered:
        return ()
    if compat.capability(newest) <= compat.capability(known):
        return ()
    return (f"XLA takes the toolkit's ptxas, which has to know this GPU: that of CUDA {first} or newer",)


def _loader_limit(wheel: Wheel) -> tuple[str, ...]:
    lacks = compat.pip_route(wheel.tensorflow).runpath_lacks if pip_provides(wheel) else ()
    if not lacks:
        return ()
    return (f"LD_LIBRARY_PATH has to be set in each shell: this release does not find {' and '.join(lacks)} by itself",)


def _evidence(wheel: Wheel, code: CodeAnswer | None, machine: Machine) -> Iterator[Evidence]:
    """The rows that the stack rests on, one for each edge between two versions."""
    wheels, cuda = load(Wheel), compat.cuda_of(wheel)
    pythons = compat.pythons_of(wheel)
    claim = f"{wheel.package} {wheel.tensorflow} for {wheel.platform} is a CUDA {cuda} build"
    yield Evidence(claim, wheels.name, wheels.source_of(wheel), wheel.confidence)
    claim = f"its wheels are for Python {pythons[0]} to {pythons[-1]}"
    yield Evidence(claim, wheels.name, wheels.source_of(wheel), wheel.confidence)
    need = compat.min_driver_for_cuda(cuda, machine.os)
    claim = f"CUDA {need.cuda} runs from driver {need.minimum} on"
    yield Evidence(claim, load(CudaDriver).name, need.source, need.confidence)
    if code is not None:
        yield Evidence(code.reason, "gpu_code", code.source, code.confidence)
    yield from _cudnn_evidence(wheel, machine)
    try:
        keras = compat.keras_for(wheel.tensorflow)
    except NotCovered:
        return
    claim = f"tf.keras of {wheel.tensorflow} is Keras {keras.generation}"
    yield Evidence(claim, load(KerasRow).name, load(KerasRow).source_of(keras), keras.confidence)


def _cudnn_evidence(wheel: Wheel, machine: Machine) -> Iterator[Evidence]:
    by = provider(wheel)
    try:
        row = compat.tested_build(wheel.tensorflow, "windows" if wheel.platform == "win-amd64" else "linux")
        claim = f"TensorFlow {row.tensorflow} is built with cuDNN {row.cudnn}"
        yield Evidence(claim, load(OfficialBuild).name, load(OfficialBuild).source_of(row), row.confidence)
    except NotCovered:
        pass
    if by is Provider.CONDA:
        conda = compat.conda_cuda(wheel.tensorflow, wheel.platform)
        claim = f"conda-forge's {' and '.join((*conda.packages, *conda.pip_packages))} provide its libraries"
        yield Evidence(claim, load(CondaCuda).name, load(CondaCuda).source_of(conda), conda.confidence)
    elif by is not Provider.SYSTEM:
        route = compat.pip_route(wheel.tensorflow)
        yield Evidence("it finds CUDA in pip's wheels", load(PipRoute).name, load(PipRoute).source_of(route),
                       route.confidence)  # fmt: skip
    if by is Provider.AND_CUDA:
        cap = cudnn_cap(wheel, compat.and_cuda_pins(wheel.tensorflow), machine.compute_capabilities)
        if cap is not None:
            claim = f"cuDNN {cap[1].first} has no code below compute capability {cap[1].lowest_cc}"
            yield Evidence(claim, load(Cudnn).name, load(Cudnn).source_of(cap[1]), cap[1].confidence)


def _driver_min(wheel: Wheel, code: CodeAnswer | None, machine: Machine) -> str:
    """The least driver: by minor-version compatibility for native code, and one that compiles the PTX where needed.

    A GPU that is younger than that driver needs its family's first branch ("520").
    """
    need = compat.min_driver_for_cuda(compat.cuda_of(wheel), machine.os)
    least = [need.minimum]
    if code is not None and code.code is not GpuCode.NATIVE and code.ptx_cuda is not None:
        least.append(compat.min_driver_for_cuda(code.ptx_cuda, machine.os).toolkit_driver or need.minimum)
    if machine.os is Os.LINUX and (branch := first_branch(machine.compute_capabilities)) is not None:
        least.append(branch)
    return max(least, key=version)


def _keras(wheel: Wheel) -> int | None:
    try:
        return compat.keras_for(wheel.tensorflow).generation
    except NotCovered:
        return None


def _unsearched(wheel: Wheel) -> tuple[str, ...]:
    return tuple(f"nvidia/{library.lower()}/lib" for library in compat.pip_route(wheel.tensorflow).runpath_lacks)


def build_stack(wheel: Wheel, code: CodeAnswer | None, machine: Machine, at_hand: tuple[str, ...]) -> Stack:
    """The stack of a wheel that nothing rules out; raises NotCovered where a table has no row for it."""
    cuda, cudnn = compat.cuda_of(wheel), _cudnn_version(wheel)
    by = provider(wheel)
    apart = not pip_provides(wheel)
    conda = compat.conda_cuda(wheel.tensorflow, wheel.platform) if by is Provider.CONDA else None
    manual: tuple[str, ...] = ()
    if apart:
        manual = (f"Install CUDA {cuda} and cuDNN {cudnn} where the loader finds them: pip cannot provide them.",)
    return Stack(
        tensorflow=wheel.tensorflow,
        package=wheel.package,
        keras=_keras(wheel),
        pythons=compat.pythons_of(wheel),
        pythons_at_hand=at_hand,
        cuda=cuda,
        cudnn=cudnn,
        driver_min=_driver_min(wheel, code, machine),
        gpu_code=None if code is None else code.code,
        route=machine.os,
        provided_by=by,
        requirements=requirements(wheel, machine.compute_capabilities),
        manual=manual,
        unsearched=() if apart else _unsearched(wheel),
        conda=() if conda is None else conda.packages,
        conda_pip=() if conda is None else conda.pip_packages,
        conda_compiler="" if conda is None else conda.compiler,
        limits=(*_limits(code, machine), *_compiler_limit(wheel, machine), *_loader_limit(wheel)),
        evidence=tuple(_evidence(wheel, code, machine)),
    )
