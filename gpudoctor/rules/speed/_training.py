"""What several rules ask of a measured training."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import UNREAD, FactAbsent, Facts, FactUnavailable, Known, TrainingFacts
from gpudoctor.findings import Remedy
from gpudoctor.rules.registry import Draft, Rule

INPUT_BOUND = "input-bound"
COMPUTE_BOUND = "compute-bound"
LAUNCH_BOUND = "launch-bound"
GENERATOR = "ImageDataGenerator"
# A part of a profiled window that is worth mending on its own.
MUCH = 0.3

USE_TF_DATA = Remedy(
    summary="Feed the model with tf.data: tf.keras.utils.image_dataset_from_directory, then .cache() before anything "
    "random, .shuffle(), .prefetch(tf.data.AUTOTUNE); scale pixels in the model (Rescaling), not twice."
)
CACHE = Remedy(
    summary="Keep decoded images: .cache() after decoding and resizing, before anything random; as uint8 it takes a "
    "quarter of the memory. Where memory is short, .cache('file')."
)
BATCH_AUGMENTATION = Remedy(
    summary="Change whole batches in one operation, after .batch(): tf.raw_ops.ImageProjectiveTransformV3 for turning, "
    "shifting and zooming, tf.reverse for flipping."
)


def measured(facts: Facts) -> TrainingFacts:
    """Return the training. Raises FactAbsent where nobody measured one: then rules about it do not apply."""
    training = facts.training
    if all(getattr(training, name) == UNREAD for name in training.__struct_fields__):
        raise FactAbsent("no training was measured (`gpudoctor bench` measures one)")
    return training


def limit(facts: Facts) -> str:
    """Return what limits the training. Raises FactUnavailable where that was not measured."""
    found = measured(facts).limit
    if isinstance(found, Known):
        return found.value
    raise FactUnavailable("its parts were not measured apart (`gpudoctor bench` measures them)")


def culprit(facts: Facts) -> str:
    """Return the id of the rule that tells which part of the input takes the time."""
    training = facts.training
    shares = training.profile_shares.get() or {}
    if training.input_pipeline.get() == GENERATOR:
        return "cpu-augmentation-bound" if training.augmentation.get() == "full" else "python-generator-bound"
    largest = max(shares, key=lambda name: shares[name], default="")
    if shares.get(largest, 0.0) < MUCH:
        return "input-pipeline-bound"
    names = {"python": "python-generator-bound", "augment": "cpu-augmentation-bound", "read": "disk-io-bound"}
    return names.get(largest, "input-pipeline-bound")


RATES = (
    "training.limit",
    "training.input_only_images_per_second",
    "training.compute_only_images_per_second",
    "training.gain_without_input",
)


def waits(found: Rule, facts: Facts, *more: str, remedies: tuple[Remedy, ...]) -> Iterator[Draft]:
    """Yield the finding of the rule that is to blame for an input-bound training. more: further evidence."""
    if limit(facts) != INPUT_BOUND or culprit(facts) != found.id:
        return
    training = facts.training
    yield found.finding(
        (*RATES, *more, "training.data_wait_share"),
        remedies=remedies,
        input=round(training.input_only_images_per_second.require()),
        compute=round(training.compute_only_images_per_second.require()),
        gain=round(training.gain_without_input.require(), 1),
    )
