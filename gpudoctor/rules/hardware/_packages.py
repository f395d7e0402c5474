"""Which packages are installed in the target environment."""

from __future__ import annotations

from gpudoctor.facts.model import Absent, Facts
from gpudoctor.rules.python._state import events, failed_import


def is_installed(facts: Facts, name: str) -> bool:
    """Whether a distribution is known to be installed; False also where the packages could not be read."""
    return any(package.name == name for package in facts.python.packages.get() or ())


# An installation or an import that failed.
FAILED = (
    *("pip-no-distribution", "pip-no-match", "pip-link-skipped", "pip-python-refused", "wheel-not-supported"),
    *("installer-no-wheel", "conda-python-refused", "pip-impossible", "pip-conflict", "pip-os-error", "pip-no-space"),
    *("pip-managed-elsewhere", "python-not-satisfied", "channel-lacks", "resolver-failed", "tensorflow-gpu-removed"),
    *("illegal-instruction", "process-illegal-instruction", "native-runtime-not-loaded", "numpy-abi"),
    *("numpy-attribute-removed", "protobuf-descriptors", "protobuf-generated-code", "protobuf-too-old"),
    *("protobuf-too-new", "tensorflow-mixed", "tensorflow-hollow", "tensorflow-shadowed", "keras-import-name"),
    *(
        "keras-of-another",
        "keras-generations",
        "tf-keras-missing",
        "no-module",
        "openmp-twice",
        "macos-library-refused",
    ),
)


def tells_of_installing(facts: Facts) -> bool:
    """Whether a text tells of a TensorFlow that could not be installed or imported, rather than of a GPU."""
    told = events(facts, *FAILED)
    if any("tensorflow-gpu" in event.parameters.get("requirement", "") for event in told):
        return False  # of that name there is no package for macOS
    failed = told or failed_import(facts) or isinstance(facts.tensorflow.version, Absent)
    return bool(failed) and not isinstance(facts.host.pci_gpus.get(), tuple)
