"""The rate that a stored benchmark result promises for the machine at hand, as a fact."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from gpudoctor.benchmark.results import BenchResult, ModeResult, Status, decode
from gpudoctor.facts.model import Fact, Facts, Known, Unknown

SIZE_LIMIT_BYTES = 64 << 20


def with_stored_rate(facts: Facts, path: Path, mode: str | None) -> Facts:
    """Return the facts with training.images_per_second from a result file. mode: None for the one it recommends."""
    return replace(facts, training=replace(facts.training, images_per_second=stored_rate(facts, path, mode)))


def stored_rate(facts: Facts, path: Path, mode: str | None) -> Fact[float]:
    """Return the median rate in images a second; unknown, with the reason, where it is not one of this machine."""
    name = path.name
    try:
        with path.open("rb") as file:
            result = decode(file.read(SIZE_LIMIT_BYTES))
    except OSError as exc:
        return Unknown(f"{name}: {exc.strerror or exc}")
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return Unknown(f"{name} is no benchmark result: {exc}")
    found = _mode_of(result, mode)
    if found is None or found.images_per_second is None:
        return Unknown(f"{name} has no rate of {f'the mode {mode}' if mode else 'any mode'}")
    other = _of_another_machine(facts, result, found)
    if other:
        return Unknown(f"{name} was measured {other}: measure again")
    return Known(found.images_per_second.median, f"{name}, {found.mode}, {result.started}")


def _mode_of(result: BenchResult, mode: str | None) -> ModeResult | None:
    measured = {item.mode: item for item in result.modes if item.status is Status.OK and item.images_per_second}
    if mode is not None:
        return measured.get(mode)
    if result.recommendation.mode in measured:
        return measured[result.recommendation.mode]
    return max(measured.values(), key=lambda item: item.images_per_second.median if item.images_per_second else 0.0,
               default=None)  # fmt: skip


def _of_another_machine(facts: Facts, result: BenchResult, mode: ModeResult) -> str:
    """Return what is different from this machine; empty if nothing that both tell is."""
    machine = result.machine
    own = {uuid for gpu in facts.gpus if (uuid := gpu.uuid.get())}
    if mode.mode.startswith("gpu") and machine.gpu_uuid and own and machine.gpu_uuid not in own:
        return f"on another GPU ({machine.gpu or machine.gpu_uuid})"
    if not mode.mode.startswith("gpu"):
        cpu = facts.host.cpu_model.get()
        if machine.cpu and cpu and machine.cpu != cpu:
            return f"on another CPU ({machine.cpu})"
    for what, then, now in (
        ("driver", machine.driver if mode.mode.startswith("gpu") else None, facts.driver.version.get()),
        ("TensorFlow", machine.tensorflow, facts.tensorflow.version.get()),
    ):
        if then and now and then != now:
            return f"with {what} {then}, and now it is {now}"
    return ""
