"""One look at the library files of a machine: folders listed once, versions from names, headers and metadata."""

from __future__ import annotations

import json
import os
import posixpath
import re
from typing import TYPE_CHECKING

from gpudoctor.facts.model import Fact, Known, Library, Unknown
from gpudoctor.facts.probes import libraries_elf as elf

if TYPE_CHECKING:
    from gpudoctor.facts.host import Host
    from gpudoctor.facts.model import Package, PythonFacts

# libcudart.so.12.5.82, libcudnn.so.8.9.7: the file behind the soname tells the version.
NUMBERS = re.compile(r"\.so\.(\d+(?:\.\d+){2,})\Z")
WHEEL = re.compile(r"(?P<site>.*)/nvidia/(?P<part>\w+)/lib\Z")
# Wheels of CUDA 13 share the folder nvidia/cu13; their names carry no suffix.
SHARED = re.compile(r"cu(\d+)\Z")
SHARED_WHEELS = {"cudart": "cuda-runtime", "cublasLt": "cublas", "nvJitLink": "nvjitlink", "cupti": "cuda-cupti"}
HEADER = re.compile(r"#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d+)")
HEADER_FILES = ("cudnn_version.h", "cudnn_version_v9.h", "cudnn_version_v8.h")
TOOLKIT = re.compile(r"/cuda-((\d+)\.\d+)/")
# Names of the parts in a toolkit's version.json.
PARTS = {
    "cudart": "cuda_cudart",
    "cupti": "cuda_cupti",
    "cublasLt": "libcublas",
    **{name: f"lib{name.lower()}" for name in ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvJitLink")},
}
# These libraries carry the CUDA major version in their soname.
TELLS_MAJOR = {"cudart": re.compile(r"libcudart\.so\.(\d+)"), "cublas": re.compile(r"libcublas\.so\.(\d+)")}
CONDA_CUDNN = re.compile(r"cudnn-\d[\d.]*-(?:\w*_)?cuda_?(\d+)")


class Files:
    """The files of a machine, seen from one Python environment. Nothing raises."""

    def __init__(self, host: Host, python: PythonFacts) -> None:
        self._host = host
        self._listed: dict[str, list[str]] = {}
        self._real: dict[str, str] = {}
        self._root = os.path.realpath(host.root).rstrip("/")
        self._packages: dict[str, list[Package]] = {}
        for package in python.packages.get() or ():
            if package.name.startswith("nvidia-"):
                self._packages.setdefault(self.real(package.location), []).append(package)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; none if it cannot be read."""
        if folder not in self._listed:
            try:
                self._listed[folder] = self._host.list_dir(folder)
            except OSError:
                self._listed[folder] = []
        return self._listed[folder]

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return self._host.exists(path)

    def is_executable(self, path: str) -> bool:
        """Whether there is a file that this user may run."""
        # Path.is_file raises where a folder on the way may not be entered.
        return os.path.isfile(self._host.resolve(path)) and self._host.access(path, os.X_OK)

    def text(self, path: str) -> str:
        """Return a file's text, empty if it cannot be read."""
        try:
            return self._host.read_text(path, 1 << 16)
        except OSError:
            return ""

    def real(self, path: str) -> str:
        """Return a path without symbolic links, as seen from the root of the machine."""
        if path not in self._real:
            real = os.path.realpath(self._host.resolve(path))
            self._real[path] = real.removeprefix(self._root) if real.startswith(f"{self._root}/") else real
        return self._real[path]

    def packages(self, site: str) -> list[Package]:
        """Return NVIDIA's distributions in a folder of packages."""
        return self._packages.get(self.real(site), [])

    def is_conda(self, prefix: str) -> bool:
        """Whether a folder is the root of a conda environment."""
        return self.exists(f"{prefix}/conda-meta")

    def search_path(self, path: str) -> elf.SearchPath | None:
        """Return where a library looks for others, folders in full; None if it is none."""
        try:
            read = elf.search_path(lambda offset, length: self._host.read_bytes(path, length, offset))
        except (OSError, ValueError):
            return None
        origin = posixpath.dirname(path)

        def full(entries: tuple[str, ...]) -> tuple[str, ...]:
            expanded = (elf.expand(entry, origin) for entry in entries)
            # The loader follows .. through links; so does this, for the parts that are there.
            paths = (self._plain(folder) for folder in expanded if folder)
            return tuple(dict.fromkeys(folder for folder in paths if folder.startswith("/")))

        return elf.SearchPath(full(read.rpath), full(read.runpath), read.machine)

    def _plain(self, folder: str) -> str:
        return self.real(folder) if self.exists(folder) else posixpath.normpath(folder)

    def wheel_folders(self, site: str) -> list[str]:
        """Return the library folders of NVIDIA's wheels in a folder of packages."""
        return [f"{site}/nvidia/{part}/lib" for part in self.names(f"{site}/nvidia")]

    def libraries(self, folder: str, found_by: str, wanted: re.Pattern[str], seen: set[str]) -> list[Library]:
        """Return the wanted libraries of a folder whose files were not met before; `seen` grows."""
        found = []
        for name in self.names(folder):
            if name.startswith("lib") and wanted.match(name):
                library = self.library(f"{folder}/{name}", found_by, wanted, seen)
                if library is not None:
                    found.append(library)
        return found

    def library(self, path: str, found_by: str, wanted: re.Pattern[str], seen: set[str]) -> Library | None:
        """Return the library at a path, None if its file was met before under this name or is not there."""
        folder, soname = posixpath.split(path)
        match = wanted.match(soname)
        real = self.real(path)
        key = f"{soname} {real}"
        if match is None or real in seen or key in seen or not self.exists(path):
            return None
        seen.add(key)
        origin = self._origin(folder)
        wheel = self._wheel(folder, match["name"], match["number"]) if origin == "wheel" else None
        return Library(
            name=match["name"],
            soname=soname,
            version=self._version(path, real, match["name"], wheel),
            cuda_major=self._cuda_major(folder, match["name"], soname, wheel),
            path=path,
            origin=origin,
            found_by=found_by,
        )

    def _origin(self, folder: str) -> str:
        if WHEEL.match(folder):
            return "wheel"
        if folder.startswith("/usr/lib/wsl"):
            return "wsl"
        if re.match(r"/(usr/local|opt|usr/lib)/cuda", folder):
            return "toolkit"
        if re.match(r"/(usr/)?lib(64)?(/|\Z)", folder):
            return "system"
        return "conda" if self.is_conda(posixpath.dirname(folder)) else "other"

    def _wheel(self, folder: str, name: str, number: str) -> Package | None:
        """Return the distribution that brought a library; None where none or more than one can have."""
        match = WHEEL.match(folder)
        if match is None:
            return None
        shared = SHARED.match(match["part"])
        base = f"nvidia-{SHARED_WHEELS.get(name, name) if shared else match['part'].replace('_', '-')}"
        names = re.compile(re.escape(base.lower()) + r"(-cu\d+)?\Z")
        found = [p for p in self.packages(match["site"]) if names.match(p.name)]
        if name in TELLS_MAJOR:
            found = [p for p in found if p.version.split(".")[0] == number.split(".", maxsplit=1)[0]] or found
        elif name == "cudnn" or name.startswith("cudnn_"):
            found = [p for p in found if p.version.split(".")[0] == number] or found
        return found[0] if len(found) == 1 else None

    def _version(self, path: str, real: str, name: str, wheel: Package | None) -> Fact[str]:
        numbers = NUMBERS.search(real)
        if numbers:
            return Known(numbers[1], posixpath.basename(real))
        if name in PARTS and wheel is None and (told := self._of_toolkit(real, PARTS[name])) is not None:
            return told
        toolkit = TOOLKIT.search(f"{posixpath.dirname(real)}/")
        if toolkit and "libcudart" in path:
            return Known(toolkit[1], "the name of its folder")
        if "libcudnn" in path:
            header = self._header(path)
            if header is not None:
                return header
        if wheel is not None and wheel.version:
            return Known(wheel.version, f"{wheel.name}'s metadata")
        return Unknown(f"nothing beside {path} tells its version")

    def _of_toolkit(self, real: str, part: str) -> Known[str] | None:
        """Return a version by the toolkit's version.json, at its root: above lib64 or targets/x86_64-linux/lib."""
        root = posixpath.dirname(posixpath.dirname(real))
        for folder in (root, posixpath.dirname(posixpath.dirname(root))):
            try:
                version = json.loads(self.text(f"{folder}/version.json") or "{}")[part]["version"]
            except (ValueError, LookupError, TypeError, RecursionError):
                continue
            if isinstance(version, str) and version:
                return Known(version, f"{folder}/version.json")
        return None

    def _header(self, path: str) -> Known[str] | None:
        """Return cuDNN's version by its header: where two wheels share a folder, metadata may tell of the other."""
        folder = posixpath.join(posixpath.dirname(posixpath.dirname(path)), "include")
        for name in HEADER_FILES:
            numbers = dict(HEADER.findall(self.text(f"{folder}/{name}")))
            if {"MAJOR", "MINOR", "PATCHLEVEL"} <= numbers.keys():
                return Known(f"{numbers['MAJOR']}.{numbers['MINOR']}.{numbers['PATCHLEVEL']}", f"{folder}/{name}")
        return None

    def _cuda_major(self, folder: str, name: str, soname: str, wheel: Package | None) -> int | None:
        """Return the CUDA major version of a library: by its soname, its wheel's name, its folder or its neighbours."""
        tells = TELLS_MAJOR.get(name)
        if tells is not None and (match := tells.match(soname)):
            return int(match[1])
        if wheel is not None:
            suffix = re.search(r"-cu(\d+)\Z", wheel.name)
            if suffix:
                return int(suffix[1])
        shared = SHARED.match(posixpath.basename(posixpath.dirname(folder)))
        if shared:
            return int(shared[1])
        if WHEEL.match(folder) or name == "nccl":
            return None
        if name.startswith("cudnn"):
            return self._conda_cudnn(folder)
        named = TOOLKIT.search(f"{self.real(folder)}/")
        if named:
            return int(named[2])
        beside = {int(m[1]) for n in self.names(folder) for t in TELLS_MAJOR.values() if (m := t.match(n))}
        return beside.pop() if len(beside) == 1 else None

    def _conda_cudnn(self, folder: str) -> int | None:
        for entry in self.names(f"{posixpath.dirname(folder)}/conda-meta"):
            match = CONDA_CUDNN.match(entry)
            if match:
                return int(match[1][:2])
        return None
