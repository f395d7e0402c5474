"""Whole machines in a few words: a GPU, a driver, a TensorFlow, its libraries, a Python. Nothing is started in them.

What a machine of that kind would tell is filled in from the rows of compat_tables, read here as plain JSON, so that a
fault in the look-ups of gpudoctor.compat does not hide itself.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor.facts.model import (
    Absent,
    Api,
    ApiAnswer,
    Computation,
    Conflict,
    Device,
    DriverFacts,
    Fact,
    Facts,
    Gpu,
    HostFacts,
    Known,
    LibcudaKind,
    Library,
    LibraryFacts,
    LogEvent,
    Package,
    PciDevice,
    PythonFacts,
    RunOutcome,
    TensorFlowFacts,
    TensorFlowRun,
    Unknown,
)

TABLES = Path(__file__).parent.parent / "compat_tables"
QUICK = Unknown("TensorFlow was not started (--quick)")
LINUX = "linux-x86_64"
SOURCE = "a test"
# Versions to choose from, newest first: what TensorFlow's own metadata admits is taken.
CHOICES = {
    "numpy": ("2.4.1", "2.1.3", "2.0.2", "1.26.4", "1.24.3", "1.23.5", "1.21.6", "1.19.5", "1.18.5"),
    "protobuf": ("7.35.1", "6.33.0", "5.29.5", "4.25.8", "3.20.3", "3.19.6"),
    "keras": ("3.15.1", "3.10.0", "2.15.0", "2.14.0", "2.13.1", "2.12.0", "2.11.0", "2.10.0", "2.9.0", "2.8.0",
              "2.7.0", "2.6.0"),
    "keras-nightly": ("3.16.0.dev2026101504", "2.5.0.dev2021032900"),
}  # fmt: skip
NO_NUMPY_2 = Version("2.18")
NO_PROTOBUF_4 = Version("2.12")
FOLDERS = {"cudart": "cuda_runtime", "cublasLt": "cublas", "nvJitLink": "nvjitlink", "cupti": "cuda_cupti"}


@functools.cache
def rows(table: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of a table as JSON has them."""
    return tuple(json.loads((TABLES / f"{table}.json").read_text("utf-8"))["rows"])


@functools.cache
def wheel(tensorflow: str, package: str = "tensorflow", platform: str = LINUX) -> dict[str, Any]:
    """Return the row of a published wheel. Raises KeyError."""
    for row in rows("tensorflow_wheels"):
        if (row["tensorflow"], row["package"], row["platform"]) == (tensorflow, package, platform):
            return row
    raise KeyError(f"{package} {tensorflow} for {platform}")


@functools.cache
def gpu_row(name: str) -> dict[str, Any]:
    """Return the row of a GPU by its name, one that names a single compute capability. Raises KeyError."""
    short = name.removeprefix("NVIDIA ")
    found = [row for row in rows("gpus") if short in (row["name"], *row.get("other_names", ()))]
    if len({row["compute_capability"] for row in found}) != 1:
        raise KeyError(name)
    return found[0]


