"""Second part of ask_nvml.py, sent in front of it: memory faults, MIG instances, licences, links, topology.

Only functions that are called with the first part's `Nvml`; whatever a GPU does not answer costs its own answer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable


class Asked:
    """What the first part's `Nvml` is for this one; no Protocol, since to import typing takes 5 ms."""

    binding: object
    pending: dict[str, object]
    thorough: bool

    def function(self, name: str) -> Callable[..., object]:
        """Return the binding's function."""
        raise NotImplementedError

    def call(self, symbol: str, call: Callable[[], object]) -> object:
        """Return the call's answer, or what went wrong."""
        raise NotImplementedError

    def ask(self, key: str, symbol: str, *arguments: object) -> object:
        """Ask one question and keep the answer under the key."""
        raise NotImplementedError


UNCORRECTED, SINCE_START = 1, 0
MIG_ON = 1
VIRTUAL_GPU = 2
MOST_INSTANCES = 32
# What the driver says of a place for an instance that is free, and of one that the GPU does not have.
FREE_PLACE, NO_PLACE = 6, 2
NVLINK_RECOVERY = 1
MOST_LINKS = 36
MOST_IN_TOPOLOGY = 16
P2P_READ = 0  # the binding's own constant is a tuple by mistake
HEALTH = {
    "pages_pending": "nvmlDeviceGetRetiredPagesPendingStatus",
    "remapped_rows": "nvmlDeviceGetRemappedRows",
    "virtualization": "nvmlDeviceGetVirtualizationMode",
    "bar1": "nvmlDeviceGetBAR1MemoryInfo",
    "numa_node": "nvmlDeviceGetNumaNodeId",
}


def ask_health(nvml: Asked, gpu: int, handle: object) -> None:
    """Ask one GPU for what is wrong with it, and for what it is a part of."""
    answers = {key: nvml.ask(f"gpu.{gpu}.{key}", symbol, handle) for key, symbol in HEALTH.items()}
    nvml.ask(f"gpu.{gpu}.ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", handle, UNCORRECTED, SINCE_START)
    ask_mig(nvml, gpu, handle)
    ask_links(nvml, gpu, handle)
    ask_fabric(nvml, gpu, handle)
    if answers["virtualization"] == VIRTUAL_GPU:
        ask_license(nvml, gpu, handle)


def ask_mig(nvml: Asked, gpu: int, handle: object) -> None:
    """Ask for the UUID of each MIG instance: it is what CUDA_VISIBLE_DEVICES takes."""
    symbol = "nvmlDeviceGetMigMode"
    mode = nvml.call(symbol, lambda: nvml.function(symbol)(handle))
    if not isinstance(mode, list) or mode[0] != MIG_ON:
        return
    handles, problem = mig_handles(nvml, handle)
    found = [nvml.call("nvmlDeviceGetUUID", lambda one=one: nvml.function("nvmlDeviceGetUUID")(one)) for one in handles]  # type: ignore[misc]
    numbers = [
        nvml.call("nvmlDeviceGetGpuInstanceId", lambda one=one: nvml.function("nvmlDeviceGetGpuInstanceId")(one))  # type: ignore[misc]
        for one in handles
    ]
    nvml.pending[f"gpu.{gpu}.mig_instances"] = found if problem is None else problem
    nvml.pending[f"gpu.{gpu}.mig_numbers"] = numbers


def mig_handles(nvml: Asked, handle: object) -> tuple[list[object], object]:
    """Return the handles of a GPU's instances, and the error that kept us from them; places between may be free."""
    most = nvml.call("nvmlDeviceGetMaxMigDeviceCount", lambda: nvml.function("nvmlDeviceGetMaxMigDeviceCount")(handle))
    name = "nvmlDeviceGetMigDeviceHandleByIndex"
    handles: list[object] = []
    told = isinstance(most, int) and most > 0  # a GPU in MIG mode has room for some
    for index in range(min(most, MOST_INSTANCES) if isinstance(most, int) and told else MOST_INSTANCES):
        count = len(handles)
        answer = nvml.call(name, lambda i=index: handles.append(nvml.function(name)(handle, i)))  # type: ignore[misc]
        if len(handles) > count:
            continue
        code = answer.get("code") if isinstance(answer, dict) else None
        if code == NO_PLACE and not told:
            break
        if code not in (FREE_PLACE, NO_PLACE) and not handles:
            return [], answer
    return handles, None


