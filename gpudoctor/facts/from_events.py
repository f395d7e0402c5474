"""Messages to facts: what the driver, its libraries and TensorFlow said of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from gpudoctor.facts.from_form import apply_form
from gpudoctor.facts.from_places import (
    NVML_CODES,
    apply_places,
    apply_suspend,
    call_error,
    container_tool,
    cudnn_driver,
    nvml_answer,
)
from gpudoctor.facts.from_versions import api_mismatch, mismatch, preloads, reported
from gpudoctor.facts.model import Api, ApiAnswer, Device, LibcudaKind, LogEvent
from gpudoctor.logs.seen import Seen

# cuda.h, CUresult
CUDA_CODES = {
    "CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_NOT_INITIALIZED": 3, "CUDA_ERROR_STUB_LIBRARY": 34,
    "CUDA_ERROR_NO_DEVICE": 100, "CUDA_ERROR_INVALID_DEVICE": 101, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED": 303,
    "CUDA_ERROR_OPERATING_SYSTEM": 304, "CUDA_ERROR_SYSTEM_NOT_READY": 802, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": 803,
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": 804, "CUDA_ERROR_UNKNOWN": 999,
}  # fmt: skip
NO_LIBCUDA, STUB, NO_DEVICE, INSUFFICIENT = 303, 34, 100, 35
MISMATCH = 803
# What the stub of the CUDA toolkits before 11.0 answers: no number of CUDA's.
OLD_STUB = -1
NVML_MISMATCH, NVML_NOT_LOADED = 18, 9
DRIVER_LIBRARY = re.compile(r"libcuda\.so|nvcuda\.dll")
CONTAINERS = {
    "container-no-gpu-support": "docker", "container-runtime-unknown": "docker", "container-driver-too-old": "docker",
    "container-release-too-new": "docker", "container-without-driver": "docker", "container-host-driver": "docker",
    "container-device-refused": "docker", "apptainer-no-libraries": "apptainer", "kubernetes-no-gpu": "kubernetes",
    "smi-not-in-container": "docker", "container-banner": "docker", "container-library-not-there": "docker",
    "container-tool-failed": "docker", "device-plugin-without-driver": "kubernetes",
}  # fmt: skip
IMPLY_A_GPU = (
    "xla-capability",
    "invalid-ptx",
    "no-kernel-image",
    "invalid-kernel-image",
    "compiled-from-ptx",
    "cudnn-runtime-too-old",
)
SHOW_A_DEVICE = (
    "created-device",
    "creating-device",
    "device-properties",
    "device-properties-old",
    "ignoring-gpu-capability",
    "xla-device",
)


def apply_events(seen: Seen) -> None:
    """Note the facts that events tell, in the order of the text."""
    for event in seen.events:
        at = f"{event.source}:{event.line}"
        handler = _HANDLERS.get(event.message)
        if handler is not None:
            handler(seen, event, at)
        if event.message in CONTAINERS and seen.value("host.container") is None:
            seen.note("host.container", CONTAINERS[event.message], at)
    apply_form(seen)
    apply_places(seen)
    apply_suspend(seen)
    for told_values in (*seen.facts.values(), *(fact for gpu in seen.gpus for fact in gpu.facts.values())):
        told_values.sort()
    if not seen.gpus:
        told = next((event for event in seen.events if _implies_a_gpu(event)), None)
        if told is not None:
            seen.gpu(ordinal=0, at=f"{told.source}:{told.line}")


def _implies_a_gpu(event: LogEvent) -> bool:
    if event.parameters.get("error") == "CUDA_ERROR_INVALID_HANDLE":
        return True
    return event.message in IMPLY_A_GPU or "ARCH_MISMATCH" in event.parameters.get("status", "")


def devices_of(seen: Seen) -> list[tuple[Device, str]]:
    """Return the devices that TensorFlow listed or made, each with its line. What was said last counts."""
    found: dict[str, tuple[Device, str]] = {}
    for name, (_, at) in seen.devices.items():
        found[name] = (Device(name=name, kind=name.partition(":")[0]), at)
    for event in seen.events:
        at, parameters = f"{event.source}:{event.line}", event.parameters
        if event.message == "listed-device":
            name = parameters.get("device", "CPU:0")
            found.setdefault(name, (Device(name=name, kind=name.partition(":")[0]), at))
        elif event.message in ("created-device", "creating-device"):
            name = f"GPU:{parameters.get('index', '0')}"
            found[name] = (
                Device(
                    name=name,
                    kind="GPU",
                    description=parameters.get("gpu_name", ""),
                    compute_capability=parameters.get("compute_capability"),
                    pci_address=parameters.get("pci_address"),
                ),
                at,
            )
    if seen.no_devices_at:
        last = _line(seen.no_devices_at)
        found = {name: item for name, item in found.items() if item[0].kind != "GPU" or _line(item[1]) > last}
    return sorted(found.values(), key=lambda item: item[0].name)


def _line(at: str) -> int:
    number = at.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def _cuinit(seen: Seen, event: LogEvent, at: str) -> None:
    error = event.parameters.get("error", "")
    match = re.search(r"\((-?\d+)\)", error)
    code = int(match[1]) if match else CUDA_CODES.get(error)
    code = STUB if code == OLD_STUB else code
    if code == NO_LIBCUDA:
        seen.note("driver.cuda_init", _no_library(), at)
        return
    name = next((name for name, number in CUDA_CODES.items() if number == code), error)
    seen.note("driver.cuda_init", ApiAnswer(outcome=Api.ERROR, code=code, name=name), at)
    if code == NO_DEVICE:
        seen.note("driver.cuda_device_count", 0, at)
    elif code == STUB:
        seen.note("driver.libcuda_kind", LibcudaKind.STUB, at)


def _call(seen: Seen, event: LogEvent, at: str) -> None:
    """Take an error of cuInit's from another program, where TensorFlow says nothing of it."""
    if seen.value("driver.cuda_init") is None:
        _cuinit(seen, replace(event, parameters={"error": call_error(event.parameters)}), at)


