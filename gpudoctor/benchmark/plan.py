"""What is to be trained: the settings of a training, and what a group of modes on one device has in common."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from gpudoctor.benchmark.options import BASELINE_BATCH, BenchOptions, Mode, Precision

GENERATOR = "ImageDataGenerator"
TF_DATA = "tf.data"
CACHE_SHARE = 0.25  # of free memory


class TrainingSettings(Struct, frozen=True, kw_only=True):
    """One training, field by field as in bench/workloads/settings.py."""

    train_folder: str
    validation_folder: str = ""
    input: str = GENERATOR
    all_jpeg: bool = True
    images: int = 0
    image_size: int = 150
    batch_size: int = BASELINE_BATCH
    augment: str = "flip"
    precision: str = "float32"
    jit_compile: bool = False
    steps_per_execution: int = 1
    cache: str = "none"
    cache_folder: str = ""
    seed: int = 1
    fake_accelerator_ms: float = 0.0

    def request(self) -> dict[str, object]:
        """Return it as a worker takes it."""
        built: dict[str, object] = msgspec.to_builtins(self)
        return built

    def shown(self) -> dict[str, str | int | float | bool]:
        """Return what a reader of the results needs: no folders of this machine."""
        hidden = ("train_folder", "validation_folder", "cache_folder", "all_jpeg", "fake_accelerator_ms")
        names = (name for name in self.__struct_fields__ if name not in hidden)
        return {name: getattr(self, name) for name in names}


class Folders(Struct, frozen=True, kw_only=True):
    """Where the pictures lie, one folder for each class, and how many there are."""

    train: str
    validation: str
    images: int
    all_jpeg: bool = True


class Device(Struct, frozen=True, kw_only=True):
    """What a group of modes runs on. separate: it computes while the CPU prepares the next batch."""

    gpu_uuid: str | None = None
    name: str = "CPU"
    compute_capability: str | None = None
    cpu_flags: tuple[str, ...] = ()
    separate: bool = False
    needs_gpu: bool = False
    """Whether TensorFlow has to list a GPU; not where a test lets the CPU stand in."""


class GroupPlan(Struct, frozen=True, kw_only=True):
    """Modes on one device. live: processes that may live side by side (2 on a CPU with memory enough, else 1)."""

    modes: tuple[Mode, ...]
    device: Device
    folders: Folders
    options: BenchOptions
    live: int
    cores: int
    free_memory_bytes: int
    cache_folder: Path
    load: float | None = None
    verify_folders: Folders | None = None
    """Generated images for the learning check; None for no such check."""
    verify_wanted: bool = False
    """The user asked for it: then it is not dropped."""


def baseline_settings(plan: GroupPlan) -> TrainingSettings:
    """Return what most articles show."""
    options, folders = plan.options, plan.folders
    return TrainingSettings(
        train_folder=folders.train,
        validation_folder=folders.validation,
        all_jpeg=folders.all_jpeg,
        images=folders.images,
        image_size=options.image_size,
        batch_size=options.batch_size or BASELINE_BATCH,
        augment=options.augment.value,
        seed=options.seed,
        fake_accelerator_ms=options.fake_accelerator_ms,
    )


def optimized_start(plan: GroupPlan) -> TrainingSettings:
    """Return the settings from which the search for better ones starts."""
    options = plan.options
    precision = options.precision if options.precision is not Precision.AUTO else Precision.FLOAT32
    pictures = plan.folders.images * options.image_size**2 * 3
    in_memory = pictures <= CACHE_SHARE * plan.free_memory_bytes
    return msgspec.structs.replace(
        baseline_settings(plan),
        input=TF_DATA,
        precision=precision.value,
        cache="memory" if in_memory else "file",
        cache_folder="" if in_memory else str(plan.cache_folder),
    )


def has_tensor_cores(compute_capability: str | None) -> bool:
    """Whether a GPU is fast in float16: from compute capability 7.0 on."""
    return _capability(compute_capability) >= (7, 0)


def precision_candidates(device: Device) -> tuple[str, ...]:
    """Return the precisions worth trying besides float32."""
    if device.needs_gpu or device.compute_capability is not None:
        found = ["float16"] if has_tensor_cores(device.compute_capability) else []
        return (*found, *(["bfloat16"] if _capability(device.compute_capability) >= (8, 0) else []))
    # Without such instructions bfloat16 takes twice as long, and float16 on a CPU ten times in any case.
    return ("bfloat16",) if {"avx512_bf16", "amx_bf16"} & set(device.cpu_flags) else ()


def _capability(text: str | None) -> tuple[int, ...]:
    parts = (text or "0.0").split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else (0, 0)
