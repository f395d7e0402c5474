"""Remedies that bring the CUDA libraries of the installed TensorFlow, or lead the loader to them."""

from __future__ import annotations

import re

from gpudoctor import compat
from gpudoctor.compat.rows import Wheel
from gpudoctor.facts.model import Facts, FactUnavailable, Known
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import in_quotes
from gpudoctor.plan.stack import pip_provides, requirements
from gpudoctor.rules.gpu._code import capability_of, is_hidden, platform_of
from gpudoctor.rules.libraries._stack import cuda_major, cuda_of
from gpudoctor.rules.python._pip import conda_install, pip_commands, shell
from gpudoctor.rules.python._state import resolved_by_conda
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

VARIABLE = "LD_LIBRARY_PATH"
COMPILER = "cuda-nvcc"
PLAIN = re.compile(r"[\w/.:@%+=,-]*\Z")


def export(facts: Facts, folders: tuple[str, ...]) -> str:
    """Return the command that puts folders first on the loader's path; an empty entry would mean the current folder."""
    there = (facts.python.environment.get() or {}).get(VARIABLE)
    text = ":".join([*map(in_quotes, dict.fromkeys(folders)), *(["$" + VARIABLE] if there else [])])
    return f"export {VARIABLE}={text}" if PLAIN.match(text) else f'export {VARIABLE}="{text}"'


def lead_loader(facts: Facts, folders: tuple[str, ...]) -> Remedy:
    """Return the remedy that shows the loader where libraries lie."""
    return Remedy(
        summary="Let the loader look where the libraries lie: in this shell, before the program starts. For good, put "
        "the line into the script that activates the environment.",
        commands=(export(facts, folders),),
        applicability=Applicability.SAFE,
    )


def capabilities(facts: Facts) -> tuple[str, ...]:
    """Return the compute capabilities of the visible GPUs, as far as they are known."""
    found = []
    for gpu in facts.gpus:
        if not is_hidden(gpu):
            try:
                found.append(capability_of(gpu)[0])
            except FactUnavailable:
                continue
    return tuple(dict.fromkeys(found))


def _row(facts: Facts) -> Wheel | None:
    try:
        return compat.wheel(
            facts.tensorflow.version.require(), facts.tensorflow.distribution.get() or "tensorflow", platform_of(facts)
        )
    except FactUnavailable:
        return None


def _wanted(facts: Facts) -> tuple[str, ...]:
    """Return what pip has to install for TensorFlow to find its CUDA libraries; nothing where pip cannot do it."""
    row = _row(facts)
    if row is not None and (pip_provides(row) or not compat.is_newer_than_tables(row.tensorflow)):
        return requirements(row, capabilities(facts)) if pip_provides(row) else ()
    # A release that is newer than the tables, or a nightly: its own metadata tells that it has the extra.
    version, name = facts.tensorflow.version.get(), facts.tensorflow.distribution.get()
    if version and name and facts.tensorflow.cuda_requirements.get() and platform_of(facts) == "linux-x86_64":
        return (f"{name}[and-cuda]=={version}",)
    return ()


