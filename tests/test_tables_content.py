"""What the tables say: consistent among themselves, and true of the TensorFlow at hand."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import platform
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor import compat
from gpudoctor.compat.bundle import load
from gpudoctor.compat.gpucode import BLACKWELL, GpuCode, _row_targets, apply_rules
from gpudoctor.compat.rows import (
    CudaArch,
    CudaDriver,
    DriverBranch,
    Fatbin,
    GpuCodeRow,
    Wheel,
)
from gpudoctor.facts.probes import libraries_symbols as symbols


def test_a_newer_cuda_minor_release_never_needs_an_older_driver() -> None:
    rows = [row for row in load(CudaDriver).rows if row.toolkit_linux]
    rows.sort(key=lambda row: Version(row.cuda))
    for row, following in pairwise(rows):
        assert Version(row.toolkit_linux) <= Version(following.toolkit_linux)
    branches = sorted(load(DriverBranch).rows, key=lambda row: int(row.branch))
    for branch, later in pairwise(branches):
        assert Version(branch.cuda_max) <= Version(later.cuda_max)


def test_a_toolkits_driver_is_of_the_branch_named_and_serves_it() -> None:
    by_branch = {row.branch: row for row in load(DriverBranch).rows}
    for row in load(CudaDriver).rows:
        served = by_branch[row.branch]
        assert Version(served.cuda_max).release[:2] == Version(row.cuda).release[:2]
        if row.toolkit_linux:
            assert Version(row.toolkit_linux).major == int(row.branch)


def test_rows_of_gpu_code_and_cuda_wheels_belong_together() -> None:
    code = {(row.tensorflow, row.package, row.platform) for row in load(GpuCodeRow).rows}
    wheels = {(row.tensorflow, row.package, row.platform): row for row in load(Wheel).rows}
    for key in code:
        assert wheels[key].cuda_build
    stable = {(row.tensorflow, row.platform) for row in (*compat.cuda_wheels("linux-x86_64"),)}
    assert stable <= {(tensorflow, platform) for tensorflow, _, platform in code}


def test_each_capability_of_a_wheel_is_in_one_group() -> None:
    for row in load(GpuCodeRow).rows:
        groups = (row.native, row.native_partial, row.ptx, row.ptx_foreign, row.ptx_known_to_fail, row.none)
        members = [cc for group in groups for cc in group]
        assert len(members) == len(set(members)) == 20
        assert all(compat.capability(cc) >= BLACKWELL for cc in row.ptx_known_to_fail)


def test_the_rules_for_native_code_and_ptx_give_the_table() -> None:
    """The table is derived; the rules over scans and lists must find the same, or one of them is wrong."""
    for row in load(GpuCodeRow).rows:
        targets, _ = _row_targets(row)
        expected = {
            GpuCode.NATIVE: set(row.native),
            GpuCode.NATIVE_PARTIAL: set(row.native_partial),
            GpuCode.PTX: {*row.ptx, *row.ptx_foreign, *row.ptx_known_to_fail},
            GpuCode.NONE: set(row.none),
        }
        found: dict[GpuCode, set[str]] = {code: set() for code in expected}
        for cc in set().union(*expected.values()):
            found[apply_rules(targets, cc)[0]].add(cc)
        assert found == expected, (row.tensorflow, row.platform)


def test_libraries_lack_a_family_exactly_where_the_toolkit_is_older_than_it() -> None:
    """A star of the table (PTX without libraries) follows from the newest family that the wheel's toolkit knows."""
    highest = {row.cuda: compat.capability(row.highest_cc) for row in load(CudaArch).rows}
    wheels = {(row.tensorflow, row.package, row.platform): row for row in load(Wheel).rows}
    for row in load(GpuCodeRow).rows:
        cuda = wheels[row.tensorflow, row.package, row.platform].cuda
        if not cuda:
            continue
        toolkit = ".".join(map(str, compat.cuda_release(cuda)[:2]))
        major = highest[toolkit if toolkit in highest else f"{toolkit}.1"][0] if toolkit != "10" else highest["10.1"][0]
        foreign = {*row.ptx_foreign, *row.ptx_known_to_fail}
        everything_by_ptx = {*foreign, *row.ptx}
        assert foreign == {cc for cc in everything_by_ptx if compat.capability(cc)[0] > major}


