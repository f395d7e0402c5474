"""Child program: asks NVML everything that gpudoctor wants to know, through nvidia-ml-py.

Runs in gpudoctor's own interpreter (`-I -S -B`). Request: {"nvidia_ml_py_dir": folder that holds pynvml, "thorough":
whether to ask what takes many calls as well}. It streams one JSON object per line, to be merged in order: flat keys
"gpu.0.name" with a value or {"error": name, "code": number}, and "calling", the function that is about to be called. A
function that hangs or aborts costs only its own answer.
"""

from __future__ import annotations

import sys

sys.path[:] = [entry for entry in sys.path if entry]

import ctypes
import importlib
import json
import os
import time
from collections.abc import Callable
from functools import partial

LIBRARY = "libnvidia-ml.so.1"
# A count from a broken driver must not keep this program busy; no machine has that many GPUs.
MOST_GPUS = 64
MOST_PROCESSES = 4096
FUNCTION_NOT_FOUND = 13
OLDER_WAY = (FUNCTION_NOT_FOUND, 25)  # 25: NVML_ERROR_ARGUMENT_VERSION_MISMATCH
INSUFFICIENT_SIZE = 7
CLOCK_SM = 1
TEMPERATURE_GPU = 0
NOT_AVAILABLE = (1 << 64) - 1
# How far back to look for samples of what each process does.
SAMPLED_SECONDS = 5

IDENTITY = {
    "name": "nvmlDeviceGetName",
    "uuid": "nvmlDeviceGetUUID",
    "pci": "nvmlDeviceGetPciInfo",
    "compute_capability": "nvmlDeviceGetCudaComputeCapability",
}
STATE = {
    "utilization": "nvmlDeviceGetUtilizationRates",
    "power_mw": "nvmlDeviceGetPowerUsage",
    "power_limit_mw": "nvmlDeviceGetEnforcedPowerLimit",
    "pcie_generation": "nvmlDeviceGetCurrPcieLinkGeneration",
    "pcie_generation_max": "nvmlDeviceGetMaxPcieLinkGeneration",
    "pcie_width": "nvmlDeviceGetCurrPcieLinkWidth",
    "pcie_width_max": "nvmlDeviceGetMaxPcieLinkWidth",
    "ecc": "nvmlDeviceGetEccMode",
    "mig": "nvmlDeviceGetMigMode",
    "compute_mode": "nvmlDeviceGetComputeMode",
    "persistence": "nvmlDeviceGetPersistenceMode",
    "display_active": "nvmlDeviceGetDisplayActive",
    "driver_model": "nvmlDeviceGetDriverModel",
}
PROCESSES = {
    "compute": "nvmlDeviceGetComputeRunningProcesses",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses",
    "mps": "nvmlDeviceGetMPSComputeRunningProcesses",
}


class ProcessV1(ctypes.Structure):
    """nvmlProcessInfo_v1_t, which nvidia-ml-py has dropped and drivers before 450 still speak."""

    _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong))


class Nvml:
    """The binding, and the stream to which each answer goes together with the name of the next call."""

    def __init__(self, descriptor: int, binding: object, *, thorough: bool = True) -> None:
        self.descriptor = descriptor
        self.binding = binding
        self.thorough = thorough
        self.pending: dict[str, object] = {}

    def function(self, name: str) -> Callable[..., object]:
        """Return the binding's function; an older nvidia-ml-py without it answers as an older driver does."""
        found = getattr(self.binding, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]  # the binding has no types
        return self.missing

    def library(self) -> ctypes.CDLL:
        """Return the library as the binding holds it, for functions that the binding does not have."""
        library: ctypes.CDLL = getattr(self.binding, "nvmlLib")  # noqa: B009 (untyped binding)
        return library

    def missing(self, *_: object) -> object:
        """Raise what the binding raises for a symbol that the driver does not have."""
        error: Callable[[int], Exception] = getattr(self.binding, "NVMLError")  # noqa: B009 (untyped binding)
        raise error(FUNCTION_NOT_FOUND)

    def flush(self, **more: object) -> None:
        """Write all pending answers as one line."""
        data = (json.dumps({**self.pending, **more}) + "\n").encode("ascii")
        self.pending = {}
        while data:
            data = data[os.write(self.descriptor, data) :]

    def call(self, symbol: str, call: Callable[[], object]) -> object:
        """Return the call's answer as JSON can hold it, or what went wrong; never raises."""
        self.flush(calling=symbol)
        try:
            return plain(call())
        except Exception as exc:  # noqa: BLE001 (one answer must not take the others with it)
            return failure(self.binding, exc)

    def ask(self, key: str, symbol: str, *arguments: object) -> object:
        """Ask one question and keep the answer under the key."""
        answer = self.call(symbol, lambda: self.function(symbol)(*arguments))
        self.pending[key] = answer
        return answer

    def first(self, key: str, *attempts: tuple[str, Callable[[], object]]) -> object:
        """Ask in several ways, newest first; only a function that the driver lacks leads to the next way."""
        answer: object = None
        for symbol, call in attempts:
            answer = self.call(symbol, call)
            if not (isinstance(answer, dict) and answer.get("code") in OLDER_WAY):
                break
        self.pending[key] = answer
        return answer


