"""Draw cats and dogs: JPEG files that cost as much to decode as photos, and that are the same on every machine.

Started as `python - FD REQUEST`; needs NumPy 1.21 or newer and Pillow, Python 3.8 or newer. The request:
  folder: where to put them; progress: a file that grows by one byte for each image
  seed, quality, sizes: [[width, height], ...] to choose from
  parts: [{name, first, count}]: image i of a part is folder/<name>/<cats or dogs>/<cat or dog>.<i>.jpg, drawn from the
    random stream first + i; even numbers are cats
  worker, workers: this process draws every image whose turn, counted over all parts, is worker modulo workers
Writes one JSON object to descriptor FD: count, bytes, pixels (hash of what was drawn), files (hash of the JPEG files)
and the versions that made them. The pixels depend on nothing but the request: all arithmetic is on integers, and random
numbers are the raw words of PCG64, which NumPy promises not to change, unlike its distributions
(https://numpy.org/doc/stable/reference/random/compatibility.html). The JPEG bytes also depend on the JPEG library.
"""

import sys

sys.path[:] = [p for p in sys.path if p]

import hashlib
import io
import json
import os

import numpy as np
import PIL
from PIL import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy.typing as npt

    Ints = npt.NDArray[np.int32]
    Mask = npt.NDArray[np.bool_]

TILE = 1024  # pixels; a power of two, larger than any picture
TILES, TINTS = 3, 1
# Cell sizes of the noise in pixels, and how far each reaches in grey levels. Photos have amplitudes near 1/frequency;
# white noise would take twice as long to decode as a photo, a flat colour half as long.
OCTAVES = ((256, 34), (128, 26), (64, 20), (32, 15), (16, 11), (8, 8), (4, 6), (2, 5))
TINT_OCTAVES = ((256, 20), (64, 12), (16, 5))
UNIT = 64  # shapes are tested in 1/64 of their radius
BACKGROUND, FUR, MARKING, LIGHT, DARK = range(5)  # materials


