"""Stand-ins for the driver's libraries: two C files, compiled once, that answer from a profile.

`build(profile, folder)` makes a folder that a child's loader finds through LD_LIBRARY_PATH and returns the variables to
set; the fixture `stand_ins` does so in a temporary folder. Values in a profile follow profile.h:

- `fail.<symbol>`: code that the function returns; `gpu.0.fail.<symbol>`, `gpu.0.fail` for one GPU only
- `hang.<symbol>`, `abort.<symbol>`: it never returns, it aborts; `garbage.<symbol>`: a text without end
- `cuda_order`: the GPUs as CUDA counts them, fastest first ("1,0")
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GIB = 1 << 30


class Libcuda(Enum):
    """Where the stand-in for libcuda lies, and so what it passes for."""

    DRIVER = "lib"
    STUB = "lib/stubs"
    COMPAT = "cuda/compat"
    WSL = "usr/lib/wsl/lib"
    NONE = ""


@dataclass(frozen=True)
class FakeGpu:
    """One GPU; a value of None is one that the driver does not tell. extra: keys of profile.h without `gpu.N.`."""

    name: str | None
    uuid: str | None
    pci: str | None
    cc: str | None
    pci_id: str | None = None
    memory_total: int | None = 8 * GIB
    memory_used: int | None = 0
    memory_reserved: int | None = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    def lines(self, index: int) -> list[str]:
        """Return the profile's lines for this GPU as number index."""
        own = {key: value for key, value in vars(self).items() if key != "extra"}
        return [f"gpu.{index}.{key}={value}" for key, value in {**own, **self.extra}.items() if value is not None]


@dataclass(frozen=True)
class Profile:
    """What the stand-ins answer. missing: functions that they do not have, as an older driver."""

    driver_version: str = "535.183.01"
    cuda_version: int = 12020
    gpus: tuple[FakeGpu, ...] = ()
    nvml: bool = True
    libcuda: Libcuda = Libcuda.DRIVER
    missing: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    def text(self) -> str:
        """Return the profile as profile.h reads it."""
        lines = [f"driver_version={self.driver_version}", f"cuda_version={self.cuda_version}", f"gpus={len(self.gpus)}"]
        lines += [f"nvml_version={self.cuda_version // 1000}.{self.driver_version}"]
        for index, gpu in enumerate(self.gpus):
            lines += gpu.lines(index)
        # First so that they win: the reader takes the first line with a key.
        return "\n".join([f"{key}={value}" for key, value in self.extra.items()] + lines) + "\n"

    def but(self, **extra: object) -> Profile:
        """Return this profile with further values: keys with two underscores in place of each dot."""
        return replace(self, extra={**self.extra, **{key.replace("__", "."): value for key, value in extra.items()}})


BUSY = {
    "utilization": 37,
    "utilization_memory": 12,
    "power": 71_000,
    "power_limit": 450_000,
    "temperature.0": 48,
    "clock.1": 2520,
    "clock_max.1": 3105,
    "throttle": 0x5,
    "pcie_gen": 1,
    "pcie_gen_max": 4,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "compute_mode": 0,
    "persistence": 0,
    "display_active": 1,
    "compute": "4242:1073741824,77:?",
    "graphics": "900:209715200",
    "mps": "",
}
RTX_4090 = FakeGpu(
    name="NVIDIA GeForce RTX 4090",
    uuid="GPU-11111111-2222-3333-4444-555555555555",
    pci="0000:01:00.0",
    pci_id="268410DE",
    cc="8.9",
    memory_total=25_757_220_864,
    memory_used=2 * GIB,
    memory_reserved=GIB // 2,
    extra=BUSY,
)
GEFORCE_940M = FakeGpu(
    name="GeForce 940M",
    uuid="GPU-94000000-aaaa-bbbb-cccc-0123456789ab",
    pci="0000:04:00.0",
    pci_id="134710DE",
    cc="5.0",
    memory_total=2 * GIB,
    memory_used=GIB // 8,
)
A100_WITH_MIG = FakeGpu(
    name="NVIDIA A100-SXM4-40GB",
    uuid="GPU-a1000000-0000-4000-8000-0000000000a1",
    pci="0000:07:00.0",
    pci_id="20B010DE",
    cc="8.0",
    memory_total=40 * GIB,
    extra={"mig": 1, "ecc": 1, "persistence": 1, "display_active": 0, "compute_mode": 0},
)


def compiler() -> str | None:
    """Return a C compiler, None if there is none."""
    return next(
        (found for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name and (found := shutil.which(name))), None
    )


def compile_library(source: str, missing: tuple[str, ...], cache: Path) -> Path:
    """Return the compiled stand-in; made once for each set of missing functions, by whoever comes first."""
    texts = b"".join((HERE / name).read_bytes() for name in (source, "profile.h"))
    key = hashlib.sha256(texts + repr(sorted(missing)).encode()).hexdigest()[:16]
    library = cache / f"{source}-{key}.so"
    if not library.exists():
        draft, script = cache / f"{library.name}.{os.getpid()}", cache / f"{library.name}.{os.getpid()}.map"
        script.write_text("{ global: *; local: _missing; " + " ".join(f"{name};" for name in missing) + " };\n")
        command = [compiler() or "cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        command += [f"-Wl,--version-script={script}", str(HERE / source), "-o", str(draft)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        draft.replace(library)
    return library


def _install(library: Path, folder: Path, name: str, version: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    real = folder / f"{name}.{version}" if version else folder / name
    shutil.copy(library, real)
    if real.name != f"{name}.1":
        (folder / f"{name}.1").symlink_to(real.name)
    return str(folder)


def build(profile: Profile, folder: Path, cache: Path | None = None) -> dict[str, str]:
    """Make the libraries of a profile in a folder; return the environment variables that bring them into use."""
    cache = cache or folder
    cache.mkdir(parents=True, exist_ok=True)
    folders = []
    if profile.nvml:
        library = compile_library("nvml.c", _of(profile.missing, "nvml"), cache)
        folders.append(_install(library, folder / "lib", "libnvidia-ml.so", profile.driver_version))
    if profile.libcuda is not Libcuda.NONE:
        library = compile_library("libcuda.c", _of(profile.missing, "cu"), cache)
        version = {Libcuda.STUB: "", Libcuda.WSL: "1"}.get(profile.libcuda, profile.driver_version)
        folders.append(_install(library, folder / profile.libcuda.value, "libcuda.so", version))
    text = folder / "profile.txt"
    text.write_text(profile.text())
    return {"LD_LIBRARY_PATH": os.pathsep.join(dict.fromkeys(folders)), "GPUDOCTOR_FAKE_PROFILE": str(text)}


def _of(symbols: tuple[str, ...], prefix: str) -> tuple[str, ...]:
    return tuple(symbol for symbol in symbols if symbol.startswith(prefix))


StandIns = Callable[[Profile], dict[str, str]]


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    """A function from a profile to the environment variables with which a child meets the stand-ins."""
    if not compiler():
        pytest.skip("no C compiler for the stand-ins of the driver's libraries")
    base = tmp_path_factory.getbasetemp()
    # All workers of pytest-xdist share the compiled files; their base folders lie side by side.
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "stand-in-cache"
    return lambda profile: build(profile, tmp_path_factory.mktemp("stand-ins"), cache)