def plain(value: object) -> object:
    """Return a structure of the binding as a dictionary of its fields, other values as they are."""
    if isinstance(value, ctypes.Structure):
        return {field[0]: plain(getattr(value, field[0])) for field in value._fields_}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def failure(binding: object, exc: Exception) -> dict[str, object]:
    """Return an NVML error by its name and code, any other exception by its text."""
    code = getattr(exc, "value", None)
    if type(exc).__name__ == "NVMLLibraryMismatchError":  # the binding's word for a missing function
        code = FUNCTION_NOT_FOUND
    if not isinstance(code, int):
        return {"error": f"{type(exc).__name__}: {exc}", "code": None}
    names = (name for name in dir(binding) if name.startswith("NVML_ERROR_") and getattr(binding, name) == code)
    return {"error": next(names, f"error {code}"), "code": code}


def is_error(answer: object) -> bool:
    """Whether an answer tells an error."""
    return isinstance(answer, dict) and "error" in answer


def library_file() -> str | None:
    """Return the file that the loader took for NVML, with all links resolved."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [line.split(None, 5)[5].rstrip("\n") for line in maps if "/libnvidia-ml.so" in line]
    except OSError:
        return None
    return paths[0] if paths else None


def start(nvml: Nvml) -> bool:
    """Start NVML; drivers before 418 have only the older entry point."""

    def old_start() -> object:
        code = nvml.library().nvmlInit_v2()
        return nvml.function("_nvmlCheckReturn")(code) if code else None

    answer = nvml.first("init", ("nvmlInitWithFlags", nvml.function("nvmlInit")), ("nvmlInit_v2", old_start))
    if not is_error(answer):
        nvml.pending["init"] = "NVML_SUCCESS"
    return not is_error(answer)


def ask_system(nvml: Nvml) -> int:
    """Ask for the versions; return the number of GPUs to look at."""
    nvml.ask("driver_version", "nvmlSystemGetDriverVersion")
    nvml.first(
        "cuda_version",
        *(
            (name, nvml.function(name))
            for name in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
        ),
    )
    count = nvml.ask("count", "nvmlDeviceGetCount")
    return min(count, MOST_GPUS) if isinstance(count, int) else 0


def ask_handle(nvml: Nvml, gpu: int) -> object:
    """Return the GPU's handle; None, with the error kept, where the driver gives none."""
    handles: list[object] = []
    answer = nvml.call(
        "nvmlDeviceGetHandleByIndex", lambda: handles.append(nvml.function("nvmlDeviceGetHandleByIndex")(gpu))
    )
    nvml.pending[f"gpu.{gpu}.handle"] = answer if is_error(answer) else "ok"
    return handles[0] if handles else None


def ask_memory(nvml: Nvml, gpu: int, handle: object) -> None:
    """Ask for memory; version 2 tells apart what the system reserves and what programs use."""
    memory = nvml.function("nvmlDeviceGetMemoryInfo")
    second = getattr(nvml.binding, "nvmlMemory_v2", None)
    nvml.first(
        f"gpu.{gpu}.memory",
        ("nvmlDeviceGetMemoryInfo_v2", lambda: memory(handle, second) if second else nvml.missing()),
        ("nvmlDeviceGetMemoryInfo", lambda: memory(handle)),
    )


def ask_state(nvml: Nvml, gpu: int, handle: object) -> None:
    """Ask for what changes while the GPU works, and for its modes."""
    for key, symbol in STATE.items():
        nvml.ask(f"gpu.{gpu}.{key}", symbol, handle)
    nvml.ask(f"gpu.{gpu}.temperature_celsius", "nvmlDeviceGetTemperature", handle, TEMPERATURE_GPU)
    nvml.ask(f"gpu.{gpu}.clock_sm_mhz", "nvmlDeviceGetClockInfo", handle, CLOCK_SM)
    nvml.ask(f"gpu.{gpu}.clock_sm_max_mhz", "nvmlDeviceGetMaxClockInfo", handle, CLOCK_SM)
    nvml.first(
        f"gpu.{gpu}.throttle",
        *(
            (name, partial(nvml.function(name), handle))
            for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        ),
    )


