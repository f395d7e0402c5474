"""The input that most articles show: ImageDataGenerator.flow_from_directory.

Python decodes and changes one picture at a time. Scaling is done here, so the model must not scale again.
"""

from __future__ import annotations

import tensorflow as tf

from .settings import Settings

# Found under this name in Keras 2 and 3 alike.
_IMAGES = tf.keras.preprocessing.image


def training_data(settings: Settings) -> tf.keras.utils.Sequence:
    """Return batches of float32 pixels from 0 to 1, shuffled, and labels."""
    ranges = settings.ranges
    generator = _IMAGES.ImageDataGenerator(
        rescale=1.0 / 255,
        rotation_range=ranges.rotation,
        width_shift_range=ranges.shift,
        height_shift_range=ranges.shift,
        shear_range=ranges.shear,
        zoom_range=ranges.zoom,
        horizontal_flip=ranges.flip,
        fill_mode="nearest",
    )
    return _flow(generator, settings, settings.train_folder, shuffle=True)


def validation_data(settings: Settings) -> tf.keras.utils.Sequence:
    """Return all validation pictures, unchanged."""
    generator = _IMAGES.ImageDataGenerator(rescale=1.0 / 255)
    return _flow(generator, settings, settings.validation_folder, shuffle=False)


def _flow(
    generator: tf.keras.preprocessing.image.ImageDataGenerator, settings: Settings, folder: str, shuffle: bool
) -> tf.keras.utils.Sequence:
    return generator.flow_from_directory(
        folder,
        target_size=(settings.image_size, settings.image_size),
        batch_size=settings.batch_size,
        class_mode="sparse",  # 0 and 1 for two classes, as "binary" gives
        shuffle=shuffle,
        seed=settings.seed,
    )
