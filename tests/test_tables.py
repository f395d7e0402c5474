"""The bundled tables: made from their input, well formed, and true of the TensorFlow at hand."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import importlib.util
import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor import compat
from gpudoctor.compat.bundle import TableError, load, read_bytes
from gpudoctor.compat.rows import (
    TYPES,
    CudaArch,
    CudaDriver,
    CudaPin,
    Cudnn,
    DriverBranch,
    Gpu,
    Horovod,
    KerasRow,
    OfficialBuild,
    PipRoute,
    PlatformFact,
    Row,
    Wheel,
)

ROOT = Path(__file__).resolve().parent.parent
NAMES = sorted(TYPES)

# What tells the rows of a table apart: two rows with one key would contradict or repeat each other.
KEYS: dict[str, tuple[str, ...]] = {
    "conda_cuda": ("platform", "from_tensorflow"),
    "cuda_archs": ("cuda",),
    "cuda_drivers": ("cuda",),
    "cuda_libraries": ("library", "from_cuda"),
    "cuda_pins": ("tensorflow", "package", "extra", "platform"),
    "cudnn": ("first", "cuda_major", "highest_cc"),
    "docker_images": ("from_tensorflow",),
    "driver_branches": ("branch",),
    "fatbins": ("tensorflow", "package"),
    "gpu_code": ("tensorflow", "package", "platform"),
    "gpus": ("name", "compute_capability", "pci_ids"),
    "horovod": ("horovod",),
    "keras": ("tensorflow",),
    "pip_routes": ("from_tensorflow",),
    "platforms": ("topic", "platform", "from_tensorflow", "to_tensorflow", "value"),
    "symbol_versions": ("platform", "from_tensorflow"),
    "tensorflow_builds": ("tensorflow", "os", "device", "package", "pythons"),
    "tensorflow_libraries": ("library",),
    "tensorflow_wheels": ("tensorflow", "package", "platform"),
}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "tools" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_what_the_generator_makes(generator: ModuleType) -> None:
    made = {name: text.encode() for name, text in generator.render_all().items()}
    shipped = {path.name: path.read_bytes() for path in (ROOT / "compat_tables").glob("*.json")}
    assert made.keys() == shipped.keys()
    assert [name for name in made if made[name] != shipped[name]] == []


def test_the_generator_refuses_a_row_without_a_known_source(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keras.csv").write_text("tensorflow,confidence,source\n2.21.0,high,nowhere\n", encoding="utf-8")
    monkeypatch.setattr(generator, "INPUT", tmp_path)
    with pytest.raises(ValueError, match=r"keras\.csv, line 2: unknown confidence or source"):
        generator.table_rows("keras", {"s01": "a document"})


def test_every_shipped_table_has_a_row_type() -> None:
    assert {path.stem for path in (ROOT / "compat_tables").glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_schema_name_date_sources_and_rows(name: str) -> None:
    table = load(TYPES[name])
    assert (table.schema, table.name) == (1, name)
    assert dt.date.fromisoformat(table.retrieved) >= dt.date(2026, 11, 30)
    assert table.rows
    assert all(source.strip() for source in table.sources)
    assert {row.source for row in table.rows} == set(range(len(table.sources)))


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_one_row_a_line_and_nothing_of_the_machine_that_made_it(name: str) -> None:
    text = read_bytes(name).decode("ascii")
    assert len(text.splitlines()) == len(load(TYPES[name]).rows) + 2
    assert not re.search(r"[\s\"]/[a-z]|https?://", text)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_rows_have_the_same_key(name: str) -> None:
    keys = Counter(tuple(getattr(row, field) for field in KEYS[name]) for row in load(TYPES[name]).rows)
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_row_with_an_unknown_field_is_an_error_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text = read_bytes("keras").decode().replace('"built_in"', '"builtin"', 1)
    monkeypatch.setattr("gpudoctor.compat.bundle.read_bytes", lambda _name: text.encode())
    monkeypatch.setattr("gpudoctor.compat.bundle._loaded", {})
    with pytest.raises(TableError, match=r"table keras: .*builtin.* - at `\$\.rows\[0\]`"):
        load(KerasRow)


def test_a_table_under_another_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text = read_bytes("keras").decode().replace('"name":"keras"', '"name":"keros"', 1)
    monkeypatch.setattr("gpudoctor.compat.bundle.read_bytes", lambda _name: text.encode())
    monkeypatch.setattr("gpudoctor.compat.bundle._loaded", {})
    with pytest.raises(TableError, match="'keros', expected 1 of 'keras'"):
        load(KerasRow)


def test_tables_lists_each_with_its_date_and_number_of_rows() -> None:
    listed = {info.name: (info.retrieved, info.rows) for info in compat.tables()}
    assert listed == {name: (load(kind).retrieved, len(load(kind).rows)) for name, kind in TYPES.items()}
    assert listed["tensorflow_wheels"] == ("2026-11-30", 708)


def _versions(row: Row, *fields: str) -> list[Version]:
    return [Version(text) for field in fields if (text := getattr(row, field))]


def test_every_version_parses() -> None:
    for wheel in load(Wheel).rows:
        _versions(wheel, "tensorflow", "glibc", "cuda", "cudnn")
    for driver in load(CudaDriver).rows:
        _versions(driver, "cuda", "branch", "toolkit_linux", "toolkit_windows", "minor_linux", "minor_windows")
    for branch in load(DriverBranch).rows:
        _versions(branch, "branch", "cuda_max")
    for pin in load(CudaPin).rows:
        _versions(pin, "tensorflow")
        SpecifierSet(pin.specifier)
    for keras in load(KerasRow).rows:
        _versions(keras, "tensorflow")
        [Version(text) for text in keras.tf_keras]
    for horovod in load(Horovod).rows:
        _versions(horovod, "horovod", "tensorflow_min", "tensorflow_max_tested", "tensorflow_max_reported")
    for build in load(OfficialBuild).rows:
        _versions(build, "tensorflow")
    for fact in load(PlatformFact).rows:
        _versions(fact, "from_tensorflow", "to_tensorflow")


def test_requirement_texts_of_wheels_parse() -> None:
    for wheel in load(Wheel).rows:
        for name in ("keras", "numpy", "protobuf", "h5py", "ml_dtypes"):
            for part in filter(None, getattr(wheel, name).split(" | ")):
                specifier, _, marker = part.partition(" ; ")
                own = specifier if specifier.startswith("keras-nightly") else f"{name.replace('_', '-')} {specifier}"
                Requirement(f"{own}; {marker}" if marker else own)


def test_every_compute_capability_parses() -> None:
    for gpu in load(Gpu).rows:
        assert compat.capability(gpu.compute_capability)
    for arch in load(CudaArch).rows:
        targets = {compat.capability(text) for text in arch.targets}
        assert compat.capability(arch.lowest_cc) == min(targets)
    for row in load(Cudnn).rows:
        assert compat.capability(row.lowest_cc) < compat.capability(row.highest_cc.replace("x", "0"))


def test_dates_are_days() -> None:
    for wheel in load(Wheel).rows:
        assert dt.date.fromisoformat(wheel.released) <= dt.date.fromisoformat(load(Wheel).retrieved)
    for horovod in load(Horovod).rows:
        dt.date.fromisoformat(horovod.released)


def test_a_ranges_end_is_not_before_its_begin_and_ranges_do_not_overlap() -> None:
    routes = sorted(load(PipRoute).rows, key=lambda row: Version(row.from_tensorflow))
    for row in routes:
        assert Version(row.from_tensorflow) <= Version(row.to_tensorflow)
    for row, following in pairwise(routes):
        assert Version(row.to_tensorflow) < Version(following.from_tensorflow)
    for cudnn in load(Cudnn).rows:
        assert Version(cudnn.first) <= Version(cudnn.last)


def test_every_release_with_a_cuda_wheel_has_exactly_one_pip_route() -> None:
    for wheel in compat.cuda_wheels("linux-x86_64"):
        assert compat.pip_route(wheel.tensorflow)


def test_platform_rows_of_one_topic_overlap_only_where_their_trust_differs() -> None:
    groups: dict[tuple[str, str], list[PlatformFact]] = defaultdict(list)
    for row in load(PlatformFact).rows:
        if row.topic in {"glibc minimum", "python"}:
            groups[row.topic, row.platform].append(row)
    for rows in groups.values():
        rows.sort(key=lambda row: Version(row.from_tensorflow))
        for row, following in pairwise(row for row in rows if row.confidence is compat.Trust.HIGH):
            assert Version(row.to_tensorflow or "999") < Version(following.from_tensorflow)


def test_the_json_is_plain_data(generator: ModuleType) -> None:
    for name in NAMES:
        data = json.loads(read_bytes(name))
        assert list(data) == ["schema", "name", "retrieved", "sources", "rows"]


def test_the_list_of_tables_is_read_once() -> None:
    """It is read ahead, while a machine is looked at; the report then asks for it again."""
    assert compat.tables() is compat.tables()
