"""ptxas and libdevice as XLA finds them: the CUDA folders that it tries, by TensorFlow's release.

Order and folders are those of cuda_root_path.cc (earlier cuda_libdevice_path.cc) and subprocess_compilation.cc, checked
against the texts in the wheels of 2.10, 2.15, 2.16 and 2.21.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING

from gpudoctor.facts.model import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from gpudoctor.facts.probes.libraries_files import Files

DATA_DIR = re.compile(r"--xla_gpu_cuda_data_dir=(?:\"([^\"]*)\"|'([^']*)'|(\S+))")
# The first releases whose wheels look into NVIDIA's wheels, and into the root of a conda environment.
WHEELS_SINCE = (2, 14)
CONDA_SINCE = (2, 17)
# Before, XLA preferred the ptxas of its CUDA folders to that of PATH.
PATH_FIRST_SINCE = (2, 14)
TOOLKIT = re.compile(r"/cuda-(\d+\.\d+)\Z")
NVCC_WHEELS = re.compile(r"nvidia-cuda-nvcc(-cu\d+)?\Z")
LIBDEVICE = "nvvm/libdevice"


def _release(version: str) -> tuple[int, ...]:
    """Return major and minor number; of an unknown version the newest rules hold."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2]) or WHEELS_SINCE


def data_dir(variables: dict[str, str]) -> str | None:
    """Return the folder that XLA_FLAGS names for CUDA's files, None if it names none."""
    found = DATA_DIR.findall(variables.get("XLA_FLAGS", ""))
    return next((text for text in found[-1] if text), None) if found else None


def roots(files: Files, location: str, version: str, variables: dict[str, str]) -> list[str]:
    """Return the CUDA folders that XLA tries, in its order."""
    release, site = _release(version), posixpath.dirname(location)
    named = data_dir(variables)
    found = [named] if named and named.startswith("/") else []
    # The folder of the toolkit that TensorFlow was built with is compiled in; /usr/local/cuda stands behind it.
    versioned = [name for name in files.names("/usr/local") if re.match(r"cuda-\d+\.\d+\Z", name)]
    found += [f"/usr/local/{name}" for name in versioned if _is_built_with(name, release)]
    found.append("/usr/local/cuda")
    if release >= WHEELS_SINCE:
        found += ["/opt/cuda", f"{site}/nvidia/cuda_nvcc", f"{site}/nvidia/cu13", f"{location}/cuda"]
    if release >= CONDA_SINCE:
        found.append(posixpath.normpath(f"{site}/../../.."))
    return found


BUILT_WITH: dict[tuple[int, ...], str] = {
    **dict.fromkeys(((2, minor) for minor in range(5, 12)), "11.2"),
    **dict.fromkeys(((2, minor) for minor in range(12, 15)), "11.8"),
    (2, 15): "12.2",
    (2, 16): "12.3",
    (2, 17): "12.3",
}


def _is_built_with(name: str, release: tuple[int, ...]) -> bool:
    return name == f"cuda-{BUILT_WITH.get(release)}"


def libdevice(files: Files, location: str, version: str, variables: dict[str, str]) -> Fact[str]:
    """Return the folder of libdevice.10.bc that XLA takes."""
    tried = roots(files, location, version, variables)
    for root in tried:
        if files.exists(f"{root}/{LIBDEVICE}"):
            return Known(f"{root}/{LIBDEVICE}", "CUDA folders that XLA tries")
    return Absent(f"none in {', '.join(tried)}")


def ptxas(files: Files, location: str, version: str, variables: dict[str, str]) -> tuple[Fact[str], Fact[str]]:
    """Return the path and the version of the first ptxas that XLA finds."""
    tried = roots(files, location, version, variables)
    named = data_dir(variables)
    folders = [f"{root}/bin" for root in tried]
    on_path = [folder for folder in variables.get("PATH", "").split(":") if folder.startswith("/")]
    if _release(version) >= PATH_FIRST_SINCE:
        first = [f"{named}/bin"] if named else []
        folders = [*first, *on_path, *folders]
    else:
        folders += on_path
    for folder in folders:
        path = f"{folder}/ptxas"
        if files.is_executable(path):
            return Known(path, "PATH and CUDA folders"), _ptxas_version(files, path)
    nothing = Absent("none on PATH and in the CUDA folders that XLA tries")
    return nothing, nothing


def _ptxas_version(files: Files, path: str) -> Fact[str]:
    """Return the version without running it: by its wheel, its toolkit's version.json or its toolkit's folder."""
    root = posixpath.dirname(posixpath.dirname(files.real(path)))
    site = posixpath.dirname(posixpath.dirname(root))
    if posixpath.basename(posixpath.dirname(root)) == "nvidia":
        found = [p for p in files.packages(site) if NVCC_WHEELS.match(p.name)]
        if len(found) == 1:
            return Known(found[0].version, f"{found[0].name}'s metadata")
    try:
        told = json.loads(files.text(f"{root}/version.json") or "{}")
        version = told.get("cuda_nvcc", {}).get("version")
    except (ValueError, AttributeError):
        version = None
    if isinstance(version, str):
        return Known(version, f"{root}/version.json")
    named = TOOLKIT.search(root)
    if named:
        return Known(named[1], "the name of its folder")
    return Unknown(f"nothing beside {path} tells its version")
