"""A TensorFlow that is newer than the tables: its own metadata, and the rules for native code and PTX."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.compat import CodeAnswer, GpuCode, NotCovered, Os, Trust, version
from gpudoctor.plan.model import Evidence, Installed, Machine, Provider, Stack
from gpudoctor.plan.search import ORDER, platform_of

SOURCE = "metadata and build_info.py of the installed wheel"


def judge_installed(installed: Installed, machine: Machine) -> tuple[Stack | None, str]:
    """The installed release as a stack, or None where it does not fit or that is not known; and a note that says so."""
    lead = f"TensorFlow {installed.tensorflow} is newer than my tables of {compat.tables_date()}"
    try:
        code = _code(installed, machine)
        need = compat.min_driver_for_cuda(installed.cuda, machine.os)
        reason = _objection(code, need.minimum, machine)
    except NotCovered as exc:
        return None, f"{lead}, and its own metadata do not settle whether it fits: {exc}."
    if reason:
        return None, f"{lead}; by its own metadata it does not fit: {reason}."
    return _stack(installed, code, need, machine), f"{lead}; by its own metadata it fits this machine."


def _code(installed: Installed, machine: Machine) -> CodeAnswer | None:
    platform = platform_of(machine)
    answers = [
        compat.gpu_code(installed.capabilities, installed.tensorflow, cc, platform)
        for cc in machine.compute_capabilities
    ]
    return max(answers, key=lambda answer: ORDER.index(answer.code), default=None)


def _objection(code: CodeAnswer | None, minimum: str, machine: Machine) -> str:
    if code is not None and code.code is GpuCode.NONE:
        return code.reason
    if machine.driver is not None and version(machine.driver) < version(minimum):
        return f"driver {machine.driver} is older than {minimum}"
    return ""


def _stack(installed: Installed, code: CodeAnswer | None, need: compat.DriverNeed, machine: Machine) -> Stack:
    extra = "[and-cuda]" if installed.and_cuda else ""
    pythons = tuple(".".join(text.split(".")[:2]) for text in machine.pythons or ())
    claim = f"{installed.package} {installed.tensorflow} is a CUDA {installed.cuda} build"
    evidence = [
        Evidence(claim, "none", SOURCE, Trust.MEDIUM),
        Evidence(f"CUDA {need.cuda} runs from driver {need.minimum} on", "cuda_drivers", need.source, need.confidence),
    ]
    if code is not None:
        evidence.append(Evidence(code.reason, "none", code.source, code.confidence))
    limits = ["newer than the tables: judged by its own metadata and the rules for native code and PTX"]
    if code is not None and code.code is GpuCode.PTX:
        limits.append("slow first start: the driver compiles all kernels from PTX")
    return Stack(
        tensorflow=installed.tensorflow,
        package=installed.package,
        keras=installed.keras,
        pythons=pythons,
        pythons_at_hand=pythons,
        cuda=installed.cuda,
        cudnn=installed.cudnn,
        driver_min=need.minimum,
        gpu_code=None if code is None else code.code,
        route=Os.WSL2 if machine.os is Os.WSL2 else machine.os,
        provided_by=Provider.AND_CUDA if installed.and_cuda else Provider.SYSTEM,
        requirements=(f"{installed.package}{extra}=={installed.tensorflow}",),
        limits=tuple(limits),
        evidence=tuple(evidence),
    )
