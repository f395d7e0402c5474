"""The folder of generated images: one sub-folder for each specification, complete or absent.

A set is written beside its place and renamed into it at the end, with a manifest. What lies there and does not agree
with its manifest is treated as absent.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

import msgspec
from msgspec import Struct

MANIFEST = "manifest.json"
SCHEMA = 1
PARTIAL = ".partial-"
# Nobody tells us that a set is in use, but each use touches the manifest.
IN_USE_SECONDS = 3600.0
ABANDONED_SECONDS = 3600.0


class Manifest(Struct, frozen=True, kw_only=True):
    """What was made. count: images; bytes: of them all; pixels, files: hashes; versions: of what made them."""

    schema: int = SCHEMA
    spec: dict[str, object]
    count: int
    bytes: int
    pixels: str
    files: str
    versions: dict[str, str]
    seconds: float


class CachedSet(Struct, frozen=True, kw_only=True):
    """A set in the cache. manifest: None for what an interrupted run left. used: seconds since the epoch."""

    folder: Path
    manifest: Manifest | None
    bytes: int
    used: float


def cache_root() -> Path:
    """Return the folder of all generated images; it need not exist."""
    from platformdirs import user_cache_path  # here: only few commands need it

    return user_cache_path("gpudoctor", appauthor=False) / "images"


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a set, None where there is none that can be read."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return manifest if manifest.schema == SCHEMA else None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest: the last step before a set is renamed into its place."""
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def is_whole(folder: Path, manifest: Manifest, names: set[str]) -> bool:
    """Whether exactly these files are there, with as many bytes as were written. Contents are not read."""
    found: set[str] = set()
    size = 0
    for path, length in _files(folder):
        name = path.relative_to(folder).as_posix()
        if name != MANIFEST:
            found.add(name)
            size += length
    return found == names and size == manifest.bytes and len(names) == manifest.count


def touch(folder: Path) -> None:
    """Remember that a set was used now; a cache that may only be read is no obstacle."""
    try:
        os.utime(folder / MANIFEST)
    except OSError:
        return


def cached_sets(root: Path) -> list[CachedSet]:
    """Return what is in the cache, the most recently used first."""
    sets = []
    for folder in root.iterdir() if os.path.isdir(root) else ():
        with contextlib.suppress(FileNotFoundError):  # another process removed it just now
            if folder.is_dir():
                sets.append(_look(folder))
    return sorted(sets, key=lambda item: (-item.used, item.folder.name))


def _look(folder: Path) -> CachedSet:
    manifest = read_manifest(folder)
    marker = folder / MANIFEST if manifest else folder
    size = manifest.bytes if manifest else sum(length for _, length in _files(folder))
    return CachedSet(folder=folder, manifest=manifest, bytes=size, used=marker.stat().st_mtime)


def make_room(root: Path, keep: Path, limit_bytes: int) -> list[CachedSet]:
    """Remove the sets that were not used for longest until all fit; return them.

    keep, and what was used within the last hour, stays whatever its size: another benchmark may be reading it.
    """
    sets = cached_sets(root)
    now = time.time()
    total = sum(item.bytes for item in sets)
    removed = []
    for item in reversed(sets):
        abandoned = item.manifest is None and now - item.used > ABANDONED_SECONDS
        too_much = item.manifest is not None and total > limit_bytes and now - item.used > IN_USE_SECONDS
        if item.folder != keep and (abandoned or too_much):
            remove(item.folder)
            total -= item.bytes
            removed.append(item)
    return removed


def remove(folder: Path) -> None:
    """Remove a set. It is renamed first, so that nobody finds half of it under its name. Raises OSError."""
    doomed = folder.with_name(f"{folder.name.partition(PARTIAL)[0]}{PARTIAL}{os.getpid()}-{time.monotonic_ns()}")
    folder.rename(doomed)
    shutil.rmtree(doomed)


def _files(folder: Path) -> list[tuple[Path, int]]:
    return [(path, path.stat().st_size) for path in folder.rglob("*") if not path.is_dir()]
