"""Child program: asks libcuda what a CUDA program in this environment would be told.

Runs in gpudoctor's own interpreter (`-I -S -B`), ctypes only. It streams one JSON object per line, to be merged in
order, with "calling" as the function that is about to be called; see ask_nvml.py. Request: {} (nothing to tell).
"""

from __future__ import annotations

import sys

sys.path[:] = [entry for entry in sys.path if entry]

import ctypes
import json
import os
from collections.abc import Callable

LIBRARY = "libcuda.so.1"
MOST_GPUS = 64
NAME_SIZE = 256
# CUdevice_attribute of cuda.h
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76
NOT_FOUND = 500  # CUDA_ERROR_NOT_FOUND, "named symbol not found": here a function that the library does not have


class Stream:
    """Where answers go: one line of JSON at a time."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.pending: dict[str, object] = {}

    def flush(self, **more: object) -> None:
        """Write all pending answers as one line."""
        data = (json.dumps({**self.pending, **more}) + "\n").encode("ascii")
        self.pending = {}
        while data:
            data = data[os.write(self.descriptor, data) :]


class Cuda:
    """The driver's library, called by name."""

    def __init__(self, library: ctypes.CDLL, stream: Stream) -> None:
        self.library = library
        self.stream = stream

    def call(self, symbol: str, *arguments: object) -> dict[str, object] | None:
        """Call a function; None for success, else its error by name and code."""
        self.stream.flush(calling=symbol)
        function = getattr(self.library, symbol, None)
        if function is None:
            return {"error": "CUDA_ERROR_NOT_FOUND", "code": NOT_FOUND}
        code = int(function(*arguments))
        return {"error": self.error_name(code), "code": code} if code else None

    def error_name(self, code: int) -> str:
        """Return the library's own name of an error code."""
        name = ctypes.c_char_p()
        function = getattr(self.library, "cuGetErrorName", None)
        if function is not None:
            function(ctypes.c_int(code), ctypes.byref(name))
        return name.value.decode("ascii", "replace") if name.value else f"error {code}"

    def text(self, symbol: str, device: ctypes.c_int) -> object:
        """Return a text about a device, or what went wrong."""
        out = ctypes.create_string_buffer(NAME_SIZE)
        return self.call(symbol, out, ctypes.c_int(NAME_SIZE), device) or out.value.decode("utf-8", "replace")

    def number(self, symbol: str, *arguments: object) -> object:
        """Return a number, or what went wrong; the result is the function's first argument."""
        out = ctypes.c_int()
        return self.call(symbol, ctypes.byref(out), *arguments) or out.value


def library_file() -> str | None:
    """Return the file that the loader took for libcuda, with all links resolved."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [line.split(None, 5)[5].rstrip("\n") for line in maps if "/libcuda.so" in line]
    except OSError:
        return None
    return paths[0] if paths else None


def ask_uuid(cuda: Cuda, device: ctypes.c_int) -> object:
    """Return the UUID as NVML writes it; version 2 of the call is the right one under MIG."""
    out = ctypes.create_string_buffer(16)
    symbol = "cuDeviceGetUuid_v2" if hasattr(cuda.library, "cuDeviceGetUuid_v2") else "cuDeviceGetUuid"
    error = cuda.call(symbol, out, device)
    if error:
        return error
    digits = out.raw.hex()
    return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def ask_device(cuda: Cuda, ordinal: int) -> None:
    """Ask one device who it is."""
    device = ctypes.c_int()
    error = cuda.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
    cuda.stream.pending[f"gpu.{ordinal}.handle"] = error or "ok"
    if error:
        return
    memory = ctypes.c_size_t()
    questions: dict[str, Callable[[], object]] = {
        "uuid": lambda: ask_uuid(cuda, device),
        "pci": lambda: cuda.text("cuDeviceGetPCIBusId", device),
        "name": lambda: cuda.text("cuDeviceGetName", device),
        "major": lambda: cuda.number("cuDeviceGetAttribute", ctypes.c_int(COMPUTE_CAPABILITY_MAJOR), device),
        "minor": lambda: cuda.number("cuDeviceGetAttribute", ctypes.c_int(COMPUTE_CAPABILITY_MINOR), device),
        "memory_total_bytes": lambda: cuda.call("cuDeviceTotalMem_v2", ctypes.byref(memory), device) or memory.value,
    }
    for key, question in questions.items():
        answer = question()  # on its own line: asking flushes and replaces `pending`
        cuda.stream.pending[f"gpu.{ordinal}.{key}"] = answer


def main() -> None:
    """Answer one request."""
    stream = Stream(int(sys.argv[1]))
    stream.flush(calling=f"loading {LIBRARY}")
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as exc:
        stream.flush(loader=str(exc), done=True)
        return
    # Before cuInit: it may load further libraries of that name (WSL does).
    stream.flush(library=library_file())
    cuda = Cuda(library, stream)
    answer = cuda.number("cuDriverGetVersion")  # works before cuInit
    stream.pending["cuda_version"] = answer
    started = cuda.call("cuInit", ctypes.c_uint(0))
    stream.pending["init"] = started or "CUDA_SUCCESS"
    if not started:
        count = cuda.number("cuDeviceGetCount")
        stream.pending["count"] = count
        for ordinal in range(min(count, MOST_GPUS) if isinstance(count, int) else 0):
            ask_device(cuda, ordinal)
    stream.flush(calling=None, done=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # what the driver's library does on the way out can add nothing