def release(text: str, parts: int = 2) -> tuple[int, ...]:
    """Return the first numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:parts])


def cuda_of_driver(driver: str) -> str:
    """Return the CUDA version that a Linux driver serves."""
    return next(
        str(row["cuda_max"]) for row in rows("driver_branches") if row["branch"] == driver.split(".", maxsplit=1)[0]
    )


def official_build(tensorflow: str) -> dict[str, Any]:
    """Return the official tested build for the GPU on Linux of a release. Raises StopIteration."""
    return next(
        row
        for row in rows("tensorflow_builds")
        if (row["os"], row["device"]) == ("linux", "gpu") and release(row["tensorflow"]) == release(tensorflow)
    )


def cuda_of_release(tensorflow: str, package: str) -> str:
    """Return the CUDA release of a Linux wheel: its own word, or that of the tested build where it says 10."""
    own = str(wheel(tensorflow, package).get("cuda", ""))
    return own if "." in own else str(official_build(tensorflow)["cuda"])


def pins(tensorflow: str) -> dict[str, str]:
    """Return what the extra and-cuda asks for; nothing where there is no such extra."""
    return {row["package"]: row["specifier"] for row in rows("cuda_pins") if row["tensorflow"] == tensorflow}


def lowest(specifier: str) -> str:
    """Return the lowest version that a specifier of a pin admits."""
    found = re.search(r"(?:==|>=)\s*([\w.]+)", specifier)
    assert found, specifier
    return found[1]


def admits(requirement: str, version: str, python: str) -> bool:
    """Whether a requirement as the table writes it (alternatives parted by a bar, with markers) admits a version."""
    for part in requirement.split("|"):
        specifier, _, marker = part.partition(";")
        bound = re.search(r'python_version\s*(<=|>=|<|>|==)\s*"([\d.]+)"', marker)
        if bound and not SpecifierSet(f"{bound[1]}{bound[2]}").contains(".".join(python.split(".")[:2])):
            continue
        words = specifier.split()
        return SpecifierSet(words[-1] if words else "").contains(version, prereleases=True)
    return True


def host(os: str = "linux", machine: str = "x86_64", *, container: str | None = None, glibc: str = "2.35") -> HostFacts:
    """Return the host of a machine; os: linux or wsl2. PCI devices come with the driver."""
    wsl = os == "wsl2"
    return HostFacts(
        os=Known("linux", SOURCE),
        distribution=Known("Ubuntu 22.04.5 LTS", SOURCE),
        distribution_id=Known("ubuntu", SOURCE),
        distribution_version=Known("22.04", SOURCE),
        kernel=Known("5.15.167.4-microsoft-standard-WSL2" if wsl else "6.8.0-40-generic", SOURCE),
        libc=Known(f"glibc {glibc}", SOURCE),
        machine=Known(machine, SOURCE),
        cpu_model=Known("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", SOURCE),
        cpu_flags=Known(("avx", "avx2", "fma"), SOURCE),
        cpu_count=Known(12, SOURCE),
        memory_total_bytes=Known(32 << 30, SOURCE),
        memory_limit_bytes=Absent(SOURCE),
        shm_bytes=Known(16 << 30, SOURCE),
        container=Known(container, SOURCE) if container else Absent(SOURCE),
        wsl=Known("5.15.167.4-microsoft-standard-WSL2", SOURCE) if wsl else Absent(SOURCE),
        tegra=Absent(SOURCE),
        secure_boot=Known(False, SOURCE),
    )


def driver_facts(version: str, cuda: str, count: int, *, wsl: bool = False) -> DriverFacts:
    """Return a driver that is installed, loaded and talks, with this many GPUs."""
    folder = "/usr/lib/wsl/lib" if wsl else "/usr/lib/x86_64-linux-gnu"
    number = "1.1" if wsl else version
    nothing = Absent("the driver is that of Windows")
    module: Fact[str] = nothing if wsl else Known(version, SOURCE)
    return DriverFacts(
        version=Known(version, "NVML"),
        cuda_version=Known(cuda, "libcuda"),
        kernel_module_version=module,
        kernel_module_on_disk=nothing if wsl else Known("/lib/modules/updates/dkms/nvidia.ko", SOURCE),
        modules_loaded=Known((), SOURCE) if wsl else Known(("nvidia", "nvidia_uvm"), SOURCE),
        device_nodes=Known((), SOURCE),
        library_files=Known((f"{folder}/libcuda.so.{number}", f"{folder}/libnvidia-ml.so.{number}"), SOURCE),
        nvml=Known(ApiAnswer(outcome=Api.OK, code=0, name="NVML_SUCCESS"), "NVML"),
        nvml_version=Known(version, "NVML"),
        nvml_device_count=Known(count, "NVML"),
        cuda_init=Known(ApiAnswer(outcome=Api.OK, code=0, name="CUDA_SUCCESS"), "libcuda"),
        libcuda_file=Known(f"{folder}/libcuda.so.{number}", SOURCE),
        libcuda_kind=Known(LibcudaKind.WSL if wsl else LibcudaKind.DRIVER, SOURCE),
        libcuda_version=Unknown("its file name tells no version") if wsl else Known(version, SOURCE),
        cuda_device_count=Known(count, "libcuda"),
        cuda_device_count_unmasked=Known(count, "libcuda"),
    )


def gpu(name: str, number: int = 0, *, visible: bool = True) -> Gpu:
    """Return a GPU by its name, at rest."""
    row = gpu_row(name)
    return Gpu(
        name=Known(name, "NVML"),
        uuid=Known(f"GPU-00000000-0000-0000-0000-{number + 1:012}", "NVML"),
        pci_address=Known(f"0000:{number + 1:02x}:00.0", "NVML"),
        pci_id=Known(row["pci_ids"][0].lower(), "NVML") if row.get("pci_ids") else Unknown("not told"),
        compute_capability=Known(row["compute_capability"], "NVML"),
        visible=Known(visible, "libcuda"),
        memory_total_bytes=Known(8 << 30, "NVML"),
        memory_used_bytes=Known(1 << 28, "NVML"),
        utilization_percent=Known(0, "NVML"),
        temperature_celsius=Known(41, "NVML"),
        throttle_reasons=Known(("gpu-idle",), "NVML"),
        compute_mode=Known("default", "NVML"),
        mig=Unknown("this GPU does not report it"),
        processes=Known((), "NVML"),
    )


class Libraries:
    """The CUDA libraries of one machine."""

    def __init__(self, cuda: str, site: str) -> None:
        self.cuda, self.site = cuda, site
        self.found: list[Library] = []
        self.ptxas: Fact[str] = Absent("none on PATH and in the CUDA folders that XLA tries")
        self.ptxas_version: Fact[str] = Absent("none on PATH and in the CUDA folders that XLA tries")
        self.libdevice: Fact[str] = Absent("none in /usr/local/cuda")

    def sonames(self) -> dict[str, str]:
        """Return the sonames of the CUDA release, without cuDNN's."""
        wanted = release(self.cuda)
        return {
            row["library"]: row["soname"]
            for row in rows("cuda_libraries")
            if release(row["from_cuda"]) <= wanted <= release(row["to_cuda"])
        }

    def add(self, name: str, soname: str, version: str, place: tuple[str, str, str], *, wins: bool = True) -> None:
        """Add one file. place: folder, origin, what leads the loader there."""
        folder, origin, found_by = place
        self.found.append(
            Library(name=name, soname=soname, version=Known(version, SOURCE), cuda_major=release(self.cuda)[0],
                    path=f"{folder}/{soname}", origin=origin, found_by=found_by, wins=wins)
        )  # fmt: skip

    def toolchain(self, root: str, cuda: str) -> None:
        """Put ptxas and libdevice into a folder that XLA tries."""
        self.ptxas, self.ptxas_version = Known(f"{root}/bin/ptxas", SOURCE), Known(cuda, SOURCE)
        self.libdevice = Known(f"{root}/nvvm/libdevice", SOURCE)

    def facts(self) -> LibraryFacts:
        """Return them as facts."""
        return LibraryFacts(
            found=Known(tuple(self.found), SOURCE),
            ptxas=self.ptxas,
            ptxas_version=self.ptxas_version,
            libdevice=self.libdevice,
        )


