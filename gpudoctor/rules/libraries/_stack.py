"""What the installed TensorFlow asks of the CUDA libraries, and what of it the loader finds."""

from __future__ import annotations

import re

from msgspec import Struct, structs

from gpudoctor import compat
from gpudoctor.facts.model import Api, Facts, FactUnavailable, Known, Library, LogEvent, Unknown
from gpudoctor.findings import Evidence
from gpudoctor.rules.driver._state import outcome
from gpudoctor.rules.gpu._code import platform_of
from gpudoctor.rules.python._state import events

CUDNN = "cudnn"
NAMED = (
    "library-not-loaded",
    "library-not-opened",
    "library-not-found",
    "cuda-library-not-linked",
    "windows-dll-missing",
    "library-said-missing",
)
RUNTIME_WHEEL = re.compile(r"nvidia-cuda-runtime(-cu\d+)?(?![\w-])")
CUDNN_WHEEL = re.compile(r"nvidia-cudnn-cu\d+(?![\w-])")
LOWEST = re.compile(r"(?:==|>=)(\d+\.\d+)")
CUDNN_FAILED = ("cudnn-handle", "cudnn-status", "convolution-not-started", "no-algorithm-worked")
NO_GPU_LIBRARY = re.compile(r"libcuda\.so|libnvinfer|libcudnn_|nvcuda|msvcp|vcruntime|concrt")


class Need(Struct, frozen=True):
    """One library that TensorFlow opens, by the name that it asks for."""

    library: str
    soname: str

    @property
    def is_cudnn(self) -> bool:
        """Whether it is cuDNN, which comes apart from CUDA."""
        return self.library.startswith(CUDNN)


class Lack(Struct, frozen=True, kw_only=True):
    """What TensorFlow does not find. needs is empty where its log tells of a lack and names no library."""

    needs: tuple[Need, ...] = ()
    named_by: tuple[LogEvent, ...] = ()
    """Events of the log that tell it; empty where files do."""
    elsewhere: tuple[Library, ...] = ()
    """Libraries of the right name where the loader does not look: one for each need, or none at all."""
    other_cuda: Library | None = None
    """A CUDA runtime of another major version that the loader finds instead."""
    by_text: bool = False
    """Files and packages that a text names tell it: others may be there as well."""

    @property
    def cuda(self) -> tuple[Need, ...]:
        """The needs without cuDNN."""
        return tuple(need for need in self.needs if not need.is_cudnn)


def cuda_of(facts: Facts) -> str:
    """Return the CUDA release that the installed TensorFlow was built with. Raises FactUnavailable.

    By its own word, exact by the tables where that is "10" only; where both are silent (2.22.0rc0, nightlies), by the
    wheels that its extra and-cuda asks for.
    """
    told = facts.tensorflow.built_with_cuda.get()
    if told and len(compat.cuda_release(told)) > 1:
        return told
    try:
        return compat.cuda_of_build(
            facts.tensorflow.version.require(),
            facts.tensorflow.distribution.get() or "tensorflow",
            platform_of(facts),
            told,
        )
    except FactUnavailable:
        asked = _asked_for(facts, RUNTIME_WHEEL) or told
        if asked is None:
            raise
        return asked


def is_inferred(facts: Facts) -> bool:
    """Whether only the wheels that TensorFlow asks for tell its CUDA release."""
    return not isinstance(facts.tensorflow.built_with_cuda, Known)


def _asked_for(facts: Facts, wheel: re.Pattern[str]) -> str | None:
    """Return the lowest version of a wheel that the extra and-cuda admits: 12.5 of >=12.5.82."""
    for requirement in facts.tensorflow.cuda_requirements.get() or ():
        if wheel.match(requirement) and (bound := LOWEST.search(requirement)):
            return bound[1]
    return None


def cuda_major(facts: Facts) -> int:
    """Return its major number. Raises FactUnavailable."""
    return compat.cuda_release(cuda_of(facts))[0]


def cudnn_major(facts: Facts) -> int:
    """Return the major version of cuDNN that TensorFlow was built with. Raises FactUnavailable."""
    built_with = facts.tensorflow.built_with_cudnn.get() or _asked_for(facts, CUDNN_WHEEL)
    return compat.cuda_release(built_with or compat.compiled_cudnn(facts.tensorflow.version.require()))[0]