class Dice:
    """Random integers from the raw words of one stream."""

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(list(key))

    def bytes(self, count: int) -> "Ints":
        """Return `count` numbers from 0 to 255, the low byte of a word first, whatever this machine's byte order."""
        words = self._bits.random_raw(-(-count // 8))
        return np.asarray(words, dtype="<u8").view(np.uint8)[:count].astype(np.int32)

    def between(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._bits.random_raw()) % (high - low + 1)


def value_noise(dice: Dice, octaves: "tuple[tuple[int, int], ...]") -> "npt.NDArray[np.int16]":
    """Return a TILE x TILE plane of noise around 0: random grids of several cell sizes, each interpolated, added up."""
    total = np.zeros((TILE, TILE), np.int32)
    for cell, reach in octaves:
        points = TILE // cell + 1
        grid = (dice.bytes(points * points).reshape(points, points) - 128) * reach
        narrow = np.ascontiguousarray(stretch(grid, cell).T)
        total += stretch(narrow, cell) >> 7
    return total.astype(np.int16)


def stretch(grid: "Ints", cell: int) -> "Ints":
    """Interpolate between rows: n + 1 rows become n * cell. A shift divides several times faster than //."""
    step = np.arange(cell, dtype=np.int32)[None, :, None]
    between = grid[:-1, None, :] * (cell - step) + grid[1:, None, :] * step
    return between.reshape(-1, grid.shape[1]) >> (cell.bit_length() - 1)


class Sheet:
    """Coordinates of a picture, and the shapes that can be cut from it."""

    def __init__(self, width: int, height: int) -> None:
        self.x = np.arange(width, dtype=np.int32)
        self.y = np.arange(height, dtype=np.int32)
        self.materials = np.full((height, width), BACKGROUND, np.uint8)

    def ellipse(self, material: int, x: int, y: int, across: int, down: int) -> None:
        """Paint an ellipse around (x, y) with these radii."""
        box = self.box(x - across, y - down, x + across, y + down)
        u = (self.x[box[1]] - x) * UNIT // max(across, 1)
        v = (self.y[box[0]] - y) * UNIT // max(down, 1)
        self.paint(material, box, (u * u)[None, :] + (v * v)[:, None] <= UNIT * UNIT)

    def triangle(self, material: int, corners: "list[tuple[int, int]]") -> None:
        """Paint a triangle: the pixels that lie on the inner side of all three edges."""
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        box = self.box(min(xs), min(ys), max(xs), max(ys))
        x, y = self.x[box[1]], self.y[box[0]]
        (ax, ay), (bx, by), (cx, cy) = corners
        turn = 1 if (bx - ax) * (cy - ay) >= (by - ay) * (cx - ax) else -1
        inside = np.ones((len(y), len(x)), np.bool_)
        for (px, py), (qx, qy) in zip(corners, corners[1:] + corners[:1]):
            side = ((qx - px) * (y - py))[:, None] - ((qy - py) * (x - px))[None, :]
            inside &= side * turn >= 0
        self.paint(material, box, inside)

    def box(self, left: int, top: int, right: int, bottom: int) -> "tuple[slice, slice]":
        """Return the part of the sheet that a shape can touch: testing only these pixels is what makes it fast."""
        return slice(max(top, 0), max(bottom + 1, 0)), slice(max(left, 0), max(right + 1, 0))

    def paint(self, material: int, box: "tuple[slice, slice]", where: "Mask") -> None:
        """Set the material of the pixels in a box."""
        np.copyto(self.materials[box], np.uint8(material), where=where)


def draw_cat(sheet: Sheet, x: int, y: int, r: int, dice: Dice) -> None:
    """Draw a round head with pointed ears, and stripes on forehead and cheeks."""
    tip, lean = r * dice.between(135, 165) // 100, r * dice.between(70, 95) // 100
    for side in (-1, 1):
        ear = [(x + side * lean, y - tip), (x + side * r, y - r // 8), (x + side * r // 6, y - r * 9 // 10)]
        sheet.triangle(FUR, ear)
    sheet.ellipse(FUR, x, y, r, r)
    width = max(r // dice.between(10, 14), 1)
    for column in (-2, -1, 0, 1, 2):
        sheet.ellipse(MARKING, x + column * r // 4, y - r * 6 // 10, width, r * (5 - abs(column)) // 14)
    for side in (-1, 1):
        for row in (0, 1):
            sheet.ellipse(MARKING, x + side * r * 2 // 3, y + r * (2 + row * 4) // 15, r // 4, width)
    draw_face(sheet, x, y, r)


def draw_dog(sheet: Sheet, x: int, y: int, r: int, dice: Dice) -> None:
    """Draw a round head with ears that hang down at the sides, and a blotch around one eye."""
    long, drop = r * dice.between(80, 100) // 100, r * dice.between(5, 35) // 100
    sheet.ellipse(FUR, x, y, r, r)
    for side in (-1, 1):
        sheet.ellipse(MARKING, x + side * r * 11 // 12, y + drop, r * dice.between(30, 42) // 100, long)
    eye = dice.between(0, 1) * 2 - 1
    sheet.ellipse(MARKING, x + eye * r * 2 // 5, y - r // 5, r * dice.between(24, 34) // 100, r // 3)
    sheet.ellipse(LIGHT, x, y + r // 2, r // 2, r * 2 // 5)
    draw_face(sheet, x, y, r)


def draw_face(sheet: Sheet, x: int, y: int, r: int) -> None:
    """Draw eyes and a nose, which cats and dogs share."""
    for side in (-1, 1):
        sheet.ellipse(LIGHT, x + side * r * 2 // 5, y - r // 6, r // 6, r // 7)
        sheet.ellipse(DARK, x + side * r * 2 // 5, y - r // 6, r // 12, r // 8)
    sheet.ellipse(DARK, x, y + r * 2 // 5, r // 8, r // 10)


def choose_palette(dice: Dice) -> "npt.NDArray[np.int16]":
    """Return a colour for each material: nothing about cats or dogs, so that colour cannot tell them apart."""
    fur = [dice.between(60, 200) for _ in range(3)]
    # The background differs from the fur by at least a quarter of the range, in all channels the same way.
    away = dice.between(70, 120) * (1 if sum(fur) < 3 * 130 else -1)
    background = [channel + away + dice.between(-20, 20) for channel in fur]
    darker = dice.between(45, 75)
    marking = [channel - darker for channel in fur]
    return np.array([background, fur, marking, [225, 220, 205], [25, 22, 20]], np.int16)


def draw(request: "dict[str, Any]", number: int, is_dog: bool, tiles: "Tiles") -> "npt.NDArray[np.uint8]":
    """Return one picture, height x width x 3."""
    dice = Dice(request["seed"], 1, number)
    width, height = request["sizes"][dice.between(0, len(request["sizes"]) - 1)]
    sheet = Sheet(width, height)
    r = min(width, height) * dice.between(30, 40) // 100
    x, y = dice.between(r, width - r), dice.between(min(r * 3 // 2, height // 2), height - r)
    (draw_dog if is_dog else draw_cat)(sheet, x, y, r, dice)
    planes = np.take(choose_palette(dice).T, sheet.materials, axis=1)
    planes += tiles.crop(tiles.noise, width, height, dice)
    tint = tiles.crop(tiles.tint, width, height, dice)
    planes[0] += tint
    planes[2] -= tint
    picture = np.empty((height, width, 3), np.uint8)
    for channel in range(3):
        picture[:, :, channel] = np.clip(planes[channel], 0, 255)
    return picture


class Tiles:
    """The noise that all pictures are cut from; to make new noise for each would take ten times as long."""

    def __init__(self, seed: int) -> None:
        dice = Dice(seed, 0)
        self.noise = [value_noise(dice, OCTAVES) for _ in range(TILES)]
        self.tint = [value_noise(dice, TINT_OCTAVES) for _ in range(TINTS)]

    def crop(
        self, tiles: "list[npt.NDArray[np.int16]]", width: int, height: int, dice: Dice
    ) -> "npt.NDArray[np.int16]":
        """Return a random piece of a random tile."""
        left, top = dice.between(0, TILE - width), dice.between(0, TILE - height)
        return tiles[dice.between(0, len(tiles) - 1)][top : top + height, left : left + width]


def turns(request: "dict[str, Any]") -> "Iterator[tuple[int, bool, str]]":
    """Yield stream number, whether a dog, and path of each image that this worker draws."""
    turn = 0
    for part in request["parts"]:
        for i in range(part["count"]):
            if turn % request["workers"] == request["worker"]:
                kind = "dog" if i % 2 else "cat"
                yield part["first"] + i, bool(i % 2), os.path.join(part["name"], kind + "s", f"{kind}.{i}.jpg")
            turn += 1


def make(request: "dict[str, Any]") -> "dict[str, object]":
    """Write this worker's images. Hashes are sums of the SHA-256 of each, so the number of workers does not matter."""
    tiles = Tiles(request["seed"])
    count = size = pixels = files = 0
    with open(request["progress"], "ab", buffering=0) as progress:
        for number, is_dog, path in turns(request):
            picture = draw(request, number, is_dog, tiles)
            memory = io.BytesIO()
            Image.fromarray(picture).save(memory, "JPEG", quality=request["quality"], subsampling="4:2:0")
            jpeg = memory.getvalue()
            with open(os.path.join(request["folder"], path), "xb") as file:
                file.write(jpeg)
            count += 1
            size += len(jpeg)
            pixels += digest(path, picture.shape, picture.data)
            files += digest(path, (len(jpeg),), jpeg)
            progress.write(b".")
    return {"count": count, "bytes": size, "pixels": hexadecimal(pixels), "files": hexadecimal(files)}


def digest(path: str, shape: "tuple[int, ...]", content: "bytes | memoryview") -> int:
    """Return the SHA-256 of a file's name, shape and content as a number."""
    head = "{} {}\n".format(path.replace(os.sep, "/"), "x".join(map(str, shape)))
    total = hashlib.sha256(head.encode("ascii"))
    total.update(content)
    return int.from_bytes(total.digest(), "big")


def hexadecimal(total: int) -> str:
    """Return a sum of digests, modulo 2**256, as 64 characters."""
    return "%064x" % (total % (1 << 256))


if __name__ == "__main__":
    result = make(json.loads(sys.argv[2]))
    result["versions"] = {"python": sys.version.split()[0], "numpy": np.__version__, "pillow": PIL.__version__}
    with os.fdopen(int(sys.argv[1]), "w") as answer:
        json.dump(result, answer)
