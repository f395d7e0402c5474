"""Asks libcuda, in a child, what a CUDA program in the user's environment is told."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from gpudoctor.facts.host import ChildRun, Host
from gpudoctor.facts.model import Absent, DriverFacts, Fact, Gpu, Known, LibcudaKind, Unknown
from gpudoctor.facts.probes.driver_answers import (
    FLAGS,
    MOST_BYTES,
    TIMEOUT_SECONDS,
    Answers,
    DriverAnswers,
    as_count,
    as_int,
    as_text,
    capability_text,
    cuda_version_text,
    program,
    version_in_name,
    within,
)

WHO = "libcuda"
LOADER = "the dynamic loader"
NO_DEVICE = 100
STUB_LIBRARY = 34
# Variables that hide GPUs from a CUDA program.
VISIBILITY_VARIABLES = ("CUDA_VISIBLE_DEVICES",)
# cuda.h, CUresult; the wording is ours.
MEANINGS = {
    2: "the GPU or the host had no memory left to start CUDA",
    3: "CUDA was not started",
    STUB_LIBRARY: "the libcuda that the loader finds is a stub for compilers, not the driver's library",
    46: "the GPU is in use by another program that has it for itself, or is not available",
    NO_DEVICE: "no GPU is visible to CUDA programs in this environment",
    101: "the GPU's number is not valid",
    304: "the operating system refused access to the GPU's device files",
    500: "the driver is too old to answer this question",
    801: "this GPU does not report it",
    802: "the GPUs are not ready yet; machines with NVSwitch need the running fabric manager of the driver's version",
    803: "libcuda and the loaded kernel module belong to different driver versions",
    804: "a forward-compatibility libcuda is in use, which works on data-centre GPUs only",
    999: "the driver reports an unknown error; the nvidia_uvm module or its device file may be missing",
}


def probe(host: Host, timeout: float = TIMEOUT_SECONDS) -> DriverAnswers:
    """Return what libcuda tells; timeout in seconds for all of it. Never raises.

    Where a variable hides GPUs it is asked a second time without the variable, at the same time.
    """
    hiding = [name for name in VISIBILITY_VARIABLES if name in host.environ]
    if not hiding:
        answers = _answers(_run(host, host.environ, timeout), timeout)
        return DriverAnswers(_driver(answers, answers), _gpus(answers, answers))
    unmasked_runs: list[ChildRun] = []
    environ = {name: value for name, value in host.environ.items() if name not in hiding}
    thread = threading.Thread(target=lambda: unmasked_runs.append(_run(host, environ, timeout)))
    thread.start()
    masked = _answers(_run(host, host.environ, timeout), timeout)
    thread.join()
    unmasked = _answers(unmasked_runs[0], timeout, f"{WHO} without {', '.join(hiding)}")
    return DriverAnswers(_driver(masked, unmasked), _gpus(masked, unmasked))


def _run(host: Host, environ: Mapping[str, str], timeout: float) -> ChildRun:
    return host.run_child(program("ask_libcuda"), {}, timeout=timeout, flags=FLAGS, environ=environ)


def _answers(run: ChildRun, timeout: float, who: str = WHO) -> Answers:
    return Answers(run, who=who, meanings=MEANINGS, started="CUDA_SUCCESS", limit=timeout)


def _init_code(answers: Answers) -> int | None:
    init = answers.values.get("init")
    return as_int(init.get("code")) if isinstance(init, dict) else None


def _count(answers: Answers) -> Fact[int]:
    """Return the number of devices; cuInit says "no device" in place of a count of zero."""
    return Known(0, answers.who) if _init_code(answers) == NO_DEVICE else answers.fact("count", as_count)


def _driver(masked: Answers, unmasked: Answers) -> DriverFacts:
    file, kind, version = _library(masked)
    return DriverFacts(
        cuda_init=masked.api(),
        cuda_version=masked.fact("cuda_version", cuda_version_text),
        libcuda_file=file,
        libcuda_kind=kind,
        libcuda_version=version,
        cuda_device_count=_count(masked),
        cuda_device_count_unmasked=_count(unmasked),
    )


def _library(answers: Answers) -> tuple[Fact[str], Fact[LibcudaKind], Fact[str]]:
    """Return file, kind and version of the libcuda that the loader took."""
    if answers.no_library:
        nothing = Absent(LOADER)
        return nothing, nothing, nothing
    if (refused := answers.loader_reason()) is not None:
        path = str(answers.values["loader"]).partition(": ")[0]
        unknown = Unknown(refused)
        return Known(path, LOADER) if path.startswith("/") else unknown, unknown, unknown
    file = answers.fact("library", as_text, LOADER)
    if not isinstance(file, Known):
        return file, file, file
    path = file.value
    kind = LibcudaKind.STUB if _init_code(answers) == STUB_LIBRARY else kind_of(path)
    version = version_in_name(path)
    known = Known(version, "the file name of libcuda") if version else Unknown("its file name tells no version")
    return file, Known(kind, "the folder of libcuda"), known


def kind_of(path: str) -> LibcudaKind:
    """Return what a libcuda file is, by the folder in which it lies."""
    folders = PurePosixPath(path).parts[:-1]
    if "stubs" in folders:
        return LibcudaKind.STUB
    if any(folder == "compat" or folder.startswith("cuda-compat") for folder in folders):
        return LibcudaKind.COMPAT
    return LibcudaKind.WSL if "/usr/lib/wsl/" in path else LibcudaKind.DRIVER


def _gpus(masked: Answers, unmasked: Answers) -> tuple[Gpu, ...]:
    """Return all GPUs that either pass saw, each with whether a program in this environment sees it."""
    seen = [_gpu(masked, number) for number in masked.gpu_numbers()]
    if masked is unmasked:
        return tuple(msgspec.structs.replace(gpu, visible=Known(True, masked.who)) for gpu in seen)
    gpus = [msgspec.structs.replace(gpu, visible=Known(True, masked.who)) for gpu in seen]
    told = masked.complete and isinstance(_count(masked), Known)
    hidden: Fact[bool] = Known(False, masked.who) if told else Unknown(masked.why_not())
    for number in unmasked.gpu_numbers():
        gpu = _gpu(unmasked, number)
        if not any(_same(gpu, other) for other in seen):
            gpus.append(msgspec.structs.replace(gpu, visible=hidden))
    return tuple(gpus)


def _same(one: Gpu, other: Gpu) -> bool:
    """Whether two passes saw the same GPU: by PCI address, else by UUID, never by number."""
    for field in ("pci_address", "uuid"):
        left, right = getattr(one, field), getattr(other, field)
        if isinstance(left, Known) and isinstance(right, Known):
            return bool(left.value == right.value)
    return False


def _gpu(answers: Answers, number: int) -> Gpu:
    prefix = f"gpu.{number}."
    handle = answers.values.get(prefix + "handle")
    if isinstance(handle, dict):
        unknown = Unknown(answers.meaning(handle))
        return Gpu(**dict.fromkeys(Gpu.__struct_fields__, unknown))
    return Gpu(
        name=answers.fact(prefix + "name", as_text),
        uuid=answers.fact(prefix + "uuid", as_text),
        pci_address=answers.fact(prefix + "pci", lambda value: value.lower() if isinstance(value, str) else None),
        compute_capability=_capability(answers, prefix),
        memory_total_bytes=answers.fact(prefix + "memory_total_bytes", lambda value: within(value, MOST_BYTES)),
    )


def _capability(answers: Answers, prefix: str) -> Fact[str]:
    major, minor = (answers.fact(prefix + part, as_int) for part in ("major", "minor"))
    if isinstance(major, Known) and isinstance(minor, Known):
        text = capability_text(major.value, minor.value)
        return Known(text, answers.who) if text else Unknown(f"{answers.who} gave an answer without sense")
    return major if isinstance(major, Unknown) else Unknown(f"{answers.who} did not tell all of it")
