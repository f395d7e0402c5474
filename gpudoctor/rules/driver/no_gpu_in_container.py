"""no-gpu-in-container."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Absent, Api, Facts, Known, Unknown
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._container import COMPUTE_TOO, NVML_UNKNOWN, TOOLKIT, inside, restart, start
from gpudoctor.rules.driver._state import CUDA_STUB, answers, failed_with, outcome
from gpudoctor.rules.observed import seen_gpu_devices
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule


@rule(
    Severity.ERROR,
    breaks=Capability.KERNEL_DRIVER,
    message="this {container} container was started without access to the machine's NVIDIA GPU",
    variants={
        "toolkit": "the container cannot be given a GPU: the NVIDIA Container Toolkit is not installed on the host, or "
        "the container engine is not set up for it",
        "host": "the container cannot be given a GPU: the container tool does not reach the host's driver ({detail})",
        "cluster": "the pod gets no GPU: no node has a free one, or the NVIDIA device plugin does not run",
        "capabilities": "this {container} container was given the GPU for {granted} only: "
        "NVIDIA_DRIVER_CAPABILITIES does not name compute, so libcuda and the driver's PTX compiler "
        "are left out",
        "switched-off": "this {container} container was given no GPU: NVIDIA_VISIBLE_DEVICES={value}",
        "devices-only": "this {container} container was given the device files of the GPU without the driver's "
        "libraries",
        "refused": "the control group of this {container} container keeps it from {nodes}: it was given no GPU, or "
        "has lost it",
        "no-libcuda": "nvidia-smi answers in this {container} container and finds no libcuda: the container was given "
        "the GPU without compute",
        "no-uvm": "this {container} container was given the GPU without /dev/nvidia-uvm, which CUDA needs",
        "none": "the container was started without access to the NVIDIA GPU",
        "lost-text": "the driver answers with an unknown error, as in a container that has lost its access to the GPU",
        "lost": "this {container} container has lost its access to the GPU: the driver answers with an unknown error",
    },
)
def no_gpu_in_container(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The container has no access to the GPU of its host.

    Why it matters: a container sees the GPU only if it is started with it; then the driver's libraries and the device
    files are put into it. The image needs no driver. A container that was started rightly can lose the GPU when systemd
    reloads on the host ("Failed to initialize NVML: Unknown Error").
    How to fix: start it with --gpus all (docker), --device nvidia.com/gpu=all (podman), --nv (apptainer), or with a
    limit nvidia.com/gpu: 1 (Kubernetes). The host needs the NVIDIA driver and the NVIDIA Container Toolkit.
    """
    told = tuple(_from_text(self, facts))
    if told:
        yield from told
        return
    if isinstance(facts.host.container, Absent) or isinstance(facts.host.wsl, Known):
        return
    facts.host.container.require()
    yield from inside(self, facts)


_TOOLKIT_MISSING = (
    "container-no-gpu-support",
    "container-runtime-unknown",
    "container-cdi",
    "device-plugin-without-driver",
)
_HOST = (
    "container-host-driver",
    "container-device-refused",
    "apptainer-no-libraries",
    "container-library-not-there",
    "container-tool-failed",
)
_WITHOUT = ("container-without-driver", "smi-not-in-container")
_INSIDE = ("smi-not-found", "no-device-node", "kernel-driver-not-running")


def _from_text(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what container engines print, and what programs say inside a container without a GPU."""
    if seen_gpu_devices(facts):
        return
    if draft := _engine_refuses(self, facts):
        yield draft
    elif isinstance(facts.driver.device_nodes, Unknown) or isinstance(facts.host.pci_gpus, Unknown):
        yield from _said_inside(self, facts)  # else the machine itself was looked at


def _engine_refuses(self: Rule, facts: Facts) -> Draft | None:
    """Find what container engines and clusters print where they cannot give the GPU."""
    container = facts.host.container.get() or "docker"
    for messages, variant in ((_TOOLKIT_MISSING, "toolkit"), (_HOST, "host"), (("kubernetes-no-gpu",), "cluster"),
                              (_WITHOUT, "none")):  # fmt: skip
        told = tuple(event for event in events(facts, *messages) if not _elsewhere(event.parameters.get("detail", "")))
        if told:
            detail = next((event.parameters["detail"] for event in told if "detail" in event.parameters), "see its log")
            return self.finding(
                (*seen(told), "host.container"),
                variant=variant,
                remedies=_remedies(variant, told[0].message, container),
                container=container,
                detail=detail,
            )
    return None


def _said_inside(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find what programs say inside a container that was given no GPU, or has lost it."""
    container = facts.host.container.get()
    within = events(facts, *_INSIDE)
    answer = facts.driver.cuda_init.get()
    # The stub of an image's toolkit is found where the driver's own libcuda was not put in.
    without = outcome(answer) is Api.NO_LIBRARY or failed_with(answer, CUDA_STUB)
    unknown = failed_with(facts.driver.nvml.get(), NVML_UNKNOWN) or (container is not None and _failed_inside(facts))
    if unknown and not isinstance(facts.host.container, Absent):
        yield self.finding(
            ("driver.nvml", "host.container"),
            variant="lost-text",
            confidence=Confidence.LIKELY,
            remedies=(restart(container or "docker"),),
        )
    elif container is not None and answers(facts) and isinstance(facts.driver.cuda_version, Absent):
        yield self.finding(
            ("host.container", "driver.nvml", "driver.cuda_version"),
            variant="no-libcuda",
            confidence=Confidence.LIKELY,
            remedies=(COMPUTE_TOO,),
            container=container,
        )
    elif container is not None and not isinstance(facts.host.wsl, Known) and (within or without):
        yield self.finding(
            ("host.container", "driver.cuda_init", *seen(within)),
            variant="none",
            confidence=Confidence.LIKELY,
            remedies=start(container),
            container=container,
        )


def _failed_inside(facts: Facts) -> bool:
    """Whether one of two answers of NVML, that of the container and that of its host, is an unknown error."""
    nvml = facts.driver.nvml
    return isinstance(nvml, Known) and any(failed_with(answer, NVML_UNKNOWN) for answer, _ in nvml.also)


def _elsewhere(detail: str) -> bool:
    """Whether another rule tells it: of WSL, or of the host's driver."""
    return "/wsl/" in detail or any(words in detail for words in _OF_THE_HOST)


_OF_THE_HOST = ("version mismatch", "nvml error: driver not loaded", "nvml error: insufficient permissions")


def _remedies(variant: str, message: str, container: str) -> tuple[Remedy, ...]:
    if message == "container-cdi":
        return (_DESCRIBE,)
    return (_SET_UP,) if variant == "toolkit" else start(container)


_DESCRIBE = Remedy(
    summary="Let the NVIDIA Container Toolkit on the host describe the GPUs for CDI, and start the container anew; "
    "Podman knows CDI since 4.1, Docker since 25.",
    commands=("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "nvidia-ctk cdi list"),
    applicability=Applicability.UNSAFE,
)
_SET_UP = Remedy(
    summary="Install the NVIDIA Container Toolkit on the host, set the engine up for it, and restart the engine.",
    commands=("sudo apt-get install nvidia-container-toolkit", *TOOLKIT),
    applicability=Applicability.UNSAFE,
)
