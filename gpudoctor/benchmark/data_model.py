"""What the benchmark trains on, however it came about: files with their classes."""

from __future__ import annotations

import enum
from collections.abc import Callable

from msgspec import Struct


class DataError(Exception):
    """There are no images to train on; the text is a sentence for the user, with the command that helps if there is."""


class Progress(Struct, frozen=True):
    """How far a task is: `done` of `total` images. note: something done on the way that the user should know."""

    task: str
    done: int
    total: int
    note: str = ""


OnProgress = Callable[[Progress], None]


class Origin(enum.Enum):
    """Where images come from."""

    GENERATED = "generated"
    FOLDER = "folder"


class ImageFile(Struct, frozen=True):
    """One image: absolute path, and the index of its class.

    A path whose bytes are not UTF-8 holds surrogates: give it to TensorFlow as os.fsencode(path).
    """

    path: str
    label: int


class Remark(Struct, frozen=True):
    """A file and what is to be said of it, as a sentence part: why it is skipped, or what is odd about it."""

    path: str
    reason: str


class ClassFolders(Struct, frozen=True):
    """Folders with one sub-folder per class that hold exactly the data set's files; validation: None without any."""

    train: str
    validation: str | None


class DataSet(Struct, frozen=True, kw_only=True):
    """Images to train on and to validate with; all of them decode.

    folder: where they lie. classes: their names; labels are indices of it. bytes: of all files together. hash: of the
    pixels if generated, else of names, sizes and labels. how: one sentence on how it came about.
    formats: ("jpeg", count) and so on, by content, most frequent first: where all are jpeg, tf.io.decode_jpeg will do,
    else tf.io.decode_image with expand_animations=False is needed. class_folders: None where the layout has none, see
    links.class_folders. skipped: files that do not decode. odd: files that are used and yet deserve a word.
    ignored: files that are no images, or belong to no class. checked: files that were decoded to see whether they can
    be; found: image files in the folder.
    """

    origin: Origin
    folder: str
    classes: tuple[str, ...]
    train: tuple[ImageFile, ...]
    validation: tuple[ImageFile, ...]
    bytes: int
    hash: str
    how: str
    formats: tuple[tuple[str, int], ...]
    class_folders: ClassFolders | None = None
    skipped: tuple[Remark, ...] = ()
    odd: tuple[Remark, ...] = ()
    ignored: int = 0
    checked: int = 0
    found: int = 0

    @property
    def all_jpeg(self) -> bool:
        """Whether tf.io.decode_jpeg can decode all files."""
        return [name for name, _ in self.formats] == ["jpeg"]
