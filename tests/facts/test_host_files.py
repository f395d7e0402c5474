"""What the control group grants: each way in which its versions write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known
from gpudoctor.facts.probes import host_files
from tests.environments import write


@pytest.mark.parametrize(
    ("text", "quota"), [("200000 100000\n", 2.0), ("50000 100000", 0.5), ("max 100000\n", None), ("0 0", None)]
)
def test_processors_of_a_control_group(tmp_path: Path, text: str, quota: float | None) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/job\n")
    path = write(tmp_path / "sys/fs/cgroup/job/cpu.max", text)
    fact = host_files.probe(Host(tmp_path, {})).cpu_quota
    where = "/" + str(path.relative_to(tmp_path))
    assert fact == (Absent(where) if quota is None else Known(quota, where))


def test_processors_of_an_old_control_group(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "4:cpu,cpuacct:/job\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert host_files.probe(Host(tmp_path, {})).cpu_quota == Known(3.0, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    assert isinstance(host_files.probe(Host(tmp_path, {})).cpu_quota, Absent)