def _error(code: int, name: str) -> ApiAnswer:
    return ApiAnswer(outcome=Api.ERROR, code=code, name=name)


def _no_library() -> ApiAnswer:
    return ApiAnswer(outcome=Api.NO_LIBRARY, detail="libcuda.so.1 was not found")


def _said(seen: Seen, event: LogEvent, at: str) -> None:
    """Take that CUDA does not start from a program or a person; the number of the error may be told."""
    number = event.parameters.get("number") or event.parameters.get("code")
    code = int(number) if number else None
    if code is None and seen.value("driver.cuda_init") is not None:
        return  # another line says more
    name = next((name for name, other in CUDA_CODES.items() if other == code), "")
    detail = "" if name else f"error {code}" if code else "could not be started"
    seen.note("driver.cuda_init", ApiAnswer(outcome=Api.ERROR, code=code, name=name, detail=detail), at)


def _library(seen: Seen, event: LogEvent, at: str) -> None:
    library = event.parameters.get("library", "")
    if DRIVER_LIBRARY.match(library):
        seen.note("driver.cuda_init", _no_library(), at)


def _not_found(seen: Seen, event: LogEvent, at: str) -> None:
    """Take that libcuda was not loaded from TensorFlow's search for it, where no error of cuInit's says more."""
    del event
    if seen.value("driver.cuda_init") is None:
        seen.note("driver.cuda_init", _no_library(), at)


def _host(seen: Seen, event: LogEvent, at: str) -> None:
    """Tell a container by its name, which Docker makes of twelve hexadecimal digits."""
    del event
    if seen.value("host.container") is None:
        seen.note("host.container", "docker", at)


def _opened(seen: Seen, event: LogEvent, at: str) -> None:
    """Take the CUDA release that TensorFlow asks for from the name of the runtime that it opened."""
    library = event.parameters.get("library", "")
    match = re.match(r"libcudart\.so\.(\d+\.\d)|cudart64_(\d{2,3})\.dll", library)
    if match is None:
        return
    release = match[1] or f"{match[2][:-1]}.{match[2][-1]}"
    if release.startswith(("8.", "9.", "10.")):
        seen.note("tensorflow.built_with_cuda", release, at)
    seen.note("tensorflow.cuda_build", True, at)


