"""The training code under the TensorFlow of this environment: same pixels, same ranges, and a worker's answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpudoctor.benchmark import workload
from gpudoctor.benchmark.environment import worker_environment
from gpudoctor.benchmark.plan import GENERATOR, TF_DATA, TrainingSettings
from gpudoctor.benchmark.process import Failure, Worker, WorkerError
from gpudoctor.benchmark.protocol import (
    Answer,
    Compared,
    ComputeOnly,
    Fitted,
    Floor,
    Hello,
    InputOnly,
    Opened,
    Validated,
    Windowed,
    ask,
)

pytestmark = pytest.mark.xdist_group("bench-worker")  # one TensorFlow for all of them
SIZE = 64
BATCH = 8
IMAGES = 64


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of dark and light noise in two classes, of several sizes."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("images")
    random = np.random.RandomState(0)
    for part, count in (("train", IMAGES), ("validation", 16)):
        for index in range(count):
            name = ("cats", "dogs")[index % 2]
            place = folder / part / name
            place.mkdir(parents=True, exist_ok=True)
            low = 0 if name == "cats" else 120
            small = random.randint(low, low + 120, (12, 16, 3)).astype(np.uint8)
            size = ((200, 150), (150, 200), (97, 64))[index % 3]
            Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(place / f"{index:03}.jpg", quality=90)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    workload.unpack(folder)
    return folder


@pytest.fixture(scope="module")
def worker(package: Path) -> Iterator[Worker]:
    environ = worker_environment(os.environ, cores=2, gpu_uuid=None)
    argv = [sys.executable, "-u", "-m", f"{workload.PACKAGE}.train"]
    one = Worker(argv, folder=package, log=package / "log", environ=environ)
    yield one
    one.close(at_once=True)


def settings(images: Path, **more: object) -> dict[str, object]:
    base = TrainingSettings(
        train_folder=str(images / "train"),
        validation_folder=str(images / "validation"),
        images=IMAGES,
        image_size=SIZE,
        batch_size=BATCH,
    )
    return {**base.request(), **more}


def test_a_worker_tells_its_versions(worker: Worker) -> None:
    hello = ask(worker, Hello, "hello", seconds=300)
    assert hello.tensorflow.startswith("2.") and hello.keras[0] in "23"
    assert hello.gpus == () and hello.gpu_memory_peak_bytes is None
    assert hello.memory_peak_bytes > 1 << 20


@pytest.mark.parametrize("kind", [GENERATOR, TF_DATA])
def test_everything_that_is_measured_of_a_training(worker: Worker, images: Path, kind: str) -> None:
    cache = "memory" if kind == TF_DATA else "none"
    opened = ask(worker, Opened, "open", seconds=300, settings=settings(images, input=kind, cache=cache))
    assert opened.steps == IMAGES // BATCH
    first = ask(worker, Fitted, "fit", seconds=300, epochs=1)
    assert first.images == IMAGES and first.updates == opened.steps
    assert len(first.step_seconds) == opened.steps - 1
    fitted = ask(worker, Fitted, "fit", seconds=300, epochs=2)
    assert (fitted.images, fitted.updates, len(fitted.epoch_seconds)) == (2 * IMAGES, 3 * opened.steps, 2)
    assert sum(fitted.epoch_seconds) <= fitted.seconds * 1.001
    assert fitted.cpu_seconds > 0 and all(np.isfinite(fitted.loss))
    assert sum(fitted.step_seconds) < fitted.seconds
    found = ask(worker, Validated, "validate", seconds=300)
    assert found.val_accuracy is not None and 0 <= found.val_accuracy <= 1
    passes = ask(worker, InputOnly, "input_only", seconds=300, passes=1).passes
    assert len(passes) == (2 if kind == TF_DATA else 1)
    assert all(one.images and one.seconds > 0 and one.cpu_seconds >= 0 for one in passes)
    window = ask(worker, Windowed, "window", seconds=300)
    assert window.problem == "" and window.steps == opened.steps - 4
    assert window.shares["wait"] is not None and 0 <= window.shares["wait"] <= 1
    compute = ask(worker, ComputeOnly, "compute_only", seconds=300, steps=2)
    assert (compute.images, len(compute.step_seconds)) == (2 * BATCH, 2)
    assert compute.double_step_seconds


def test_two_settings_are_compared_in_turn(worker: Worker, images: Path) -> None:
    current = settings(images, input=TF_DATA)
    larger = {**current, "batch_size": 2 * BATCH, "steps_per_execution": 2}
    found = ask(worker, Compared, "compare", seconds=300, current=current, candidate=larger, steps=2)
    assert (found.current.batch_size, found.candidate.batch_size) == (BATCH, 2 * BATCH)
    assert len(found.current.step_seconds) == len(found.candidate.step_seconds) == 4
    ask(worker, Answer, "close", seconds=60)


def test_the_floor_of_decoding_is_decoding_alone(worker: Worker, images: Path) -> None:
    found = ask(worker, Floor, "decode_floor", seconds=60, settings=settings(images), images=32)
    assert found.images == 32
    assert found.cpu_seconds > 0


def test_an_exception_in_a_worker_is_told_and_survived(worker: Worker, images: Path) -> None:
    with pytest.raises(WorkerError, match="FileNotFoundError") as caught:
        ask(worker, Opened, "open", seconds=60, settings=settings(images, train_folder="/nonexistent"))
    assert caught.value.failure is Failure.FAILED
    assert "Traceback" in caught.value.log
    with pytest.raises(WorkerError, match="nothing is open"):
        ask(worker, Fitted, "fit", seconds=60, epochs=1)


# What a fresh interpreter prints as JSON: TensorFlow is never imported into the tests' own process.
PIXELS = """
import json, sys
import numpy as np
from gpudoctor_workloads import augment, baseline, optimized
from gpudoctor_workloads.settings import AUGMENTATIONS, Settings
from gpudoctor_workloads.train import is_out_of_memory
import tensorflow as tf

