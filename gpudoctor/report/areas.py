"""One line for each area of the machine: its state, and what is known of it in a few words."""

from __future__ import annotations

import enum

from msgspec import Struct

from gpudoctor.facts.model import Api, Fact, Gpu, HostFacts, Known, RunOutcome, Unknown
from gpudoctor.findings import Finding, Report, Severity
from gpudoctor.report.process_lines import gpu_name, section

MIB = 1024 * 1024
GIB = 1024 * MIB
_SHOWN_LIBRARIES = ("cudart", "cudnn", "cublas", "cufft", "curand", "cusolver", "cusparse", "nccl")


class State(enum.Enum):
    """How an area is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


class Area(Struct, frozen=True, kw_only=True):
    """One area; further lines stand below the first."""

    title: str
    state: State
    lines: tuple[str, ...]


_GIVEN = {
    "nvidia-runtime": "driver given by NVIDIA's runtime",
    "cdi": "driver given by CDI",
    "mounts": "driver's files mounted",
}


# Which areas of rules belong to which area of the report.
_RULE_AREAS = {
    "Host": ("host",),
    "Driver": ("driver",),
    "GPUs": ("hardware", "gpu", "memory"),
    "CUDA libraries": ("libraries",),
    "Python": ("python",),
    "TensorFlow": ("tensorflow",),
    "Processes": ("processes",),
}


def areas(report: Report) -> tuple[Area, ...]:
    """Return all areas in the order in which they build on each other."""
    describe = {
        "Host": _host,
        "Driver": _driver,
        "GPUs": _gpus,
        "CUDA libraries": _libraries,
        "Python": _python,
        "TensorFlow": _tensorflow,
        "Processes": _processes,
    }
    return tuple(_area(report, title, *function(report)) for title, function in describe.items())


def _area(report: Report, title: str, known: bool, lines: list[str]) -> Area:
    own = [finding for finding in report.findings if _area_of(finding) in _RULE_AREAS[title]]
    return Area(title=title, state=_state(own, known), lines=tuple(lines))


def _area_of(finding: Finding) -> str:
    """Return where a finding belongs: what the driver tells of one GPU is about that GPU."""
    return "gpu" if finding.area == "driver" and finding.gpu is not None else finding.area


def _state(findings: list[Finding], known: bool) -> State:
    worst = max((finding.severity for finding in findings), default=Severity.NOTE)
    if worst is Severity.ERROR:
        return State.ERROR
    if worst is Severity.WARNING:
        return State.WARNING
    return State.OK if known else State.UNKNOWN


def _why(*facts: Fact[object]) -> str:
    """Return why the first fact that could not be read is unknown."""
    return next((fact.reason for fact in facts if isinstance(fact, Unknown)), "not read")


def _join(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)


def _host(report: Report) -> tuple[bool, list[str]]:
    host = report.facts.host
    count, memory = host.cpu_count.get(), host.memory_total_bytes.get()
    line = _join(
        host.distribution.get() or host.os.get(),
        host.kernel.get() and f"kernel {host.kernel.get()}",
        host.machine.get(),
        count and f"{count} CPUs",
        memory and f"{memory / GIB:.0f} GiB",
    )
    kinds = _join(
        _container(report.facts.host),
        "WSL" if isinstance(host.wsl, Known) else "",
        host.tegra.get() and "Tegra board",
        "on its battery" if host.power_source.get() == "battery" else "",
    )
    return bool(line), [line or _why(host.os), *([kinds] if kinds else [])]


def _container(host: HostFacts) -> str:
    """Return which container it is, and how the driver came into it."""
    if not isinstance(host.container, Known):
        return ""
    given = _GIVEN.get(host.container_gpu.get() or "", "")
    return f"container ({_join(host.container.value, given)})"


def _driver(report: Report) -> tuple[bool, list[str]]:
    driver = report.facts.driver
    version, cuda = driver.version.get(), driver.cuda_version.get()
    module = driver.kernel_module_kind.get()
    line = _join(version, cuda and f"CUDA up to {cuda}", module and f"{module} kernel module")
    answers = {"NVML": driver.nvml.get(), "CUDA": driver.cuda_init.get()}
    nowhere = all(answer is not None and answer.outcome is Api.NO_LIBRARY for answer in answers.values())
    if not version and nowhere:
        return False, ["no driver: neither libnvidia-ml.so.1 nor libcuda.so.1 was found"]
    bad = [
        f"{name}: {answer.detail or answer.name}"
        for name, answer in answers.items()
        if answer is not None and answer.outcome is not Api.OK
    ]
    works = any(answer is not None and answer.outcome is Api.OK for answer in answers.values())
    return works, [line or _why(driver.version), *bad] if line or not bad else bad


def _gpu(gpu: Gpu, number: int) -> str:
    memory, capability = gpu.memory_total_bytes.get(), gpu.compute_capability.get()
    used = gpu.memory_used_bytes.get()
    held = f" ({used / MIB:.0f} MiB used)" if used is not None else ""
    return _join(
        f"{number}: {gpu_name(gpu)}",
        capability and f"compute capability {capability}",
        memory and f"{memory / GIB:.1f} GiB{held}",
        _mig(gpu),
        "hidden from CUDA" if gpu.visible.get() is False else "",
    )


def _mig(gpu: Gpu) -> str:
    if not gpu.mig.get():
        return ""
    instances = gpu.mig_instances.get()
    return "MIG" if instances is None else f"MIG with {len(instances)} instance{'' if len(instances) == 1 else 's'}"


def _instances(gpu: Gpu) -> tuple[str, ...]:
    """Return a line for each MIG instance: by this name a program is given it, in CUDA_VISIBLE_DEVICES."""
    names = gpu.mig_instances.get() or ()
    taken = {item.mig_instance for item in gpu.processes.get() or ()}
    return tuple(f"   {name}{', in use' if name in taken else ''}" for name in names)


def _gpus(report: Report) -> tuple[bool, list[str]]:
    gpus, pci = report.facts.gpus, report.facts.host.pci_gpus
    if gpus:
        # A GPU that only the PCI bus tells of is there; how it is, nobody could ask.
        asked = any(isinstance(gpu.name, Known) for gpu in gpus)
        return asked, [line for number, gpu in enumerate(gpus) for line in (_gpu(gpu, number), *_instances(gpu))]
    if isinstance(pci, Known) and not pci.value:
        return False, ["none on the PCI bus"]
    if isinstance(pci, Known):
        return False, [f"{len(pci.value)} on the PCI bus, none that the driver shows here"]
    return False, [_why(pci)]


def _libraries(report: Report) -> tuple[bool, list[str]]:
    """Tell the libraries that win; those that only others need, and parts of cuDNN, would make it a long list."""
    found = report.facts.libraries.found
    if not isinstance(found, Known):
        return False, [_why(found)]
    shown = [item for item in found.value if item.name in _SHOWN_LIBRARIES]
    shown.sort(key=lambda item: _SHOWN_LIBRARIES.index(item.name))
    winners = [item for item in shown if item.wins]
    names = {item.name for item in winners}
    apart = dict.fromkeys(item.name for item in shown if not item.found_by and item.name not in names)
    lines = [_join(*(f"{item.name} {item.version.get() or item.soname}" for item in winners))] if winners else []
    if apart:
        lines.append(f"where the loader does not look: {', '.join(apart)}")
    return bool(winners), lines or ["none found"]


def _python(report: Report) -> tuple[bool, list[str]]:
    python = report.facts.python
    version, executable = python.version.get(), python.executable.get()
    line = _join(version and f"Python {version}", python.environment_kind.get(), executable)
    why = python.chosen_by.source if isinstance(python.chosen_by, Known) else ""
    reason = [] if version else [_why(python.version)]
    return bool(version), [*([line] if line else []), *reason, *([why] if why else [])]


def _tensorflow(report: Report) -> tuple[bool, list[str]]:
    tensorflow = report.facts.tensorflow
    version = tensorflow.version.get()
    if version is None:
        if isinstance(tensorflow.version, Unknown):
            return False, [_why(tensorflow.version)]
        return False, ["not installed here"]
    cuda = tensorflow.built_with_cuda.get()
    build = f"built with CUDA {cuda}" if cuda else ""
    if tensorflow.cuda_build.get() is False:
        build = "built without CUDA"
    name = tensorflow.distribution.get() or "TensorFlow"
    keras = tensorflow.keras_version.get()
    first = _join(f"{name} {version}", build, keras and f"Keras {keras}")
    run = tensorflow.run.get()
    if run is None:
        return True, [first, "not started"]
    if run.outcome is not RunOutcome.OK:
        return False, [first, f"{run.detail or run.outcome.value} (while {run.stage or 'starting'})"]
    names = ", ".join(device.name for device in tensorflow.devices.get() or ())
    return True, [first, f"started; devices: {names or 'none'}"]


def _processes(report: Report) -> tuple[bool, list[str]]:
    return section(report.facts.gpus)
