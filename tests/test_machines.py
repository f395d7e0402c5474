"""Ten kinds of machines from their facts to the exit status, with TensorFlow started and not."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace
from typer.testing import CliRunner

from gpudoctor import engine
from gpudoctor.cli import app
from gpudoctor.facts import codec
from gpudoctor.facts.model import Facts, RunOutcome, Unknown
from gpudoctor.findings import Outcome, Report, Role, Severity, Source, SourceKind, Verdict
from gpudoctor.rules.registry import load_rules
from tests.rule_case import BASES, HERE, base_names

FOLDER = HERE / "machines"
QUICK = Unknown("TensorFlow was not started (--quick)")


class Expected(Struct, frozen=True, kw_only=True):
    """What is right: of a full run, and of a quick one where that differs."""

    verdict: Verdict = Verdict.OK
    roots: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """Of the leading remedy."""
    works: tuple[str, ...] = ()
    """Devices on which TensorFlow computes."""
    status: int = 0


HOME = '"$HOME/tf'
MACHINES: dict[str, Expected] = {
    # A healthy desktop: with the wheels of CUDA beside TensorFlow, and one that was started.
    "desktop-cuda-wheels": Expected(),
    "desktop-rtx4090": Expected(works=("GPU:0",)),
    # A laptop whose GPU and driver are both older than the newest TensorFlow takes.
    "laptop-940m": Expected(
        verdict=Verdict.ERRORS,
        roots=("driver-too-old-for-cuda", "gpu-arch-too-old-for-wheel"),
        commands=(
            "~/tf/bin/python -m pip install tensorflow==2.14.1 nvidia-cublas-cu11==11.11.3.6 "
            "nvidia-cuda-cupti-cu11==11.8.87 nvidia-cuda-nvcc-cu11==11.8.89 nvidia-cuda-runtime-cu11==11.8.89 "
            "nvidia-cudnn-cu11==8.7.0.84 nvidia-cufft-cu11==10.9.0.58 nvidia-curand-cu11==10.3.0.86 "
            "nvidia-cusolver-cu11==11.4.1.48 nvidia-cusparse-cu11==11.7.5.86 nvidia-nccl-cu11==2.16.5",
        ),
        status=1,
    ),
    "wsl2-rtx3090": Expected(works=("GPU:0",)),
    "container-t4": Expected(works=("GPU:0",)),
    # The GPU works; what XLA compiles with is not there.
    "conda-rtx3060": Expected(
        verdict=Verdict.WARNINGS,
        roots=("libdevice-missing",),
        commands=(
            "conda install -p ~/tf -c nvidia cuda-nvcc",
            f'mkdir -p {HOME}/lib/nvvm/libdevice"',
            f'cp "$(find {HOME}" -name libdevice.10.bc | head -n 1)" {HOME}/lib/nvvm/libdevice"',
            'export XLA_FLAGS="--xla_gpu_cuda_data_dir=$HOME/tf/lib"',
        ),
    ),
    "jetson-orin-public-wheel": Expected(
        verdict=Verdict.ERRORS,
        roots=("cpu-only-tensorflow",),
        commands=("cat /etc/nv_tegra_release",),
        status=1,
    ),
    "jetson-orin-nvidia-wheel": Expected(works=("GPU:0",)),
    "windows-tf212": Expected(
        verdict=Verdict.ERRORS,
        roots=("native-windows-no-gpu",),
        commands=(
            "wsl --install",
            "sudo apt-get update && sudo apt-get install python3-venv",
            "python3 -m venv tf-env",
            "tf-env/bin/python -m pip install 'tensorflow[and-cuda]'",
        ),
        status=1,
    ),
    "windows-tf210": Expected(works=("GPU:0",)),
    "macos-apple-chip": Expected(
        verdict=Verdict.ERRORS,
        roots=("macos-no-gpu",),
        commands=(
            "python3 -m venv tf-metal",
            "tf-metal/bin/python -m pip install 'tensorflow==2.18.*' tensorflow-metal",
        ),
        status=1,
    ),
    # Driver 530 serves CUDA 12.1, the wheel is built with 12.3: minor-version compatibility.
    "cluster-a100": Expected(works=("GPU:0", "GPU:1")),
    "desktop-rtx5090": Expected(verdict=Verdict.ERRORS, roots=("gpu-arch-too-new-for-wheel",), status=1),
}


def path_of(name: str) -> Path:
    return (BASES if name in base_names() else FOLDER) / f"{name}.json"


def quick(facts: Facts) -> Facts:
    """Return the facts as they are where TensorFlow was not started."""
    fields = dict.fromkeys(("run", "devices", "computations", "events", "log_tail"), QUICK)
    return replace(facts, tensorflow=replace(facts.tensorflow, **fields))


def judge(facts: Facts) -> Report:
    report = engine.judge(facts, load_rules(), source=Source(kind=SourceKind.FACTS))
    assert not [check for check in report.checks if check.outcome is Outcome.ERROR]
    return report


def compare(report: Report, expected: Expected) -> None:
    assert report.verdict is expected.verdict, report.summary
    serious = [item for item in report.findings if item.severity >= Severity.WARNING]
    roots = [item.rule for item in serious if item.role is Role.ROOT_CAUSE]
    assert tuple(dict.fromkeys(roots)) == expected.roots
    assert {item.explained_by for item in serious if item.role is Role.CONSEQUENCE} <= set(expected.roots)
    leading = report.remedies[0].commands if report.remedies else ()
    assert leading == expected.commands
    assert bool(report.remedies) == bool(expected.roots)


@pytest.mark.parametrize("name", MACHINES)
def test_started(name: str) -> None:
    facts, expected = codec.read(path_of(name)), MACHINES[name]
    report = judge(facts)
    compare(report, expected)
    if expected.works:
        assert report.summary == f"no fault found; TensorFlow computes on {', '.join(expected.works)}"
    run = facts.tensorflow.run.get()
    assert run is None or run.outcome is RunOutcome.OK


@pytest.mark.parametrize("name", MACHINES)
def test_quick(name: str) -> None:
    report = judge(quick(codec.read(path_of(name))))
    compare(report, MACHINES[name])
    assert "gpu-works" not in {item.rule for item in report.findings}
    if not MACHINES[name].roots:
        assert report.summary == "no fault found; TensorFlow was not started"


@pytest.mark.parametrize("name", MACHINES)
def test_exit_status(name: str) -> None:
    done = CliRunner().invoke(app, ["check", "--facts", str(path_of(name))])
    assert done.exit_code == MACHINES[name].status, done.output


def test_each_file_is_judged() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} <= set(MACHINES)
