"""Random changes of a whole batch in one step, with the ranges and the meaning of ImageDataGenerator.

ImageDataGenerator turns, shifts, shears and zooms one picture after the other in Python. Here the product of these
matrices is computed for each picture of the batch, and one operation resamples all of them.
"""

from __future__ import annotations

import math

import tensorflow as tf

from .settings import Ranges


def augment(images: tf.Tensor, ranges: Ranges) -> tf.Tensor:
    """Return a changed batch; images: uint8 of shape (batch, height, width, 3), in an order that is chance already."""
    count = tf.shape(images)[0]
    flip = tf.random.uniform((count,)) < (0.5 if ranges.flip else 0.0)
    if not ranges.is_affine:
        return mirror_some(images, tf.reduce_sum(tf.cast(flip, tf.int32)))
    shape = tf.shape(images)
    height, width = tf.cast(shape[1], tf.float32), tf.cast(shape[2], tf.float32)
    angle = _to_either_side(count, math.radians(ranges.rotation))
    right, down = _to_either_side(count, ranges.shift) * width, _to_either_side(count, ranges.shift) * height
    shear = _to_either_side(count, math.radians(ranges.shear))
    zoom_x, zoom_y = 1.0 + _to_either_side(count, ranges.zoom), 1.0 + _to_either_side(count, ranges.zoom)
    matrices = affine(angle, right, down, shear, zoom_x, zoom_y)
    return apply(images, centred(matrices, height, width), flip)


def mirror_some(images: tf.Tensor, some: tf.Tensor) -> tf.Tensor:
    """Mirror the first `some` pictures left to right.

    Each picture is mirrored with the same chance, since the batch was shuffled. To pick them by tf.where takes six
    times as long: it goes through every value of the batch.
    """
    return tf.concat([tf.reverse(images[:some], (2,)), images[some:]], 0)


def _to_either_side(count: tf.Tensor, limit: float) -> tf.Tensor:
    return tf.random.uniform((count,), -limit, limit)


def affine(  # noqa: PLR0917 (the parameters that ImageDataGenerator draws)
    angle: tf.Tensor, right: tf.Tensor, down: tf.Tensor, shear: tf.Tensor, zoom_x: tf.Tensor, zoom_y: tf.Tensor
) -> tf.Tensor:
    """Return rotation x shift x shear x zoom, of shape (batch, 3, 3), on (column, row, 1): ImageDataGenerator's order.

    A matrix says where in the original each pixel of the result comes from.
    """
    zero, one = tf.zeros_like(angle), tf.ones_like(angle)
    rotation = _matrix((tf.cos(angle), -tf.sin(angle), zero), (tf.sin(angle), tf.cos(angle), zero))
    shift = _matrix((one, zero, right), (zero, one, down))
    shearing = _matrix((one, -tf.sin(shear), zero), (zero, tf.cos(shear), zero))
    zoom = _matrix((zoom_x, zero, zero), (zero, zoom_y, zero))
    return rotation @ shift @ shearing @ zoom


def _matrix(first: tuple[tf.Tensor, ...], second: tuple[tf.Tensor, ...]) -> tf.Tensor:
    zero, one = tf.zeros_like(first[0]), tf.ones_like(first[0])
    return tf.stack([tf.stack(row, -1) for row in (first, second, (zero, zero, one))], 1)


def centred(matrices: tf.Tensor, height: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """Return the same changes about the picture's centre."""
    middle = tf.stack([width / 2 - 0.5, height / 2 - 0.5])
    offset = middle - tf.linalg.matvec(matrices[:, :2, :2], tf.broadcast_to(middle, tf.shape(matrices[:, :2, 2])))
    moved = tf.concat([matrices[:, :2, :2], (matrices[:, :2, 2] + offset)[:, :, None]], 2)
    return tf.concat([moved, matrices[:, 2:, :]], 1)


def apply(images: tf.Tensor, matrices: tf.Tensor, flip: tf.Tensor) -> tf.Tensor:
    """Resample a batch by matrices on (column, row); where flip is true, mirror the result left to right."""
    width = tf.cast(tf.shape(images)[2], tf.float32)
    # Mirroring the result: take column `width - 1 - x` in place of column x.
    sign = tf.where(flip, -1.0, 1.0)
    start = tf.where(flip, width - 1.0, 0.0)
    by_column, by_row, constant = matrices[:, :2, 0], matrices[:, :2, 1], matrices[:, :2, 2]
    constant = constant + by_column * start[:, None]
    by_column = by_column * sign[:, None]
    # The operation takes eight numbers: the first two rows of the matrix, then two zeros for the third.
    rows = tf.reshape(tf.stack([by_column, by_row, constant], 2), (-1, 6))
    transforms = tf.pad(rows, ((0, 0), (0, 2)))
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=transforms,
        output_shape=tf.shape(images)[1:3],
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="NEAREST",
    )
