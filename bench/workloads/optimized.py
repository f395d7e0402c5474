"""The same pictures through tf.data: decoded on all cores, kept as uint8, changed a batch at a time.

Order matters. Resize before the cache (a picture then takes 66 KB at 150 pixels), cache before anything random, shuffle
before batching, random changes on whole batches, prefetch last. The model scales; a uint8 batch is a quarter to copy.
"""

from __future__ import annotations

import os
from typing import List, Tuple

import tensorflow as tf

from .augment import augment
from .settings import Settings

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".bmp")
Files = Tuple[List[str], List[int], List[str]]


def list_files(folder: str) -> Files:
    """Return paths, labels (the number of the class) and class names, as flow_from_directory counts them."""
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    paths, labels = [], []
    for label, name in enumerate(classes):
        files = sorted(file for file in os.listdir(os.path.join(folder, name)) if file.lower().endswith(SUFFIXES))
        paths += [os.path.join(folder, name, file) for file in files]
        labels += [label] * len(files)
    return paths, labels, classes


def load(path: tf.Tensor, size: int, as_jpeg: bool = True) -> tf.Tensor:
    """Return one picture, uint8 of shape (size, size, 3): the same pixels that ImageDataGenerator gives.

    It asks Pillow for its accurate decoder and for the nearest pixel, so that is what is asked for here.
    """
    raw = tf.io.read_file(path)
    if as_jpeg:
        image = tf.io.decode_jpeg(raw, channels=3, dct_method="INTEGER_ACCURATE")
    else:
        image = tf.io.decode_image(raw, channels=3, expand_animations=False)
        image.set_shape((None, None, 3))
    return tf.image.resize(image, (size, size), method="nearest")


def training_data(settings: Settings) -> tf.data.Dataset:
    """Return batches of uint8 pixels and labels, all of one size: a smaller last batch would be compiled again."""
    data, count = pictures(settings)
    if settings.cache == "memory":
        data = data.cache()
    elif settings.cache == "file":
        data = data.cache(os.path.join(settings.cache_folder, "pictures"))
    data = data.shuffle(count, seed=settings.seed).batch(settings.batch_size, drop_remainder=True)
    if settings.augment != "none":
        ranges = settings.ranges
        data = data.map(lambda images, labels: (augment(images, ranges), labels), num_parallel_calls=tf.data.AUTOTUNE)
    return data.prefetch(tf.data.AUTOTUNE)


def pictures(settings: Settings) -> Tuple[tf.data.Dataset, int]:
    """Return single decoded pictures with labels, and how many there are."""
    paths, labels, _ = list_files(settings.train_folder)
    if settings.images and settings.images < len(paths):
        keep = [round(index * len(paths) / settings.images) for index in range(settings.images)]  # of every class
        paths, labels = [paths[index] for index in keep], [labels[index] for index in keep]
    return _decoded(paths, labels, settings), len(paths)


def validation_data(settings: Settings) -> tf.data.Dataset:
    """Return all validation pictures, unchanged."""
    paths, labels, _ = list_files(settings.validation_folder)
    return _decoded(paths, labels, settings).batch(settings.batch_size)


def _decoded(paths: list[str], labels: list[int], settings: Settings) -> tf.data.Dataset:
    size, as_jpeg = settings.image_size, settings.all_jpeg
    data = tf.data.Dataset.from_tensor_slices(([os.fsencode(path) for path in paths], tf.constant(labels, tf.float32)))
    return data.map(lambda path, label: (load(path, size, as_jpeg), label), num_parallel_calls=tf.data.AUTOTUNE)
