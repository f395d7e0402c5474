"""Find the image files that TensorFlow cannot decode, before a training stumbles over one of them an hour later.

Started as `python - FD REQUEST`; needs TensorFlow 2.10 or newer and Pillow, Python 3.8 or newer. The request:
  list: a JSON file with the paths of the files; progress: a file that grows by one byte for each; threads
Writes one JSON object to descriptor FD. Files are given by their index in the list:
  refused: {reason: [index, ...]} cannot be decoded; odd: {remark: [index, ...]} can be, but deserve a word
  same: [[index, index], ...] the second file has the same bytes as the first
  formats: {format: count} of the good ones, by content; sizes: bytes of each file; tensorflow: version

TensorFlow decides, because which formats it knows depends on its version, and because it is stricter than Pillow: it
refuses a JPEG without an end marker. Pillow has a say too, as ImageDataGenerator reads with it. The well-known recipe
that deletes files without "JFIF" in their first bytes is not used: it throws good photos away, and keeps damaged ones.
"""

import sys

sys.path[:] = [p for p in sys.path if p]

import hashlib
import io
import json
import os
import warnings
from multiprocessing.pool import ThreadPool

import tensorflow as tf
from PIL import Image

# First bytes, and what they begin. https://en.wikipedia.org/wiki/List_of_file_signatures
SIGNATURES = (
    (b"\xff\xd8", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"\xff\x0a", "jpeg xl"),
    (b"\0\0\0\x0cJXL ", "jpeg xl"),
    (b"%PDF", "pdf"),
    (b"PK\x03\x04", "zip"),
)
BRANDS = {b"heic": "heic", b"heix": "heic", b"mif1": "heic", b"msf1": "heic", b"avif": "avif", b"avis": "avif"}
# What TensorFlow has decoders for, in some version at least; the rest it does not recognise.
DECODED = ("jpeg", "png", "gif", "bmp", "webp")
ENDINGS = {"jpg": "jpeg", "jpeg": "jpeg", "jpe": "jpeg", "jfif": "jpeg"}
TINY_PIXELS = 32
HUGE_PIXELS = 50 * 1000 * 1000


class Checked:
    """What was found out about one file. reason: why it cannot be decoded, empty if it can."""

    def __init__(self, size: int = 0, reason: str = "") -> None:
        self.size = size
        self.reason = reason
        self.format = ""
        self.odd = []  # type: list[str]
        self.digest = b""


def check(path: str) -> Checked:
    """Decode one file as the training would."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as exc:
        return Checked(reason="cannot be read: %s" % (exc.strerror or exc))
    checked = Checked(len(content))
    checked.format = sniff(content)
    try:
        decode(content, checked.format)
    except tf.errors.ResourceExhaustedError:
        checked.reason = "is too large for the memory that is free"
        return checked
    except (tf.errors.OpError, ValueError) as exc:
        checked.reason = explain(checked.format, content, str(exc))
        return checked
    checked.reason, mode, width, height = ask_pillow(content, checked.format)
    checked.odd = remarks(path, checked.format, mode, width, height)
    checked.digest = hashlib.sha256(content).digest()
    return checked


def decode(content: bytes, form: str) -> None:
    """Decode with TensorFlow; raises what TensorFlow raises.

    JPEG is decoded to an eighth of its size: all data is still read, so all damage is found, in two thirds of the time
    and without 500 MB for one huge picture.
    """
    if form == "jpeg":
        tf.io.decode_jpeg(content, channels=3, ratio=8)
    else:
        tf.io.decode_image(content, channels=3, expand_animations=False)


def sniff(content: bytes) -> str:
    """Return the format that the first bytes tell, whatever the file's name says; empty if none is known."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    if content[4:8] == b"ftyp":
        return BRANDS.get(content[8:12], "")
    return next((name for start, name in SIGNATURES if content.startswith(start)), "")


def explain(form: str, content: bytes, error: str) -> str:
    """Return why TensorFlow refuses a file, in words that say what the file is."""
    if not content:
        return "is empty"
    if form and (form not in DECODED or "Unknown image file format" in error):
        return "is %s, which TensorFlow %s does not decode" % (form.upper(), tf.__version__)
    if form == "jpeg" and not content.rstrip(b"\0").endswith(b"\xff\xd9"):
        return "is a JPEG that ends too early: the last part is missing"
    if form:
        return "is a damaged %s" % form.upper()
    start = content[:512].lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer; `git lfs pull` fetches the picture"
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<svg")):
        return "is a web page or other markup, no picture"
    if not content.strip(b"\0"):
        return "holds nothing but zero bytes"
    return "is no picture that TensorFlow knows"


def ask_pillow(content: bytes, form: str) -> "tuple[str, str, int, int]":
    """Return why Pillow refuses a file (empty if it does not), its mode such as RGB or CMYK, its width and height.

    JPEG is decoded by the same library in both: the header is enough. Both refuse more than 178,956,970 pixels.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            if form != "jpeg":
                image.load()
            return "", image.mode, image.width, image.height
    except Exception as exc:  # noqa: BLE001 (Pillow raises what its parsers raise: OSError, SyntaxError, struct.error, ...)
        text = str(exc).split("<_io")[0].strip()
        reason = "is refused by Pillow, which ImageDataGenerator reads with: %s" % (text or type(exc).__name__)
        return reason, "", 0, 0


def remarks(path: str, form: str, mode: str, width: int, height: int) -> "list[str]":
    """Return what is odd about a file that can be decoded."""
    found = []
    ending = os.path.splitext(path)[1][1:].lower()
    if ENDINGS.get(ending, ending) != form:
        found.append("is %s by content, not what its ending says" % form.upper())
    if min(width, height) < TINY_PIXELS:
        found.append("is less than %d pixels wide or high" % TINY_PIXELS)
    if width * height > HUGE_PIXELS:
        found.append("has more than %d megapixels: decoding it takes much memory and time" % (HUGE_PIXELS // 10**6))
    if mode == "CMYK":
        found.append("has CMYK colours, which TensorFlow and Pillow convert differently")
    if mode.startswith("I"):
        found.append("has 16 bits per channel, which TensorFlow and Pillow convert differently")
    return found


def collect(paths: "list[str]", threads: int, progress: str) -> "dict[str, object]":
    """Check all files. TensorFlow gives up the interpreter lock while it decodes, so threads share the work."""
    refused = {}  # type: dict[str, list[int]]
    odd = {}  # type: dict[str, list[int]]
    formats = {}  # type: dict[str, int]
    first = {}  # type: dict[bytes, int]
    same = []  # type: list[list[int]]
    sizes = []  # type: list[int]
    with ThreadPool(threads) as pool, open(progress, "ab", buffering=0) as done:
        for index, checked in enumerate(pool.imap(check, paths, chunksize=8)):
            done.write(b".")
            sizes.append(checked.size)
            if checked.reason:
                refused.setdefault(checked.reason, []).append(index)
                continue
            formats[checked.format or "other"] = formats.get(checked.format or "other", 0) + 1
            for remark in checked.odd:
                odd.setdefault(remark, []).append(index)
            earlier = first.setdefault(checked.digest, index)
            if earlier != index:
                same.append([earlier, index])
    return {"refused": refused, "odd": odd, "formats": formats, "same": same, "sizes": sizes}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Pillow's warning of large pictures is one of our remarks
    request = json.loads(sys.argv[2])
    with open(request["list"], encoding="ascii") as names:
        result = collect(json.load(names), request["threads"], request["progress"])
    result["tensorflow"] = tf.__version__
    with os.fdopen(int(sys.argv[1]), "w") as answer:
        json.dump(result, answer)
