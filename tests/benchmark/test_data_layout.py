"""The layouts in which people keep images, from file names alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpudoctor.benchmark import layout
from gpudoctor.benchmark.data_model import DataError
from gpudoctor.benchmark.layout import Classes, read_layout

SPLIT = [
    f"{part}/{kind}s/{kind}.{i}.jpg" for part in ("train", "validation") for kind in ("cat", "dog") for i in (1, 2)
]
PETS = ["Cat/0.jpg", "Cat/1.jpg", "Dog/0.jpg", "Dog/1.jpg"]
FLAT = ["cat.0.jpg", "cat.1.jpg", "dog.0.jpg", "dog.1.jpg"]


def grow(root: Path, names: Sequence[str]) -> str:
    """Make empty files; return the folder."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return str(root)


def counts(classes: Classes) -> dict[str, int]:
    return {name: len(files) for name, files in classes.items()}


@pytest.mark.parametrize(
    ("names", "train", "validation", "kind"),
    [
        (SPLIT, {"cats": 2, "dogs": 2}, {"cats": 2, "dogs": 2}, "train and validation, one folder per class"),
        (SPLIT[:4], {"cats": 2, "dogs": 2}, {}, "train alone, one folder per class"),
        (
            [
                "Training_Set/training_set/cats/1.jpg",
                "Training_Set/training_set/dogs/1.jpg",
                *["test set/t/cats/2.jpg"],
            ],
            {"cats": 1, "dogs": 1},
            {},
            "Training_Set alone, one folder per class",
        ),
        (
            [
                "training_set/training_set/cats/1.jpg",
                "training_set/training_set/dogs/1.jpg",
                "test_set/test_set/cats/2.jpg",
                "test_set/test_set/dogs/2.jpg",
            ],
            {"cats": 1, "dogs": 1},
            {"cats": 1, "dogs": 1},
            "training_set and test_set, one folder per class",
        ),
        (
            [*SPLIT[:4], "val/Cat/1.jpg", "val/Dog/1.jpg", "test/cats/9.jpg", "test/dogs/9.jpg"],
            {"cats": 2, "dogs": 2},
            {"cats": 1, "dogs": 1},
            "train and val, one folder per class",
        ),
        ([f"cats_and_dogs/{name}" for name in SPLIT], {"cats": 2, "dogs": 2}, {"cats": 2, "dogs": 2}, None),
        (PETS, {"Cat": 2, "Dog": 2}, {}, "one folder per class"),
        ([f"PetImages/{name}" for name in PETS], {"Cat": 2, "Dog": 2}, {}, "one folder per class"),
        ([f"a/b/{name}" for name in PETS], {"Cat": 2, "Dog": 2}, {}, None),
        ([f"{kind}/2020/{i}.png" for kind in "abc" for i in (1, 2)], {"a": 2, "b": 2, "c": 2}, {}, None),
        (FLAT, {"cat": 2, "dog": 2}, {}, "classes by file name"),
        ([f"images/{name}" for name in FLAT], {"cat": 2, "dog": 2}, {}, "classes by file name"),
        (
            [*(f"train/{name}" for name in FLAT), "test1/1.jpg", "test1/2.jpg"],
            {"cat": 2, "dog": 2},
            {},
            "train alone, classes by file name",
        ),
        (["Cat.0.JPG", "CAT_1.jpg", "dog 3 (copy).jpeg", "Dog-4.png"], {"cat": 2, "dog": 2}, {}, None),
        (
            ["american_bulldog_1.jpg", "american_bulldog_12.jpg", "Abyssinian_34.jpg", "Abyssinian_5.jpg", "one_1.jpg"],
            {"american_bulldog": 2, "abyssinian": 2},
            {},
            "classes by file name",
        ),
        ([*FLAT * 1, *(f"cat.{i}.jpg" for i in range(9)), "tiny_1.jpg", "tiny_2.jpg"], {"cat": 9, "dog": 2}, {}, None),
    ],
)
def test_known_layouts(
    tmp_path: Path, names: list[str], train: dict[str, int], validation: dict[str, int], kind: str | None
) -> None:
    found = read_layout(grow(tmp_path, names))
    assert (counts(found.train), counts(found.validation)) == (train, validation)
    assert found.classes == tuple(sorted(train))
    assert kind is None or found.kind == kind
    assert found.ignored == len(set(names)) - sum(train.values()) - sum(validation.values())


