"""Which images a run gets, and which ones show whether a mode learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.benchmark import pictures
from gpudoctor.benchmark.data import Spec
from gpudoctor.benchmark.data_model import ClassFolders, DataSet, ImageFile, Origin, Remark
from gpudoctor.benchmark.options import BenchOptions, Effort, Mode
from gpudoctor.benchmark.pictures import Pictures, prepare
from gpudoctor.facts.host import Host

CPU = (Mode.CPU,)


@pytest.fixture
def own(tmp_path: Path) -> DataSet:
    """Four images of the user's that lie in no folder for each class."""
    files = []
    for number in range(4):
        path = tmp_path / f"{'cat' if number % 2 else 'dog'}.{number}.jpg"
        path.write_bytes(b"x")
        files.append(ImageFile(str(path), number % 2))
    return DataSet(
        origin=Origin.FOLDER,
        folder=str(tmp_path),
        classes=("cat", "dog"),
        train=tuple(files[:2]),
        validation=tuple(files[2:]),
        bytes=4,
        hash="h",
        how="Yours.",
        formats=(("jpeg", 3), ("png", 1)),
        skipped=tuple(Remark(f"bad{number}", "truncated") for number in range(60)),
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, own: DataSet) -> list[Spec]:
    """Specifications of the images that were generated; those of the user are always `own`."""
    seen: list[Spec] = []

    def ensure(_: Host, __: str, spec: Spec, *___: object) -> DataSet:
        seen.append(spec)
        image = ImageFile("/made/train/cats/0.jpg", 0)
        return DataSet(
            origin=Origin.GENERATED,
            folder="/made",
            classes=("cats", "dogs"),
            train=(image,) * spec.images,
            validation=(image,) * spec.validation,
            bytes=1,
            hash=spec.hash,
            how="Made.",
            formats=(("jpeg", 1),),
            class_folders=ClassFolders("/made/train", "/made/validation"),
        )

    monkeypatch.setattr(pictures, "ensure", ensure)
    monkeypatch.setattr(pictures, "open_folder", lambda *_, **__: own)
    return seen


def get(options: BenchOptions, scratch: Path) -> Pictures:
    scratch.mkdir()
    return prepare(Host(), "python", options, scratch, None)


def test_generated_images_are_also_those_of_the_learning_check(asked: list[Spec], tmp_path: Path) -> None:
    found = get(BenchOptions(modes=CPU), tmp_path / "s")
    assert found.verify == found.folders
    assert [(spec.images, spec.validation, spec.seed) for spec in asked] == [(640, 200, 0)]
    assert (found.folders.images, found.folders.all_jpeg, found.data.train_images) == (640, True, 640)


@pytest.mark.parametrize(
    ("options", "images"),
    [
        (BenchOptions(modes=CPU, effort=Effort.QUICK), 320),
        (BenchOptions(modes=CPU, effort=Effort.FULL), 25_000),
        (BenchOptions(modes=(Mode.CPU, Mode.GPU_BASELINE)), 2560),
        (BenchOptions(modes=(Mode.CPU, Mode.GPU_BASELINE), images=64), 64),
    ],
)
def test_how_many_images_are_made(asked: list[Spec], tmp_path: Path, options: BenchOptions, images: int) -> None:
    get(options, tmp_path / "s")
    assert asked[0].images == images


def test_the_users_images_are_linked_by_class_and_show_nothing_of_learning(
    asked: list[Spec], own: DataSet, tmp_path: Path
) -> None:
    found = get(BenchOptions(modes=CPU, data="somewhere"), tmp_path / "s")
    assert not asked and found.verify is None
    names = sorted(path.relative_to(tmp_path / "s").as_posix() for path in (tmp_path / "s").rglob("*.jpg"))
    assert len(names) == 4 and {name.split("/")[1] for name in names} == {"cat", "dog"}
    assert not found.folders.all_jpeg
    assert len(found.data.skipped) == 51 and found.data.skipped[-1] == "and 10 more"
    assert found.data.skipped[0] == "bad0: truncated"


def test_a_learning_check_that_is_asked_for_gets_generated_images(asked: list[Spec], tmp_path: Path) -> None:
    found = get(BenchOptions(modes=CPU, data="somewhere", verify=True), tmp_path / "s")
    assert found.verify is not None and found.verify.train == "/made/train"
    assert found.folders.train.startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("options", "checked"),
    [
        (BenchOptions(modes=CPU, verify=False), False),
        (BenchOptions(modes=CPU, effort=Effort.QUICK), False),
        (BenchOptions(modes=CPU, effort=Effort.QUICK, verify=True), True),
    ],
)
def test_when_there_is_no_learning_check(
    asked: list[Spec], tmp_path: Path, options: BenchOptions, checked: bool
) -> None:
    assert (get(options, tmp_path / "s").verify is not None) is checked
    assert asked
