"""cuda-libs-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.libraries._remedies import bring_libraries, lead_loader
from gpudoctor.rules.libraries._stack import Lack, folder_of, lack, listed, needs, shown
from gpudoctor.rules.libraries._unsaid import nothing_else_explains
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    breaks=Capability.CUDA_LIBS,
    message="{count} of the {all} CUDA libraries that TensorFlow {version} opens are not found: {names}",
    variants={
        "xla": "TensorFlow lists the GPU for XLA only (XLA_GPU): a CUDA library that its own operations need was not "
        "found",
        "one": "the CUDA library {names}, which TensorFlow {version} opens, is not found",
        "elsewhere": "TensorFlow {version} does not find {names}: the loader does not look in {folders}",
        "log": "TensorFlow could not load {names}",
        "log-elsewhere": "TensorFlow could not load {names}, and {folders} holds it: the loader does not look there",
        "list": "the loader's list does not hold {names}, which TensorFlow {version} opens",
        "unnamed": "TensorFlow could not load at least one of its CUDA libraries, and its log does not name it",
        "unsaid": "TensorFlow {version} lists no GPU, and driver, GPU and wheel are well: mostly its CUDA libraries "
        "are not found",
        "cudart": "TensorFlow could not load the CUDA runtime library (libcudart)",
    },
)
def cuda_libs_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """A CUDA library that TensorFlow opens is not found.

    Why it matters: without one of them TensorFlow leaves all GPUs out and runs on the CPU; from 2.16 on its message
    does not say which one it was. `pip install tensorflow` alone brings none of them.
    How to fix: install them beside TensorFlow (the extra and-cuda, from 2.14 on), or lead the loader to where they are.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    if _for_xla_only(facts):
        yield self.finding(
            ("tensorflow.devices", "tensorflow.version"),
            variant="xla",
            confidence=Confidence.LIKELY,
            remedies=bring_libraries(facts),
        )
        return
    silent = not isinstance(facts.libraries.found, Known) and nothing_else_explains(facts)
    found = lack(facts, silent=silent)
    if found is None:
        return
    if silent and not found.needs:
        yield self.finding(
            ("tensorflow.devices", "tensorflow.version", "tensorflow.built_with_cuda", "driver.version"),
            variant="unsaid",
            confidence=Confidence.POSSIBLE,
            remedies=bring_libraries(facts),
            version=facts.tensorflow.version.get() or "",
        )
        return
    if found.other_cuda is None and (found.cuda or not found.needs):
        yield _not_found(self, facts, found)


def _not_found(self: Rule, facts: Facts, found: Lack) -> Draft:
    """Say which libraries are not found, or only where the loader does not look."""
    variant = _variant(found)
    folders = tuple(dict.fromkeys(folder_of(item) for item in found.elsewhere))
    return self.finding(
        (*shown(facts, *found.elsewhere), "tensorflow.version", "tensorflow.built_with_cuda", *seen(found.named_by)),
        variant=variant,
        confidence=Confidence.LIKELY if found.by_text or variant in ("unnamed", "cudart") else Confidence.CERTAIN,
        remedies=(lead_loader(facts, folders),) if folders else bring_libraries(facts),
        version=facts.tensorflow.version.get() or "",
        names=listed(tuple(need.soname for need in found.needs)),
        count=len(found.needs),
        all=0 if found.named_by or found.by_text else len(needs(facts)),
        folders=listed(folders),
    )


# What names the library, or leaves the GPU out for another reason.
_NAMED = ("library-not-loaded", "cannot-dlopen", "cudart-not-loaded", "ignoring-gpu", "cuda-library-not-linked")


def _for_xla_only(facts: Facts) -> bool:
    """Whether a text lists a GPU for XLA alone: CUDA starts, and TensorFlow's own device was left out."""
    kinds = {device.kind for device in facts.tensorflow.devices.get() or ()}
    if "XLA_GPU" not in kinds or "GPU" in kinds or isinstance(facts.libraries.found, Known):
        return False
    return not any(event.message.startswith(_NAMED) for event in facts.tensorflow.events.get() or ())


def _variant(found: Lack) -> str | None:
    if found.by_text:
        return "log-elsewhere" if found.elsewhere else "list"
    if found.named_by:
        if found.needs:
            return "log"
        return "cudart" if all(event.message == "cudart-not-loaded" for event in found.named_by) else "unnamed"
    if found.elsewhere:
        return "elsewhere"
    return "one" if len(found.needs) == 1 else None