def test_what_is_no_image_is_ignored_and_counted(tmp_path: Path) -> None:
    junk = ["._cat.3.jpg", ".DS_Store", "Thumbs.db", "notes.txt", "cat.4.jpg.txt", "noending"]
    unseen = ["__MACOSX/cat.1.jpg", "__MACOSX/dog.1.jpg", ".ipynb_checkpoints/cat.1.jpg", ".git/x.jpg"]
    found = read_layout(grow(tmp_path, [*FLAT, *junk, *unseen]))
    assert counts(found.train) == {"cat": 2, "dog": 2}
    assert found.ignored == len(junk)


def test_class_folders_without_images_are_no_classes(tmp_path: Path) -> None:
    found = read_layout(grow(tmp_path, [*PETS, "empty/readme.txt"]))
    assert found.classes == ("Cat", "Dog")


def test_validation_images_of_unknown_classes_are_left_out(tmp_path: Path) -> None:
    found = read_layout(grow(tmp_path, [*SPLIT, "validation/birds/1.jpg"]))
    assert counts(found.validation) == {"cats": 2, "dogs": 2}
    assert found.ignored == 1


def test_links_are_followed(tmp_path: Path) -> None:
    grow(tmp_path / "store", PETS)
    (tmp_path / "data" / "train").mkdir(parents=True)
    (tmp_path / "data/train/cats").symlink_to(tmp_path / "store/Cat")
    (tmp_path / "data/train/dogs").symlink_to(tmp_path / "store/Dog")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert counts(read_layout(str(tmp_path / "link")).train) == {"cats": 2, "dogs": 2}


def test_links_in_circles_end(tmp_path: Path) -> None:
    grow(tmp_path, PETS)
    (tmp_path / "Cat/up").symlink_to(tmp_path)
    (tmp_path / "Dog/cats").symlink_to(tmp_path / "Cat")
    (tmp_path / "Dog/self.jpg").symlink_to(tmp_path / "Dog/self.jpg")
    found = read_layout(str(tmp_path))
    assert found.classes == ("Cat", "Dog")
    assert counts(found.train) == {"Cat": 2, "Dog": 2 + 2 + 1}


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    grow(tmp_path, PETS)
    raw = os.fsencode(tmp_path / "Cat") + b"/\xff\xfe.jpg"
    os.close(os.open(raw, os.O_CREAT | os.O_WRONLY))
    assert raw in {os.fsencode(path) for path in read_layout(str(tmp_path)).train["Cat"]}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "there are no images in {}"),
        (["readme.txt", "x/y.csv"], "there are no images in {}"),
        (
            ["cats/1.jpg", "cats/2.jpg"],
            f"{{}} holds images, but not two classes of them; known layouts: {layout.KNOWN}",
        ),
        (
            ["train/1.jpg", "test/2.jpg"],
            f"{{}} holds images, but not two classes of them; known layouts: {layout.KNOWN}",
        ),
        (["1.jpg", "2.jpg"], f"{{}} holds images, but not two classes of them; known layouts: {layout.KNOWN}"),
        (["IMG_1.jpg", "IMG_2.jpg"], f"{{}} holds images, but not two classes of them; known layouts: {layout.KNOWN}"),
    ],
)
def test_folders_without_classes(tmp_path: Path, names: list[str], message: str) -> None:
    folder = grow(tmp_path, names)
    with pytest.raises(DataError) as caught:
        read_layout(folder)
    assert str(caught.value) == message.format(folder)


def test_folder_that_is_none(tmp_path: Path) -> None:
    grow(tmp_path, ["file"])
    for name, why in (("none", "No such file or directory"), ("file", "Not a directory")):
        with pytest.raises(DataError) as caught:
            read_layout(str(tmp_path / name))
        assert str(caught.value) == f"{tmp_path / name} cannot be read: {why}"


def test_whole_file_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MOST_FOLDERS", 2)
    with pytest.raises(DataError, match="more than 2 folders below"):
        read_layout(grow(tmp_path, PETS))
