"""Text to the same facts that the probes of a machine fill; what a text does not say is unknown, never absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct, structs

from gpudoctor import compat
from gpudoctor.compat.rows import Wheel
from gpudoctor.facts.from_events import apply_events, devices_of
from gpudoctor.facts.from_files import with_libraries, with_packages
from gpudoctor.facts.from_training import training_facts
from gpudoctor.facts.model import (
    Api,
    ApiAnswer,
    Device,
    DriverFacts,
    Fact,
    Facts,
    Gpu,
    HostFacts,
    Known,
    LibraryFacts,
    LogEvent,
    Package,
    PythonFacts,
    TensorFlowFacts,
    TrainingFacts,
    Unknown,
)
from gpudoctor.facts.text_files import Part
from gpudoctor.logs.seen import MISSING, NOT_IN_TEXT, Seen, Told
from gpudoctor.logs.text import TextReader

GroupT = TypeVar("GroupT", bound=Struct)
PROVIDERS = ("tensorflow", "tensorflow-gpu", "tf-nightly", "tf-nightly-gpu", "tensorflow-cpu", "tensorflow-intel",
             "tensorflow-macos", "tf-nightly-cpu", "tensorflow-cpu-aws")  # fmt: skip
# Packages that hold what the package `tensorflow` of the same release only requires.
STAND_INS = ("tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws")
CPU_ONLY = ("tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly-cpu", "tensorflow-cpu-aws")
# Packages that were built with CUDA, each of their releases that was no empty one.
BY_NAME = ("tensorflow-gpu", "tf-nightly-gpu")
# The libcuda that a toolkit brings for linking, found where the driver's own is not.
STUB = "CUDA_ERROR_STUB_LIBRARY"
# What the tables hold of a wheel whose build information does not tell it.
NOT_SAID = "absent"
# Nobody who reads a text may be told more than it holds: what a wheel is built with, the tables say.
FROM_TABLES = "the tables, for the wheel of this version"


def facts_of_texts(parts: Iterable[Part]) -> Facts:
    """Return what texts tell."""
    reader = TextReader()
    given: list[Facts] = []
    for part in parts:
        if part.facts is not None:
            given.append(part.facts)
        else:
            reader.read(part.pieces, part.name)
    facts = facts_of(reader)
    for other in reversed(given):
        facts = fill(facts, other)
    return facts


def facts_of(reader: TextReader) -> Facts:
    """Return the facts in what a reader has seen."""
    seen = reader.seen
    seen.events.sort(key=lambda event: event.line)
    apply_events(seen)
    _system(seen)
    python = _python(seen)
    tensorflow = _tensorflow(seen, python)
    return Facts(
        host=with_packages(_group(HostFacts, "host", seen), seen),
        driver=_group(DriverFacts, "driver", seen),
        gpus=tuple(_gpu(gpu.facts) for gpu in seen.gpus),
        libraries=with_libraries(_group(LibraryFacts, "libraries", seen), seen),
        python=python,
        tensorflow=tensorflow,
        training=training_facts(reader, _group(TrainingFacts, "training", seen)),
    )


def fill(facts: Facts, other: Facts) -> Facts:
    """Return facts in which what is unknown is taken from others."""
    changes: dict[str, object] = {}
    for name in ("host", "driver", "libraries", "python", "tensorflow", "training"):
        changes[name] = _filled(getattr(facts, name), getattr(other, name))
    return structs.replace(facts, gpus=facts.gpus or other.gpus, **changes)


def _filled(group: GroupT, other: GroupT) -> GroupT:
    taken = {
        name: getattr(other, name)
        for name in group.__struct_fields__
        if isinstance(getattr(group, name), Unknown) and not isinstance(getattr(other, name), Unknown)
    }
    return structs.replace(group, **taken)


def _group(kind: Callable[..., GroupT], prefix: str, seen: Seen) -> GroupT:
    """Return a group of facts: what was told, and for the rest that the text does not say."""
    fields: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    told = {name: seen.facts[f"{prefix}.{name}"].fact() for name in fields if f"{prefix}.{name}" in seen.facts}
    return kind(**{name: told.get(name, MISSING) for name in fields})


def _gpu(facts: dict[str, Told]) -> Gpu:
    known = {name: told.fact() for name, told in facts.items()}
    make: Callable[..., Gpu] = Gpu
    return make(**{name: known.get(name, MISSING) for name in Gpu.__struct_fields__})


def _system(seen: Seen) -> None:
    """Settle the operating system by signs where no line tells it."""
    wsl = seen.value("host.wsl")
    if wsl:
        seen.facts.pop("host.os", None)
        seen.note("host.os", "linux", seen.facts["host.wsl"].values[-1][1])
    elif seen.value("host.os") is None:
        signs = [name for name in ("windows", "linux", "macos") if name in seen.hints]
        if "windows-prompt" in seen.hints and "macos" not in signs:
            seen.note("host.os", "windows", seen.hints["windows-prompt"])
        elif len(signs) == 1 and not (signs == ["macos"] and "linux-name" in seen.hints):
            seen.note("host.os", signs[0], seen.hints[signs[0]])
    without = seen.hints.get("container-without-gpus")
    if without and seen.value("host.container") is None and _finds_no_driver(seen):
        seen.note("host.container", "docker", without)
    if seen.value("host.machine") == "arm64" and seen.value("host.os") == "linux":
        seen.note("host.machine", "aarch64", seen.facts["host.machine"].values[-1][1])
    if seen.value("python.version") is None and "python-folder" in seen.hints:
        version, _, at = seen.hints["python-folder"].partition("\n")
        seen.note("python.version", version, at)


def _finds_no_driver(seen: Seen) -> bool:
    """Whether it reads as it does in a container that was given no GPU: no device file, and no libcuda or a stub."""
    if seen.value("driver.device_nodes") == ():
        return True
    answer = seen.value("driver.cuda_init")
    return isinstance(answer, ApiAnswer) and (answer.outcome is Api.NO_LIBRARY or answer.name == STUB)


def _python(seen: Seen) -> PythonFacts:
    python = _group(PythonFacts, "python", seen)
    changes: dict[str, object] = {}
    if seen.packages:
        items = [(item, at) for item, at in seen.packages.values() if isinstance(item, Package)]
        versions = {item.name: item.version for item, _ in items}
        stub = any(versions.get(name) == versions.get("tensorflow") for name in STAND_INS)
        packages = tuple(
            structs.replace(item, empty=True) if stub and item.name == "tensorflow" else item
            for item, _ in sorted(items, key=lambda item: item[0].name)
        )
        changes["packages"] = Known(packages, items[0][1])
    if seen.conda:
        found = sorted(seen.conda.items())
        changes["conda_packages"] = Known(tuple(item for _, (item, _) in found), found[0][1][1])
    if seen.variables:
        values = {name: value for name, (value, _) in sorted(seen.variables.items())}
        changes["environment"] = Known(values, next(iter(seen.variables.values()))[1])
    return structs.replace(python, **changes)


def _tensorflow(seen: Seen, python: PythonFacts) -> TensorFlowFacts:
    packages = {item.name: item for item in python.packages.get() or ()}
    name = next((name for name in PROVIDERS if name in packages), None)
    stand_in = next((other for other in STAND_INS if other in packages), None)
    if name is not None:
        at = seen.packages[name][1]
        if not seen.facts.get("tensorflow.version"):
            seen.note("tensorflow.version", packages[name].version, at)
        if not seen.facts.get("tensorflow.distribution"):
            seen.note("tensorflow.distribution", stand_in if name == "tensorflow" and stand_in else name, at)
    if seen.value("tensorflow.distribution") in CPU_ONLY and seen.value("tensorflow.cuda_build") is None:
        seen.note("tensorflow.cuda_build", False, seen.facts["tensorflow.distribution"].values[-1][1])
    conda = {item.name: item for item in python.conda_packages.get() or ()}
    build = next((conda[key].build for key in ("tensorflow-base", "tensorflow") if key in conda), "")
    if build and seen.value("tensorflow.cuda_build") is None:
        seen.note("tensorflow.cuda_build", any(word in build for word in ("gpu", "cuda")), "conda list")
    tensorflow = _group(TensorFlowFacts, "tensorflow", seen)
    changes: dict[str, object] = {"devices": _devices(seen)}
    if seen.events:
        changes["events"] = Known(tuple(seen.events), _sources(seen.events))
    tensorflow = structs.replace(tensorflow, **changes)
    return tensorflow if conda and "tensorflow" in conda else _from_tables(tensorflow, seen)


def _sources(events: list[LogEvent]) -> str:
    names = list(dict.fromkeys(event.source for event in events))
    return ", ".join(names[:3])


def _devices(seen: Seen) -> Fact[tuple[Device, ...]]:
    found = devices_of(seen)
    if found:
        return Known(tuple(device for device, _ in found), found[0][1])
    return Known((), seen.no_devices_at) if seen.no_devices_at else MISSING


def _of_jetson(tensorflow: TensorFlowFacts, seen: Seen) -> TensorFlowFacts:
    """Tell the public wheel for 64-bit ARM by its version, where it lists no GPU on a Jetson."""
    version, board = tensorflow.version.get() or "+nv", seen.facts.get("host.tegra")
    if board is None or "+nv" in version or tensorflow.devices.get() != () or seen.value("tensorflow.cuda_build"):
        return tensorflow
    return structs.replace(tensorflow, cuda_build=Known(False, "NVIDIA's builds for Jetson bear +nv in their version"))


def _from_tables(tensorflow: TensorFlowFacts, seen: Seen) -> TensorFlowFacts:
    """Add what the published wheel of this version is built with."""
    tensorflow = _of_jetson(tensorflow, seen)
    version, system = tensorflow.version.get(), str(seen.value("host.os") or "linux")
    if version is None or tensorflow.cuda_build.get() is False or system == "macos":
        return tensorflow
    machine = str(seen.value("host.machine") or "x86_64")
    platform = "win-amd64" if system == "windows" else f"linux-{machine}"
    try:
        row = compat.wheel(version, tensorflow.distribution.get() or "tensorflow", platform)
    except (compat.NotCovered, ValueError):
        if tensorflow.distribution.get() in BY_NAME and isinstance(tensorflow.cuda_build, Unknown):
            return structs.replace(tensorflow, cuda_build=Known(True, "the package's name"))
        return tensorflow
    changes: dict[str, object] = {}
    # Of one version there are builds with and without CUDA: that this is none is said only where no GPU is listed.
    listed = tensorflow.devices.get()
    sure = row.cuda_build or (row.cuda_build is False and listed is not None and all(d.kind != "GPU" for d in listed))
    if isinstance(tensorflow.cuda_build, Unknown) and sure and (seen.value("host.os") is not None or seen.gpus):
        changes["cuda_build"] = Known(row.cuda_build, FROM_TABLES)
    if row.cuda_build and row.kind == "full":
        cuda = row.cuda_raw if row.cuda_raw != NOT_SAID else _tested_with(row)
        if isinstance(tensorflow.built_with_cuda, Unknown) and cuda:
            changes["built_with_cuda"] = Known(cuda, FROM_TABLES)
        if isinstance(tensorflow.built_with_cudnn, Unknown) and row.cudnn_raw not in ("", NOT_SAID):
            changes["built_with_cudnn"] = Known(row.cudnn_raw, FROM_TABLES)
        if isinstance(tensorflow.compute_capabilities, Unknown) and row.capabilities:
            changes["compute_capabilities"] = Known(row.capabilities, FROM_TABLES)
    return structs.replace(tensorflow, **changes)


def _tested_with(row: Wheel) -> str:
    """Return the CUDA release of a wheel that does not tell it itself: that of its tested build, else nothing."""
    try:
        return compat.cuda_of(row)
    except compat.NotCovered:
        return ""


__all__ = ["NOT_IN_TEXT", "facts_of", "facts_of_texts", "fill"]
