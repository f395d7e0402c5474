"""TensorFlow without a GPU: the last resort where nothing else works."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.compat import GpuCode, NotCovered, version
from gpudoctor.compat.bundle import load
from gpudoctor.compat.rows import Wheel
from gpudoctor.plan.model import Evidence, Machine, Provider, Stack
from gpudoctor.plan.search import at_hand, platform_of
from gpudoctor.plan.stack import companions


def cpu_stack(machine: Machine) -> Stack | None:
    """The newest release of the package tensorflow that installs on the machine; None where none does."""
    platform = platform_of(machine)
    rows = [
        row
        for row in load(Wheel).rows
        if row.package == "tensorflow" and row.platform == platform and row.pythons and row.kind != "sdist-stub"
        if not version(row.tensorflow).is_prerelease and _installs(row, machine)
    ]
    found = max(rows, key=lambda row: version(row.tensorflow), default=None)
    return None if found is None else _stack(found, machine)


def _installs(row: Wheel, machine: Machine) -> bool:
    glibc = machine.glibc is None or not row.glibc or version(machine.glibc) >= version(row.glibc)
    return glibc and (machine.pythons is None or bool(at_hand(row, machine)))


def _stack(row: Wheel, machine: Machine) -> Stack:
    try:
        keras = compat.keras_for(row.tensorflow).generation
    except NotCovered:
        keras = None
    claim = f"{row.package} {row.tensorflow} has wheels for {row.platform}"
    return Stack(
        tensorflow=row.tensorflow,
        package=row.package,
        keras=keras,
        pythons=compat.pythons_of(row),
        pythons_at_hand=at_hand(row, machine),
        cuda="",
        cudnn="",
        driver_min="",
        gpu_code=GpuCode.NONE,
        route=machine.os,
        provided_by=Provider.NONE,
        requirements=(f"{row.package}=={row.tensorflow}", *companions(row)),
        limits=("the GPU is not used",),
        evidence=(Evidence(claim, load(Wheel).name, load(Wheel).source_of(row), row.confidence),),
    )
