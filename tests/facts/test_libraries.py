"""CUDA libraries as files: their order against the real loader, the rest in folders that stand for a machine."""

from __future__ import annotations

import importlib.util
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known, Library, LibraryFacts, Package, PythonFacts, TensorFlowFacts, Unknown
from gpudoctor.facts.probes import libraries_elf as elf
from gpudoctor.facts.probes.libraries import NAME, read_libraries
from tests.fakes.build import compiler

SITE = "/venv/lib/python3.11/site-packages"
needs_compiler = pytest.mark.skipif(not compiler() or sys.platform != "linux", reason="no C compiler for libraries")


def elf_file(*, runpath: str = "", rpath: str = "", machine: int = 62) -> bytes:
    """Return a small shared library: an ELF header, one segment that holds all, and a dynamic section."""
    strings = b"\0" + runpath.encode() + b"\0" + rpath.encode() + b"\0"
    start, base = 64 + 2 * 56, 0x10000
    tags = [(5, base + start)]
    tags += [(29, 1)] if runpath else []
    tags += [(15, 2 + len(runpath))] if rpath else []
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    size = start + len(strings) + len(dynamic)
    header = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    place = start + len(strings)
    table = struct.pack("<IIQQQQQQ", 2, 4, place, base + place, base + place, len(dynamic), len(dynamic), 8)
    return header + load + table + strings + dynamic


def cache_file(*entries: tuple[str, str], flags: int = 0x0303) -> bytes:
    """Return a cache of ldconfig in the format of glibc 2.2 and newer."""
    strings, table = b"", b""
    start = 48 + 24 * len(entries)
    for name, path in entries:
        table += struct.pack("=iIIIQ", flags, start + len(strings), start + len(strings) + len(name) + 1, 0, 0)
        strings += name.encode() + b"\0" + path.encode() + b"\0"
    return struct.pack("=20sIIB3xI12x", elf.CACHE_MAGIC, len(entries), len(strings), 2, 0) + table + strings