def from_wheels(tensorflow: str, cuda: str, site: str, cudnn: str | None) -> tuple[Libraries, dict[str, str]]:
    """Return the libraries of the extra and-cuda where TensorFlow finds them, and the packages that bring them."""
    made, wanted = Libraries(cuda, site), pins(tensorflow)
    packages = {name: lowest(specifier) for name, specifier in wanted.items() if name.startswith("nvidia-")}
    cudnn_package = next(name for name in packages if name.startswith("nvidia-cudnn-"))
    packages[cudnn_package] = cudnn or packages[cudnn_package]
    for name, soname in made.sonames().items():
        folder = FOLDERS.get(name, name)
        version = next((v for p, v in packages.items() if p.startswith(f"nvidia-{folder.replace('_', '-')}-")), None)
        if version is not None:
            # 2.21.0 does not look into cuSOLVER's folder; whoever uses it has set the variable.
            led = "LD_LIBRARY_PATH" if tensorflow == "2.21.0" and name == "cusolver" else "RUNPATH"
            made.add(name, soname, version, (f"{site}/nvidia/{folder}/lib", "wheel", led))
    version = packages[cudnn_package]
    made.add("cudnn", f"libcudnn.so.{version.split('.')[0]}", version, (f"{site}/nvidia/cudnn/lib", "wheel", "RUNPATH"))
    made.toolchain(f"{site}/nvidia/cuda_nvcc", cuda)
    return made, packages


def from_system(cuda: str, cudnn: str | None, site: str, prefix: str | None = None) -> Libraries:
    """Return a CUDA toolkit and a cuDNN that the loader finds; prefix: of a conda environment that holds them."""
    made = Libraries(cuda, site)
    short = ".".join(map(str, release(cuda)))
    folder = f"{prefix}/lib" if prefix else f"/usr/local/cuda-{short}/lib64"
    place = (folder, "conda", "RPATH") if prefix else (folder, "toolkit", "ld.so.cache")
    for name, soname in made.sonames().items():
        made.add(name, soname, cuda if name == "cudart" else "1.2.3", place)
    if cudnn is not None:
        system = place if prefix else ("/usr/lib/x86_64-linux-gnu", "system", "ld.so.cache")
        made.add("cudnn", f"libcudnn.so.{cudnn.split('.')[0]}", cudnn, system)
    made.toolchain(prefix or "/usr/local/cuda", cuda)
    return made


