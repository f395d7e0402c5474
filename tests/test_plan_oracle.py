"""Brute force over the raw tables agrees with plan on what is feasible. It shares no code with compat or plan."""

from __future__ import annotations

import functools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import compat
from gpudoctor.compat import GpuCode, Os
from gpudoctor.compat.bundle import read_bytes
from gpudoctor.plan import Machine, newest_tensorflow
from gpudoctor.plan.answer import plan
from gpudoctor.plan.search import Judged, candidates, every_stack


def raw(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(read_bytes(name))["rows"]
    return rows


WHEELS = raw("tensorflow_wheels")
CODE = {(row["tensorflow"], row["package"], row["platform"]): row for row in raw("gpu_code")}
FATBINS = raw("fatbins")
DRIVERS = raw("cuda_drivers")
BRANCHES = raw("driver_branches")
FAMILY = {row["compute_capability"]: row["architecture"] for row in raw("gpus")}


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def oracle_code(wheel: dict[str, Any], cc: str) -> str:
    """The table's word for the capability, "" where its row is of low confidence."""
    row = CODE.get((wheel["tensorflow"], wheel["package"], wheel["platform"]))
    if row is None or row["confidence"] == "low":
        return ""
    kinds = ("native", "native_partial", "ptx", "ptx_foreign", "ptx_known_to_fail", "none")
    return next(kind for kind in kinds if cc in row.get(kind, ()))


@functools.cache
def oracle_minimum(cuda: str, windows: bool) -> str:
    major_minor = numbers(cuda)[:2]
    row = min((r for r in DRIVERS if numbers(r["cuda"])[:2] == major_minor), key=lambda r: numbers(r["cuda"]))
    suffix = "windows" if windows else "linux"
    return str(row.get(f"minor_{suffix}") or row.get("minor_windows_branch") or row[f"toolkit_{suffix}"])


@functools.cache
def oracle_serves(driver: str, windows: bool) -> str:
    """The CUDA release of a Linux driver, or of one of the Windows drivers that came with a toolkit."""
    if windows:
        known = [r for r in DRIVERS if numbers(r.get("toolkit_windows", "9999")) <= numbers(driver)]
        return ".".join(max(known, key=lambda r: numbers(r["cuda"]))["cuda"].split(".")[:2])
    return str(next(r["cuda_max"] for r in BRANCHES if r["branch"] == driver.split(".", maxsplit=1)[0]))


def oracle_ptx(wheel: dict[str, Any]) -> str:
    if wheel["platform"] == "linux-x86_64":
        for row in FATBINS:
            same_minor = row["tensorflow"].split(".")[:2] == wheel["tensorflow"].split(".")[:2]
            if same_minor and row.get("ptx_cuda"):
                return str(row["ptx_cuda"])
    return oracle_cuda(wheel)


def oracle_cuda(wheel: dict[str, Any]) -> str:
    """1.13 to 2.0 were built with CUDA 10.0 and 2.2 with 10.1, which their Linux wheels do not say in full."""
    if wheel.get("cuda", "10") != "10":
        return str(wheel["cuda"])
    return "10.1" if wheel["tensorflow"].startswith("2.2.") else "10.0"


def oracle_drives(driver: str, cc: str) -> bool:
    """Whether the driver's branch serves the family, by the rows that name its first and its last branch."""
    branch = int(driver.split(".", maxsplit=1)[0])
    family = FAMILY[cc]
    first = [int(row["branch"]) for row in BRANCHES if family in row.get("first_for", ())]
    last = [int(row["branch"]) for row in BRANCHES if family in row.get("last_for", ())]
    return all(branch >= one for one in first) and all(branch <= one for one in last)


def oracle_feasible(cc: str, driver: str, python: str, os_name: Os) -> set[str]:
    windows = os_name is Os.WINDOWS
    if not windows and not oracle_drives(driver, cc):  # Windows numbers are matched to branches with low confidence
        return set()
    tag = "cp" + python.replace(".", "")
    found = set()
    for wheel in WHEELS:
        if wheel["platform"] != ("win-amd64" if windows else "linux-x86_64"):
            continue
        if not wheel.get("cuda_build") or wheel["kind"] != "full" or wheel["package"] == "tf-nightly":
            continue
        if "rc" in wheel["tensorflow"] or "dev" in wheel["tensorflow"]:
            continue
        if not {tag, tag + "m"} & set(wheel["pythons"]):
            continue
        code = oracle_code(wheel, cc)
        if code not in {"native", "native_partial", "ptx"}:
            continue
        cuda = oracle_cuda(wheel)
        if numbers(driver) < numbers(oracle_minimum(cuda, windows)):
            continue
        needed = numbers(oracle_ptx(wheel))[:2]
        if code != "native" and numbers(oracle_serves(driver, windows))[:2] < needed:
            continue
        found.add(wheel["tensorflow"])
    return found


CAPABILITIES = sorted(
    {cc for row in CODE.values() for kind in ("native", "ptx", "none") for cc in row.get(kind, ())}, key=numbers
)
LINUX_DRIVERS = sorted({r["toolkit_linux"] for r in DRIVERS if r.get("toolkit_linux")}, key=numbers)
EDGES = ("525.60.12", "525.60.13", "450.80.01", "450.80.02", "450.36.05", "418.38", "470.57.02", "535.183.01")
WINDOWS_DRIVERS = sorted({r["toolkit_windows"] for r in DRIVERS if r.get("toolkit_windows")}, key=numbers)
PYTHONS = [f"3.{minor}" for minor in range(5, 15)]


@settings(max_examples=150, deadline=None)
@given(
    cc=st.sampled_from(CAPABILITIES),
    driver=st.sampled_from([*LINUX_DRIVERS, *EDGES]),
    python=st.sampled_from(PYTHONS),
)
def test_plan_and_oracle_agree_on_linux(cc: str, driver: str, python: str) -> None:
    agree(Machine(os=Os.LINUX, compute_capabilities=(cc,), driver=driver, pythons=(python,)), cc, driver, python)


@settings(max_examples=60, deadline=None)
@given(
    cc=st.sampled_from(CAPABILITIES),
    driver=st.sampled_from(WINDOWS_DRIVERS),
    python=st.sampled_from(PYTHONS),
)
def test_plan_and_oracle_agree_on_windows(cc: str, driver: str, python: str) -> None:
    agree(Machine(os=Os.WINDOWS, compute_capabilities=(cc,), driver=driver, pythons=(python,)), cc, driver, python)


def agree(machine: Machine, cc: str, driver: str, python: str) -> None:
    expected = oracle_feasible(cc, driver, python, machine.os)
    judged = [entry for entry in candidates(machine) if isinstance(entry, Judged)]
    assert {entry.wheel.tensorflow for entry in judged if entry.objection is None} == expected
    answer = plan(machine)
    assert {stack.tensorflow for stack in answer.stacks} == expected
    assert {entry.tensorflow for entry in answer.excluded} == set(compat.releases()) - expected
    agree_on_the_best(machine, expected, python)


def agree_on_the_best(machine: Machine, expected: set[str], python: str) -> None:
    chosen = newest_tensorflow(machine)
    cc = machine.compute_capabilities[0]
    if not expected:
        assert chosen.stack is None
        assert len(chosen.excluded) == len(list(compat.releases()))
        return
    stack = chosen.stack
    assert stack is not None
    platform = "win-amd64" if machine.os is Os.WINDOWS else "linux-x86_64"
    by_native = {
        release
        for release in expected
        for wheel in WHEELS
        if wheel["tensorflow"] == release and wheel["platform"] == platform and wheel.get("cuda_build")
        if oracle_code(wheel, cc) in {"native", "native_partial"}
    }
    assert stack.tensorflow == max(by_native or expected, key=compat.version)
    assert stack.pythons_at_hand == (python,)
    assert plan(machine).stacks[0] == stack
    assert not {entry.tensorflow for entry in chosen.excluded} & expected


@settings(deadline=None)
@given(
    cc=st.sampled_from(CAPABILITIES),
    driver=st.sampled_from(LINUX_DRIVERS),
    python=st.sampled_from(PYTHONS),
)
def test_a_better_machine_never_gets_an_older_release(cc: str, driver: str, python: str) -> None:
    def rank(machine: Machine) -> tuple[bool, bool, Any]:
        stack = newest_tensorflow(machine).stack
        if stack is None:
            return False, False, compat.version("0")
        return True, stack.gpu_code is not GpuCode.PTX, compat.version(stack.tensorflow)

    base = rank(Machine(os=Os.LINUX, compute_capabilities=(cc,), driver=driver, pythons=(python,)))
    assert rank(Machine(os=Os.LINUX, compute_capabilities=(cc,), pythons=(python,))) >= base
    assert rank(Machine(os=Os.LINUX, compute_capabilities=(cc,), driver=driver)) >= base


def test_every_combination_of_generation_branch_and_python_agrees() -> None:
    """The whole space, by what tells its points apart: a GPU of each family, each branch, each Python."""
    for cc in (
        "3.0",
        "3.5",
        "3.7",
        "5.0",
        "5.2",
        "6.0",
        "6.1",
        "7.0",
        "7.5",
        "8.0",
        "8.6",
        "8.9",
        "9.0",
        "10.0",
        "12.0",
    ):
        for row in BRANCHES:
            if row["confidence"] == "low" or int(row["branch"]) < 384:
                continue
            driver = f"{row['branch']}.999"
            machine = Machine(os=Os.LINUX, compute_capabilities=(cc,), driver=driver)
            feasible, _ = every_stack(machine)
            seen = {(one.wheel.tensorflow, python) for one in feasible for python in compat.pythons_of(one.wheel)}
            expected = {
                (release, python) for python in PYTHONS for release in oracle_feasible(cc, driver, python, Os.LINUX)
            }
            assert {pair for pair in seen if pair[1] in PYTHONS} == expected, (cc, driver)