def test_scans_cover_the_lists_of_the_wheels_that_were_scanned() -> None:
    """Each compute capability that a scanned wheel names has code in it, and no other has."""
    wheels = {(row.tensorflow, row.package, row.platform): row for row in load(Wheel).rows}
    for scan in load(Fatbin).rows:
        named = wheels[scan.tensorflow, scan.package, "linux-x86_64"].capabilities
        counted = {*scan.native, *scan.native_partial}
        if named:
            assert counted == {".".join(map(str, compat.capability(entry))) for entry in named}


def _installed_build_info() -> tuple[str, dict[str, object]]:
    """Version and build_info of the TensorFlow in this environment, read as text; skips where there is none."""
    try:
        version = importlib.metadata.version("tensorflow")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("tensorflow is not installed in the test environment")
    spec = importlib.util.find_spec("tensorflow")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / "python" / "platform" / "build_info.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and node.keywords and all(word.arg for word in node.keywords):
            return version, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.List):
            return version, dict(ast.literal_eval(node.args[0]))
    pytest.fail("build_info.py has an unknown form")


def test_the_row_of_the_installed_tensorflow_is_true() -> None:
    version, info = _installed_build_info()
    if compat.is_newer_than_tables(version):
        pytest.skip(f"tensorflow {version} is newer than the tables of {compat.tables_date()}")
    row = compat.wheel(version, "tensorflow", "linux-x86_64")
    assert (row.cuda_build, row.cuda_raw, row.cudnn_raw) == (
        info["is_cuda_build"],
        info["cuda_version"],
        info["cudnn_version"],
    )
    assert list(row.capabilities) == info["cuda_compute_capabilities"]


def test_what_the_installed_tensorflow_needs_of_the_system_is_in_the_table() -> None:
    version, _ = _installed_build_info()
    if compat.is_newer_than_tables(version) or sys.platform != "linux":
        pytest.skip("no Linux wheel that the tables know")
    spec = importlib.util.find_spec("tensorflow")
    assert spec is not None and spec.origin is not None
    found: list[str] = []
    for path in Path(spec.origin).parent.rglob("*.so*"):
        with path.open("rb") as file:
            found += symbols.needed(lambda at, length, file=file: (file.seek(at), file.read(length))[1])  # type: ignore[misc]
    assert symbols.newest(found) == compat.symbol_versions(version, f"linux-{platform.machine()}")


def test_every_linux_wheel_of_the_table_has_a_row_for_what_it_needs() -> None:
    for row in load(Wheel).rows:
        stable = row.package == "tensorflow" and not Version(row.tensorflow).is_prerelease
        if row.platform == "linux-x86_64" and row.kind == "full" and stable:
            (libc, *_) = compat.symbol_versions(row.tensorflow, row.platform)
            # A tag promises that an older C library will do; what the files need is then no newer, but for those of
            # manylinux1, whose tag was not kept to.
            assert Version(libc.removeprefix("GLIBC_")) <= Version(row.glibc) or row.glibc == "2.5", row.tensorflow


def test_the_requirements_of_the_installed_tensorflow_are_true() -> None:
    version, _ = _installed_build_info()
    if compat.is_newer_than_tables(version):
        pytest.skip(f"tensorflow {version} is newer than the tables of {compat.tables_date()}")
    requires = [Requirement(text) for text in importlib.metadata.requires("tensorflow") or ()]
    row = compat.wheel(version, "tensorflow", "linux-x86_64")
    plain = {req.name.replace("-", "_"): req.specifier for req in requires if req.marker is None}
    for name in ("numpy", "protobuf", "keras", "h5py", "ml_dtypes"):
        assert SpecifierSet(getattr(row, name)) == plain[name], name
    extra = {
        req.name: req.specifier
        for req in requires
        if req.marker is not None
        and req.marker.evaluate({"extra": "and-cuda"})
        and not req.marker.evaluate({"extra": ""})
    }
    assert {pin.package: SpecifierSet(pin.specifier) for pin in compat.and_cuda_pins(version)} == extra
