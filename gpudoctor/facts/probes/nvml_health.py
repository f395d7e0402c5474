"""What NVML tells of a GPU's faults, instances, licence and links."""

from __future__ import annotations

from typing import TypedDict

from gpudoctor.facts.model import Absent, Fact, GpuPair, Known, Unknown
from gpudoctor.facts.probes.driver_answers import Answers, as_int, within

WHO = "NVML"
NOT_SUPPORTED = 3
# nvml.h: NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED
FAULTS = {15: "lost", 16: "needs-reset"}
# nvmlGpuVirtualizationMode_t
VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
# nvmlGpuTopologyLevel_t
DISTANCES = {0: "internal", 10: "single", 20: "multiple", 30: "hostbridge", 40: "node", 50: "system"}
# nvmlGridLicenseFeatureState: 0 unlicensed, 1 licensed in all but name; unknown values are not judged.
UNLICENSED, LICENSED = (0,), (1, 2, 3, 4)
# nvmlGpuFabricState_t; what came of it is told apart.
FABRIC_COMPLETED = 3
FABRIC_STATES = {1: "not-started", 2: "in-progress", FABRIC_COMPLETED: "completed"}
# nvmlGpuP2PStatus_t
OBSTACLES = {1: "chipset", 2: "gpu", 3: "bridge", 4: "switched-off", 5: "not-supported"}
MOST_ERRORS = 1 << 32
MOST_BYTES = 1 << 48
MOST_NODES = 4096
NO_NODE = 0xFFFFFFFF


class Health(TypedDict):
    """The fields of Gpu that are read here."""

    fault: Fact[str]
    ecc_uncorrected: Fact[int]
    pages_pending: Fact[bool]
    rows_pending: Fact[bool]
    rows_failed: Fact[bool]
    mig_instances: Fact[tuple[str, ...]]
    virtualization: Fact[str]
    licensed: Fact[bool]
    bar1_total_bytes: Fact[int]
    bar1_used_bytes: Fact[int]
    nvlink_recoveries: Fact[int]
    fabric: Fact[str]
    nvlinks_up: Fact[int]
    nvlinks: Fact[int]
    numa_node: Fact[int]


def fault(error: dict[str, object], otherwise: Unknown) -> Fact[str]:
    """Return what an error of a GPU's first call says of the GPU."""
    code = as_int(error.get("code"))
    return Known(FAULTS[code], WHO) if code in FAULTS else otherwise


def of_gpu(answers: Answers, prefix: str) -> Health:
    """Return the facts of one GPU, whose keys begin with a prefix."""
    return Health(
        fault=_fault(answers, prefix),
        ecc_uncorrected=answers.fact(prefix + "ecc_uncorrected", lambda value: within(value, MOST_ERRORS)),
        pages_pending=answers.fact(prefix + "pages_pending", _switch),
        rows_pending=answers.fact(prefix + "remapped_rows", lambda value: _row(value, 2)),
        rows_failed=answers.fact(prefix + "remapped_rows", lambda value: _row(value, 3)),
        mig_instances=_instances(answers, prefix),
        virtualization=answers.fact(prefix + "virtualization", lambda value: VIRTUALIZATION.get(as_int(value) or 0)
                                    if as_int(value) is not None else None),
        licensed=_licensed(answers, prefix),
        bar1_total_bytes=answers.fact(prefix + "bar1", lambda value: _bar1(value, "bar1Total")),
        bar1_used_bytes=answers.fact(prefix + "bar1", lambda value: _bar1(value, "bar1Used")),
        nvlink_recoveries=answers.fact(prefix + "nvlink_recoveries", _sum),
        fabric=_fabric(answers, prefix + "fabric"),
        nvlinks_up=answers.fact(prefix + "nvlinks", lambda value: value.count(1) if isinstance(value, list) else None),
        nvlinks=answers.fact(prefix + "nvlinks", lambda value: len(value) if isinstance(value, list) else None),
        numa_node=answers.fact(prefix + "numa_node", lambda value: within(value, MOST_NODES)),
    )  # fmt: skip


def _fault(answers: Answers, prefix: str) -> Fact[str]:
    """Return what any answer says of the GPU as a whole: it may be lost between two calls."""
    codes = {
        as_int(value.get("code"))
        for key, value in answers.values.items()
        if key.startswith(prefix) and isinstance(value, dict) and "error" in value
    }
    found = [name for code, name in FAULTS.items() if code in codes]
    return Known(found[0], WHO) if found else Absent(WHO)


def _switch(value: object) -> bool | None:
    number = within(value, 1)
    return None if number is None else number == 1


def _row(value: object, place: int) -> bool | None:
    return _switch(value[place]) if isinstance(value, list) else None


def _bar1(value: object, name: str) -> int | None:
    return within(value[name], MOST_BYTES) if isinstance(value, dict) else None


def _sum(value: object) -> int | None:
    if not isinstance(value, list):
        return None
    counts = [within(item, MOST_ERRORS) for item in value]
    return None if None in counts else sum(count or 0 for count in counts)


def _fabric(answers: Answers, key: str) -> Fact[str]:
    """Return how far the NVSwitch fabric has taken in a GPU; absent for one that needs none."""
    value = answers.values.get(key)
    if isinstance(value, list) and value[:1] == [0]:
        return Absent(WHO)
    return answers.fact(key, _fabric_state)


def _fabric_state(value: object) -> str | None:
    if not isinstance(value, list):
        return None
    state, status = as_int(value[0]), as_int(value[1])
    return "failed" if state == FABRIC_COMPLETED and status else FABRIC_STATES.get(state or 0)


def _instances(answers: Answers, prefix: str) -> Fact[tuple[str, ...]]:
    key = prefix + "mig_instances"
    if key not in answers.values and answers.complete:
        return Absent(WHO)  # nothing was asked, since MIG is off or not known to this GPU
    return answers.fact(key, _texts)


def instances_by_number(answers: Answers, prefix: str) -> dict[int, str]:
    """Return the UUID of each MIG instance by the number by which the driver names it to each process."""
    numbers, names = answers.values.get(prefix + "mig_numbers"), answers.values.get(prefix + "mig_instances")
    if not isinstance(numbers, list) or not isinstance(names, list):
        return {}
    pairs = zip(numbers, names, strict=False)
    return {number: name for number, name in pairs if isinstance(number, int) and isinstance(name, str)}


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(str(item) for item in value)


def _licensed(answers: Answers, prefix: str) -> Fact[bool]:
    key = prefix + "license"
    if key not in answers.values and answers.complete:
        return Absent(WHO)  # no virtual GPU
    return answers.fact(key, _license)


def _license(value: object) -> bool | None:
    """Return whether the features that are in use are licensed; each is a pair of enabled and state."""
    if not isinstance(value, list):
        return None
    states = [as_int(state) for enabled, state in value if enabled]
    if any(state in UNLICENSED for state in states):
        return False
    return True if states and all(state in LICENSED for state in states) else None


def topology(answers: Answers) -> Fact[tuple[GpuPair, ...]]:
    """Return how far the GPUs are from each other."""
    if "topology" not in answers.values and answers.complete and answers.ok:
        return Absent(WHO)  # fewer than two GPUs
    return answers.fact("topology", _pairs)


def _pairs(value: object) -> tuple[GpuPair, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(
        GpuPair(
            first=int(first),
            second=int(second),
            distance=DISTANCES.get(level) if isinstance(level, int) else None,
            reads=reads == 0 if isinstance(reads, int) else None,
            obstacle=OBSTACLES.get(reads) if isinstance(reads, int) else None,
        )
        for first, second, level, reads in value
    )