def ask_links(nvml: Asked, gpu: int, handle: object) -> None:
    """Ask which NVLinks are up; a GPU without any says so at the first."""
    states: list[object] = []
    symbol = "nvmlDeviceGetNvLinkState"
    for link in range(MOST_LINKS):
        answer = nvml.call(symbol, lambda number=link: nvml.function(symbol)(handle, number))  # type: ignore[misc]
        if not isinstance(answer, int):
            if not states:
                nvml.pending[f"gpu.{gpu}.nvlinks"] = answer
                return
            break
        states.append(answer)
    nvml.pending[f"gpu.{gpu}.nvlinks"] = states
    if nvml.thorough:
        ask_link_errors(nvml, gpu, handle, len(states))


def ask_link_errors(nvml: Asked, gpu: int, handle: object, links: int) -> None:
    """Ask of each NVLink how often it had to be trained anew: a link that is well never is."""
    symbol = "nvmlDeviceGetNvLinkErrorCounter"
    counts: list[object] = []
    for link in range(links):
        answer = nvml.call(symbol, lambda number=link: nvml.function(symbol)(handle, number, NVLINK_RECOVERY))  # type: ignore[misc]
        if not isinstance(answer, int) and not counts:
            nvml.pending[f"gpu.{gpu}.nvlink_recoveries"] = answer
            return
        counts.append(answer if isinstance(answer, int) else 0)
    nvml.pending[f"gpu.{gpu}.nvlink_recoveries"] = counts


class FabricInfo(ctypes.Structure):
    """nvmlGpuFabricInfo_t; the state is one byte, which nvidia-ml-py takes for four."""

    _fields_ = (
        ("clusterUuid", ctypes.c_ubyte * 16),
        ("status", ctypes.c_uint),
        ("cliqueId", ctypes.c_uint),
        ("state", ctypes.c_ubyte),
    )


def ask_fabric(nvml: Asked, gpu: int, handle: object) -> None:
    """Ask whether the NVSwitch fabric has taken in a GPU: pairs of state and status."""

    def fabric() -> object:
        info = FabricInfo()
        nvml.function("nvmlDeviceGetGpuFabricInfo")(handle, ctypes.byref(info))
        return [info.state, info.status]

    nvml.pending[f"gpu.{gpu}.fabric"] = nvml.call("nvmlDeviceGetGpuFabricInfo", fabric)


def ask_license(nvml: Asked, gpu: int, handle: object) -> None:
    """Ask whether a virtual GPU is licensed: the state of each feature."""

    def features() -> object:
        found = nvml.function("nvmlDeviceGetGridLicensableFeatures_v4")(handle)
        count = min(int(getattr(found, "licensableFeaturesCount", 0)), 3)
        listed = getattr(found, "gridLicensableFeatures", ())
        return [[int(listed[i].featureEnabled), int(listed[i].featureState)] for i in range(count)]

    answer = nvml.call("nvmlDeviceGetGridLicensableFeatures_v4", features)
    nvml.pending[f"gpu.{gpu}.license"] = answer


def ask_topology(nvml: Asked, handles: dict[int, object]) -> None:
    """Ask for each pair of GPUs how far apart they are, and whether one can read the other's memory."""
    pairs: list[list[object]] = []
    numbers = sorted(handles)[:MOST_IN_TOPOLOGY]
    for first in numbers:
        for second in numbers:
            if second <= first:
                continue
            one, other = handles[first], handles[second]
            level = nvml.call(
                "nvmlDeviceGetTopologyCommonAncestor",
                lambda a=one, b=other: nvml.function("nvmlDeviceGetTopologyCommonAncestor")(a, b),  # type: ignore[misc]
            )
            reads = nvml.call(
                "nvmlDeviceGetP2PStatus",
                lambda a=one, b=other: nvml.function("nvmlDeviceGetP2PStatus")(a, b, P2P_READ),  # type: ignore[misc]
            )
            pairs.append([first, second, level, reads])
    nvml.pending["topology"] = pairs
