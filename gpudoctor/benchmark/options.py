"""What the user asked the benchmark to do."""

from __future__ import annotations

import enum

from msgspec import Struct


class Mode(enum.Enum):
    """One way to train; the order is that of the report."""

    CPU = "cpu"
    CPU_OPTIMIZED = "cpu-optimized"
    GPU_BASELINE = "gpu-baseline"
    GPU_OPTIMIZED = "gpu-optimized"

    @property
    def on_gpu(self) -> bool:
        """Whether it needs a GPU."""
        return self in (Mode.GPU_BASELINE, Mode.GPU_OPTIMIZED)

    @property
    def is_optimized(self) -> bool:
        """Whether its settings are chosen for this machine; else they are those of most articles."""
        return self in (Mode.CPU_OPTIMIZED, Mode.GPU_OPTIMIZED)


class Augment(enum.Enum):
    """Random changes of the pictures; the same in all modes."""

    NONE = "none"
    FLIP = "flip"
    FULL = "full"


class Precision(enum.Enum):
    """Number format of the optimised modes; auto: the fastest that learns as well."""

    AUTO = "auto"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


class Effort(enum.Enum):
    """How much is done: one short round, the default, or the article's 25,000 images."""

    QUICK = "quick"
    NORMAL = "normal"
    FULL = "full"


IMAGES = {Effort.QUICK: 320, Effort.NORMAL: 640, Effort.FULL: 25_000}
VALIDATION_IMAGES = {Effort.QUICK: 64, Effort.NORMAL: 200, Effort.FULL: 2_000}
ROUNDS = {Effort.QUICK: 1, Effort.NORMAL: 3, Effort.FULL: 3}
# What starts anew with each epoch must not count where an epoch takes a tenth of a second.
IMAGES_ON_GPU = 2560
BASELINE_BATCH = 32


class BenchOptions(Struct, frozen=True, kw_only=True):
    """Everything that can be asked for; sizes in pixels, budget in seconds, None where gpudoctor chooses.

    epochs: in each round. verify: None for "if the budget allows". fake_accelerator_ms, stand_in_gpu: for tests only;
    the first is milliseconds that a device is pretended to need for each image, the second runs GPU modes on the CPU.
    """

    modes: tuple[Mode, ...] = tuple(Mode)
    image_size: int = 150
    batch_size: int | None = None
    epochs: int | None = None
    images: int | None = None
    augment: Augment = Augment.FLIP
    precision: Precision = Precision.AUTO
    gpu: str | None = None
    python: str | None = None
    data: str | None = None
    budget_seconds: float = 180.0
    effort: Effort = Effort.NORMAL
    verify: bool | None = None
    seed: int = 0
    fake_accelerator_ms: float = 0.0
    stand_in_gpu: bool = False

    def image_count(self, *, on_gpu: bool) -> int:
        """Return the number of training images. on_gpu: a GPU takes part."""
        least = IMAGES_ON_GPU if on_gpu else 0
        return self.images or max(IMAGES[self.effort], least)

    @property
    def rounds(self) -> int:
        """Interleaved rounds of each mode."""
        return ROUNDS[self.effort]
