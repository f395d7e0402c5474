"""native-windows-no-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import compat
from gpudoctor.facts.model import Facts
from gpudoctor.findings import Applicability, Capability, Remedy, Severity
from gpudoctor.rules.python._state import events
from gpudoctor.rules.registry import Draft, Rule, rule
from gpudoctor.rules.tensorflow._install import tensorflow_that_fits

# Published wheels: those for Windows are CUDA builds up to 2.10.1 and CPU builds from 2.11.0 on.
FIRST_WITHOUT_CUDA = "2.11"
# TensorFlow's own library does not load, or no TensorFlow got installed.
NOT_THERE = ("native-runtime-not-loaded", "dll-load-failed", "tensorflow-gpu-removed")
USE_WSL = Remedy(
    summary="Install WSL2 (Windows 10 21H2 or newer), and TensorFlow inside it. The NVIDIA driver stays on Windows; "
    "install none inside WSL.",
    commands=(
        "wsl --install",
        # What `venv` needs is not in the Ubuntu that this brings.
        "sudo apt-get update && sudo apt-get install python3-venv",
        "python3 -m venv tf-env",
        "tf-env/bin/python -m pip install 'tensorflow[and-cuda]'",
    ),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.CUDA_LIBS,
    message="TensorFlow {version} has no GPU support on Windows itself: 2.10 was the last release with CUDA there",
)
def native_windows_no_gpu(self: Rule, facts: Facts) -> Iterator[Draft]:
    """TensorFlow 2.11 or newer runs on Windows itself, where it has no GPU support.

    Why it matters: these wheels are CPU builds; no driver, CUDA toolkit or cuDNN changes that.
    How to fix: use WSL2, where the Linux wheels use the GPU through the Windows driver; or stay with TensorFlow 2.10,
    which needs Python 3.10 or older, CUDA 11.2 and cuDNN 8.1.
    """
    if facts.host.os.require() != "windows":
        return
    version = facts.tensorflow.version.require()
    if compat.version(version) < compat.version(FIRST_WITHOUT_CUDA) or facts.tensorflow.cuda_build.get():
        return
    yield self.finding(
        ("host.os", "tensorflow.version", "tensorflow.distribution"),
        # What cannot even be installed or imported is mended first.
        severity=Severity.WARNING if events(facts, *NOT_THERE) else Severity.ERROR,
        remedies=(USE_WSL, *tensorflow_that_fits(facts)),
        version=version,
    )
