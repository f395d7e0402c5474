"""Recognise how people lay out images of several classes in a folder. Reads names only, never a file's content."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.benchmark.data_model import DataError

# TensorFlow decodes some of these, Pillow others; which files can be used is found out by decoding them.
ENDINGS = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".avif")
)
JUNK = frozenset(("thumbs.db", "desktop.ini", "__macosx", "__pycache__", "$recycle.bin"))
TRAIN = frozenset(("train", "training", "train_set", "training_set", "trainset", "trn"))
VALIDATION = frozenset(("validation", "valid", "val", "validation_set", "val_set", "dev"))
TEST = frozenset(("test", "testing", "test_set", "testing_set", "testset", "test1", "tst"))
DEEPEST = 6
MOST_FOLDERS = 20_000
WRAPPERS = 2  # folders around the images that hold nothing else, as archives leave them: PetImages, train/train
CAT_AND_DOG_SHARE = 0.8
KNOWN = (
    "train/cats and train/dogs (with validation/cats, validation/dogs or without), one folder per class, "
    "or cat.1.jpg and dog.1.jpg side by side"
)


class Folder(Struct, kw_only=True):
    """A folder as it was read. images: file names; files: how many files in all, junk included."""

    path: str
    name: str
    images: list[str]
    folders: list[Folder]
    files: int

    def walk(self) -> Iterator[str]:
        """Yield the paths of all images below."""
        for name in self.images:
            yield os.path.join(self.path, name)
        for inner in self.folders:
            yield from inner.walk()

    @property
    def has_images(self) -> bool:
        """Whether there is an image here or below."""
        return next(self.walk(), None) is not None

    @property
    def part(self) -> str:
        """The name as it is compared with names of parts."""
        return re.sub(r"[ -]", "_", self.name.lower())

    def count_files(self) -> int:
        """Return how many files there are here and below."""
        return self.files + sum(inner.count_files() for inner in self.folders)


Classes = dict[str, list[str]]  # class name: paths of its images


class Layout(Struct, frozen=True, kw_only=True):
    """What was recognised. kind: in words. validation: empty where the folder has none. ignored: files of no use."""

    kind: str
    classes: tuple[str, ...]
    train: Classes
    validation: Classes
    ignored: int


def read_layout(path: str) -> Layout:
    """Return the classes in a folder. Raises DataError, with what is wrong and which layouts are known."""
    root = _read(os.path.abspath(path), [], [0])
    found = _recognise(root, WRAPPERS)
    if found is None:
        if not root.has_images:
            raise DataError(f"there are no images in {path}")
        raise DataError(f"{path} holds images, but not two classes of them; known layouts: {KNOWN}")
    kind, train, validation = found
    used = sum(len(files) for part in (train, validation) for files in part.values())
    return Layout(
        kind=kind, classes=tuple(sorted(train)), train=train, validation=validation, ignored=root.count_files() - used
    )


def _read(path: str, above: list[tuple[int, int]], count: list[int]) -> Folder:
    """Read a folder and those below. above: identities of the folders on the way here; no link may lead back."""
    count[0] += 1
    if count[0] > MOST_FOLDERS:
        raise DataError(f"there are more than {MOST_FOLDERS:,} folders below {path}: name the folder of the images")
    folder = Folder(path=path, name=os.path.basename(path), images=[], folders=[], files=0)
    try:
        status = os.stat(path)
        here = [*above, (status.st_dev, status.st_ino)]
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as exc:
        raise DataError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    for entry in entries:
        junk = entry.name.startswith(".") or entry.name.lower() in JUNK
        if _is_folder(entry):
            if not junk and len(here) <= DEEPEST and _identity(entry) not in here:
                folder.folders.append(_read(entry.path, here, count))
            continue
        folder.files += 1
        if not junk and os.path.splitext(entry.name)[1].lower() in ENDINGS:
            folder.images.append(entry.name)
    return folder


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in circles: as a file it will be found to be unreadable
        return False


def _identity(entry: os.DirEntry[str]) -> tuple[int, int]:
    status = entry.stat()  # of what a link points to
    return status.st_dev, status.st_ino


def _recognise(folder: Folder, wrappers: int) -> tuple[str, Classes, Classes] | None:
    """Return the kind of layout, training and validation images; parts first, since their folders look like classes."""
    train = _part(folder, TRAIN)
    if train is not None and (found := _classes(train, WRAPPERS)):
        for names in (VALIDATION, TEST):
            other = _part(folder, names)
            if other is not None and (validation := _classes(other, WRAPPERS)):
                return f"{train.name} and {other.name}, {found[0]}", found[1], _matched(found[1], validation[1])
        return f"{train.name} alone, {found[0]}", found[1], {}
    if found := _classes(folder, 0):
        return found[0], found[1], {}
    inner = _wrapped(folder)
    return _recognise(inner, wrappers - 1) if inner is not None and wrappers else None


def _part(folder: Folder, names: frozenset[str]) -> Folder | None:
    return next((inner for inner in folder.folders if inner.part in names and inner.has_images), None)


def _wrapped(folder: Folder) -> Folder | None:
    inner = [inner for inner in folder.folders if inner.has_images]
    return inner[0] if len(inner) == 1 and not folder.images else None


def _classes(folder: Folder, wrappers: int) -> tuple[str, Classes] | None:
    """Return the classes of one part and how they are told apart."""
    inner = [f for f in folder.folders if f.part not in TRAIN | VALIDATION | TEST and f.has_images]
    if len(inner) > 1:
        return "one folder per class", {f.name: list(f.walk()) for f in inner}
    if by_name := _classes_by_name(folder):
        return "classes by file name", by_name
    wrapped = _wrapped(folder)
    return _classes(wrapped, wrappers - 1) if wrapped is not None and wrappers else None


def _classes_by_name(folder: Folder) -> Classes | None:
    """Group files such as cat.12.jpg, american_bulldog_7.jpg and "dog 3 (copy).jpg" by what comes before the number."""
    groups: Classes = {}
    for name in folder.images:
        if match := re.match(r"([^\W\d_].*?)[\s._-]*\(?\d", name):
            groups.setdefault(match[1].lower(), []).append(os.path.join(folder.path, name))
    counts = Counter({name: len(files) for name, files in groups.items()})
    if counts["cat"] and counts["dog"] and counts["cat"] + counts["dog"] >= CAT_AND_DOG_SHARE * len(folder.images):
        return {name: groups[name] for name in ("cat", "dog")}
    several = {name: files for name, files in groups.items() if len(files) > 1}
    return several if len(several) > 1 else None


def _matched(train: Classes, validation: Classes) -> Classes:
    """Return the validation images under the names that the classes have in training: Cats and cat are one."""
    names = {_plain(name): name for name in train}
    return {names[_plain(name)]: files for name, files in validation.items() if _plain(name) in names}


def _plain(name: str) -> str:
    return name.lower().removesuffix("s")