def _device(seen: Seen, event: LogEvent, at: str) -> None:
    parameters = event.parameters
    name = parameters.get("gpu_name")
    if name is None:
        return
    index = parameters.get("index", "")
    gpu = seen.gpu(
        address=parameters.get("pci_address"),
        name=name.strip(),
        # TensorFlow counts as CUDA does: its number is no ordinal of nvidia-smi's where there are several.
        ordinal=int(index) if index and len(seen.gpus) <= 1 else None,
        at=at,
    )
    capability = parameters.get("compute_capability") or parameters.get("stated")
    if capability is None and "major" in parameters:
        capability = f"{parameters['major']}.{parameters['minor']}"
    if capability:
        gpu.note("compute_capability", capability, at)
    if seen.value("tensorflow.cuda_build") is None:
        seen.note("tensorflow.cuda_build", True, at)
    seen.note("driver.cuda_init", ApiAnswer(outcome=Api.OK), at)


def _nvml(code: int | None) -> Callable[[Seen, LogEvent, str], None]:
    def note(seen: Seen, event: LogEvent, at: str) -> None:
        error = event.parameters.get("error", "").strip().rstrip(".").casefold()
        found = code if code is not None else NVML_CODES.get(error)
        seen.note("driver.nvml", nvml_answer(found, event.parameters.get("error", "")), at)

    return note


def _put(path: str, value: object) -> Callable[[Seen, LogEvent, str], None]:
    def note(seen: Seen, event: LogEvent, at: str) -> None:
        del event
        seen.note(path, value, at)

    return note


def _unsigned(seen: Seen, event: LogEvent, at: str) -> None:
    del event
    seen.note("host.secure_boot", True, at)
    seen.note("driver.kernel_module_version", None, at)


def _module(seen: Seen, event: LogEvent, at: str) -> None:
    seen.note("driver.kernel_module_version", None, at)
    if event.parameters.get("folder"):
        seen.note("driver.kernel_module_on_disk", None, at)


def _hidden(seen: Seen, event: LogEvent, at: str) -> None:
    value = event.parameters.get("value", "").strip()
    seen.variables["CUDA_VISIBLE_DEVICES"] = ("" if value == "an empty string" else value, at)


def _none_listed(seen: Seen, event: LogEvent, at: str) -> None:
    del event
    seen.no_devices_at = at


_HANDLERS: dict[str, Callable[[Seen, LogEvent, str], None]] = {
    "cuinit-failed": _cuinit,
    "colab-no-gpu": _none_listed,
    "cuda-not-started": _said,
    "cuda-call-failed": _call,
    "cudnn-old-driver": cudnn_driver,
    "cuda-driver-mismatch": _put("driver.cuda_init", _error(MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")),
    "cuda-no-device": _put("driver.cuda_init", _error(NO_DEVICE, "CUDA_ERROR_NO_DEVICE")),
    "library-not-loaded": _library,
    "library-not-opened": _library,
    "cuda-library-not-linked": _library,
    "windows-dll-missing": _library,
    "reported-host": _host,
    "container-host-driver": container_tool,
    "opened-library": _opened,
    "opened-library-old": _opened,
    "kernel-library-mismatch": mismatch,
    "api-mismatch-client": api_mismatch,
    "api-mismatch-module": api_mismatch,
    "nvml-library-version": reported("driver.nvml_version"),
    "libcuda-not-found": _not_found,
    "reported-libcuda": reported("driver.libcuda_version"),
    "reported-kernel": reported("driver.kernel_module_version"),
    "kernel-module-version": reported("driver.kernel_module_version"),
    "preload-check": preloads,
    "nvml-failed": _nvml(None),
    "nvml-mismatch": _nvml(NVML_MISMATCH),
    "smi-no-communication": _nvml(NVML_NOT_LOADED),
    "smi-without-library": _put(
        "driver.nvml", ApiAnswer(outcome=Api.NO_LIBRARY, detail="nvidia-smi did not find libnvidia-ml")
    ),
    "kernel-driver-not-running": _put("driver.kernel_module_version", None),
    "module-not-in-list": _put("driver.kernel_module_version", None),
    "no-device-node": _put("driver.device_nodes", ()),
    "driver-insufficient": _put("driver.cuda_init", _error(INSUFFICIENT, "CUDA_ERROR_INSUFFICIENT_DRIVER")),
    "forward-compatibility": _put("driver.libcuda_kind", LibcudaKind.COMPAT),
    "nouveau-in-use": _put("driver.modules_loaded", ("nouveau",)),
    "module-not-signed": _unsigned,
    "secure-boot-on": _put("host.secure_boot", True),
    "said-secure-boot": _put("host.secure_boot", True),
    "module-not-loaded": _module,
    "hidden-by-variable": _hidden,
    **dict.fromkeys(SHOW_A_DEVICE, _device),
}
