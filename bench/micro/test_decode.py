"""What decoding a generated image costs: run `python -m pytest bench/micro/test_decode.py --benchmark-only`.

To see that they cost what photos cost, name a folder of photos, in any layout that `gpudoctor bench --data` knows:
GPUDOCTOR_BENCH_PHOTOS=DIR. Each case then runs on both, and the figures to compare stand side by side. On a machine
that others use too, add --benchmark-timer=time.process_time.
"""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import pytest
from PIL import Image
from pytest_benchmark.fixture import BenchmarkFixture

from bench.workloads import make_images
from gpudoctor.benchmark.data import SIZES
from gpudoctor.benchmark.layout import read_layout

tf = pytest.importorskip("tensorflow")

IMAGES = 64
SIDE = 150
PHOTOS = os.environ.get("GPUDOCTOR_BENCH_PHOTOS", "")

pytestmark = pytest.mark.benchmark(group="decode")


@pytest.fixture(scope="module", params=["generated", *(["photos"] if PHOTOS else [])])
def jpegs(request: pytest.FixtureRequest) -> list[bytes]:
    """The contents of files that lie in memory, so that no disk is measured."""
    return generated() if request.param == "generated" else photos(PHOTOS)


def generated() -> list[bytes]:
    tiles = make_images.Tiles(0)
    contents = []
    for i in range(IMAGES):
        memory = io.BytesIO()
        image = Image.fromarray(make_images.draw({"seed": 0, "sizes": SIZES}, i, bool(i % 2), tiles))
        image.save(memory, "JPEG", quality=85, subsampling="4:2:0")
        contents.append(memory.getvalue())
    return contents


def photos(folder: str) -> list[bytes]:
    paths = sorted(path for files in read_layout(folder).train.values() for path in files)
    return [Path(path).read_bytes() for path in random.Random(0).sample(paths, IMAGES)]  # noqa: S311 (no secret)


def tell_rate(benchmark: BenchmarkFixture, jpegs: list[bytes]) -> None:
    benchmark.extra_info["bytes_per_image"] = sum(map(len, jpegs)) // len(jpegs)
    if benchmark.stats is not None:
        benchmark.extra_info["images_per_second"] = len(jpegs) / benchmark.stats["median"]


def test_pillow_full(benchmark: BenchmarkFixture, jpegs: list[bytes]) -> None:
    """As ImageDataGenerator does it: decode, then take the nearest pixels."""

    def decode() -> None:
        for content in jpegs:
            with Image.open(io.BytesIO(content)) as image:
                image.resize((SIDE, SIDE), Image.Resampling.NEAREST)

    benchmark(decode)
    tell_rate(benchmark, jpegs)


def test_pillow_draft(benchmark: BenchmarkFixture, jpegs: list[bytes]) -> None:
    """The least that Pillow can do: the JPEG library makes a smaller picture at once."""

    def decode() -> None:
        for content in jpegs:
            with Image.open(io.BytesIO(content)) as image:
                image.draft("RGB", (SIDE, SIDE))
                image.load()

    benchmark(decode)
    tell_rate(benchmark, jpegs)


def test_tensorflow_full(benchmark: BenchmarkFixture, jpegs: list[bytes]) -> None:
    """The floor under every pipeline that decodes: tf.io.decode_jpeg and resize, one image after the other."""

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])  # type: ignore[untyped-decorator]
    def decode(content: object) -> object:
        pixels = tf.image.resize(tf.io.decode_jpeg(content, channels=3), (SIDE, SIDE))
        return tf.cast(pixels, tf.uint8)

    def decode_all() -> None:
        for content in jpegs:
            decode(content).numpy()

    decode_all()
    benchmark(decode_all)
    tell_rate(benchmark, jpegs)
