"""Which declared requirements of TensorFlow's family do not hold in the target environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor.compat.specifiers import satisfies
from gpudoctor.facts.model import Absent, CondaPackage, Conflict, Known, Unknown
from gpudoctor.facts.probes.answers import Answer
from gpudoctor.facts.probes.python_environment import PythonAnswer, _conda_packages, read_python
from gpudoctor.facts.probes.requirements import applies, conflicts
from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write

NUMPY = ('numpy<2.0.0,>=1.26.0; python_version >= "3.12"', 'numpy<2.0.0,>=1.23.5; python_version <= "3.11"')


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path)


def look(environment: Environment, **environ: str) -> PythonAnswer:
    return read_python(environment.host(**environ), environment.target, 60.0)


def told(*packages: Mapping[str, object], version: str = "3.11.9", **more: object) -> Answer:
    site = {"origin": "/site/tensorflow", "folder": "/site", "kind": "package"}
    listed = [{"folder": "/site", "entry": f"{p['name']}.dist-info", "problem": "", **p} for p in packages]
    return Answer(
        {"version": version, "platform": "linux", "imports": {"tensorflow": site}, "packages": listed, **more}
    )


def found(answer: Answer) -> list[tuple[str, str, str | None]]:
    return [(c.name, c.specifier, c.installed) for c in conflicts(answer).require()]


def tensorflow(*requires: str) -> dict[str, object]:
    return {"name": "tensorflow", "version": "2.16.2", "requires": list(requires)}


def test_in_a_real_environment(environment: Environment) -> None:
    add_tensorflow(environment.site, requires=["numpy<2.0.0,>=1.23.5", "protobuf>=3.20.3", "wrapt>=1.11.0"])
    add_distribution(environment.site, "numpy", "2.0.2", files=["numpy/__init__.py"])
    add_distribution(environment.site, "protobuf", "4.25.3")
    numpy = Conflict(
        package="tensorflow", version="2.21.0", name="numpy", specifier="<2.0.0,>=1.23.5", installed="2.0.2"
    )
    wrapt = Conflict(package="tensorflow", version="2.21.0", name="wrapt", specifier=">=1.11.0")
    assert look(environment).python.conflicts == Known((numpy, wrapt), "package metadata")


@pytest.mark.parametrize(
    ("requirement", "installed", "holds"),
    [
        ("numpy<2.0.0,>=1.23.5", "2.0.0", False),
        ("numpy<2.0.0,>=1.23.5", "1.26.4", True),
        ("numpy<2.0.0,>=1.23.5", "1.23.5", True),
        ("numpy<2.0.0,>=1.23.5", "1.23.4", False),
        ("numpy (>=1.14.5)", "1.14.5", True),
        ("numpy (>=1.14.5)", "1.9", False),
        ("NumPy [extra] >=1.2 , <2", "2.0", False),
        ("numpy", "0.1", True),
        ("numpy~=1.19.2", "1.20.0", False),
        ("numpy>=2.0.0.dev0", "2.1.0rc1", True),
        ("numpy==1.2.*", "1.2.9", True),
        ("numpy<6.0.0dev,>=1", "5.9", True),
        ("numpy>=1", "of my own making", True),
        ("numpy>=what", "1", True),
        ("numpy @ file:///tmp/numpy.whl", "1", True),
        ("???", "1", True),
    ],
)
def test_versions(requirement: str, installed: str, holds: bool) -> None:
    answer = told(tensorflow(requirement), {"name": "numpy", "version": installed})
    assert (found(answer) == []) is holds


@pytest.mark.parametrize(
    ("version", "specifier"), [("3.12.1", "<2.0.0,>=1.26.0"), ("3.11.9", "<2.0.0,>=1.23.5"), ("", "<2.0.0,>=1.23.5")]
)
def test_markers_are_those_of_the_target(version: str, specifier: str) -> None:
    if not version:
        assert found(told(tensorflow(*NUMPY), version=version)) == []
        return
    assert found(told(tensorflow(*NUMPY), version=version)) == [("numpy", specifier, None)]


def test_extras_and_other_platforms_do_not_count() -> None:
    answer = told(
        tensorflow('nvidia-cudnn-cu12; extra == "and-cuda"', 'tensorflow-intel==2.16.2; platform_system == "Windows"')
    )
    assert found(answer) == []


def test_the_first_copy_on_the_search_path_counts() -> None:
    first, second = ({"name": "numpy", "version": version, "folder": f"/{version}"} for version in ("2.0.2", "1.26.4"))
    assert found(told(tensorflow("numpy<2"), first, second)) == [("numpy", "<2", "2.0.2")]
    assert found(told(tensorflow("numpy<2"), second, first)) == []


def test_keras_is_asked_and_others_are_not() -> None:
    keras: dict[str, object] = {"name": "keras", "version": "3.12.0", "requires": ["optree"]}
    torch: dict[str, object] = {"name": "torch", "version": "2.6.0", "requires": ["numpy>=99"]}
    assert found(told(tensorflow(), keras, torch)) == [("optree", "", None)]


def test_a_tensorflow_that_is_not_imported_is_not_asked() -> None:
    elsewhere = {**tensorflow("numpy<2"), "folder": "/elsewhere"}
    assert found(told(elsewhere, {"name": "numpy", "version": "2.0.2"})) == []


def test_unreadable_metadata() -> None:
    answer = Answer({"packages": {"error": "OSError: disk"}})
    assert conflicts(answer) == Unknown("the package metadata could not be read (OSError: disk)")


def test_what_installs(environment: Environment) -> None:
    assert look(environment).python.installer == Absent("package metadata: no pip")
    config = environment.site.parents[2] / "pyvenv.cfg"
    write(config, config.read_text() + "uv = 0.5.1\n")
    assert look(environment).python.installer == Known("uv", "pyvenv.cfg")
    add_distribution(environment.site, "pip", "24.0")
    assert look(environment).python.installer == Known("pip", "package metadata")
    folder = add_distribution(environment.site, "tensorflow", "2.21.0")
    assert look(environment).python.installer == Known("pip", "package metadata")
    write(folder / "INSTALLER", "Poetry 2.5.1")  # as it writes it, without the end of the line
    assert look(environment).python.installer == Known("poetry", "the metadata of tensorflow")


def test_whether_it_can_put_pip_into_an_environment(environment: Environment) -> None:
    there = (Path(os.__file__).parent / "ensurepip").is_dir()
    assert look(environment).python.ensurepip == Known(there, "the standard library")


def test_a_virtual_environment_is_not_managed_by_the_system(environment: Environment) -> None:
    python = look(environment).python
    assert python.externally_managed == Known(False, "the interpreter")
    assert python.bits == Known(64, "the interpreter")
    assert python.conda_packages == Absent("no conda environment")


def test_conda_tells_its_builds_by_name() -> None:
    stand_in = {
        "environment": {"kind": "conda", "conda": ["tensorflow-base-2.16.1-cpu_py311h1_0", "odd"]},
        "version": "3.11.9",
    }
    expected = CondaPackage(name="tensorflow-base", version="2.16.1", build="cpu_py311h1_0")
    assert _conda_packages(Answer(stand_in)) == Known((expected,), "conda-meta")
    assert isinstance(_conda_packages(Answer({})), Unknown)


def test_horovod_extensions(environment: Environment) -> None:
    assert isinstance(look(environment).python.horovod_extensions, Absent)
    write(environment.site / "horovod/__init__.py")
    write(environment.site / "horovod/tensorflow/__init__.py")
    assert look(environment).python.horovod_extensions == Known((), "Horovod's folder")
    write(environment.site / "horovod/torch/mpi_lib_v2.cpython-311-x86_64-linux-gnu.so")
    assert look(environment).python.horovod_extensions == Known(("torch",), "Horovod's folder")


def test_keras_json(environment: Environment) -> None:
    assert look(environment).python.keras_json_backend == Absent("there is no keras.json")
    file = write(environment.home / ".keras/keras.json", '{"backend": "theano"}')
    assert look(environment).python.keras_json_backend == Known("theano", str(file))
    write(file, '{"floatx": "float32"}')
    assert look(environment).python.keras_json_backend == Absent(str(file))
    write(file, "{")
    assert isinstance(look(environment).python.keras_json_backend, Unknown)
    elsewhere = write(environment.home / "other/keras.json", '{"backend": "jax"}')
    answer = look(environment, KERAS_HOME=str(elsewhere.parent))
    assert answer.python.keras_json_backend == Known("jax", str(elsewhere))


def test_a_package_without_files_of_its_own(environment: Environment) -> None:
    add_distribution(environment.site, "tensorflow", "2.15.0", requires=["tensorflow-intel==2.15.0"])
    add_tensorflow(environment.site, "2.15.0", name="tensorflow-intel", requires=[])
    empty = {p.name: p.empty for p in look(environment).python.packages.require()}
    assert empty == {"tensorflow": True, "tensorflow-intel": False}


def test_a_file_behind_the_package_on_the_path_hides_nothing(environment: Environment, tmp_path: Path) -> None:
    add_tensorflow(environment.site)
    file = write(tmp_path / "mine/tensorflow.py")
    answer = look(environment, PYTHONPATH=f"{environment.site}:{file.parent}")
    assert answer.python.problems.require() == ()


NUMBERS = st.integers(0, 3)
VERSIONS = st.builds(
    lambda numbers, suffix: ".".join(map(str, numbers)) + suffix,
    st.lists(NUMBERS, min_size=1, max_size=3),
    st.sampled_from(["", "", "", "rc1", ".dev0", ".post1", "a2", "rc1.dev3"]),
)
CLAUSES = st.builds(lambda op, version: op + version, st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]), VERSIONS)
WILDCARDS = st.builds(lambda op, a, b: f"{op}{a}.{b}.*", st.sampled_from(["==", "!="]), NUMBERS, NUMBERS)
COMPATIBLE = st.builds(lambda a, b: f"~={a}.{b}", NUMBERS, NUMBERS)


@given(VERSIONS, st.lists(CLAUSES | WILDCARDS | COMPATIBLE, max_size=3))
@example("0rc1", ["<0.post1"])
def test_specifiers_as_packaging_reads_them(version: str, clauses: list[str]) -> None:
    specifier = ",".join(clauses)
    expected = SpecifierSet(specifier).contains(version, prereleases=True)
    assert satisfies(Version(version), specifier) is expected


CONDITIONS = st.sampled_from(
    [
        'python_version >= "3.10"',
        "python_version<'3.9'",
        'python_version == "3.11"',
        'python_full_version > "3.11.2"',
        'sys_platform == "linux"',
        'sys_platform != "win32"',
        'platform_machine in "x86_64 aarch64"',
        'os_name == "posix"',
        '(sys_platform == "darwin" or os_name == "nt")',
    ]
)


@given(st.lists(CONDITIONS, min_size=1, max_size=3), st.lists(st.sampled_from(["and", "or"]), min_size=2, max_size=2))
def test_markers_as_packaging_reads_them(conditions: list[str], words: list[str]) -> None:
    marker = conditions[0] + "".join(f" {word} {more}" for word, more in zip(words, conditions[1:], strict=False))
    environment = {
        "python_version": "3.11",
        "python_full_version": "3.11.9",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
    }
    assert applies(marker, environment) is Marker(marker).evaluate(environment)


@pytest.mark.parametrize("marker", ["rubbish", 'python_version >= "?"', 'nobody == "x"', ""])
def test_markers_that_are_none(marker: str) -> None:
    assert applies(marker, {"python_version": "3.11"}) is False


def test_the_variable_that_makes_protobuf_slow_and_tolerant_is_told(environment: Environment) -> None:
    told_variables = look(environment, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python").python.environment.require()
    assert told_variables["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] == "python"


def test_files_without_metadata(environment: Environment) -> None:
    add_tensorflow(environment.site)
    for file in (info := environment.site / "tensorflow-2.21.0.dist-info").iterdir():
        file.unlink()
    info.rmdir()
    (problem,) = look(environment).python.problems.require()
    assert (problem.kind, problem.detail) == ("unrecorded", str(environment.site / "tensorflow"))
