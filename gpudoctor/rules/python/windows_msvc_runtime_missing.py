"""windows-msvc-runtime-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.python._state import events, imported, seen
from gpudoctor.rules.registry import Draft, Rule, rule

REDISTRIBUTABLE = "https://aka.ms/vs/17/release/vc_redist.x64.exe"
RUNTIME = ("msvcp", "vcruntime", "concrt")
INSTALL = Remedy(
    summary="Install the Visual C++ redistributable for Visual Studio 2015 to 2022, x64, and start a new terminal. "
    f"It is at {REDISTRIBUTABLE}.",
    commands=("winget install --exact --id Microsoft.VCRedist.2015+.x64",),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.PYTHON,
    message="Windows does not find {library}, a part of the Visual C++ runtime that TensorFlow needs",
    variants={
        "likely": "Windows could not load TensorFlow's library: mostly the Visual C++ runtime is missing or older "
        "than 2019"
    },
)
def windows_msvc_runtime_missing(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The Visual C++ runtime that TensorFlow needs is not installed on Windows.

    Why it matters: `import tensorflow` ends with "DLL load failed". TensorFlow 2.1 and newer need msvcp140_1.dll, which
    only redistributables of 2019 and later have.
    How to fix: install the current Visual C++ redistributable (x64). If it is there, look whether the processor has
    AVX.
    """
    if facts.host.os.get() not in (None, "windows"):
        return
    facts.tensorflow.events.require()
    if imported(facts):
        return
    named = tuple(
        event
        for event in events(facts, "windows-dll-missing")
        if event.parameters.get("library", "").lower().startswith(RUNTIME)
    )
    named = named or events(facts, "vc-runtime-missing")
    if named:
        library = named[0].parameters.get("library", "msvcp140_1.dll")
        yield self.finding((*seen(named), "host.os"), remedies=(INSTALL,), library=library)
        return
    failed = tuple(event for event in events(facts, "dll-load-failed") if "tf" in _module(event.parameters))
    without_avx = "avx" not in (facts.host.cpu_flags.get() or ("avx",))
    if failed and not without_avx and not events(facts, "windows-dll-missing"):
        yield self.finding(
            (*seen(failed), "host.os"), variant="likely", confidence=Confidence.LIKELY, remedies=(INSTALL,)
        )


def _module(parameters: dict[str, str]) -> str:
    """Return the module that failed to load; Python before 3.8 does not name it, and then it may be TensorFlow's."""
    return parameters.get("module", "_pywrap_tf").lower().replace("tensorflow", "tf")
