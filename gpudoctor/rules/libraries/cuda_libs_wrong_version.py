"""cuda-libs-wrong-version."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.libraries._remedies import bring_libraries
from gpudoctor.rules.libraries._stack import cuda_major, cuda_of, folder_of, lack, listed, shown
from gpudoctor.rules.libraries._unsaid import nothing_else_explains
from gpudoctor.rules.python._state import seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    breaks=Capability.CUDA_LIBS,
    message="TensorFlow {version} is built with CUDA {cuda} and opens libraries of CUDA {major} ({names}); the loader "
    "finds those of CUDA {other} in {folder} instead",
    variants={"text": "{tensorflow} opens {names}, and CUDA {other} is there instead"},
)
def cuda_libs_wrong_version(self: Rule, facts: Facts) -> Iterator[Draft]:
    """CUDA libraries of another major version than TensorFlow's are there instead of the right ones.

    Why it matters: TensorFlow asks for each library by the number of its own major CUDA version; another one, newer or
    older, does not answer, and TensorFlow runs on the CPU. A newer minor version of the same major does.
    How to fix: install the CUDA libraries that TensorFlow was built with beside it; the others may stay.
    """
    if facts.tensorflow.cuda_build.get() is False:
        return
    found = lack(facts, silent=nothing_else_explains(facts))
    if found is None or found.other_cuda is None:
        return
    names = listed(tuple(need.soname for need in found.cuda if need.library == "cudart"))
    if found.by_text:
        yield self.finding(
            (*shown(facts, found.other_cuda), "tensorflow.version", *seen(found.named_by)),
            variant="text",
            confidence=Confidence.LIKELY,
            remedies=bring_libraries(facts),
            tensorflow=f"TensorFlow {facts.tensorflow.version.get() or ''}".strip(),
            names=names,
            other=found.other_cuda.version.get() or found.other_cuda.cuda_major or "",
        )
        return
    yield self.finding(
        (*shown(facts, found.other_cuda), "tensorflow.built_with_cuda", "tensorflow.version"),
        remedies=bring_libraries(facts),
        version=facts.tensorflow.version.require(),
        cuda=cuda_of(facts),
        major=cuda_major(facts),
        names=names,
        other=found.other_cuda.cuda_major or "",
        folder=folder_of(found.other_cuda),
    )
