"""The user's own images: what TensorFlow cannot decode is found, nothing is changed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from bench.workloads import make_images
from gpudoctor.benchmark import folders
from gpudoctor.benchmark.data_model import ClassFolders, DataError, DataSet, ImageFile, Origin, Progress
from gpudoctor.benchmark.folders import class_folders, open_folder
from gpudoctor.facts.host import ChildOutcome, ChildRun, Host

EARLY = "is a JPEG that ends too early: the last part is missing"


def encode(kind: str, image: Image.Image, **options: object) -> bytes:
    memory = io.BytesIO()
    image.save(memory, kind, **options)
    return memory.getvalue()


def picture() -> Image.Image:
    tiles = make_images.Tiles(0)
    return Image.fromarray(make_images.draw({"seed": 0, "sizes": [(96, 72)]}, 0, False, tiles))


def image_files() -> dict[str, tuple[bytes, str, str]]:
    """Return file name -> content, why it must be skipped, what must be remarked."""
    image = picture()
    jpeg = encode("JPEG", image)
    tiny = encode("PNG", Image.new("I;16", (40, 30)))
    return {
        "gray.jpg": (encode("JPEG", image.convert("L")), "", ""),
        "progressive.JPG": (encode("JPEG", image, progressive=True), "", ""),
        "no jfif.jpeg": (jpeg[:2] + jpeg[20:], "", ""),
        "trailing.jpg": (jpeg + b"x" * 777, "", ""),
        "cmyk.jpg": (
            encode("JPEG", image.convert("CMYK")),
            "",
            "has CMYK colours, which TensorFlow and Pillow convert differently",
        ),
        "gif.jpg": (encode("GIF", image), "", "is GIF by content, not what its ending says"),
        "bmp.jpg": (encode("BMP", image), "", "is BMP by content, not what its ending says"),
        "png.jpg": (encode("PNG", image.convert("RGBA")), "", "is PNG by content, not what its ending says"),
        "webp.jpg": (encode("WEBP", image), "", "is WEBP by content, not what its ending says"),
        "png16.png": (
            tiny,
            "",
            "is less than 32 pixels wide or high; "
            "has 16 bits per channel, which TensorFlow and Pillow convert differently",
        ),
        "animated.gif": (encode("GIF", image, save_all=True, append_images=[image.rotate(90)]), "", ""),
        "half.jpg": (jpeg[: len(jpeg) // 2], EARLY, ""),
        "header.jpg": (jpeg[:300], EARLY, ""),
        "no end.jpg": (jpeg[:-2], EARLY, ""),
        "only markers.jpg": (jpeg[:2] + jpeg[-2:], "is a damaged JPEG", ""),
        "half.png": (encode("PNG", image)[:2000], "is a damaged PNG", ""),
        "empty.jpg": (b"", "is empty", ""),
        "zeros.jpg": (bytes(5000), "holds nothing but zero bytes", ""),
        "page.jpg": (b"<!DOCTYPE html><title>404</title>", "is a web page or other markup, no picture", ""),
        "lfs.jpg": (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "is a Git LFS pointer; `git lfs pull` fetches the picture",
            "",
        ),
        "scan.jpg": (encode("TIFF", image), "is TIFF, which TensorFlow {} does not decode", ""),
        "phone.jpg": (b"\0\0\0\x18ftypheic" + bytes(64), "is HEIC, which TensorFlow {} does not decode", ""),
        "words.jpg": (b"hello, world" * 9, "is no picture that TensorFlow knows", ""),
        "강아지.jpg": (encode("JPEG", image.rotate(180)), "", ""),
    }


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> tuple[folders.Scan, list[str], list[Progress]]:
    """The real check in the interpreter of the tests, once."""
    root = tmp_path_factory.mktemp("odd")
    for name, (content, _, _) in image_files().items():
        (root / name).write_bytes(content)
    (root / "loop.jpg").symlink_to(root / "loop.jpg")
    (root / "raw.jpg").write_bytes((root / "gray.jpg").read_bytes())
    os.rename(root / "raw.jpg", os.fsencode(root) + b"/\xff.jpg")
    names = sorted(os.listdir(root))
    events: list[Progress] = []
    files = [ImageFile(str(root / name), 0) for name in names]
    return folders._scan(Host(), sys.executable, files, events.append), names, events


def test_what_tensorflow_refuses_is_skipped_with_the_reason(
    scanned: tuple[folders.Scan, list[str], list[Progress]],
) -> None:
    scan, names, _ = scanned
    found = {names[index]: reason for reason, indices in scan.refused.items() for index in indices}
    wanted = {name: why.format(scan.tensorflow) for name, (_, why, _) in image_files().items() if why}
    assert found == {**wanted, "loop.jpg": "cannot be read: Too many levels of symbolic links"}


def test_what_is_odd_is_remarked(scanned: tuple[folders.Scan, list[str], list[Progress]]) -> None:
    scan, names, _ = scanned
    found: dict[str, list[str]] = {}
    for remark, indices in scan.odd.items():
        for index in indices:
            found.setdefault(names[index], []).append(remark)
    wanted = {name: remark for name, (_, _, remark) in image_files().items() if remark}
    assert {name: "; ".join(remarks) for name, remarks in found.items()} == wanted


def test_formats_sizes_and_equal_files(scanned: tuple[folders.Scan, list[str], list[Progress]]) -> None:
    scan, names, events = scanned
    assert scan.formats == {"jpeg": 7, "gif": 2, "bmp": 1, "png": 2, "webp": 1}
    contents = {name: len(content) for name, (content, _, _) in image_files().items()}
    assert {name: size for name, size in zip(names, scan.sizes, strict=True) if name in contents} == contents
    assert [(names[a], os.fsencode(names[b])) for a, b in scan.same] == [("gray.jpg", b"\xff.jpg")]
    assert events[-1] == Progress("checking images", len(names), len(names))


MUTATE = """
import io, os, random, sys
sys.path.insert(0, sys.argv[1])
import scan_images
from PIL import Image

