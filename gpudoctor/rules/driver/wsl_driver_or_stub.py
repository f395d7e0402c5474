"""wsl-driver-or-stub."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Api, Facts, Known, LibcudaKind, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._packages import KERNEL, LIBRARY, WHOLE, shown, versions
from gpudoctor.rules.driver._state import CUDA_STUB, NVML_DRIVER_NOT_LOADED, answers, failed_with, outcome
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

FOLDER = "/usr/lib/wsl/lib"
# What the variable held before, if anything: an empty entry would be the current folder.
AFTER = "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
FIND_IT = Remedy(
    summary="Let the loader find the driver's folder: for this shell, and for good through ldconfig.",
    commands=(
        f"export LD_LIBRARY_PATH={FOLDER}{AFTER}",
        f"echo {FOLDER} | sudo tee /etc/ld.so.conf.d/wsl.conf && sudo ldconfig",
    ),
    applicability=Applicability.UNSAFE,
)
WINDOWS_DRIVER = Remedy(
    summary="Install or update the NVIDIA driver on Windows (its setup program brings the WSL part), then restart WSL. "
    "Install no driver inside WSL.",
    commands=("wsl.exe --update", "wsl.exe --shutdown"),
    applicability=Applicability.MANUAL,
)
REMOVE_LINUX_DRIVER = Remedy(
    summary="Remove the Linux driver from WSL: the Windows driver serves both; then restart WSL.",
    commands=("sudo apt-get purge '^nvidia-.*' '^libnvidia-.*'", "wsl.exe --shutdown"),
    applicability=Applicability.UNSAFE,
)


# NVIDIA's CUDA on WSL User Guide: 5.10.43.3 or newer; the kernels 4.x are those of WSL 1 and of early WSL 2.
OLDEST_KERNEL = (5, 10, 43)
UPDATE_WSL = Remedy(
    summary="Update WSL and let this distribution run under WSL 2 (at a prompt of Windows), then start it again.",
    commands=("wsl.exe --update", "wsl.exe --list --verbose", "wsl.exe --shutdown"),
    applicability=Applicability.MANUAL,
)
START_WITH_GPU = Remedy(
    summary="Start the container with the GPU: it is then given the libraries of the Windows driver in place of those "
    "of its image. Use an image without a driver of its own.",
    commands=("docker run --gpus all IMAGE COMMAND",),
    applicability=Applicability.MANUAL,
)


def _kernel_too_old(release: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", release)
    return found is not None and tuple(map(int, found.groups())) < OLDEST_KERNEL


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="under WSL, {folder} holds no libcuda: Windows has no NVIDIA driver with WSL support",
    variants={
        "text": "under WSL, libcuda.so.1 was not found: Windows has no NVIDIA driver with WSL support, or the loader "
        "does not look in {folder}",
        "libraries": "under WSL, libraries of the Windows driver are not found in {folder}: a Linux driver was "
        "installed inside WSL, or the driver of Windows has no WSL support",
        "blocked": "Windows refuses WSL the GPU: its NVIDIA driver or WSL itself is too old",
        "cudnn": "cuDNN does not find libcuda.so, which under WSL lies in {folder}",
        "kernel": "the kernel of WSL, {kernel}, is too old for CUDA: 5.10.43 is the oldest that serves it",
        "tcc": "WSL does not serve {gpu}: its driver model on Windows is TCC, and only WDDM and MCDM reach WSL",
        "stub": "the libcuda that is loaded is a stub of a CUDA toolkit, not the driver's: it cannot start CUDA",
        "not-found": "under WSL, the loader does not find libcuda.so.1, though it is in {folder}",
        "packages": "a Linux driver is installed inside WSL ({package}): its libraries stand before those of the "
        "Windows driver in {folder}",
        "linux-driver": "under WSL, {file} is used in place of the libcuda of the Windows driver in {folder}, and it "
        "cannot start CUDA",
    },
)
def wsl_driver_or_stub(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Under WSL2, the libcuda of the Windows driver is missing, is not found, or is hidden by another one.

    Why it matters: in WSL the GPU is reached through the Windows driver, whose libraries appear in /usr/lib/wsl/lib. A
    Linux driver inside WSL, or a stub of a CUDA toolkit, does not reach it.
    How to fix: keep the driver on Windows up to date, install none inside WSL, and let the loader find its folder.
    """
    told = tuple(_from_text(self, facts))
    if told:
        yield from told
        return
    if not isinstance(facts.host.wsl, Absent):
        facts.host.wsl.require()
        yield from _on_this_machine(self, facts)