def bring_libraries(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedies that bring all CUDA libraries and cuDNN for the installed TensorFlow."""
    wanted = _wanted(facts)
    version = facts.tensorflow.version.get() or ""
    if wanted and not facts.python.externally_managed.get():
        lacks = _lacks(facts)
        after = " Its own search path leaves some out: then set the variable as shown, in each shell." if lacks else ""
        return (
            Remedy(
                summary=f"Install the CUDA libraries and cuDNN for TensorFlow {version} into its environment.{after}",
                commands=(*pip_commands(facts, "install", *wanted), *lacks),
                applicability=_applicability(facts),
            ),
        )
    return _by_conda(facts) or (*tensorflow_that_fits(facts), *_by_hand(facts))


def _applicability(facts: Facts) -> Applicability:
    known = isinstance(facts.python.executable, Known) and facts.python.chosen_by.get() != "own"
    return Applicability.UNSAFE if known else Applicability.MANUAL


def _lacks(facts: Facts) -> tuple[str, ...]:
    """Return the command for the libraries that a release does not find in their wheels."""
    try:
        lacks = compat.pip_route(facts.tensorflow.version.require()).runpath_lacks
    except FactUnavailable:
        return ()
    location = facts.tensorflow.location.get()
    if not lacks or location is None:
        return ()
    site = location.rpartition("/")[0]
    return (export(facts, tuple(f"{site}/nvidia/{name.lower()}/lib" for name in lacks)),)


def _by_conda(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedy with the packages that the tables name for conda; nothing where they name none."""
    prefix = facts.python.prefix.get()
    if facts.python.environment_kind.get() != "conda" or prefix is None:
        return ()
    try:
        version, platform = facts.tensorflow.version.require(), platform_of(facts)
        row = compat.conda_cuda(version, platform)
        cuda, cudnn = cuda_of(facts), compat.compiled_cudnn(version, "windows" if platform == "win-amd64" else "linux")
    except FactUnavailable:
        return ()
    folders = [f"{prefix}/lib"]
    location = facts.tensorflow.location.get()
    if row.pip_packages and location is not None:
        folders.append(f"{location.rpartition('/')[0]}/nvidia/cudnn/lib")
    return (
        Remedy(
            summary=f"Install CUDA {cuda} and cuDNN {cudnn} into the conda environment, and let the loader find them.",
            commands=(
                conda_install(facts, *row.packages, channel="conda-forge"),
                *(pip_commands(facts, "install", *row.pip_packages) if row.pip_packages else ()),
                *((export(facts, tuple(folders)),) if shell(facts) is compat.Os.LINUX else ()),
            ),
            applicability=Applicability.UNSAFE,
        ),
    )


def _by_hand(facts: Facts) -> tuple[Remedy, ...]:
    try:
        cuda, cudnn = cuda_of(facts), compat.compiled_cudnn(facts.tensorflow.version.require())
    except FactUnavailable:
        return ()
    summary = (
        f"Or keep TensorFlow {facts.tensorflow.version.require()}: install CUDA {cuda} and cuDNN {cudnn} from NVIDIA "
        "where the loader finds them; pip cannot bring them for this release."
    )
    return (Remedy(summary=summary, applicability=Applicability.MANUAL),)


def cudnn_requirement(facts: Facts) -> str | None:
    """Return the requirement for a cuDNN wheel that fits TensorFlow and all GPUs: nvidia-cudnn-cu12>=9.3,<9.11."""
    try:
        major, version = cuda_major(facts), facts.tensorflow.version.require()
        compiled = compat.compiled_cudnn(version)
    except FactUnavailable:
        return None
    bounds = [f">={compiled}", f"<{int(compiled.split('.')[0]) + 1}"]
    for cap in _caps(compiled, major, capabilities(facts)):
        bounds[1] = f"<{cap}"
    return f"nvidia-cudnn-cu{major}{','.join(bounds)}"


def _caps(compiled: str, cuda: int, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first cuDNN release of the major version that drops one of these GPUs, if one does."""
    first = compat.cudnn_first_without(compiled, cuda, needed)
    return () if first is None else (first,)


def bring_cudnn(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedies that bring a cuDNN which fits TensorFlow and the GPUs."""
    wanted = cudnn_requirement(facts)
    row = _row(facts)
    by_pip = row is not None and pip_provides(row)
    if wanted is None or not by_pip or facts.python.externally_managed.get():
        return bring_libraries(facts)
    return (
        Remedy(
            summary="Install a cuDNN that fits TensorFlow and the GPU into its environment.",
            commands=pip_commands(facts, "install", wanted),
            applicability=_applicability(facts),
        ),
    )


def toolchain(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedies that let XLA find ptxas and libdevice."""
    try:
        cuda = cuda_of(facts)
    except FactUnavailable:
        cuda = ""
    row, major = _row(facts), compat.cuda_release(cuda)[0] if cuda else 0
    try:
        by_pip = bool(row and compat.pip_route(row.tensorflow).nvidia_runpath)
    except FactUnavailable:
        by_pip = False
    if by_pip and major and not facts.python.externally_managed.get() and not resolved_by_conda(facts):
        release = compat.cuda_release(cuda)[:2]
        wanted = f"nvidia-cuda-nvcc-cu{major}>={'.'.join(map(str, release))}"
        return (
            Remedy(
                summary="Install the CUDA compiler's package, with ptxas and libdevice, where XLA looks for it.",
                commands=pip_commands(facts, "install", wanted),
                applicability=_applicability(facts),
            ),
        )
    prefix = facts.python.prefix.get()
    if facts.python.environment_kind.get() == "conda" and prefix is not None and shell(facts) is compat.Os.LINUX:
        return (_conda_toolchain(facts, prefix),)
    return (
        Remedy(
            summary="Point XLA at a folder that holds nvvm/libdevice/libdevice.10.bc and bin/ptxas: that of a CUDA "
            f"{cuda} toolkit, for instance.".replace("  ", " "),
            commands=("export XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda",),
            applicability=Applicability.MANUAL,
        ),
    )


def _conda_toolchain(facts: Facts, prefix: str) -> Remedy:
    """Return the remedy for a conda environment: its libdevice lies where XLA does not look."""
    try:
        compiler = compat.conda_cuda(facts.tensorflow.version.require(), platform_of(facts)).compiler or COMPILER
    except FactUnavailable:
        compiler = COMPILER
    home = in_quotes(prefix)
    folder = f'"{home}/lib/nvvm/libdevice"'
    return Remedy(
        summary="Install the CUDA compiler into the conda environment, and put libdevice where XLA can be pointed at.",
        commands=(
            conda_install(facts, compiler, channel="nvidia"),
            f"mkdir -p {folder}",
            f'cp "$(find "{home}" -name libdevice.10.bc | head -n 1)" {folder}',
            f'export XLA_FLAGS="--xla_gpu_cuda_data_dir={home}/lib"',
        ),
        applicability=Applicability.UNSAFE,
    )
