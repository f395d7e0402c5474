"""What one training does: the settings that the modes of the benchmark differ in."""

from __future__ import annotations

from dataclasses import dataclass

GENERATOR = "ImageDataGenerator"
TF_DATA = "tf.data"


@dataclass(frozen=True)
class Ranges:
    """Ranges of random changes, with ImageDataGenerator's meaning: each value is drawn evenly.

    rotation: degrees to either side. shift: share of height and width to either side. shear: degrees to either side.
    zoom: factors from 1 - zoom to 1 + zoom, height and width apart. flip: left to right, every second image.
    """

    rotation: float = 0.0
    shift: float = 0.0
    shear: float = 0.0
    zoom: float = 0.0
    flip: bool = False

    @property
    def is_affine(self) -> bool:
        """Whether pixels have to be resampled."""
        return bool(self.rotation or self.shift or self.shear or self.zoom)


# One table for both kinds of input: no mode can be faster by training easier pictures.
AUGMENTATIONS = {
    "none": Ranges(),
    "flip": Ranges(flip=True),
    "full": Ranges(rotation=40.0, shift=0.2, shear=0.2, zoom=0.2, flip=True),
}


@dataclass(frozen=True)
class Settings:
    """One training. Folders hold one folder of pictures for each class.

    all_jpeg: no file is of another format. images: how many of the training pictures are used; 0 for all.
    cache: none, memory or file (in cache_folder).
    fake_accelerator_ms: 0, or milliseconds that a stand-in for a device sleeps for each image (tests only).
    """

    train_folder: str
    validation_folder: str = ""
    input: str = TF_DATA
    all_jpeg: bool = True
    images: int = 0
    image_size: int = 150
    batch_size: int = 32
    augment: str = "flip"
    precision: str = "float32"
    jit_compile: bool = False
    steps_per_execution: int = 1
    cache: str = "none"
    cache_folder: str = ""
    seed: int = 1
    fake_accelerator_ms: float = 0.0

    @property
    def ranges(self) -> Ranges:
        """The random changes. Raises KeyError for an unknown name."""
        return AUGMENTATIONS[self.augment]

    @property
    def scales_in_model(self) -> bool:
        """Whether the model divides pixels by 255; never both it and the input."""
        return self.input == TF_DATA
