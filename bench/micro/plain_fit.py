"""The training of mode `cpu` as somebody writes it who knows nothing of gpudoctor: to see what measuring costs.

Started as `python plain_fit.py FOLDER SIZE BATCH`; trains one epoch for each line on standard input and prints how much
processor time it took, in milliseconds for an image. It shares no code with bench/workloads.
"""

from __future__ import annotations

import sys
import time

import tensorflow as tf
from tensorflow.keras import layers


def main() -> None:
    """Train when told."""
    folder, size, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    images = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    data = images.flow_from_directory(folder, target_size=(size, size), batch_size=batch, class_mode="binary")
    model = tf.keras.Sequential([
        tf.keras.Input((size, size, 3)),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(128, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(128, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(512, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])  # fmt: skip
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"], jit_compile=False)
    for _ in sys.stdin:
        began = time.process_time()
        model.fit(data, epochs=1, verbose=0)
        print(f"CPU {1000 * (time.process_time() - began) / data.samples}", flush=True)


if __name__ == "__main__":
    main()
