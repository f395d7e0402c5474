"""cuda-libs-shadowed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts, FactUnavailable, Known, Library, LogEvent
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.plan import quote
from gpudoctor.rules.libraries._remedies import VARIABLE, lead_loader
from gpudoctor.rules.libraries._stack import Need, candidates, compiled_cudnn, cuda_major, folder_of, needs, shown
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

MINOR = 2
CUDA_FILE = re.compile(r"lib(?:cublas|cusparse|cusolver|cufft|curand|nvJitLink|nvrtc|cudart)")
ONE_RELEASE = Remedy(
    summary="Let all CUDA libraries come from one place: look which folders come first, and take those of another "
    "toolkit, or of another package's wheels, out of the loader's path.",
    commands=("echo $LD_LIBRARY_PATH", "ldconfig -p | grep -E 'cublas|cusparse|nvJitLink'", "python3 -m pip list"),
    applicability=Applicability.MANUAL,
)


@rule(
    Severity.ERROR,
    breaks=Capability.CUDA_LIBS,
    message="{found_by} leads the loader to {name} {have} in {folder}, before the one in {right_folder} ({right}), "
    "which fits TensorFlow {version}",
    variants={
        "said": "a folder in the path of the loader is said to have been in the way: CUDA libraries of another version "
        "win there",
        "mixed": "libraries of two CUDA releases are mixed: {file} does not find in {wanted} what it needs of it",
    },
)
def cuda_libs_shadowed(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The right CUDA libraries are there, and others of the same file name win.

    Why it matters: some libraries keep their name across versions of CUDA (libcusolver.so.11 is in CUDA 11 and 12), and
    cuDNN keeps it across minor versions. TensorFlow then mixes versions, and fails to load or at the first operation.
    How to fix: take the other folder out of LD_LIBRARY_PATH. Wheels need no such variable, with the known exceptions.
    """
    told = events(facts, "library-of-other-release", "undefined-symbol")
    mixed = tuple(event for event in told if CUDA_FILE.match(event.parameters.get("file", "")) and _wanted(event))
    if mixed and not isinstance(facts.libraries.found, Known):
        yield self.finding(
            seen(mixed),
            variant="mixed",
            confidence=Confidence.LIKELY,
            remedies=(ONE_RELEASE,),
            file=mixed[0].parameters["file"],
            wanted=_wanted(mixed[0]),
        )
        return
    said = events(facts, "said-path-in-the-way")
    if said and not events(facts, "cudnn-runtime-too-old") and not isinstance(facts.libraries.found, Known):
        yield self.finding(seen(said), variant="said", confidence=Confidence.LIKELY, remedies=(ONE_RELEASE,))
        return
    if not facts.tensorflow.cuda_build.require():
        return
    for need in needs(facts):
        found = candidates(facts, need.soname)
        if not found or not found[0].wins or _fits(facts, need, found[0]) is not False:
            continue
        right = next((item for item in found[1:] if _fits(facts, need, item)), None)
        if right is not None:
            yield _finding(self, facts, need, found[0], right)
            return


def _wanted(event: LogEvent) -> str:
    """Return the library of CUDA in which a symbol is missing; empty where another's is."""
    wanted = event.parameters.get("wanted") or event.parameters.get("version", "")
    return wanted if CUDA_FILE.match(wanted) else ""


def _finding(self: Rule, facts: Facts, need: Need, taken: Library, right: Library) -> Draft:
    return self.finding(
        (*shown(facts, taken, right), f"python.environment[{VARIABLE}]", "tensorflow.built_with_cuda"),
        remedies=_remedies(facts, taken, right),
        found_by=taken.found_by,
        name="cuDNN" if need.is_cudnn else need.soname,
        have=_told(taken),
        folder=folder_of(taken),
        right_folder=folder_of(right),
        right=_told(right),
        version=facts.tensorflow.version.require(),
    )


def _told(library: Library) -> str:
    parts = [library.version.get(), f"of CUDA {library.cuda_major}" if library.cuda_major else ""]
    return " ".join(part for part in parts if part)


def _fits(facts: Facts, need: Need, library: Library) -> bool | None:
    """Whether a file is what TensorFlow was built for; None where too little is known of it."""
    major = cuda_major(facts)
    if library.cuda_major is not None and library.cuda_major != major:
        return False
    if not need.is_cudnn:
        return True if library.cuda_major == major else None
    try:
        need_version = compiled_cudnn(facts)
        have = compat.version(library.version.require())
    except FactUnavailable:
        return None
    return have.release[:MINOR] >= compat.version(need_version).release[:MINOR]


def _remedies(facts: Facts, taken: Library, right: Library) -> tuple[Remedy, ...]:
    if taken.found_by != VARIABLE:
        return (lead_loader(facts, (folder_of(right),)),)
    variables = facts.python.environment.get() or {}
    rest = [part for part in variables.get(VARIABLE, "").split(":") if part and part.rstrip("/") != folder_of(taken)]
    if right.found_by and not rest:
        command = f"unset {VARIABLE}"
    else:
        first = [] if right.found_by else [folder_of(right)]
        command = f"export {VARIABLE}={quote(':'.join([*first, *rest]), compat.Os.LINUX)}"
    return (
        Remedy(
            summary=f"Take {folder_of(taken)} out of the loader's path, here and in the file that sets it.",
            commands=(command,),
            applicability=Applicability.SAFE,
        ),
    )
