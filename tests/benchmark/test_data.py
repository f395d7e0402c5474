"""Generated images: the same pixels everywhere, kept whole or not at all."""

from __future__ import annotations

import ast
import hashlib
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from PIL import Image

from bench.workloads import make_images
from gpudoctor.benchmark import data, data_children, image_cache
from gpudoctor.benchmark.data import DataError, DataSet, Spec, ensure
from gpudoctor.benchmark.data_model import Progress
from gpudoctor.benchmark.image_cache import Manifest
from gpudoctor.facts.host import ChildRun, Host
from tests.environments import interpreters

SMALL = Spec(images=5, validation=2)
# Of the pixels before compression. They may only change together with Spec.generator.
SMALL_PIXELS = "a2ebe02a609fd628d435f67e67a54906be067c17ca17b559b07b844ba7cc6a29"
PICTURES = {
    (0, False): "0eeb8c08d815a2d4b3af3cb3c2c57d05cacb2a6362a7956d93504d0659a1e2ab",
    (0, True): "e988c18f2df791706417440c467c5c3b923b1211227044fcf5fafe3ac319a589",
    (7, False): "f31b0cab7d52c396c1716b35d799920123cc20b9c237428fbfbc863c6154e9bb",
}
WORKLOADS = ("make_images", "scan_images")


class IdleHost(Host):
    """A machine on which no child may be started."""

    def run_child(self, *_args: object, **_more: object) -> ChildRun:
        raise AssertionError("a child was started")


class InterruptedHost(Host):
    """A machine whose user presses Ctrl-C."""

    def run_child(self, *_args: object, **_more: object) -> ChildRun:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DataSet, list[Progress]]:
    root = tmp_path_factory.mktemp("cache")
    events: list[Progress] = []
    return root, ensure(Host(), sys.executable, SMALL, events.append, root=root), events


@pytest.fixture
def cache(made: tuple[Path, DataSet, list[Progress]], tmp_path: Path) -> Path:
    """A copy of the cache that a test may spoil."""
    return Path(shutil.copytree(made[0], tmp_path / "cache"))


def test_pixels_are_those_of_every_other_machine(made: tuple[Path, DataSet, list[Progress]]) -> None:
    assert made[1].hash == SMALL_PIXELS


def test_single_pictures() -> None:
    tiles = make_images.Tiles(0)
    request = {"seed": 0, "sizes": data.SIZES}
    drawn = {key: make_images.draw(request, *key, tiles).tobytes() for key in PICTURES}
    assert {key: hashlib.sha256(pixels).hexdigest() for key, pixels in drawn.items()} == PICTURES


def test_files_are_where_the_data_set_says(made: tuple[Path, DataSet, list[Progress]]) -> None:
    root, found, _ = made
    assert [
        Path(file.path).relative_to(root / SMALL.hash).as_posix() for file in (*found.train, *found.validation)
    ] == [
        "train/cats/cat.0.jpg",
        "train/dogs/dog.1.jpg",
        "train/cats/cat.2.jpg",
        "train/dogs/dog.3.jpg",
        "train/cats/cat.4.jpg",
        "validation/cats/cat.0.jpg",
        "validation/dogs/dog.1.jpg",
    ]
    assert [file.label for file in found.train] == [0, 1, 0, 1, 0]
    assert found.bytes == sum(Path(file.path).stat().st_size for file in (*found.train, *found.validation))
    assert found.all_jpeg
    assert found.class_folders is not None
    assert sorted(os.listdir(found.class_folders.train)) == list(found.classes)


def test_files_are_jpegs_of_the_sizes_asked_for(made: tuple[Path, DataSet, list[Progress]]) -> None:
    for file in made[1].train:
        with Image.open(file.path) as image:
            assert image.format == "JPEG"
            assert image.size in data.SIZES
            assert [(part[1], part[2]) for part in image.layer] == [(2, 2), (1, 1), (1, 1)]


def test_progress_grows_to_the_total(made: tuple[Path, DataSet, list[Progress]]) -> None:
    done = [event.done for event in made[2]]
    assert done == sorted(done)
    assert made[2][-1] == Progress("drawing images", 7, 7)