def compiled_cudnn(facts: Facts) -> str:
    """Return the cuDNN that the installed TensorFlow was compiled with, of an official build: others choose their own.

    Raises FactUnavailable.
    """
    version, built_with = facts.tensorflow.version.require(), facts.tensorflow.built_with_cuda.get()
    told = compat.compiled_cudnn(version)
    row = compat.wheel(version, facts.tensorflow.distribution.get() or "tensorflow", platform_of(facts))
    if built_with is not None and row.cuda and built_with not in (row.cuda_raw, row.cuda):
        raise compat.NotCovered(f"this TensorFlow {version} is no official build: its cuDNN is not known")
    if compat.cuda_release(told)[0] != cudnn_major(facts):
        raise compat.NotCovered(f"this TensorFlow {version} is built with another cuDNN than the official build")
    return told


def needs(facts: Facts) -> tuple[Need, ...]:
    """Return the libraries without which TensorFlow leaves all GPUs out. Raises FactUnavailable."""
    if facts.host.os.get() not in (None, "linux"):
        raise FactUnavailable("CUDA libraries are looked for on Linux only")
    cuda, found = cuda_of(facts), []
    for library in compat.required_libraries(facts.tensorflow.version.require()):
        soname = f"libcudnn.so.{cudnn_major(facts)}" if library == CUDNN else compat.cuda_soname(library, cuda)
        if soname is not None:
            found.append(Need(library, soname))
    return tuple(found)


def runtime_of(facts: Facts) -> Need:
    """Return the CUDA runtime that TensorFlow opens, under its name on Linux. Raises FactUnavailable."""
    return Need("cudart", compat.runtime_soname(cuda_of(facts)))


def winner(facts: Facts, soname: str) -> Library | None:
    """Return the file that the loader takes for a name, None if it finds none. Raises FactUnavailable."""
    return next((item for item in facts.libraries.found.require() if item.soname == soname and item.wins), None)


def candidates(facts: Facts, soname: str) -> tuple[Library, ...]:
    """Return all files of a name, those that the loader finds first. Raises FactUnavailable."""
    return tuple(item for item in facts.libraries.found.require() if item.soname == soname)


def gpu_listed(facts: Facts) -> bool:
    """Whether TensorFlow lists a GPU, here or in a log: then it found all that it needs for that."""
    listed = any(device.kind == "GPU" for device in facts.tensorflow.devices.get() or ())
    return listed or bool(events(facts, "created-device"))


def lack(facts: Facts, *, silent: bool = False) -> Lack | None:
    """Return what TensorFlow does not find, None if it finds all. Raises FactUnavailable.

    silent: a text shows no GPU and no reason; then the files that it names are held against what TensorFlow opens.
    """
    if gpu_listed(facts):
        return None
    named = tuple(e for e in events(facts, *NAMED) if not NO_GPU_LIBRARY.match(e.parameters.get("library", "")))
    unnamed = events(facts, "cannot-dlopen")
    if not isinstance(facts.libraries.found, Known):
        if not named and not unnamed:
            unnamed = _no_runtime(facts)
        if not named and not unnamed and not silent:
            facts.libraries.found.require()
        return _lack_in_text(facts, named, unnamed)
    missing = tuple(need for need in needs(facts) if winner(facts, need.soname) is None)
    if not missing:
        told = tuple(need for need in _of_names(named) if need.soname in {n.soname for n in needs(facts)})
        return Lack(needs=told, named_by=named if told else unnamed) if told or unnamed else None
    there = [candidates(facts, need.soname)[:1] for need in missing]
    return Lack(
        needs=missing,
        elsewhere=tuple(item[0] for item in there) if all(there) else (),
        other_cuda=_other_cuda(facts, missing) if not all(there) else None,
    )