class Machine:
    """A folder that stands for a machine with TensorFlow in a virtual environment."""

    def __init__(
        self, root: Path, runpath: str = "$ORIGIN/../nvidia/cublas/lib:$ORIGIN/../nvidia/cuda_runtime/lib"
    ) -> None:
        self.root = root
        self.packages: list[Package] = []
        self.variables: dict[str, str] = {}
        self.version = "2.21.0"
        self.put(f"{SITE}/tensorflow/libtensorflow_framework.so.2", elf_file(runpath=runpath))

    def put(self, path: str, content: bytes | str = b"") -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def link(self, path: str, target: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def wheel(self, name: str, version: str, *files: str) -> None:
        self.packages.append(Package(name=name, version=version, location=SITE))
        for path in files:
            self.put(f"{SITE}/nvidia/{path}")

    def read(self) -> LibraryFacts:
        python = PythonFacts(
            prefix=Known("/venv", "test"),
            search_path=Known((SITE,), "test"),
            packages=Known(tuple(self.packages), "test"),
            environment=Known(self.variables, "test"),
        )
        tensorflow = TensorFlowFacts(version=Known(self.version, "test"), location=Known(f"{SITE}/tensorflow", "test"))
        return read_libraries(Host(self.root, {}), python, tensorflow)

    def found(self) -> list[tuple[str, str, bool]]:
        return [(item.path, item.found_by, item.wins) for item in self.read().found.require()]

    def library(self, name: str) -> Library:
        return next(item for item in self.read().found.require() if item.name == name)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_wheel_by_runpath_wins_over_cache_and_default_folders(machine: Machine) -> None:
    machine.wheel("nvidia-cuda-runtime-cu12", "12.9.79", "cuda_runtime/lib/libcudart.so.12")
    machine.put("/opt/cuda-12.1/lib64/libcudart.so.12")
    machine.put("/usr/lib/x86_64-linux-gnu/libcudart.so.12")
    machine.put("/etc/ld.so.cache", cache_file(("libcudart.so.12", "/opt/cuda-12.1/lib64/libcudart.so.12")))
    assert machine.found() == [
        (f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", "RUNPATH", True),
        ("/opt/cuda-12.1/lib64/libcudart.so.12", "ld.so.cache", False),
        ("/usr/lib/x86_64-linux-gnu/libcudart.so.12", "default folders", False),
    ]


def test_the_variable_wins_over_runpath(machine: Machine) -> None:
    machine.wheel("nvidia-cuda-runtime-cu12", "12.9.79", "cuda_runtime/lib/libcudart.so.12")
    machine.put("/opt/other/libcudart.so.12")
    machine.variables = {"LD_LIBRARY_PATH": "relative:/opt/other::/missing"}
    assert [item[1:] for item in machine.found()] == [("LD_LIBRARY_PATH", True), ("RUNPATH", False)]


def test_rpath_wins_over_the_variable(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(f"{SITE}/tensorflow/libtensorflow_framework.so.2", elf_file(rpath="/conda/lib"))
    machine.put("/conda/lib/libcudart.so.12")
    machine.put("/opt/other/libcudart.so.12")
    machine.variables = {"LD_LIBRARY_PATH": "/opt/other"}
    assert machine.found() == [
        ("/conda/lib/libcudart.so.12", "RPATH", True),
        ("/opt/other/libcudart.so.12", "LD_LIBRARY_PATH", False),
    ]


def test_a_wheel_that_the_search_path_leaves_out_is_told_and_does_not_win(machine: Machine) -> None:
    machine.wheel("nvidia-cusolver-cu12", "11.7.5.82", "cusolver/lib/libcusolver.so.11")
    assert machine.found() == [(f"{SITE}/nvidia/cusolver/lib/libcusolver.so.11", "", False)]
    assert machine.library("cusolver").cuda_major == 12


def test_a_toolkit_that_nothing_leads_to_is_told_once(machine: Machine) -> None:
    machine.put("/usr/local/cuda-12.5/lib64/libcudart.so.12.5.82")
    machine.link("/usr/local/cuda-12.5/lib64/libcudart.so.12", "libcudart.so.12.5.82")
    machine.link("/usr/local/cuda", "cuda-12.5")
    assert machine.found() == [("/usr/local/cuda-12.5/lib64/libcudart.so.12", "", False)]
    library = machine.library("cudart")
    assert (library.version.get(), library.cuda_major, library.origin) == ("12.5.82", 12, "toolkit")


def test_nvjitlink_is_found_from_cusparse(tmp_path: Path) -> None:
    machine = Machine(tmp_path, runpath="$ORIGIN/../nvidia/cusparse/lib")
    machine.wheel("nvidia-nvjitlink-cu12", "12.9.86", "nvjitlink/lib/libnvJitLink.so.12")
    machine.put(f"{SITE}/nvidia/cusparse/lib/libcusparse.so.12", elf_file(runpath="$ORIGIN/../../nvjitlink/lib"))
    jit = machine.library("nvJitLink")
    assert (jit.found_by, jit.wins, jit.version.get()) == ("RUNPATH", True, "12.9.86")


def test_versions_from_name_metadata_and_header(tmp_path: Path) -> None:
    machine = Machine(tmp_path, runpath="$ORIGIN/../nvidia/cudnn/lib:$ORIGIN/../nvidia/cublas/lib")
    machine.wheel("nvidia-cublas-cu12", "12.9.3.13", "cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12")
    machine.wheel("nvidia-cudnn-cu12", "9.1.0.70", "cudnn/lib/libcudnn.so.9")
    header = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 28\n#define CUDNN_PATCHLEVEL 0\n"
    machine.put(f"{SITE}/nvidia/cudnn/include/cudnn_version.h", header)
    assert machine.library("cublasLt").version == Known("12.9.3.13", "nvidia-cublas-cu12's metadata")
    # The header belongs to the files that are there; metadata may be that of another wheel for the same folder.
    assert machine.library("cudnn").version == Known("9.28.0", f"{SITE}/nvidia/cudnn/include/cudnn_version.h")
    assert machine.library("cudnn").cuda_major == 12


@pytest.mark.parametrize("folder", ["lib64", "targets/x86_64-linux/lib"])
def test_versions_of_a_toolkit_by_its_version_file(machine: Machine, folder: str) -> None:
    content = {"cuda": {"version": "12.5.1"}, "libcublas": {"name": "cuBLAS", "version": "12.5.3.2"}}
    machine.put("/opt/kit/version.json", json.dumps({**content, "cuda_cudart": {"version": "12.5.82"}, "libcufft": []}))
    machine.put(f"/opt/kit/{folder}/libcublas.so.12")
    machine.put(f"/opt/kit/{folder}/libcudart.so.12")
    machine.put(f"/opt/kit/{folder}/libcurand.so.10.3.6.82")
    machine.link(f"/opt/kit/{folder}/libcurand.so.10", "libcurand.so.10.3.6.82")
    machine.put(f"/opt/kit/{folder}/libcufft.so.11")
    machine.variables = {"LD_LIBRARY_PATH": f"/opt/kit/{folder}"}
    assert machine.library("cublas").version == Known("12.5.3.2", "/opt/kit/version.json")
    assert machine.library("cudart").version == Known("12.5.82", "/opt/kit/version.json")
    assert machine.library("curand").version == Known("10.3.6.82", "libcurand.so.10.3.6.82")
    assert isinstance(machine.library("cufft").version, Unknown)


def test_two_wheels_in_one_folder_tell_no_cuda_version(tmp_path: Path) -> None:
    machine = Machine(tmp_path, runpath="$ORIGIN/../nvidia/cudnn/lib")
    machine.wheel("nvidia-cudnn-cu12", "9.3.0.75", "cudnn/lib/libcudnn.so.9")
    machine.wheel("nvidia-cudnn-cu13", "9.17.0.29")
    assert machine.library("cudnn").cuda_major is None
    assert isinstance(machine.library("cudnn").version, Unknown)


def test_neighbours_tell_the_cuda_version_of_a_name_that_two_share(machine: Machine) -> None:
    for name in ("libcusolver.so.11", "libcublas.so.11", "libcudart.so.11.0"):
        machine.put(f"/data/cuda/{name}")
    machine.variables = {"LD_LIBRARY_PATH": "/data/cuda"}
    assert machine.library("cusolver").cuda_major == 11


def test_a_conda_build_is_found_below_its_prefix(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / f"{SITE}/tensorflow/libtensorflow_framework.so.2".lstrip("/")).unlink()
    machine.put("/venv/lib/libtensorflow_framework.so.2", elf_file(rpath="$ORIGIN/."))
    machine.put("/venv/conda-meta/cudnn-8.9.7.29-h092f7fd_3.json")
    machine.put("/venv/lib/libcudart.so.11.0")
    cudart = machine.library("cudart")
    assert (cudart.found_by, cudart.origin, cudart.cuda_major) == ("RPATH", "conda", 11)


def test_without_tensorflows_library_nothing_is_concluded(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(f"{SITE}/tensorflow/libtensorflow_framework.so.2", b"not ELF")
    assert machine.read().found == Unknown(
        "TensorFlow's own library was not found: where it looks for others is not known"
    )


def test_an_environment_outside_of_the_folder_is_not_judged(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "elsewhere")
    machine.root = tmp_path
    assert machine.read().found == Unknown(f"{SITE}/tensorflow is not below the folder that stands for this machine")


def test_libdevice_and_ptxas_of_the_wheel(machine: Machine) -> None:
    machine.wheel("nvidia-cuda-nvcc-cu12", "12.9.86", "cuda_nvcc/bin/ptxas", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
    (machine.root / f"{SITE}/nvidia/cuda_nvcc/bin/ptxas".lstrip("/")).chmod(0o755)
    read = machine.read()
    assert read.libdevice.get() == f"{SITE}/nvidia/cuda_nvcc/nvvm/libdevice"
    assert (read.ptxas.get(), read.ptxas_version.get()) == (f"{SITE}/nvidia/cuda_nvcc/bin/ptxas", "12.9.86")


def test_an_old_release_does_not_look_into_wheels(machine: Machine) -> None:
    machine.version = "2.12.0"
    machine.wheel("nvidia-cuda-nvcc-cu11", "11.8.89", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
    assert machine.read().libdevice == Absent("none in /usr/local/cuda")


def test_the_folder_that_xla_flags_names_comes_first(machine: Machine) -> None:
    for root in ("/data/cuda", "/usr/local/cuda"):
        machine.put(f"{root}/nvvm/libdevice/libdevice.10.bc")
        machine.put(f"{root}/bin/ptxas")
        (machine.root / f"{root}/bin/ptxas".lstrip("/")).chmod(0o755)
    machine.put("/data/cuda/version.json", '{"cuda_nvcc": {"version": "12.4.131"}}')
    machine.variables = {"XLA_FLAGS": "--xla_dump_to=/x --xla_gpu_cuda_data_dir=/data/cuda"}
    read = machine.read()
    assert read.libdevice.get() == "/data/cuda/nvvm/libdevice"
    assert (read.ptxas.get(), read.ptxas_version.get()) == ("/data/cuda/bin/ptxas", "12.4.131")


def test_the_cache_of_another_machine_or_format_gives_nothing() -> None:
    entry = ("libcudart.so.12", "/x/libcudart.so.12")
    assert elf.cached_libraries(cache_file(entry), "x86_64", NAME) == [entry]
    assert elf.cached_libraries(cache_file(entry, flags=0x0A03), "x86_64", NAME) == []
    assert elf.cached_libraries(b"ld.so-1.7.0" + bytes(200), "x86_64", NAME) == []
    for length in range(0, 120, 7):
        elf.cached_libraries(cache_file(entry)[:length], "x86_64", NAME)


def test_a_cut_off_elf_file_raises_a_value_error_at_most() -> None:
    whole = elf_file(runpath="/a:/b:/a")
    assert elf.search_path(lambda offset, length: whole[offset : offset + length]).runpath == ("/a", "/b")
    for end in range(len(whole)):
        cut = whole[:end]
        try:
            elf.search_path(lambda offset, length, cut=cut: cut[offset : offset + length])  # type: ignore[misc]
        except ValueError:
            continue


@needs_compiler
@pytest.mark.parametrize("dtags", ["--enable-new-dtags", "--disable-new-dtags"])
@pytest.mark.parametrize("variable", [False, True])
def test_the_order_is_that_of_the_real_loader(tmp_path: Path, dtags: str, variable: bool) -> None:
    location = tmp_path / "site" / "tensorflow"
    folders = [tmp_path / "site" / "nvidia" / "cuda_runtime" / "lib", tmp_path / "variable"]
    location.mkdir(parents=True)
    build = [compiler() or "cc", "-shared", "-fPIC", "-x", "c", "-"]
    for folder in folders:
        folder.mkdir(parents=True)
        _compile([*build, "-o", str(folder / "libcudart.so.12"), "-Wl,-soname,libcudart.so.12"], "int x;")
    opener = location / "libtensorflow_framework.so.2"
    code = '#include <dlfcn.h>\nvoid *start(void) { return dlopen("libcudart.so.12", RTLD_NOW); }'
    _compile([*build, "-o", str(opener), f"-Wl,{dtags},-rpath,$ORIGIN/../nvidia/cuda_runtime/lib", "-ldl"], code)
    environ = {"LD_LIBRARY_PATH": str(folders[1])} if variable else {}
    program = (
        f"import ctypes; ctypes.CDLL({str(opener)!r}).start(); "
        "print([line.split()[-1] for line in open('/proc/self/maps') if 'libcudart' in line][0])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    python = PythonFacts(search_path=Known((str(tmp_path / "site"),), "test"), environment=Known(environ, "test"))
    tensorflow = TensorFlowFacts(version=Known("2.21.0", "test"), location=Known(str(location), "test"))
    found = read_libraries(Host(environ={}), python, tensorflow).found.require()
    winner = next(item for item in found if item.soname == "libcudart.so.12" and item.wins)
    assert Path(winner.path).resolve() == Path(loaded.stdout.strip()).resolve()


def _compile(command: list[str], code: str) -> None:
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_installed_tensorflow_looks_into_nvidias_wheels() -> None:
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None or not sys.platform.startswith("linux"):
        pytest.skip("TensorFlow is not installed")
    opener = Path(spec.origin).parent / "libtensorflow_framework.so.2"
    data = opener.read_bytes()
    read = elf.search_path(lambda offset, length: data[offset : offset + length])
    parts = {part for entry in read.runpath for part in re.findall(r"nvidia/(\w+)/lib", entry)}
    assert {"cublas", "cuda_runtime", "cudnn", "cufft", "cusparse"} <= parts
