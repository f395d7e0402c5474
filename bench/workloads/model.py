"""The small convolutional network that articles train on cats and dogs; the same for every mode."""

from __future__ import annotations

import random
import time

import numpy as np
import tensorflow as tf

from .settings import Settings

LEARNING_RATE = 1e-3
POLICIES = {"float32": "float32", "float16": "mixed_float16", "bfloat16": "mixed_bfloat16"}


def build(settings: Settings, classes: int) -> tf.keras.Model:
    """Return the compiled model: 4 convolution blocks and a dense layer of 512, 3.45 million weights at 150 pixels.

    It takes uint8 pixels and scales them, or (ImageDataGenerator scales by itself) float32 from 0 to 1.
    """
    layers = tf.keras.layers
    seed_all(settings.seed)
    tf.keras.mixed_precision.set_global_policy(POLICIES[settings.precision])
    shape = (settings.image_size, settings.image_size, 3)
    inputs = tf.keras.Input(shape=shape, dtype="uint8" if settings.scales_in_model else "float32")
    x = layers.Rescaling(1.0 / 255)(inputs) if settings.scales_in_model else inputs
    for filters in (32, 64, 128, 128):
        x = layers.Conv2D(filters, 3, activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="relu")(x)
    # The last layer stays in float32 under every policy: half precision is too coarse for the loss.
    if classes == 2:
        outputs = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
        loss = "binary_crossentropy"
    else:
        outputs = layers.Dense(classes, activation="softmax", dtype="float32")(x)
        loss = "sparse_categorical_crossentropy"
    if settings.fake_accelerator_ms:
        model = FakeAccelerator(inputs, outputs)
        model.milliseconds_per_image = settings.fake_accelerator_ms
    else:
        model = tf.keras.Model(inputs, outputs)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(LEARNING_RATE),
        loss=loss,
        metrics=None if settings.fake_accelerator_ms else ["accuracy"],
        # Said in any case: from Keras 3 on, the default compiles with XLA where there is a GPU.
        jit_compile=settings.jit_compile,
        steps_per_execution=settings.steps_per_execution,
    )
    return model


def seed_all(seed: int) -> None:
    """Make the run repeatable, as tf.keras.utils.set_random_seed does, which fails in tf_keras on Python 3.12."""
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)


class FakeAccelerator(tf.keras.Model):
    """A model that sleeps in place of computing, as the host does while a GPU computes: for tests of the benchmark."""

    milliseconds_per_image = 0.0

    def train_step(self, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Wait for the batch, sleep, return a loss."""
        seconds = self.milliseconds_per_image / 1000

        def sleep(images: np.ndarray) -> np.float32:
            time.sleep(seconds * len(images))
            return np.float32(0.5)

        loss = tf.numpy_function(sleep, [data[0]], tf.float32)
        loss.set_shape(())
        return {"loss": loss}