request = json.loads(sys.argv[1])
plain = Settings(train_folder=request["folder"], image_size=request["size"], batch_size=64, augment="none")
files = optimized.list_files(request["folder"])[0]
mine = np.stack([optimized.load(file, request["size"]).numpy() for file in files]).astype(float)
iterator = baseline._flow(tf.keras.preprocessing.image.ImageDataGenerator(), plain, request["folder"], shuffle=False)
theirs = np.concatenate([iterator[i][0] for i in range(len(iterator))])
labels = np.concatenate([iterator[i][1] for i in range(len(iterator))])
out = {"pixels": float(np.abs(mine - theirs).mean()), "worst": float(np.abs(mine - theirs).max()),
       "labels": labels.tolist() == optimized.list_files(request["folder"])[1]}

# The same parameters through both, on a smooth picture.
generator = tf.keras.preprocessing.image.ImageDataGenerator(fill_mode="nearest")
y, x = np.mgrid[0:64, 0:64]  # square: on others ImageDataGenerator takes heights for widths
picture = np.stack([x * 4, y * 4, 128 + 60 * np.sin(x / 9) * np.cos(y / 7)], -1).clip(0, 255).astype(np.uint8)
cases = [dict(theta=25.0), dict(tx=7.0), dict(ty=-11.0), dict(shear=10.0), dict(zx=0.85, zy=1.1),
         dict(flip_horizontal=True),
         dict(theta=-30.0, tx=5.0, ty=-4.0, shear=4.0, zx=1.2, zy=0.9, flip_horizontal=True)]
differences = []
for case in cases:
    one = lambda value: tf.constant([value], tf.float32)
    rad = np.pi / 180
    matrix = augment.affine(one(case.get("theta", 0.0) * rad), one(case.get("tx", 0.0)), one(case.get("ty", 0.0)),
                            one(case.get("shear", 0.0) * rad), one(case.get("zx", 1.0)), one(case.get("zy", 1.0)))
    flip = tf.constant([case.get("flip_horizontal", False)])
    got = augment.apply(picture[None], augment.centred(matrix, 64.0, 64.0), flip)
    want = generator.apply_transform(picture.astype("float32"), case)
    differences.append(float(np.abs(got[0].numpy().astype(float) - want).mean()))