tf, dice, wrong, refused = scan_images.tf, random.Random(1), [], 0
image = Image.effect_mandelbrot((96, 72), (-2, -1, 1, 1), 40).convert("RGB")
sources = []
for options in ({}, {"progressive": True}, {"restart_marker_rows": 1}):
    for mode in ("RGB", "L", "CMYK"):
        memory = io.BytesIO()
        image.convert(mode).save(memory, "JPEG", **options)
        sources.append(memory.getvalue())
for number in range(400):
    content = bytearray(sources[number % len(sources)])
    place, length = dice.randrange(2, len(content)), dice.randrange(1, 60)
    change = [bytes(dice.randrange(256) for _ in range(length)), b""][number % 2]
    content[place : len(content) if number % 3 == 0 else place + length * (number % 3 - 1)] = change
    with open(sys.argv[2], "wb") as file:
        file.write(content)
    try:
        tf.io.decode_image(bytes(content), channels=3, expand_animations=False)
        Image.open(io.BytesIO(content)).convert("RGB")
        decodes = True
    except Exception:
        decodes = False
    refused += not decodes
    if (scan_images.check(sys.argv[2]).reason == "") is not decodes:
        wrong.append(number)
print(wrong, 40 < refused < 360)
"""


def test_damaged_jpegs_are_judged_as_by_a_whole_decode(tmp_path: Path) -> None:
    workloads = Path(make_images.__file__).parent
    command = [sys.executable, "-c", MUTATE, str(workloads), str(tmp_path / "x.jpg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[] True\n", done.stderr[-2000:]


class ListedHost(Host):
    """A machine whose TensorFlow refuses every file with "bad" in its name; each file has ten bytes."""

    def run_child(self, *arguments: object, **more: object) -> ChildRun:
        environ, request = more["environ"], arguments[1]
        assert isinstance(environ, dict)
        assert isinstance(request, dict)
        assert environ["CUDA_VISIBLE_DEVICES"] == "-1"
        names = json.loads(Path(request["list"]).read_text())
        bad = [index for index, name in enumerate(names) if "bad" in Path(name).name]
        good = len(names) - len(bad)
        result: dict[str, object] = {
            "refused": {"is empty": bad} if bad else {},
            "odd": {},
            "formats": {"jpeg": good},
            "same": [[0, len(names) - 1]],
            "sizes": [10] * len(names),
            "tensorflow": "2.99",
        }
        return ChildRun(outcome=ChildOutcome.OK, result=result)


def pets(root: Path, each: int, *, part: str = ".", bad: int = 0) -> None:
    for kind in ("Cat", "Dog"):
        (root / part / kind).mkdir(parents=True)
        for i in range(each):
            (root / part / kind / f"{'bad' if i < bad else ''}{i}.jpg").touch()


def opened(
    root: Path,
    *,
    images: int | None = None,
    validation: int | None = None,
    seed: int = 0,
    check_at_most: int | None = None,
) -> DataSet:
    return open_folder(
        ListedHost(),
        "python",
        str(root),
        images=images,
        validation=validation,
        seed=seed,
        check_at_most=check_at_most,
    )


def labels(files: tuple[ImageFile, ...]) -> dict[int, int]:
    return {label: sum(file.label == label for file in files) for label in (0, 1)}


def test_every_fifth_is_kept_for_validation_where_a_folder_has_none(tmp_path: Path) -> None:
    pets(tmp_path, 20)
    found = opened(tmp_path)
    assert (labels(found.train), labels(found.validation)) == ({0: 16, 1: 16}, {0: 4, 1: 4})
    assert not {file.path for file in found.train} & {file.path for file in found.validation}
    assert found == opened(tmp_path)
    assert {file.path for file in opened(tmp_path, seed=1).validation} != {file.path for file in found.validation}
    assert found.how == ("Layout: one folder per class. Checked all images with TensorFlow 2.99: all can be decoded.")
    assert (found.origin, found.classes, found.bytes) == (Origin.FOLDER, ("Cat", "Dog"), 400)


def test_bad_files_are_skipped_counted_and_listed(tmp_path: Path) -> None:
    pets(tmp_path, 5, part="train", bad=2)
    pets(tmp_path, 3, part="valid", bad=1)
    found = opened(tmp_path)
    assert (labels(found.train), labels(found.validation)) == ({0: 3, 1: 3}, {0: 2, 1: 2})
    assert [os.path.relpath(remark.path, tmp_path) for remark in found.skipped] == [
        "train/Cat/bad0.jpg",
        "train/Cat/bad1.jpg",
        "train/Dog/bad0.jpg",
        "train/Dog/bad1.jpg",
        "valid/Cat/bad0.jpg",
        "valid/Dog/bad0.jpg",
    ]
    assert {remark.reason for remark in found.skipped} == {"is empty"}
    assert (found.checked, found.found) == (16, 16)
    assert found.how.endswith("TensorFlow 2.99: 6 cannot be decoded and are skipped.")


def test_a_choice_takes_all_classes_alike(tmp_path: Path) -> None:
    pets(tmp_path, 20)
    for i in range(100):
        (tmp_path / "Dog" / f"more{i}.jpg").touch()
    found = opened(tmp_path, images=10, validation=4)
    assert (labels(found.train), labels(found.validation)) == ({0: 5, 1: 5}, {0: 2, 1: 2})
    found = opened(tmp_path, images=50)
    assert labels(found.train) == {0: 16, 1: 34}


def test_only_so_many_are_checked(tmp_path: Path) -> None:
    pets(tmp_path, 50)
    found = opened(tmp_path, check_at_most=20)
    assert (found.checked, found.found) == (20, 100)
    assert (labels(found.train), labels(found.validation)) == ({0: 8, 1: 8}, {0: 2, 1: 2})
    assert "Checked 20 of 100 images" in found.how


def test_equal_files_in_both_parts_and_classes_are_told(tmp_path: Path) -> None:
    pets(tmp_path, 1, part="train")
    pets(tmp_path, 1, part="test")
    (remark,) = opened(tmp_path).odd
    assert remark.path == str(tmp_path / "test/Dog/0.jpg")
    assert remark.reason == (
        f"has the same bytes as {tmp_path / 'train/Cat/0.jpg'} of the other part: validation does not tell what was "
        "learnt; the two are in different classes"
    )


def test_class_without_a_good_image(tmp_path: Path) -> None:
    pets(tmp_path, 3)
    for file in (tmp_path / "Dog").iterdir():
        file.rename(file.with_name(f"bad{file.name}"))
    with pytest.raises(DataError) as caught:
        opened(tmp_path)
    assert str(caught.value) == f"no image of Dog in {tmp_path} can be used; most frequent reason: is empty"


def test_hash_is_of_names_labels_and_sizes_not_of_the_place(tmp_path: Path) -> None:
    pets(tmp_path / "a", 5)
    pets(tmp_path / "b", 5)
    assert opened(tmp_path / "a").hash == opened(tmp_path / "b").hash
    (tmp_path / "b/Dog/0.jpg").rename(tmp_path / "b/Dog/00.jpg")
    assert opened(tmp_path / "a").hash != opened(tmp_path / "b").hash


def snapshot(root: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def test_links_stand_for_class_folders_and_nothing_is_changed(tmp_path: Path) -> None:
    pets(tmp_path / "data", 10, bad=1)
    (tmp_path / "scratch").mkdir()
    before = snapshot(tmp_path / "data")
    found = opened(tmp_path / "data")
    made = class_folders(found, tmp_path / "scratch")
    assert snapshot(tmp_path / "data") == before
    assert made.validation is not None
    for folder, files in ((made.train, found.train), (made.validation, found.validation)):
        links = {str(link.resolve()): link.parent.name for link in Path(folder).rglob("*.jpg")}
        assert links == {file.path: found.classes[file.label] for file in files}


def test_own_class_folders_are_used_where_there_are_any(tmp_path: Path) -> None:
    own = ClassFolders("/x/train", None)
    found = DataSet(
        origin=Origin.GENERATED,
        folder="/x",
        classes=("cats", "dogs"),
        train=(ImageFile("/x/train/cats/1.jpg", 0),),
        validation=(),
        bytes=1,
        hash="",
        how="",
        formats=(),
        class_folders=own,
    )
    assert class_folders(found, tmp_path) == own
    assert os.listdir(tmp_path) == []


def test_links_that_cannot_be_made(tmp_path: Path) -> None:
    pets(tmp_path / "data", 5)
    (tmp_path / "scratch").touch()
    with pytest.raises(DataError, match=r"^links to the images cannot be made in .*: Not a directory$"):
        class_folders(opened(tmp_path / "data"), tmp_path / "scratch")


def test_crash_of_the_checking_process_is_told(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho cannot load libtensorflow >&2\nkill -SEGV $$\n")
    script.chmod(0o755)
    pets(tmp_path / "data", 5)
    with pytest.raises(DataError) as caught:
        open_folder(Host(), str(script), str(tmp_path / "data"))
    assert str(caught.value).startswith(f"checking images failed: {script} was ended by SIGSEGV (")
    assert "cannot load libtensorflow" in str(caught.value) or "Segmentation" in str(caught.value)
