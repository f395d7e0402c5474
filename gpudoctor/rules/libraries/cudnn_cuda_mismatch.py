"""cudnn-cuda-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Capability, Confidence, Severity
from gpudoctor.rules.libraries._remedies import bring_cudnn
from gpudoctor.rules.libraries._stack import CUDNN_FAILED, cuda_major, cudnn_major, shown, winner
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    breaks=Capability.CUDNN,
    needs=(Capability.CUDA_LIBS,),
    message="cuDNN {have} is built for CUDA {cudnn_cuda}, and TensorFlow {version} loads the libraries of CUDA {cuda}",
    variants={
        "wants": "cuDNN looks for {wanted}: it is built for another CUDA release than the one that is there",
    },
)
def cudnn_cuda_mismatch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The cuDNN that is found is built for another major CUDA version than TensorFlow's.

    Why it matters: cuDNN comes once for each major version of CUDA, under the same file name. It looks for the cuBLAS
    of its own CUDA version, and its first operation fails where only the other is there.
    How to fix: uninstall the wrong one and install the cuDNN whose name ends in TensorFlow's CUDA version (-cu12).
    """
    wants = events(facts, "cudnn-wants-cublas")
    if wants and facts.tensorflow.cuda_build.get() is not False and not isinstance(facts.libraries.found, Known):
        named = next((event.parameters for event in wants if "library" in event.parameters), wants[0].parameters)
        yield self.finding(
            (*seen(wants), "tensorflow.built_with_cuda", "tensorflow.version"),
            variant="wants",
            confidence=Confidence.LIKELY,
            remedies=bring_cudnn(facts),
            wanted=named.get("library") or named.get("symbol", "cuBLAS"),
        )
        return
    if not facts.tensorflow.cuda_build.require():
        return
    cuda = cuda_major(facts)
    soname = f"libcudnn.so.{cudnn_major(facts)}"
    if isinstance(facts.libraries.found, Known) or not events(facts, *CUDNN_FAILED):
        library = winner(facts, soname)
    else:  # a text: one cuDNN that it names, and an operation of cuDNN that failed
        told = [item for item in facts.libraries.told.require() if item.soname == soname and item.cuda_major]
        library = told[0] if len({item.cuda_major for item in told}) == 1 else None
    if library is None or library.cuda_major in (None, cuda):
        return
    yield self.finding(
        (*shown(facts, library), "tensorflow.built_with_cuda", "python.packages"),
        # By the name of its package; the file itself does not tell.
        confidence=Confidence.LIKELY,
        remedies=bring_cudnn(facts),
        have=library.version.get() or "",
        cudnn_cuda=library.cuda_major or "",
        version=facts.tensorflow.version.require(),
        cuda=cuda,
    )