def packages_for(row: Mapping[str, Any], python: str, own: Mapping[str, str]) -> tuple[dict[str, str], list[Conflict]]:
    """Return what pip would install beside a wheel, with what is said otherwise, and which requirements do not hold."""
    found, conflicts = {row["package"]: row["tensorflow"]}, []
    asked = {"numpy": row.get("numpy", ""), "protobuf": row.get("protobuf", ""), "keras": row.get("keras", "")}
    if asked["keras"].startswith("keras-nightly"):
        asked["keras-nightly"] = asked.pop("keras")
    base = Version(row["tensorflow"])
    for name, requirement in asked.items():
        if not requirement and name.startswith("keras"):
            continue  # Keras is a part of TensorFlow
        fits = [version for version in CHOICES[name] if admits(requirement, version, python)]
        if name == "numpy" and base < NO_NUMPY_2:
            fits = [version for version in fits if Version(version) < Version("2")]
        if name == "protobuf" and base < NO_PROTOBUF_4:
            fits = [version for version in fits if Version(version) < Version("4")]
        version = own.get(name, fits[0])
        found[name] = version
        if not admits(requirement, version, python):
            specifier = requirement.split(";")[0].split()[-1]
            conflicts.append(Conflict(package=row["package"], version=row["tensorflow"], name=name,
                                      specifier=specifier, installed=version))  # fmt: skip
    found.update({name: version for name, version in own.items() if name not in found})
    return found, conflicts


def python_facts(
    python: str,
    packages: Mapping[str, str],
    conflicts: Sequence[Conflict] = (),
    *,
    kind: str = "venv",
    environment: Mapping[str, str] | None = None,
    by_conda: bool = False,
) -> PythonFacts:
    """Return an environment ~/tf with these packages; by_conda: conda installed them."""
    site = f"~/tf/lib/python{python}/site-packages"
    installer = "conda" if by_conda else "pip"
    return PythonFacts(
        executable=Known("~/tf/bin/python", SOURCE),
        chosen_by=Known("CONDA_PREFIX" if kind == "conda" else "VIRTUAL_ENV", SOURCE),
        version=Known(f"{python}.4", SOURCE),
        implementation=Known("cpython", SOURCE),
        bits=Known(64, SOURCE),
        environment_kind=Known(kind, SOURCE),
        installer=Known("pip", SOURCE),
        externally_managed=Known(False, SOURCE),
        prefix=Known("~/tf", SOURCE),
        search_path=Known((site,), SOURCE),
        user_site=Absent(SOURCE),
        packages=Known(
            tuple(
                Package(name=name, version=version, location=site, installer=installer)
                for name, version in {**packages, "pip": "25.0"}.items()
            ),
            "package metadata",
        ),
        problems=Known((), "package metadata"),
        conflicts=Known(tuple(conflicts), "package metadata"),
        conda_packages=Known((), "conda-meta") if kind == "conda" else Absent("no conda environment"),
        horovod_extensions=Absent(SOURCE),
        keras_json_backend=Absent(SOURCE),
        environment=Known({"VIRTUAL_ENV": "~/tf", **(environment or {})}, "environment"),
    )


def tensorflow_facts(row: Mapping[str, Any], packages: Mapping[str, str], site: str) -> TensorFlowFacts:
    """Return a TensorFlow as its wheel is published; nobody started it."""
    nothing = Unknown("build_info.py does not tell")
    told, base = bool(row.get("cuda_build")), Version(row["tensorflow"])
    cpu = Absent("build_info.py: no CUDA build")
    asked = tuple(f"{name}{specifier}" for name, specifier in pins(row["tensorflow"]).items())
    keras = packages.get("keras") or packages.get("keras-nightly")

    def built(key: str) -> Fact[str]:
        if not told:
            return cpu
        text = row.get(key, "")
        return Known(text, "build_info.py") if text and text != "absent" else nothing

    capabilities = tuple(row.get("capabilities", ()))
    return TensorFlowFacts(
        distribution=Known(row["package"], "package metadata"),
        version=Known(row["tensorflow"], "package metadata"),
        location=Known(f"{site}/tensorflow", "search path"),
        cuda_build=Known(told, "build_info.py"),
        built_with_cuda=built("cuda_raw"),
        built_with_cudnn=built("cudnn_raw"),
        compute_capabilities=Known(capabilities, "build_info.py") if capabilities else nothing if told else cpu,
        cuda_requirements=Known(asked, "package metadata") if asked else Absent("no extra and-cuda"),
        keras_version=Known(keras, "package metadata")
        if keras and base >= Version("2.6")
        else Absent("Keras is a part of TensorFlow before 2.6"),
        keras_generation=Known(3 if base >= Version("2.16.0rc0") else 2, SOURCE),
        run=QUICK,
        devices=QUICK,
        computations=QUICK,
        events=QUICK,
        log_tail=QUICK,
    )


