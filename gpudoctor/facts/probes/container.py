"""Which container this is, and how it was given the driver of its host."""

from __future__ import annotations

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Fact, Known, Unknown

NO_MARK = Absent("no mark of a container was found")
MOUNTS = "/proc/self/mountinfo"
FIRST_GROUP = "/proc/1/cgroup"
# What systemd writes down of the container that it runs in; WSL stands there too, and is none.
SYSTEMD = "/run/systemd/container"
VARIABLES = (
    ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ("APPTAINER_CONTAINER", "apptainer"),
    ("SINGULARITY_CONTAINER", "singularity"),
)
FILES = (
    ("/run/secrets/kubernetes.io", "kubernetes"),
    ("/.singularity.d", "apptainer"),
    ("/.dockerenv", "docker"),
    ("/run/.containerenv", "podman"),
)
NAMES = {
    "docker": "docker",
    "podman": "podman",
    "oci": "container",
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "systemd-nspawn": "systemd-nspawn",
}
GROUPS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("containerd", "containerd"),
    ("nerdctl", "containerd"),
    ("machine.slice/systemd-nspawn", "systemd-nspawn"),
)
# Folder of the layers from which the root is put together, and whose folder it is.
LAYERS = (
    ("/containers/storage/", "podman"),
    ("/docker/overlay2/", "docker"),
    ("io.containerd.snapshotter", "containerd"),
)
DRIVER_FILES = ("libcuda.so", "libnvidia-ml.so", "nvidia-smi")
# nvidia-container-cli lays a file system of its own over this folder; a CDI specification says "void", so that the
# older way does not add the same once more.
OLD_WAY, CDI_VARIABLE, CDI_VALUE = "/proc/driver/nvidia", "NVIDIA_VISIBLE_DEVICES", "void"


def container(host: Host) -> Fact[str]:
    """Return the engine that runs this container, as far as it shows itself. Never raises."""
    for variable, kind in VARIABLES:
        if host.environ.get(variable):
            return Known(kind, variable)
    for path, kind in FILES:
        if host.exists(path):
            return Known(kind, path)
    named = NAMES.get(_text(host, SYSTEMD, 64).strip())
    if named:
        return Known(named, SYSTEMD)
    if (named := NAMES.get(host.environ.get("container", ""))) is not None:
        return Known(named, "the variable container")
    groups = _text(host, FIRST_GROUP, 1 << 16)
    for mark, kind in GROUPS:
        if mark in groups:
            return Known(kind, FIRST_GROUP)
    return _from_mounts(_text(host, MOUNTS, 1 << 20))


def _text(host: Host, path: str, limit_bytes: int) -> str:
    try:
        return host.read_text(path, limit_bytes)
    except OSError:
        return ""


def _from_mounts(text: str) -> Fact[str]:
    """Return the engine that put the root together from layers, or that hides the host's numbers from us."""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and fields[4] == "/" and " - overlay " in line:  # noqa: PLR2004 (the fifth is the place)
            for mark, kind in LAYERS:
                if mark in line:
                    return Known(kind, MOUNTS)
        if " - fuse.lxcfs " in line and " /proc/" in line:
            return Known("lxc", MOUNTS)
    return NO_MARK


def container_gpu(host: Host, kind: Fact[str]) -> Fact[str]:
    """Return how the container was given the driver's files. Never raises."""
    if not isinstance(kind, Known):
        return kind
    try:
        lines = host.read_text(MOUNTS, 1 << 20).splitlines()
    except OSError as exc:
        return Unknown(f"{MOUNTS}: {exc.strerror or exc}")
    places = [fields[4] for fields in (line.split(" ") for line in lines) if len(fields) > 4]  # noqa: PLR2004
    if not any(place.rsplit("/", 1)[-1].startswith(DRIVER_FILES) for place in places):
        return Absent(MOUNTS)
    if host.environ.get(CDI_VARIABLE) == CDI_VALUE:
        return Known("cdi", f"{CDI_VARIABLE} and {MOUNTS}")
    return Known("nvidia-runtime" if OLD_WAY in places else "mounts", MOUNTS)
