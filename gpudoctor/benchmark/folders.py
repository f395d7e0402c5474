"""The user's own images: classes recognised, files that cannot be decoded found and left out; none is changed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from gpudoctor.benchmark.data_children import Work, quiet_environment, run_work, usable_cores
from gpudoctor.benchmark.data_model import (
    ClassFolders,
    DataError,
    DataSet,
    ImageFile,
    OnProgress,
    Origin,
    Remark,
)
from gpudoctor.benchmark.layout import Classes, Layout, read_layout
from gpudoctor.facts.scratch import scratch_folder

if TYPE_CHECKING:
    from gpudoctor.facts.host import Host

VALIDATION_SHARE = 5  # where a folder has none to validate with, every fifth of each class is set aside


class Scan(Struct, frozen=True, kw_only=True):
    """The answer of scan_images.py: files are given by their index in the list that it got."""

    refused: dict[str, list[int]]
    odd: dict[str, list[int]]
    formats: dict[str, int]
    same: list[tuple[int, int]]
    sizes: list[int]
    tensorflow: str


def open_folder(
    host: Host,
    python: str,
    folder: str,
    *,
    images: int | None = None,
    validation: int | None = None,
    seed: int = 0,
    check_at_most: int | None = None,
    on_progress: OnProgress | None = None,
) -> DataSet:
    """Return the images in a folder that TensorFlow and Pillow in `python` can decode.

    images, validation: at most so many to train and to validate with, all classes alike; None: all. seed: of the
    choice. check_at_most: decode no more files than this; None: all that are there. Raises DataError.
    """
    layout = read_layout(folder)
    parts, found = _candidates(layout, check_at_most, seed)
    files = [*parts[0], *parts[1]]
    scan = _scan(host, python, files, on_progress)
    good, good_held = _good(layout, parts, folder, scan)
    chosen, aside = _choose(good, images, seed), _choose(good_held, validation, seed)
    sizes = dict(zip((file.path for file in files), scan.sizes, strict=True))
    return DataSet(
        origin=Origin.FOLDER,
        folder=os.path.abspath(folder),
        classes=layout.classes,
        train=chosen,
        validation=aside,
        bytes=sum(sizes[file.path] for file in (*chosen, *aside)),
        hash=_hash(folder, (*chosen, *aside), sizes),
        how=_sentence(layout, len(files), found, scan),
        formats=tuple(sorted(scan.formats.items(), key=lambda item: (-item[1], item[0]))),
        skipped=_remarks(files, scan.refused),
        odd=(*_remarks(files, scan.odd), *_duplicates(files, scan.same, len(parts[0]))),
        ignored=layout.ignored,
        checked=len(files),
        found=found,
    )


def class_folders(data: DataSet, scratch: Path) -> ClassFolders:
    """Return folders for flow_from_directory that hold exactly this data set: its own, or links made in `scratch`.

    scratch: an empty folder that the caller removes. The links end in .jpg whatever they point to, because Keras looks
    at names first; both decoders look at the content. Raises DataError where links cannot be made.
    """
    if data.class_folders is not None:
        return data.class_folders
    for part, files in (("train", data.train), ("validation", data.validation)):
        try:
            for name in data.classes:
                (scratch / part / name).mkdir(parents=True)
            for number, file in enumerate(files):
                (scratch / part / data.classes[file.label] / f"{number:07d}.jpg").symlink_to(file.path)
        except OSError as exc:
            raise DataError(f"links to the images cannot be made in {scratch}: {exc.strerror or exc}") from exc
    return ClassFolders(str(scratch / "train"), str(scratch / "validation") if data.validation else None)


def _candidates(layout: Layout, most: int | None, seed: int) -> tuple[list[tuple[ImageFile, ...]], int]:
    """Return the training and validation images to check, and how many images there are in all."""
    parts = _split(layout, seed)
    found = sum(map(len, parts))
    if most is not None and most < found:
        parts = [_choose(part, most * len(part) // found, seed) for part in parts]
    return parts, found


def _split(layout: Layout, seed: int) -> list[tuple[ImageFile, ...]]:
    """Return training and validation images; where a folder has none of the latter, some of each class are kept."""
    if layout.validation:
        return [_labelled(layout, layout.train), _labelled(layout, layout.validation)]
    train: list[ImageFile] = []
    held: list[ImageFile] = []
    for label, name in enumerate(layout.classes):
        files = _shuffled([ImageFile(path, label) for path in layout.train[name]], seed)
        aside = len(files) // VALIDATION_SHARE
        held += files[:aside]
        train += files[aside:]
    return [tuple(sorted(train, key=_path)), tuple(sorted(held, key=_path))]


def _labelled(layout: Layout, classes: Classes) -> tuple[ImageFile, ...]:
    labels = {name: label for label, name in enumerate(layout.classes)}
    files = (ImageFile(path, labels[name]) for name, paths in classes.items() for path in paths)
    return tuple(sorted(files, key=_path))


def _path(file: ImageFile) -> str:
    return file.path


def _shuffled(files: Iterable[ImageFile], seed: int) -> list[ImageFile]:
    """Return files in an order that depends on their names and the seed alone, so it is the same on other machines."""

    def key(file: ImageFile) -> bytes:
        return hashlib.sha256(f"{seed}:".encode() + os.fsencode(os.path.basename(file.path))).digest()

    return sorted(sorted(files, key=_path), key=key)


def _choose(files: Sequence[ImageFile], most: int | None, seed: int) -> tuple[ImageFile, ...]:
    """Return at most so many files, as equally many of each class as there are, in the order of their paths."""
    if most is None or most >= len(files):
        return tuple(files)
    turns: dict[int, int] = {}
    dealt: list[tuple[int, int, ImageFile]] = []
    for file in _shuffled(files, seed):
        turns[file.label] = turns.get(file.label, 0) + 1
        dealt.append((turns[file.label], file.label, file))
    dealt.sort(key=lambda item: item[:2])
    return tuple(sorted((file for _, _, file in dealt[:most]), key=_path))


def _scan(host: Host, python: str, files: Sequence[ImageFile], on_progress: OnProgress | None) -> Scan:
    with scratch_folder() as scratch:
        names, progress = scratch / "names.json", scratch / "progress"
        names.write_text(json.dumps([file.path for file in files]), encoding="ascii")
        request = {"list": str(names), "progress": str(progress), "threads": usable_cores()}
        work = Work(
            program="scan_images",
            task="checking images",
            python=python,
            requests=(request,),
            environ=quiet_environment(host.environ, CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3"),
            progress=progress,
            total=len(files),
        )
        answer = run_work(host, work, on_progress)[0]
    try:
        return msgspec.convert(answer, type=Scan)
    except msgspec.ValidationError as exc:
        raise DataError(f"checking images failed: {exc}") from exc


def _good(layout: Layout, parts: list[tuple[ImageFile, ...]], folder: str, scan: Scan) -> list[tuple[ImageFile, ...]]:
    """Return the parts without the files that do not decode. Raises DataError where a class loses all."""
    bad = {index for indices in scan.refused.values() for index in indices}
    numbers = itertools.count()
    good = [tuple(file for file in part if next(numbers) not in bad) for part in parts]
    _require_classes(layout, good[0], folder, scan)
    return good


def _require_classes(layout: Layout, good: Sequence[ImageFile], folder: str, scan: Scan) -> None:
    """Raise DataError, with the most frequent reason, where a class has no image left to train on."""
    left = {file.label for file in good}
    empty = [name for label, name in enumerate(layout.classes) if label not in left]
    if empty:
        reason = max(scan.refused, key=lambda text: len(scan.refused[text]), default="none was chosen")
        raise DataError(f"no image of {', '.join(empty)} in {folder} can be used; most frequent reason: {reason}")


def _remarks(files: Sequence[ImageFile], found: dict[str, list[int]]) -> tuple[Remark, ...]:
    remarks = (Remark(files[index].path, reason) for reason, indices in found.items() for index in indices)
    return tuple(sorted(remarks, key=lambda remark: (remark.path, remark.reason)))


def _duplicates(files: Sequence[ImageFile], same: Iterable[tuple[int, int]], boundary: int) -> tuple[Remark, ...]:
    """Return the files whose bytes another file has too; in training and validation alike, they flatter the result."""
    remarks = []
    for first, second in same:
        across = " of the other part: validation does not tell what was learnt" if first < boundary <= second else ""
        if files[first].label != files[second].label:
            across += "; the two are in different classes"
        remarks.append(Remark(files[second].path, f"has the same bytes as {files[first].path}{across}"))
    return tuple(remarks)


def _hash(folder: str, files: Iterable[ImageFile], sizes: dict[str, int]) -> str:
    """Return a hash of names, labels and sizes, not of contents; where the folder lies does not matter."""
    total = hashlib.sha256()
    for file in files:
        name = os.path.relpath(file.path, os.path.abspath(folder))
        total.update(os.fsencode(name) + f"\0{file.label} {sizes[file.path]}\n".encode())
    return total.hexdigest()


def _sentence(layout: Layout, checked: int, found: int, scan: Scan) -> str:
    bad = sum(map(len, scan.refused.values()))
    share = "all" if checked == found else f"{checked:,} of {found:,}"
    refused = f"{bad:,} cannot be decoded and are skipped" if bad else "all can be decoded"
    return f"Layout: {layout.kind}. Checked {share} images with TensorFlow {scan.tensorflow}: {refused}."
