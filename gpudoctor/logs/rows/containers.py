"""What container run-times and orchestrators print when a GPU is not there."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "container-no-gpu-support",
        _K.GPU_UNUSABLE,
        ("could not select device driver", "could not select device driver"),
        r"could not select device driver [^\r\n]{0,20}with capabilities: \[\[[^\r\n]{0,60}gpu",
        "Docker cannot give GPUs to containers: the NVIDIA Container Toolkit is missing or not set up.",
        "docker",
        example='Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu]].',
    ),
    Message(
        "container-runtime-unknown",
        _K.GPU_UNUSABLE,
        ("nknown runtime specified nvidia", "unknown or invalid runtime name: nvidia", 'runtime "nvidia" not found'),
        "",
        "Docker knows no run-time called nvidia: the NVIDIA Container Toolkit is missing or not set up.",
        "docker",
        example="docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
    ),
    Message(
        "container-driver-too-old",
        _K.GPU_UNUSABLE,
        ("unsatisfied condition: cuda>=", "unsatisfied condition: driver>=", "unsatisfied condition: brand ="),
        r"unsatisfied condition: (?P<what>cuda|driver)\s?>=\s?(?P<needed>[\d.]{1,12}?)(?:[\s,;\"]|\.?$)"
        r"|--require=cuda\s?>=\s?(?P<asked>[\d.]{1,12})[^\r\n]{0,400}?unsatisfied condition: brand ="
        r"|unsatisfied condition: brand =",
        "The image asks for a newer driver than the host has.",
        "nvidia-container-cli",
        example="nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
    ),
    Message(
        "container-release-too-new",
        _K.GPU_UNUSABLE,
        ("This container was built for NVIDIA Driver Release ",),
        r"This container was built for NVIDIA Driver Release (?P<needed>[\d.]{1,12}) or later"
        r"(?:, but[^\r\n]{0,20}? version (?P<driver>[\d.]{3,12}) was detected)?",
        "The image was built for a newer driver than the host has.",
        "entry point of NVIDIA's images",
        example="ERROR: This container was built for NVIDIA Driver Release 535.86 or later, but "
        "version 470.57.02 was detected",
    ),
    Message(
        "container-without-driver",
        _K.GPU_UNUSABLE,
        ("The NVIDIA Driver was not detected.",),
        "",
        "The container was started without a GPU.",
        "entry point of NVIDIA's images",
        example="WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",
    ),
    Message(
        "container-banner",
        _K.HARMLESS,
        ("NVIDIA Release ", "/usr/local/cuda/compat/", "Container image Copyright"),
        "",
        "This was printed inside one of NVIDIA's containers.",
        "entry point of NVIDIA's images",
        example="NVIDIA Release 24.03-tf2 (build 82611370)",
    ),
    Message(
        "container-host-driver",
        _K.GPU_UNUSABLE,
        ("nvidia-container-cli: initialization error", "nvidia-container-cli: detection error"),
        r"nvidia-container-cli: (?:initialization|detection) error: (?P<detail>[^\r\n]{1,120})",
        "The container tool does not reach the host's driver.",
        "nvidia-container-cli",
        example="nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
    ),
    Message(
        "container-library-not-there",
        _K.GPU_UNUSABLE,
        ("nvidia-container-cli: mount error",),
        r"nvidia-container-cli: mount error: [^\r\n]{0,20}?stat failed: (?P<detail>/[\w./-]{1,120}): no such file",
        "The container tool does not find a library of the driver that it is to put into the container.",
        "nvidia-container-cli",
        example="nvidia-container-cli: mount error: stat failed: /usr/lib/wsl/lib/libcuda.so.1: no such file or "
        "directory: unknown",
    ),
    Message(
        "container-device-refused",
        _K.GPU_UNUSABLE,
        ("nvidia-container-cli: device error",),
        r"nvidia-container-cli: device error: (?P<detail>[^\r\n]{1,120})",
        "The container was asked for a GPU that the host does not have.",
        "nvidia-container-cli",
        example="nvidia-container-cli: device error: 3: unknown device: unknown",
    ),
    Message(
        "container-cdi",
        _K.GPU_UNUSABLE,
        ("unresolvable CDI device", "failed to inject CDI devices", "CDI device injection failed"),
        "",
        "The run-time knows no device of this name: the CDI specification of the NVIDIA toolkit was not made.",
        "podman, docker",
        example="Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
    ),
    Message(
        "apptainer-no-libraries",
        _K.GPU_UNUSABLE,
        ("Could not find any nv files on this host",),
        "",
        "Apptainer was asked for the GPU (--nv) on a host where it finds no NVIDIA driver.",
        "singularity, apptainer",
        example="WARNING: Could not find any nv files on this host!",
    ),
    Message(
        "kubernetes-no-gpu",
        _K.GPU_UNUSABLE,
        ("Insufficient nvidia.com/gpu", "Allocate failed due to requested number of devices unavailable"),
        "",
        "No node has a free GPU, or the NVIDIA device plugin does not run.",
        "kube-scheduler",
        example="0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
    ),
    Message(
        "smi-not-in-container",
        _K.GPU_UNUSABLE,
        ('exec: "nvidia-smi"', 'exec: \\"nvidia-smi\\"'),
        "",
        "The container holds no nvidia-smi: the toolkit puts it there when a GPU is given to the container.",
        "docker, runc",
        example='OCI runtime create failed: exec: "nvidia-smi": executable file not found in $PATH',
    ),
    Message(
        "image-pulled",
        _K.HARMLESS,
        ("Status: Downloaded newer image for ", "Unable to find image '"),
        "",
        "Docker fetches an image.",
        "docker",
        example="Unable to find image 'tensorflow/tensorflow:2.15.0-gpu' locally",
    ),
)
