"""What drawing an image costs: run `python -m pytest bench/micro/test_generate.py --benchmark-only`.

On a machine that others use too, add --benchmark-timer=time.process_time. Compare only runs with the same timer.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from pytest_benchmark.fixture import BenchmarkFixture

from bench.workloads import make_images
from gpudoctor.benchmark.data import CLASSES, SIZES

IMAGES = 32
REQUEST = {"seed": 0, "sizes": SIZES, "quality": 85}

pytestmark = pytest.mark.benchmark(group="generate")


@pytest.fixture(scope="module")
def tiles() -> make_images.Tiles:
    return make_images.Tiles(0)


def tell_rate(benchmark: BenchmarkFixture, images: int) -> None:
    """Put images per second beside the times, for the JSON file; there are no times with --benchmark-disable."""
    if benchmark.stats is not None:
        benchmark.extra_info["images_per_second"] = images / benchmark.stats["median"]


def test_noise(benchmark: BenchmarkFixture) -> None:
    """The noise that all images are cut from: once in each process."""
    drawn = benchmark(make_images.Tiles, 0)
    assert len(drawn.noise) == make_images.TILES


def test_pixels(benchmark: BenchmarkFixture, tiles: make_images.Tiles) -> None:
    def draw() -> int:
        return sum(make_images.draw(REQUEST, i, bool(i % 2), tiles).size for i in range(IMAGES))

    assert benchmark(draw) > IMAGES * 240 * 320
    tell_rate(benchmark, IMAGES)


def test_compression(benchmark: BenchmarkFixture, tiles: make_images.Tiles) -> None:
    images = [Image.fromarray(make_images.draw(REQUEST, i, bool(i % 2), tiles)) for i in range(IMAGES)]

    def compress() -> None:
        for image in images:
            image.save(io.BytesIO(), "JPEG", quality=85, subsampling="4:2:0")

    benchmark(compress)
    tell_rate(benchmark, IMAGES)


def test_whole(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """All that one process does to make files: noise, pixels, hashes, compression, writing."""
    benchmark.pedantic(make_images.make, setup=fresh_folders(tmp_path), rounds=5)  # type: ignore[no-untyped-call]
    tell_rate(benchmark, IMAGES)


def fresh_folders(root: Path) -> Callable[[], tuple[tuple[dict[str, object]], dict[str, object]]]:
    """Return a function that makes empty folders and the request to fill them."""
    made: list[Path] = []

    def prepare() -> tuple[tuple[dict[str, object]], dict[str, object]]:
        folder = root / str(len(made))
        made.append(folder)
        for name in CLASSES:
            (folder / "train" / name).mkdir(parents=True)
        request: dict[str, object] = {
            **REQUEST,
            "folder": str(folder),
            "progress": str(folder / "progress"),
            "parts": [{"name": "train", "first": 0, "count": IMAGES}],
            "worker": 0,
            "workers": 1,
        }
        return (request,), {}

    return prepare
