"""Which container this is, and how it came to the driver, from what such containers show."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known
from gpudoctor.facts.probes import container
from tests.environments import write

OVERLAY = "1 0 0:50 / / rw,relatime - overlay overlay rw,lowerdir={folder}/x/fs,upperdir=/u,workdir=/w\n"
ON_DISK = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
# As nvidia-container-cli, a CDI specification and apptainer --nv leave them.
OLD_WAY = (
    "900 1 0:60 / /proc/driver/nvidia rw,nosuid - tmpfs tmpfs rw,mode=555\n"
    "901 1 259:2 /usr/bin/nvidia-smi /usr/bin/nvidia-smi ro - ext4 /dev/nvme0n1p2 rw\n"
    "902 1 259:2 /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01 /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01 ro"
    " - ext4 /dev/nvme0n1p2 rw\n"
)
APPTAINER = "77 1 259:2 /usr/lib/libcuda.so.1 /.singularity.d/libs/libcuda.so.1 ro - ext4 /dev/sda1 rw\n"


def kind(root: Path, **environ: str) -> str | None:
    return container.container(Host(root, environ)).get()


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("/.dockerenv", "", "docker"),
        ("/run/.containerenv", 'engine="podman-4.9"\n', "podman"),
        ("/run/secrets/kubernetes.io/serviceaccount/token", "x", "kubernetes"),
        ("/.singularity.d/runscript", "", "apptainer"),
        ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("/run/systemd/container", "lxc", "lxc"),
        ("/run/systemd/container", "wsl\n", None),
        ("/proc/1/cgroup", "12:devices:/kubepods/besteffort/pod1/abc\n", "kubernetes"),
        ("/proc/1/cgroup", "3:cpu:/docker/0123456789ab\n", "docker"),
        ("/proc/1/cgroup", "0::/system.slice/containerd.service/x\n", "containerd"),
        ("/proc/1/cgroup", "0::/lxc.payload.box/init.scope\n", "lxc"),
        ("/proc/1/cgroup", "0::/init.scope\n", None),
        ("/proc/self/mountinfo", OVERLAY.format(folder="/var/lib/docker/overlay2"), "docker"),
        ("/proc/self/mountinfo", OVERLAY.format(folder="/home/u/.local/share/containers/storage/overlay"), "podman"),
        (
            "/proc/self/mountinfo",
            OVERLAY.format(folder="/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7"),
            "containerd",
        ),
        ("/proc/self/mountinfo", "5 1 0:9 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw\n", "lxc"),
        ("/proc/self/mountinfo", ON_DISK, None),
        ("/proc/self/mountinfo", OVERLAY.format(folder="/run/live/rootfs"), None),
    ],
)
def test_engine_by_what_it_leaves(tmp_path: Path, file: str, text: str, expected: str | None) -> None:
    write(tmp_path / file.lstrip("/"), text)
    assert kind(tmp_path) == expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"APPTAINER_CONTAINER": "/x.sif", "SINGULARITY_CONTAINER": "/x.sif"}, "apptainer"),
        ({"SINGULARITY_CONTAINER": "/x.sif"}, "singularity"),
        ({"container": "podman"}, "podman"),
        ({"container": "oci"}, "container"),
        ({"container": "flatpak"}, None),
        ({}, None),
    ],
)
def test_engine_by_a_variable(tmp_path: Path, environ: dict[str, str], expected: str | None) -> None:
    assert kind(tmp_path, **environ) == expected


@pytest.mark.parametrize(
    ("mounts", "environ", "expected"),
    [
        (OLD_WAY, {"NVIDIA_VISIBLE_DEVICES": "all"}, "nvidia-runtime"),
        (OLD_WAY.partition("\n")[2], {"NVIDIA_VISIBLE_DEVICES": "void"}, "cdi"),
        (APPTAINER, {}, "mounts"),
        ("", {"NVIDIA_VISIBLE_DEVICES": "all"}, None),
        ("1 2\n", {}, None),
    ],
)
def test_how_the_driver_came_in(tmp_path: Path, mounts: str, environ: dict[str, str], expected: str | None) -> None:
    write(tmp_path / "proc/self/mountinfo", ON_DISK + mounts)
    fact = container.container_gpu(Host(tmp_path, environ), Known("docker", "/.dockerenv"))
    assert fact.get() == expected
    assert expected or fact == Absent("/proc/self/mountinfo")


def test_outside_a_container_nothing_came_in(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/mountinfo", OLD_WAY)
    outside = Absent("no mark of a container was found")
    assert container.container_gpu(Host(tmp_path, {}), outside) == outside