def machine(  # noqa: PLR0913 (a machine has these parts)
    gpus: Sequence[str] = ("NVIDIA GeForce RTX 4090",),
    driver: str = "535.183.01",
    tensorflow: str = "2.20.0",
    *,
    package: str = "tensorflow",
    python: str = "3.11",
    libraries: str = "wheels",
    cuda: str | None = None,
    cudnn: str | None = None,
    driver_cuda: str | None = None,
    os: str = "linux",
    container: str | None = None,
    glibc: str = "2.35",
    packages: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Facts:
    """Return a machine as `check --quick` reads it.

    libraries: wheels (the extra and-cuda), system (a CUDA toolkit, of the release cuda, and a cuDNN), conda (both in
    its environment), none. cudnn: another one than the lowest that the wheel admits or was compiled with; "" for none.
    """
    row = wheel(tensorflow, package)
    site = f"~/tf/lib/python{python}/site-packages"
    have, conflicts = packages_for(row, python, packages or {})
    variables = dict(environment or {})
    made: Libraries
    if libraries == "wheels":
        # The CUDA release of the wheels tells their names; where the wheel of TensorFlow is silent, theirs does.
        runtime = next(pin for pin in pins(tensorflow) if pin.startswith("nvidia-cuda-runtime"))
        made, wheels = from_wheels(tensorflow, cuda or lowest(pins(tensorflow)[runtime]), site, cudnn)
        have.update(wheels)
        if tensorflow == "2.21.0":
            variables.setdefault("LD_LIBRARY_PATH", f"{site}/nvidia/cusolver/lib")
    elif libraries == "none":
        made = Libraries("12.0", site)
    else:
        own = cuda or cuda_of_release(tensorflow, package)
        wanted = cudnn if cudnn is not None else str(official_build(tensorflow)["cudnn"])
        made = from_system(own, wanted or None, site, "~/tf" if libraries == "conda" else None)
    wsl = os == "wsl2"
    cards = tuple(gpu(name, number) for number, name in enumerate(gpus))
    on_bus = () if wsl else tuple(
        PciDevice(address=card.pci_address.require(), device_id=card.pci_id.get() or "ffff", driver="nvidia")
        for card in cards
    )  # fmt: skip
    return Facts(
        host=replace(host(os, container=container, glibc=glibc), pci_gpus=Known(on_bus, "/sys/bus/pci/devices")),
        driver=driver_facts(driver, driver_cuda or cuda_of_driver(driver), len(cards), wsl=wsl),
        gpus=cards,
        libraries=made.facts(),
        python=python_facts(python, have, conflicts, kind="conda" if libraries == "conda" else "venv",
                            environment=variables),
        tensorflow=tensorflow_facts(row, have, site),
    )  # fmt: skip


def started(facts: Facts, *, works: bool = True, events: Sequence[LogEvent] = ()) -> Facts:
    """Return the same machine after TensorFlow was started: it computes on each visible GPU, or lists none."""
    seen = [card for card in facts.gpus if card.visible.get() is not False] if works else []
    devices = [Device(name="CPU:0", kind="CPU")] + [
        Device(name=f"GPU:{number}", kind="GPU", description=card.name.get() or "",
               compute_capability=card.compute_capability.get(), pci_address=card.pci_address.get())
        for number, card in enumerate(seen)
    ]  # fmt: skip
    results = tuple(
        Computation(device=device.name, operation=operation, correct=True)
        for device in devices
        for operation in ("matmul", "conv2d", "elementwise")
    )
    source = "TensorFlow's own start"
    return replace(
        facts,
        tensorflow=replace(
            facts.tensorflow,
            run=Known(TensorFlowRun(outcome=RunOutcome.OK, stage="done", seconds=3.1), source),
            devices=Known(tuple(devices), source),
            computations=Known(results, source),
            events=Known(tuple(events), "TensorFlow's log"),
            log_tail=Known("", "TensorFlow's log"),
        ),
    )