def _lack_in_text(facts: Facts, named: tuple[LogEvent, ...], unnamed: tuple[LogEvent, ...]) -> Lack:
    """Return what the log says to be missing, held against the files that the text names."""
    wanted, told = _of_names(named), facts.libraries.told.get() or ()
    lacks = Lack(needs=wanted, named_by=named or unnamed)
    if not told:
        return lacks
    try:
        elsewhere = facts.host.os.get() == "windows"
        wanted = wanted or ((runtime_of(facts),) if elsewhere else needs(facts))
    except FactUnavailable:
        return lacks
    there = {item.soname: item for item in reversed(told)}
    missing = tuple(need for need in wanted if _linux_name(need.soname) not in there)
    own = None if named else next((item for item in told if item.name == "cudart" and item.origin == "wheel"), None)
    if own is not None and any(need.soname == own.soname for need in wanted):
        return lacks  # the wheels beside it bring the rest
    if any(need.library == "cudart" for need in missing):
        other = next((item for item in told if item.name == "cudart"), None)
        if other is not None:
            return structs.replace(lacks, needs=missing, other_cuda=other, by_text=True)
    if named:
        found = tuple(there[need.soname] for need in wanted if need.soname in there)
        hidden = len(found) == len(wanted) and all(item.path and not item.wins for item in found)
        # Another cuDNN than the one that is asked for is there.
        if missing and all(need.is_cudnn for need in missing) and any(item.name == CUDNN for item in told):
            return structs.replace(lacks, needs=missing, by_text=True)
        return structs.replace(lacks, elsewhere=found, by_text=True) if hidden else lacks
    # A list that is not whole shows that a library is missing only where it shows another of its kind.
    if not facts.libraries.told_whole.get():
        kinds = {item.name for item in told}
        runtime = any(item.name == "cudart" for item in told)
        missing = tuple(need for need in missing if need.is_cudnn and need.library in kinds) if runtime else ()
    return structs.replace(lacks, needs=missing, by_text=True) if missing else lacks


def _linux_name(soname: str) -> str:
    """Return the name on Linux of a CUDA runtime of Windows: libcudart.so.10.1 of cudart64_101.dll."""
    match = re.match(r"cudart64_(\d{2,3})\.dll", soname)
    if match is None:
        return soname
    number = match[1]
    if len(number) == 2 and number != "12":  # noqa: PLR2004 (90 is 9.0; 12 is 12)
        number = f"{number[0]}.{number[1]}"
    elif len(number) > 2:  # noqa: PLR2004
        number = f"{number[:2]}.{number[2]}"
    return f"libcudart.so.{number}"


def _no_runtime(facts: Facts) -> tuple[LogEvent, ...]:
    """Return the message about libcudart: it counts where there is a driver, which its own words deny."""
    there = isinstance(facts.driver.version, Known) or outcome(facts.driver.nvml.get()) is Api.OK
    # A text that tells neither of a driver nor of a container leaves the line as the one sign that there is.
    nothing = isinstance(facts.driver.nvml, Unknown) and isinstance(facts.driver.version, Unknown)
    text = nothing and isinstance(facts.host.pci_gpus, Unknown) and isinstance(facts.host.container, Unknown)
    return events(facts, "cudart-not-loaded") if there or (text and not events(facts, "smi-not-found")) else ()


def _of_names(named: tuple[LogEvent, ...]) -> tuple[Need, ...]:
    sonames = dict.fromkeys(event.parameters.get("library") or event.parameters.get("object", "") for event in named)
    return tuple(
        Need(match[1], soname)
        for soname in sonames
        if (match := re.match(r"(?:lib)?([A-Za-z]+?)(?:64_\d|\.so|_)", soname))
    )


def _other_cuda(facts: Facts, missing: tuple[Need, ...]) -> Library | None:
    """Return the runtime of another CUDA major version that is there in place of the right one."""
    if not any(need.library == "cudart" for need in missing):
        return None
    major = cuda_major(facts)
    found = facts.libraries.found.require()
    return next((i for i in found if i.name == "cudart" and i.wins and i.cuda_major not in (None, major)), None)


def shown(facts: Facts, *libraries: Library | None) -> tuple[Evidence, ...]:
    """Return libraries as evidence; without any, which ones of the runtime and cuDNN the loader finds."""
    files = facts.libraries.found if isinstance(facts.libraries.found, Known) else facts.libraries.told
    source = files.source if isinstance(files, Known) else "files"
    named = [item for item in libraries if item is not None]
    if not named and isinstance(facts.libraries.found, Known):
        found = [item for item in facts.libraries.found.value if item.wins and item.name in ("cudart", CUDNN)]
        told = ", ".join(_told(item) for item in found) or "no CUDA runtime and no cuDNN"
        return (Evidence(fact="libraries.found", value=told, source=source),)
    return tuple(Evidence(fact="libraries.found", value=_told(item), source=source) for item in named)


def _told(library: Library) -> str:
    version = library.version.get()
    how = library.found_by or ("the loader does not look there" if library.path else library.origin or "in the text")
    return f"{library.path or library.soname}{f' {version}' if version else ''} ({how})"


def folder_of(library: Library) -> str:
    """Return the folder of a library."""
    return library.path.rpartition("/")[0]


def listed(words: tuple[str, ...]) -> str:
    """Return words as they stand in a sentence: a, b and c."""
    words = tuple(dict.fromkeys(words))
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