out["differences"] = differences

# The distributions: where the middle of a bright spot goes, and how large it gets.
spot = np.zeros((64, 64, 3), np.uint8)
spot[20:36, 36:48] = 255
ranges = AUGMENTATIONS["full"]
many = augment.augment(np.repeat(spot[None], 600, 0), ranges).numpy().astype(float)
random = tf.keras.preprocessing.image.ImageDataGenerator(
    rotation_range=ranges.rotation, width_shift_range=ranges.shift, height_shift_range=ranges.shift,
    shear_range=ranges.shear, zoom_range=ranges.zoom, horizontal_flip=ranges.flip, fill_mode="nearest")
np.random.seed(3)
others = np.stack([random.random_transform(spot.astype("float32")) for _ in range(600)])
def facts(images):
    weight = images[..., 0] / 255
    size = weight.sum((1, 2))
    rows = (weight.sum(2) * np.arange(64)).sum(1) / size
    columns = (weight.sum(1) * np.arange(64)).sum(1) / size
    return [[float(np.mean(v)), float(np.std(v)), float(np.percentile(v, 5)), float(np.percentile(v, 95))]
            for v in (size, rows, columns)]
out["full"] = [facts(many), facts(others)]
flips = augment.augment(np.repeat(spot[None], 400, 0), AUGMENTATIONS["flip"]).numpy()
same = (flips == spot).all((1, 2, 3))
mirrored = (flips == spot[:, ::-1]).all((1, 2, 3))
out["flip"] = [int(same.sum()), int(mirrored.sum())]
try:
    tf.zeros((1 << 42,))
except Exception as exc:
    out["oom"] = [type(exc).__name__, is_out_of_memory(exc)]
print("ANSWER", json.dumps(out))
"""


@pytest.fixture(scope="module")
def pixels(package: Path, images: Path) -> dict[str, object]:
    import subprocess

    request = json.dumps({"folder": str(images / "train"), "size": SIZE})
    environ = worker_environment(os.environ, cores=2, gpu_uuid=None)
    done = subprocess.run(
        [sys.executable, "-c", PIXELS, request], cwd=package, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("ANSWER "))
    found: dict[str, object] = json.loads(line.removeprefix("ANSWER "))
    return found


def test_both_inputs_give_the_same_pixels_and_labels(pixels: dict[str, float]) -> None:
    assert pixels["labels"]
    assert pixels["worst"] <= 2, "of 255 levels: no more than two builds of one decoder may differ by"


def test_a_fused_change_is_what_image_data_generator_does_with_the_same_numbers(pixels: dict[str, list[float]]) -> None:
    assert max(pixels["differences"]) < 1.5, pixels["differences"]


def test_full_augmentation_has_the_same_distribution_in_both_inputs(pixels: dict[str, list[list[list[float]]]]) -> None:
    mine, theirs = pixels["full"]
    for own, other in zip(mine, theirs, strict=True):
        scale = other[1]
        assert own[0] == pytest.approx(other[0], abs=0.25 * scale)
        assert own[1] == pytest.approx(other[1], rel=0.15)
        assert own[2] == pytest.approx(other[2], abs=0.4 * scale)
        assert own[3] == pytest.approx(other[3], abs=0.4 * scale)


def test_flipping_mirrors_half_of_the_pictures_and_changes_nothing_else(pixels: dict[str, list[int]]) -> None:
    same, mirrored = pixels["flip"]
    assert same + mirrored == 400
    assert 140 < same < 260


def test_the_allocator_that_gives_up_is_known_as_out_of_memory(pixels: dict[str, object]) -> None:
    assert pixels["oom"] == ["ResourceExhaustedError", True]