def draw_all(folder: Path, *, workers: int = 1, **more: object) -> dict[str, object]:
    """Draw the images of SMALL in this process; return the sums over workers."""
    request: dict[str, object] = {
        "folder": str(folder),
        "progress": str(folder / "progress"),
        "seed": 0,
        "quality": 85,
        "sizes": data.SIZES,
        "parts": [
            {"name": "train", "first": 0, "count": 5},
            {"name": "validation", "first": data.VALIDATION_FIRST, "count": 2},
        ],
        "workers": workers,
        **more,
    }
    for part in data.PARTS:
        for name in data.CLASSES:
            (folder / part / name).mkdir(parents=True)
    answers = [make_images.make({**request, "worker": worker}) for worker in range(workers)]
    pixels = sum(int(str(answer["pixels"]), 16) for answer in answers) % 2**256
    return {"count": sum(int(str(answer["count"])) for answer in answers), "pixels": f"{pixels:064x}"}


def test_number_of_workers_does_not_matter(tmp_path: Path) -> None:
    assert draw_all(tmp_path, workers=3) == {"count": 7, "pixels": SMALL_PIXELS}


def test_another_seed_gives_other_pixels(tmp_path: Path) -> None:
    assert draw_all(tmp_path, seed=1)["pixels"] != SMALL_PIXELS


def test_more_images_leave_the_first_as_they_are(made: tuple[Path, DataSet, list[Progress]], tmp_path: Path) -> None:
    parts = [
        {"name": "train", "first": 0, "count": 8},
        {"name": "validation", "first": data.VALIDATION_FIRST, "count": 3},
    ]
    draw_all(tmp_path, parts=parts)
    for file in (*made[1].train, *made[1].validation):
        name = Path(file.path).relative_to(made[1].folder)
        assert (tmp_path / name).read_bytes() == Path(file.path).read_bytes()


def test_specifications_have_hashes_of_their_own() -> None:
    variants = [
        Spec(),
        Spec(images=641),
        Spec(validation=201),
        Spec(seed=1),
        Spec(quality=84),
        Spec(sizes=((64, 64),)),
        Spec(generator=2),
    ]
    assert len({spec.hash for spec in variants}) == len(variants)
    assert Spec().hash == Spec().hash