def processes_v1(nvml: Nvml, symbol: str, handle: object) -> list[list[object]]:
    """Return [pid, bytes or None] of each process through the oldest form of the call."""
    try:
        function = getattr(nvml.library(), symbol)
    except AttributeError:
        nvml.missing()
    count = ctypes.c_uint(0)
    code = function(handle, ctypes.byref(count), None)
    if code == INSUFFICIENT_SIZE:
        count.value = count.value * 2 + 5  # more may have started since
        found = (ProcessV1 * count.value)()
        code = function(handle, ctypes.byref(count), found)
    else:
        found = (ProcessV1 * 0)()
    nvml.function("_nvmlCheckReturn")(code)
    return [[one.pid, None if one.used == NOT_AVAILABLE else one.used] for one in found[: count.value]]


def ask_processes(nvml: Nvml, gpu: int, handle: object) -> bool:
    """Ask for the processes of each kind: lists of [pid, bytes or None, GPU instance where the driver knows of such].

    Return whether there are any.
    """

    def newer(symbol: str) -> object:
        found = nvml.function(symbol)(handle)
        if not isinstance(found, list) or len(found) > MOST_PROCESSES:
            return None
        return [[one.pid, one.usedGpuMemory, one.gpuInstanceId] for one in found]

    any_listed = False
    for kind, symbol in PROCESSES.items():
        listed = nvml.first(
            f"gpu.{gpu}.processes.{kind}",
            (f"{symbol}_v3", partial(newer, f"{symbol}_v3")),
            (f"{symbol}_v2", partial(newer, f"{symbol}_v2")),
            (symbol, partial(processes_v1, nvml, symbol, handle)),
        )
        any_listed = any_listed or (isinstance(listed, list) and bool(listed))
    return any_listed


def ask_process_utilization(nvml: Nvml, gpu: int, handle: object) -> None:
    """Ask what each process does, as the driver has sampled it: lists of [pid, percent], several for a pid.

    Without a process there is nothing to ask.
    """
    since = int((time.time() - SAMPLED_SECONDS) * 1e6)

    def samples() -> object:
        found = nvml.function("nvmlDeviceGetProcessUtilization")(handle, since)
        if not isinstance(found, list) or len(found) > MOST_PROCESSES:
            return None
        return [[one.pid, one.smUtil] for one in found]

    key = f"gpu.{gpu}.process_utilization"
    nvml.pending[key] = nvml.call("nvmlDeviceGetProcessUtilization", samples)


def ask_gpus(nvml: Nvml, count: int) -> None:
    """Ask every GPU who it is before asking any how it is: a call that hangs later then costs least."""
    handles = {}
    for gpu in range(count):
        handle = ask_handle(nvml, gpu)
        if handle is not None:
            handles[gpu] = handle
            for key, symbol in IDENTITY.items():
                nvml.ask(f"gpu.{gpu}.{key}", symbol, handle)
            ask_memory(nvml, gpu, handle)
    for gpu, handle in handles.items():
        if ask_processes(nvml, gpu, handle):
            ask_process_utilization(nvml, gpu, handle)
        ask_state(nvml, gpu, handle)
    for gpu, handle in handles.items():
        ask_health(nvml, gpu, handle)  # type: ignore[name-defined]  # noqa: F821 (ask_nvml_health.py, sent in front)
    if len(handles) > 1:
        ask_topology(nvml, handles)  # type: ignore[name-defined]  # noqa: F821


def main() -> None:
    """Answer one request."""
    descriptor, request = int(sys.argv[1]), json.loads(sys.argv[2])
    nvml = Nvml(descriptor, None, thorough=request.get("thorough", True))
    nvml.flush(calling=f"loading {LIBRARY}")
    try:
        ctypes.CDLL(LIBRARY)  # first, so that the binding's 30 ms are not spent where there is no driver
    except OSError as exc:
        nvml.flush(loader=str(exc), done=True)
        return
    nvml.flush(library=library_file())
    sys.path.append(request["nvidia_ml_py_dir"])
    try:
        nvml.binding = importlib.import_module("pynvml")
    except Exception as exc:  # noqa: BLE001 (a broken installation is not the driver's fault)
        missing = isinstance(exc, ModuleNotFoundError)
        nvml.flush(binding=str(exc) if missing else f"importing it raises {type(exc).__name__}", done=True)
        return
    started = start(nvml)
    nvml.ask(
        "nvml_version", "nvmlSystemGetNVMLVersion"
    )  # the library's own version: it answers after a failed start too
    if started:
        ask_gpus(nvml, ask_system(nvml))
    nvml.flush(calling=None, done=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # what the driver's library does on the way out can add nothing