def _on_this_machine(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it where CUDA was asked and the driver's folder was looked at."""
    driver = facts.driver
    cuda = driver.cuda_init.require()
    # With a variable that hides the GPUs, cuInit says that there is none, whichever libcuda it is.
    if cuda.outcome is Api.OK or driver.cuda_device_count_unmasked.get():
        return
    if _kernel_too_old(facts.host.wsl.require()):
        yield self.finding(
            ("host.wsl", "driver.cuda_init"), variant="kernel", remedies=(UPDATE_WSL,), kernel=facts.host.wsl.require()
        )
        return
    there = any(file.startswith(f"{FOLDER}/libcuda.so") for file in driver.library_files.require())
    if outcome(cuda) is Api.NO_LIBRARY:
        yield self.finding(
            ("host.wsl", "driver.library_files", "driver.cuda_init"),
            variant="not-found" if there else None,
            # Windows may also have no NVIDIA GPU at all; from inside WSL that looks the same.
            confidence=Confidence.CERTAIN if there else Confidence.LIKELY,
            remedies=(FIND_IT,) if there else (WINDOWS_DRIVER,),
            folder=FOLDER,
        )
    elif driver.libcuda_kind.get() in (LibcudaKind.DRIVER, LibcudaKind.STUB):
        yield self.finding(
            ("host.wsl", "driver.libcuda_file", "driver.libcuda_kind", "driver.cuda_init"),
            variant="linux-driver",
            remedies=_in_place_of(facts),
            file=driver.libcuda_file.get() or "another libcuda",
            folder=FOLDER,
        )


def _in_place_of(facts: Facts) -> tuple[Remedy, ...]:
    """Return what brings the right libcuda into use: in a container its packages are the image's business."""
    if isinstance(facts.host.container, Known):
        return (START_WITH_GPU,)
    return (REMOVE_LINUX_DRIVER,) if facts.driver.libcuda_kind.get() is LibcudaKind.DRIVER else (FIND_IT,)


NVML_OPERATING_SYSTEM = 17
WITH_WDDM = Remedy(
    summary="On Windows, as administrator, set the GPU's driver model to WDDM, then restart Windows. A data-centre GPU "
    "without a licence for graphics takes MCDM in its place (-dm 2), with a driver that has it.",
    commands=("nvidia-smi -i 0 -dm 0", "wsl.exe --shutdown"),
    applicability=Applicability.MANUAL,
)
UNSET_STUB = Remedy(
    summary="Take the folder with the stub (lib64/stubs of a CUDA toolkit) off the loader's path: it serves "
    "linking only.",
    commands=("echo $LD_LIBRARY_PATH", "ldconfig -p | grep libcuda.so"),
    applicability=Applicability.MANUAL,
)


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find it in what TensorFlow, nvidia-smi and cuDNN print."""
    in_text = isinstance(facts.driver.library_files, Unknown)
    stub = failed_with(facts.driver.cuda_init.get(), CUDA_STUB)
    if draft := _refused_by_windows(self, facts):
        yield draft
    elif isinstance(facts.host.container, Known) and in_text and stub:
        return  # of the image; the driver's own comes with the GPU: no-gpu-in-container
    elif stub and not isinstance(facts.host.wsl, Known):
        yield self.finding(
            ("driver.cuda_init", "driver.libcuda_file"),
            variant="stub",
            confidence=Confidence.LIKELY if in_text else Confidence.CERTAIN,
            remedies=(UNSET_STUB,),
        )
    elif draft := _libraries_not_found(self, facts) or _driver_not_there(self, facts):
        yield draft


def _refused_by_windows(self: Rule, facts: Facts) -> Draft | None:
    """Find a driver of Windows that keeps WSL from the GPU: it is too old, or of the model TCC."""
    wsl, in_text = isinstance(facts.host.wsl, Known), isinstance(facts.driver.library_files, Unknown)
    nvml = facts.driver.nvml.get()
    if failed_with(nvml, NVML_OPERATING_SYSTEM) or (wsl and in_text and failed_with(nvml, NVML_DRIVER_NOT_LOADED)):
        return self.finding(("driver.nvml", "host.wsl"), variant="blocked", remedies=(WINDOWS_DRIVER,))
    tcc = [gpu for gpu in facts.gpus if gpu.driver_model.get() == "TCC"]
    if not wsl or not in_text or not tcc:
        return None
    return self.finding(
        (f"gpus[{facts.gpus.index(tcc[0])}].driver_model", "host.wsl"),
        variant="tcc",
        confidence=Confidence.LIKELY,
        remedies=(WITH_WDDM,),
        gpu=tcc[0].name.get() or "the GPU",
    )


def _libraries_not_found(self: Rule, facts: Facts) -> Draft | None:
    """Find what cuDNN, container tools and nvidia-smi say of libraries of the driver that they do not find."""
    wsl = isinstance(facts.host.wsl, Known)
    parts = tuple(
        e for e in events(facts, "cudnn-part-missing") if e.parameters.get("missing", "").startswith("libcuda")
    )
    if parts:
        return self.finding(
            (*seen(parts), "host.wsl"),
            variant="cudnn",
            confidence=Confidence.CERTAIN if wsl else Confidence.LIKELY,
            remedies=(FIND_IT,),
            folder=FOLDER,
        )
    unmounted = tuple(
        e for e in events(facts, "container-library-not-there") if "/wsl/" in e.parameters.get("detail", "")
    )
    lacking = unmounted or (events(facts, "smi-without-library") if wsl else ())
    if not lacking or seen_gpu_devices(facts):
        return None
    return self.finding(
        (*seen(lacking), "host.wsl"),
        variant="libraries",
        confidence=Confidence.LIKELY,
        remedies=(WINDOWS_DRIVER, REMOVE_LINUX_DRIVER, FIND_IT),
        folder=FOLDER,
    )


def _driver_not_there(self: Rule, facts: Facts) -> Draft | None:
    """Find a text from WSL that tells of no libcuda, or of a Linux driver in place of that of Windows."""
    in_text = isinstance(facts.driver.library_files, Unknown)
    if not isinstance(facts.host.wsl, Known) or not in_text or seen_gpu_devices(facts):
        return None
    if versions(facts, LIBRARY, KERNEL, WHOLE) and not answers(facts):
        return _linux_package(self, facts)
    if outcome(facts.driver.cuda_init.get()) is not Api.NO_LIBRARY:
        return None
    return self.finding(
        ("host.wsl", "driver.cuda_init"),
        variant="text",
        confidence=Confidence.LIKELY,
        remedies=(WINDOWS_DRIVER, FIND_IT),
        folder=FOLDER,
    )


def _linux_package(self: Rule, facts: Facts) -> Draft:
    """Return the finding of a Linux driver among the packages that a text names."""
    return self.finding(
        ("host.wsl", *shown(facts)),
        variant="packages",
        confidence=Confidence.LIKELY,
        remedies=(REMOVE_LINUX_DRIVER,),
        package=next(iter(versions(facts, LIBRARY, KERNEL, WHOLE))),
        folder=FOLDER,
    )