@pytest.mark.parametrize(
    "wrong",
    [{"images": 1}, {"validation": -1}, {"seed": -1}, {"quality": 96}, {"sizes": ()}, {"sizes": ((2000, 64),)}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_impossible_specifications_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        msgspec.structs.replace(Spec(), **wrong)


def test_second_run_takes_the_cache(cache: Path) -> None:
    manifest = cache / SMALL.hash / image_cache.MANIFEST
    os.utime(manifest, (1, 1))
    found = ensure(IdleHost(), sys.executable, SMALL, root=cache)
    assert found.hash == SMALL_PIXELS
    assert found.how == "Generated by an earlier run, taken from the cache."
    assert time.time() - manifest.stat().st_mtime < 60


def spoil_missing(folder: Path) -> None:
    (folder / "train/cats/cat.0.jpg").unlink()


def spoil_cut(folder: Path) -> None:
    os.truncate(folder / "train/cats/cat.0.jpg", 1000)


def spoil_extra(folder: Path) -> None:
    (folder / "train/cats/cat.00.jpg").touch()


def spoil_manifest(folder: Path) -> None:
    (folder / image_cache.MANIFEST).write_text("{")


def spoil_no_manifest(folder: Path) -> None:
    (folder / image_cache.MANIFEST).unlink()


@pytest.mark.parametrize("spoil", [spoil_missing, spoil_cut, spoil_extra, spoil_manifest, spoil_no_manifest])
def test_damage_is_seen(cache: Path, spoil: Callable[[Path], None]) -> None:
    assert data._whole(cache / SMALL.hash, SMALL) is not None
    spoil(cache / SMALL.hash)
    assert data._whole(cache / SMALL.hash, SMALL) is None


def test_damaged_set_is_made_again(cache: Path) -> None:
    spoil_cut(cache / SMALL.hash)
    found = ensure(Host(), sys.executable, SMALL, root=cache)
    assert found.how.startswith("Made again, because the images in the cache were damaged")
    assert os.listdir(cache) == [SMALL.hash]
    ensure(IdleHost(), sys.executable, SMALL, root=cache)


def test_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ensure(InterruptedHost(), sys.executable, SMALL, root=tmp_path)
    assert os.listdir(tmp_path) == []


def test_set_that_another_process_finished_meanwhile_is_kept(cache: Path) -> None:
    ours = cache / "ours"
    ours.mkdir()
    before = (cache / SMALL.hash).stat().st_ino
    data._place(ours, cache / SMALL.hash, SMALL)
    assert (cache / SMALL.hash).stat().st_ino == before


def add_set(root: Path, name: str, megabytes: int, age_hours: float, *, whole: bool = True) -> Path:
    """Write a set with a manifest that claims a size, last used some hours ago."""
    folder = root / name
    folder.mkdir(parents=True)
    if whole:
        manifest = Manifest(
            spec={"seed": 3}, count=1, bytes=megabytes << 20, pixels="", files="", versions={}, seconds=1.0
        )
        image_cache.write_manifest(folder, manifest)
    then = time.time() - 3600 * age_hours
    os.utime(folder / image_cache.MANIFEST if whole else folder, (then, then))
    return folder


def test_sets_unused_for_longest_make_room_and_the_user_is_told(cache: Path) -> None:
    add_set(cache, "old", 40, age_hours=30)
    add_set(cache, "older", 40, age_hours=50)
    add_set(cache, "young", 40, age_hours=2)
    add_set(cache, "in-use", 90, age_hours=0.5)
    add_set(cache, f"x{image_cache.PARTIAL}left", 0, age_hours=2, whole=False)
    add_set(cache, f"x{image_cache.PARTIAL}at-work", 0, age_hours=0.5, whole=False)
    shutil.rmtree(cache / SMALL.hash)
    events: list[Progress] = []
    ensure(Host(), sys.executable, SMALL, events.append, root=cache, limit_bytes=140 << 20)
    assert sorted(os.listdir(cache)) == sorted([SMALL.hash, "young", "in-use", f"x{image_cache.PARTIAL}at-work"])
    assert [event.note for event in events if event.note] == [
        "removed older (42 MB) from the image cache to make room",
        "removed old (42 MB) from the image cache to make room",
        f"removed x{image_cache.PARTIAL}left (0 MB) from the image cache to make room",
    ]


def test_list_and_clear(tmp_path: Path) -> None:
    assert data.list_cached(tmp_path / "none") == []
    add_set(tmp_path, "b", 1, age_hours=2)
    add_set(tmp_path, "a", 1, age_hours=1)
    assert [item.folder.name for item in data.list_cached(tmp_path)] == ["a", "b"]
    assert [item.folder.name for item in data.clear(tmp_path)] == ["a", "b"]
    assert os.listdir(tmp_path) == []


def python_without_packages(tmp_path: Path) -> str:
    script = tmp_path / "bare python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_missing_numpy_is_told_with_the_command_that_helps(tmp_path: Path) -> None:
    python = python_without_packages(tmp_path)
    with pytest.raises(DataError) as caught:
        ensure(Host(environ={}), python, SMALL, root=tmp_path / "cache")
    assert str(caught.value) == (
        "drawing images needs NumPy and Pillow in the Python that is measured; install with: "
        f"'{python}' -m pip install numpy pillow"
    )
    assert os.listdir(tmp_path / "cache") == []


def test_python_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^drawing images failed: .*/none could not be started: No such file"):
        ensure(Host(), str(tmp_path / "none"), SMALL, root=tmp_path / "cache")


def test_cache_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"^images cannot be kept in .*/file/images: Not a directory$"):
        ensure(Host(), sys.executable, SMALL, root=tmp_path / "file" / "images")


def test_too_little_space_is_told_before_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(total=10, used=0, free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(DataError, match=r"^7 images need about 0 MB in .*, where 0 MB are free; ask for fewer images"):
        ensure(IdleHost(), sys.executable, SMALL, root=tmp_path)


def test_processes_by_cores_and_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_children, "usable_cores", lambda: 4)
    assert [data_children.split_evenly(total, 40) for total in (1, 79, 80, 1200)] == [1, 1, 2, 4]


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_valid_for_python_3_8(name: str) -> None:
    source = pkgutil.get_data("gpudoctor.workloads", f"{name}.py")
    assert source is not None
    ast.parse(source, feature_version=(3, 8))


def test_every_interpreter_with_numpy_draws_the_same_pixels(tmp_path: Path) -> None:
    able = {}
    for minor, path in interpreters().items():
        asked = subprocess.run([path, "-c", "import numpy, PIL"], capture_output=True, check=False)
        if asked.returncode == 0 and minor >= 8:
            able[minor] = path
    assert able, "the interpreter that runs the tests has NumPy and Pillow"
    hashes = {minor: ensure(Host(), path, SMALL, root=tmp_path / str(minor)).hash for minor, path in able.items()}
    assert set(hashes.values()) == {SMALL_PIXELS}
