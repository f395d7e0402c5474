"""The training code, brought to the target interpreter: as files in a folder of this run, also out of a zip."""

from __future__ import annotations

import hashlib
import pkgutil
from pathlib import Path

SOURCE = "gpudoctor.workloads"
PACKAGE = "gpudoctor_workloads"
MODULES = ("settings", "model", "baseline", "optimized", "augment", "measure", "window", "train")


def sources() -> dict[str, bytes]:
    """Return each module's text. Raises OSError where one is missing from this installation."""
    texts = {name: pkgutil.get_data(SOURCE, f"{name}.py") for name in MODULES}
    return {name: text for name, text in texts.items() if text is not None}


def workload_hash() -> str:
    """Return sixteen hexadecimal digits that stand for the training code."""
    joined = b"".join(name.encode() + b"\0" + text for name, text in sorted(sources().items()))
    return hashlib.sha256(joined).hexdigest()[:16]


def unpack(folder: Path) -> list[str]:
    """Write the modules below a folder; return the arguments for an interpreter that starts there."""
    package = folder / PACKAGE
    package.mkdir()
    (package / "__init__.py").write_bytes(b"")
    for name, text in sources().items():
        (package / f"{name}.py").write_bytes(text)
    return ["-m", f"{PACKAGE}.train"]
