"""The images of a run: generated ones, or those of the user's folder."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from gpudoctor.benchmark.data import Spec, ensure
from gpudoctor.benchmark.data_model import DataSet, OnProgress, Origin
from gpudoctor.benchmark.folders import class_folders, open_folder
from gpudoctor.benchmark.options import VALIDATION_IMAGES, BenchOptions, Effort, Mode
from gpudoctor.benchmark.plan import Folders
from gpudoctor.benchmark.results import Data
from gpudoctor.facts.host import Host

MOST_SKIPPED_LISTED = 50


class Pictures(Struct, frozen=True, kw_only=True):
    """Where to train, where to see whether anything is learned (None: nowhere), and what to say of the data."""

    folders: Folders
    verify: Folders | None
    data: Data


def prepare(host: Host, python: str, options: BenchOptions, scratch: Path, on_progress: OnProgress | None) -> Pictures:
    """Return the images that the options ask for; makes them if need be. Raises DataError.

    scratch: an empty folder for links to the user's images, which the caller removes when the run is over.
    """
    find = _folder if options.data else _generated
    chosen = find(host, python, options, on_progress)
    folders = _folders(chosen, scratch)
    verify = folders if chosen.origin is Origin.GENERATED else None
    if verify is None and options.verify:
        verify = _folders(_generated(host, python, BenchOptions(modes=(Mode.CPU,)), on_progress), scratch)
    if options.verify is False or (options.verify is None and options.effort is Effort.QUICK):
        verify = None
    if verify is not None and not verify.validation:
        verify = None
    return Pictures(folders=folders, verify=verify, data=_description(chosen))


def _generated(host: Host, python: str, options: BenchOptions, on_progress: OnProgress | None) -> DataSet:
    spec = Spec(
        images=options.image_count(on_gpu=_on_gpu(options)),
        validation=VALIDATION_IMAGES[options.effort],
        seed=options.seed,
    )
    return ensure(host, python, spec, on_progress)


def _on_gpu(options: BenchOptions) -> bool:
    return any(mode.on_gpu for mode in options.modes)


def _folder(host: Host, python: str, options: BenchOptions, on_progress: OnProgress | None) -> DataSet:
    return open_folder(
        host,
        python,
        options.data or "",
        images=options.image_count(on_gpu=_on_gpu(options)),
        validation=VALIDATION_IMAGES[options.effort],
        seed=options.seed,
        on_progress=on_progress,
    )


def _folders(found: DataSet, scratch: Path) -> Folders:
    places = class_folders(found, scratch)
    return Folders(
        train=places.train,
        validation=places.validation or "",
        images=len(found.train),
        all_jpeg=found.all_jpeg,
    )


def _description(found: DataSet) -> Data:
    skipped = [f"{item.path}: {item.reason}" for item in found.skipped]
    more = [f"and {len(skipped) - MOST_SKIPPED_LISTED} more"] if len(skipped) > MOST_SKIPPED_LISTED else []
    return Data(
        origin=found.origin.value,
        hash=found.hash,
        classes=found.classes,
        train_images=len(found.train),
        validation_images=len(found.validation),
        bytes=found.bytes,
        how=found.how,
        skipped=(*skipped[:MOST_SKIPPED_LISTED], *more),
    )
