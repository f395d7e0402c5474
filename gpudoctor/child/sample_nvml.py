"""Child program: asks NVML about one GPU several times a second, until its standard input ends.

Runs in gpudoctor's own interpreter (`-I -S -B`) as `python <flags> -c <this> <descriptor> <request>`. Request:
{"nvidia_ml_py_dir": folder that holds pynvml, "gpu": UUID, "seconds": between samples, "own": pids that are ours}.
It writes one JSON object a line: {"time": monotonic seconds, ...values, or nothing for what the GPU does not tell}.
"""

from __future__ import annotations

import sys

sys.path[:] = [entry for entry in sys.path if entry]

import importlib
import json
import os
import select
import time
from collections.abc import Callable

CLOCK_SM = 1
TEMPERATURE_GPU = 0


def ask(values: dict[str, object], key: str, call: Callable[[], object]) -> None:
    """Keep an answer; a question that the GPU does not answer leaves no trace."""
    try:
        values[key] = call()
    except Exception:  # noqa: BLE001 (old GPUs lack many of them)
        return


def sample(nvml: object, handle: object) -> dict[str, object]:
    """Return what the GPU tells now."""

    def call(name: str, *arguments: object) -> Callable[[], object]:
        return lambda: getattr(nvml, name)(handle, *arguments)

    values: dict[str, object] = {"time": time.monotonic()}
    ask(values, "utilization_percent", lambda: getattr(nvml, "nvmlDeviceGetUtilizationRates")(handle).gpu)  # noqa: B009
    ask(values, "memory_used_bytes", lambda: getattr(nvml, "nvmlDeviceGetMemoryInfo")(handle).used)  # noqa: B009
    ask(values, "power_mw", call("nvmlDeviceGetPowerUsage"))
    ask(values, "temperature_celsius", call("nvmlDeviceGetTemperature", TEMPERATURE_GPU))
    ask(values, "clock_sm_mhz", call("nvmlDeviceGetClockInfo", CLOCK_SM))
    ask(values, "throttle", call("nvmlDeviceGetCurrentClocksThrottleReasons"))
    ask(
        values,
        "pids",
        lambda: [item.pid for item in getattr(nvml, "nvmlDeviceGetComputeRunningProcesses")(handle)],  # noqa: B009
    )
    return values


def write(descriptor: int, values: dict[str, object]) -> None:
    """Write one line, whole."""
    data = (json.dumps(values) + "\n").encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


def main() -> None:
    """Sample until standard input ends."""
    descriptor, request = int(sys.argv[1]), json.loads(sys.argv[2])
    sys.path.append(request["nvidia_ml_py_dir"])
    nvml = importlib.import_module("pynvml")
    nvml.nvmlInit()
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    handle = next(one for one in handles if nvml.nvmlDeviceGetUUID(one) in (request["gpu"], request["gpu"].encode()))
    while True:
        write(descriptor, sample(nvml, handle))
        if select.select([0], [], [], request["seconds"])[0] and not os.read(0, 4096):
            return


if __name__ == "__main__":
    main()
    os._exit(0)
