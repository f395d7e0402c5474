"""cudnn-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known, Library, LogEvent
from gpudoctor.findings import Applicability, Capability, Confidence, Evidence, Remedy, Severity
from gpudoctor.rules.libraries._remedies import bring_cudnn, lead_loader
from gpudoctor.rules.libraries._stack import Lack, cudnn_major, folder_of, lack, listed, shown
from gpudoctor.rules.libraries._unsaid import nothing_else_explains
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

ZLIB = Remedy(
    summary="Put zlibwapi.dll (the 64-bit library zlib for Windows) into a folder of PATH, for example beside cuDNN's "
    "files in the bin folder of the CUDA toolkit; then start Python anew.",
    commands=("where zlibwapi.dll",),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.CUDNN,
    needs=(Capability.CUDA_LIBS,),
    message="TensorFlow {version} finds its CUDA libraries, but not cuDNN: {names} is not found",
    variants={
        "other": "TensorFlow {version} opens {names}, and cuDNN {have} is there instead",
        "elsewhere": "TensorFlow {version} does not find {names}: the loader does not look in {folders}",
        "log": "TensorFlow could not load {names}",
        "log-elsewhere": "TensorFlow could not load {names}, and {folders} holds it: the loader does not look there",
        "list": "the loader's list holds the CUDA libraries that TensorFlow {version} opens, but not {names}",
        "zlib": "cuDNN is there, and zlibwapi.dll, which cuDNN 8 needs on Windows, is not found",
        "part": "cuDNN is there, and a part of it cannot be loaded: {names}",
    },
)
def cudnn_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Only cuDNN is not found; the CUDA libraries are.

    Why it matters: without cuDNN TensorFlow leaves all GPUs out, whatever the program computes. cuDNN is no part of the
    CUDA toolkit: it is installed apart.
    How to fix: install the cuDNN of the major version that TensorFlow was built with, for the same major CUDA version.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    if zlib := events(facts, "zlib-missing"):
        yield self.finding(seen(zlib), variant="zlib", remedies=(ZLIB,))
        return
    parts = _parts(facts)
    only_told = bool(parts) and not isinstance(facts.libraries.found, Known)
    found = None if only_told else lack(facts, silent=nothing_else_explains(facts))
    if found is None and parts:
        yield _part_not_loaded(self, facts, parts, () if only_told else shown(facts))
        return
    if found is None or not found.needs or found.cuda or found.other_cuda is not None:
        return
    other = None if found.named_by and (found.elsewhere or not found.by_text) else _other(facts)
    if other is not None and _major(other) < cudnn_major(facts):
        return  # cudnn-too-old tells it
    folders = tuple(dict.fromkeys(folder_of(item) for item in found.elsewhere))
    yield self.finding(
        (*shown(facts, *found.elsewhere), "tensorflow.version", "tensorflow.built_with_cudnn", *seen(found.named_by)),
        variant=_variant(found, other, folders),
        confidence=Confidence.LIKELY if found.by_text else Confidence.CERTAIN,
        remedies=(lead_loader(facts, folders),) if folders else bring_cudnn(facts),
        version=facts.tensorflow.version.get() or "",
        names=listed(tuple(need.soname for need in found.needs)),
        folders=listed(folders),
        have="" if other is None else other.version.get() or other.soname,
    )


def _parts(facts: Facts) -> tuple[LogEvent, ...]:
    """Return what tells of a part of cuDNN that cannot be loaded; libcuda, which it asks for too, is the driver's."""
    missing = events(facts, "cudnn-part-missing")
    missing = tuple(event for event in missing if not event.parameters.get("missing", "").startswith("libcuda.so"))
    symbols = events(facts, "undefined-symbol")
    return missing + tuple(event for event in symbols if event.parameters.get("file", "").startswith("libcudnn"))


def _part_not_loaded(self: Rule, facts: Facts, parts: tuple[LogEvent, ...], libraries: tuple[Evidence, ...]) -> Draft:
    """Name the parts of cuDNN that are not loaded. libraries: those that were looked at, as evidence."""
    names = tuple(e.parameters.get("library") or e.parameters.get("any") or "libcudnn" for e in parts)
    return self.finding(
        (*libraries, *seen(parts)),
        variant="part",
        remedies=bring_cudnn(facts),
        names=listed(names),
    )


def _variant(found: Lack, other: Library | None, folders: tuple[str, ...]) -> str | None:
    """Return the wording by who looked. other: a cuDNN that is there instead; folders: where the right one lies."""
    if found.by_text:
        return "log-elsewhere" if folders else "other" if other else "list"
    return "log" if found.named_by else "elsewhere" if folders else "other" if other else None


def _other(facts: Facts) -> Library | None:
    """Return a cuDNN of another major version that the loader finds, or that a text names."""
    found = facts.libraries.found.get()
    there = [item for item in found if item.wins] if found is not None else facts.libraries.told.get() or ()
    return next((item for item in there if item.name == "cudnn"), None)


def _major(library: Library) -> int:
    return int(library.soname.rpartition(".so.")[2].split(".", maxsplit=1)[0])
