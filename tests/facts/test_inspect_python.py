"""What the child reads off an environment's files, over real interpreters and stand-in packages."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known, Package, Unknown
from gpudoctor.facts.probes.python_environment import PythonAnswer, read_python
from gpudoctor.facts.probes.target import Target
from tests.environments import (
    BUILD_INFO_1_15,
    BUILD_INFO_2_21,
    MINORS,
    Environment,
    add_distribution,
    add_tensorflow,
    interpreter,
    make_environment,
    write,
)

TIMEOUT = 60.0
NATIVE = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")


def look(environment: Environment, **environ: str) -> PythonAnswer:
    return read_python(environment.host(**environ), environment.target, TIMEOUT)


def problems(answer: PythonAnswer) -> list[tuple[str, str]]:
    return [(p.kind, p.name) for p in answer.python.problems.require()]


def detail(answer: PythonAnswer, kind: str) -> str:
    (found,) = [p.detail for p in answer.python.problems.require() if p.kind == kind]
    return found


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path)


@pytest.mark.parametrize("minor", MINORS)
def test_every_python(tmp_path: Path, minor: int) -> None:
    environment = make_environment(tmp_path, minor)
    add_tensorflow(environment.site)
    add_distribution(environment.site, "keras", "3.12.0", files=["keras/__init__.py"])
    answer = look(environment, XLA_FLAGS="--xla_gpu_cuda_data_dir=/opt")
    python, tensorflow = answer.python, answer.tensorflow
    assert python.executable == Known(environment.python, "--python")
    assert python.version.require().startswith(f"3.{minor}.")
    assert python.implementation.require() == "cpython"
    assert python.environment_kind.require() == "venv"
    assert python.prefix.require() == str(environment.site.parents[2])
    assert str(environment.site) in python.search_path.require()
    assert "" not in python.search_path.require()
    assert python.user_site == Absent("switched off in this environment")
    assert python.environment.require()["XLA_FLAGS"] == "--xla_gpu_cuda_data_dir=/opt"
    assert problems(answer) == []
    assert python.packages.require() == (
        Package(name="keras", version="3.12.0", location=str(environment.site), installer="pip"),
        Package(name="tensorflow", version="2.21.0", location=str(environment.site), installer="pip"),
    )
    metadata = "tensorflow-2.21.0.dist-info"
    assert tensorflow.distribution == Known("tensorflow", metadata)
    assert tensorflow.version == Known("2.21.0", metadata)
    assert tensorflow.location == Known(str(environment.site / "tensorflow"), "search path")
    assert tensorflow.cuda_build == Known(True, "build_info.py")
    assert tensorflow.built_with_cuda == Known("12.5.1", "build_info.py")
    assert tensorflow.built_with_cudnn == Known("9", "build_info.py")
    assert tensorflow.compute_capabilities == Known(NATIVE, "build_info.py")
    assert tensorflow.cuda_requirements == Known(
        ("nvidia-cublas-cu12<13.0,>=12.5.3.2", "nvidia-cudnn-cu12<10.0,>=9.3.0.75"), metadata
    )
    assert tensorflow.keras_version == Known("3.12.0", "keras-3.12.0.dist-info")
    assert tensorflow.keras_generation == Known(3, "TensorFlow 2.16 or newer")


@pytest.mark.parametrize("minor", [6, 13])
def test_a_bare_interpreter_has_no_tensorflow(tmp_path: Path, minor: int) -> None:
    answer = look(make_environment(tmp_path, minor))
    assert answer.python.packages == Known((), "package metadata")
    assert isinstance(answer.tensorflow.distribution, Absent)
    assert isinstance(answer.tensorflow.cuda_build, Absent)
    assert answer.tensorflow.keras_version == Unknown("TensorFlow is not installed")


def test_build_info_of_115_is_plain_assignments(environment: Environment) -> None:
    add_tensorflow(environment.site, "1.15.0", BUILD_INFO_1_15, folder="tensorflow_core", requires=())
    tensorflow = look(environment).tensorflow
    assert tensorflow.version.require() == "1.15.0"
    assert tensorflow.cuda_build == Known(True, "build_info.py")
    assert tensorflow.built_with_cuda == Known("10", "build_info.py")
    assert tensorflow.built_with_cudnn == Known("7", "build_info.py")
    assert tensorflow.compute_capabilities == Unknown("build_info.py does not tell")
    assert tensorflow.cuda_requirements == Absent("tensorflow-1.15.0.dist-info has no extra and-cuda")
    assert tensorflow.keras_version == Absent("Keras is a part of TensorFlow before 2.6")
    assert tensorflow.keras_generation == Known(2, "TensorFlow before 2.16")


def test_build_without_cuda(environment: Environment) -> None:
    text = "import collections\nbuild_info = collections.OrderedDict([('is_cuda_build', False)])\n"
    add_tensorflow(environment.site, build_info=text, name="tensorflow-cpu")
    tensorflow = look(environment).tensorflow
    assert tensorflow.distribution == Known("tensorflow-cpu", "tensorflow_cpu-2.21.0.dist-info")
    assert tensorflow.cuda_build == Known(False, "build_info.py")
    assert tensorflow.built_with_cuda == tensorflow.compute_capabilities == Absent("build_info.py: no CUDA build")


def test_build_info_as_windows_and_own_builds_write_it(environment: Environment) -> None:
    values = {"is_cuda_build": True, "cuda_version": "64_112", "cudnn_version": "64_8"}
    text = f"build_info = { ({**values, 'cuda_compute_capabilities': '5.2,8.6'})!r}\n"
    add_tensorflow(environment.site, "2.10.1", text)
    tensorflow = look(environment).tensorflow
    assert tensorflow.built_with_cuda == Known("64_112", "build_info.py")
    assert tensorflow.compute_capabilities == Known(("5.2", "8.6"), "build_info.py")


def test_build_info_may_leave_cuda_out(environment: Environment) -> None:
    add_tensorflow(environment.site, "2.22.0rc0", "build_info = dict([('is_cuda_build', True)])\n")
    tensorflow = look(environment).tensorflow
    assert tensorflow.cuda_build == Known(True, "build_info.py")
    assert tensorflow.built_with_cuda == Unknown("build_info.py does not tell")


def test_build_info_is_never_run(environment: Environment) -> None:
    mark = environment.home / "was-run"
    text = f"open({str(mark)!r}, 'w')\nbuild_info = __import__('os').system('touch {mark}')\nis_cuda_build = True\n"
    add_tensorflow(environment.site, build_info=text)
    assert look(environment).tensorflow.cuda_build == Known(True, "build_info.py")
    assert not mark.exists()


@pytest.mark.parametrize("text", ["build_info = {", "\0", "x = " + "(" * 5000, "build_info = 3"])
def test_build_info_that_is_rubbish(environment: Environment, text: str) -> None:
    add_tensorflow(environment.site, build_info=text)
    tensorflow = look(environment).tensorflow
    assert isinstance(tensorflow.cuda_build, Unknown)
    assert tensorflow.version.require() == "2.21.0"


def test_no_build_info(environment: Environment) -> None:
    add_tensorflow(environment.site, build_info=None)
    assert look(environment).tensorflow.cuda_build == Unknown("there is no build_info.py")


def test_files_of_another_version_than_the_metadata(environment: Environment) -> None:
    add_tensorflow(environment.site, "2.21.0")
    write(environment.site / "tensorflow/tools/pip_package/setup.py", "_VERSION = '2.19.1'\n")
    version = look(environment).tensorflow.version
    assert version == Known("2.21.0", "tensorflow-2.21.0.dist-info", (("2.19.1", "TensorFlow's files"),))


def test_version_from_the_header_without_metadata(environment: Environment) -> None:
    lines = ["#define TF_MAJOR_VERSION 2", "#define TF_MINOR_VERSION 15", "#define TF_PATCH_VERSION 0"]
    header = "\n".join([*lines, '#define TF_VERSION_SUFFIX "-rc1"'])
    write(environment.site / "tensorflow/__init__.py")
    write(environment.site / "tensorflow/include/tensorflow/core/public/version.h", header)
    write(environment.site / "tensorflow/libtensorflow_framework.so.2", b"\x7fELF")
    tensorflow = look(environment).tensorflow
    assert tensorflow.version == Known("2.15.0rc1", "TensorFlow's files")
    root = environment.site / "tensorflow"
    assert tensorflow.distribution == Unknown(f"{root} has no package metadata beside it")


def test_two_packages_provide_tensorflow(environment: Environment) -> None:
    add_tensorflow(environment.site, "2.21.0", name="tensorflow-cpu")
    add_tensorflow(environment.site, "2.10.0", name="tensorflow")
    write(environment.site / "tensorflow/tools/pip_package/setup.py", "_VERSION = '2.21.0'\n")
    tensorflow = look(environment).tensorflow
    # The files say which of them is on top.
    assert tensorflow.distribution == Known(
        "tensorflow-cpu", "tensorflow_cpu-2.21.0.dist-info", (("tensorflow", "tensorflow-2.10.0.dist-info"),)
    )
    assert tensorflow.version.require() == "2.21.0"


def test_duplicate_in_two_folders(environment: Environment, tmp_path: Path) -> None:
    other = tmp_path / "other"
    add_tensorflow(environment.site, "2.10.0")
    add_tensorflow(other, "2.21.0")
    answer = look(environment, PYTHONPATH=str(other))
    assert answer.tensorflow.location.require() == str(other / "tensorflow")
    assert answer.tensorflow.version == Known("2.21.0", "tensorflow-2.21.0.dist-info")
    assert problems(answer) == [("duplicate", "tensorflow")]
    assert detail(answer, "duplicate") == f"2.21.0 in {other}; 2.10.0 in {environment.site}"


def test_one_folder_by_two_names_is_no_duplicate(environment: Environment, tmp_path: Path) -> None:
    add_tensorflow(environment.site)
    (tmp_path / "lib64").symlink_to(environment.site)
    answer = look(environment, PYTHONPATH=f"{tmp_path / 'lib64'}:{environment.site}")
    assert problems(answer) == []
    assert len(answer.python.packages.require()) == 1


def test_two_versions_in_one_folder(environment: Environment) -> None:
    add_distribution(environment.site, "numpy", "1.26.4", files=["numpy/__init__.py"])
    add_distribution(environment.site, "numpy", "2.0.0", files=["numpy/__init__.py"])
    assert problems(look(environment)) == [("duplicate", "numpy")]


def test_half_removed_by_pip(environment: Environment) -> None:
    add_tensorflow(environment.site)
    (environment.site / "tensorflow").rename(environment.site / "~ensorflow")
    (environment.site / "tensorflow-2.21.0.dist-info").rename(environment.site / "~ensorflow-2.21.0.dist-info")
    answer = look(environment)
    assert isinstance(answer.tensorflow.distribution, Absent)
    assert problems(answer) == [("leftover", "~ensorflow"), ("leftover", "~ensorflow-2.21.0.dist-info")]


def test_metadata_without_files(environment: Environment) -> None:
    add_distribution(environment.site, "tensorflow", "2.21.0", files=["tensorflow/__init__.py"])
    (environment.site / "tensorflow/__init__.py").unlink()
    (environment.site / "tensorflow").rmdir()
    answer = look(environment)
    assert isinstance(answer.tensorflow.distribution, Absent)
    assert problems(answer) == [("files-missing", "tensorflow")]


def test_folder_without_code(environment: Environment) -> None:
    write(environment.site / "tensorflow/python/notes.txt")
    answer = look(environment)
    assert problems(answer) == [("hollow", "tensorflow")]
    assert detail(answer, "hollow") == str(environment.site / "tensorflow")


@pytest.mark.parametrize("content", [None, "", "rubbish", "Name: numpy\n\nVersion: 1.0\n", b"\xff\xfe\x00\x80"])
def test_broken_metadata(environment: Environment, content: str | bytes | None) -> None:
    info = add_distribution(environment.site, "numpy", "1.26.4", files=["numpy/__init__.py"])
    (info / "METADATA").unlink()
    if content is not None:
        write(info / "METADATA", content)
    answer = look(environment)
    assert problems(answer) == [("broken-metadata", "numpy")]
    assert [p.version for p in answer.python.packages.require()] == ["1.26.4"]  # the folder's name still tells


def test_egg_info_of_old_installers(environment: Environment) -> None:
    write(environment.site / "horovod-0.28.1-py3.8.egg-info/PKG-INFO", "Name: horovod\nVersion: 0.28.1\n")
    write(environment.site / "h5py-2.10.0.egg-info", "Name: h5py\nVersion: 2.10.0\n")
    packages = look(environment).python.packages.require()
    assert [(p.name, p.version, p.installer) for p in packages] == [
        ("h5py", "2.10.0", None),
        ("horovod", "0.28.1", None),
    ]


def test_packages_that_tensorflow_requires_are_told(environment: Environment) -> None:
    add_tensorflow(environment.site)
    add_distribution(environment.site, "absl-py", "2.1.0")
    add_distribution(environment.site, "django", "5.0")
    names = [p.name for p in look(environment).python.packages.require()]
    assert names == ["absl-py", "tensorflow"]


def test_module_on_the_path_shadows(environment: Environment, tmp_path: Path) -> None:
    add_tensorflow(environment.site)
    file = write(tmp_path / "mine/tensorflow.py")
    answer = look(environment, PYTHONPATH=str(file.parent))
    assert problems(answer) == [("shadowed", "tensorflow")]
    assert detail(answer, "shadowed") == str(file)
    assert answer.tensorflow.distribution == Unknown(f"{file} is not a TensorFlow package")


def test_package_on_the_path_that_is_not_tensorflow(environment: Environment, tmp_path: Path) -> None:
    add_tensorflow(environment.site)
    file = write(tmp_path / "mine/tensorflow/__init__.py")
    answer = look(environment, PYTHONPATH=str(tmp_path / "mine"))
    assert detail(answer, "shadowed") == str(file.parent)


def test_module_in_the_current_folder_shadows(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tensorflow(environment.site)
    file = write(tmp_path / "work/keras.py")
    monkeypatch.chdir(file.parent)
    answer = look(environment)
    assert detail(answer, "shadowed-here") == str(file)
    assert answer.tensorflow.distribution.require() == "tensorflow"  # the empty entry of sys.path was left out


def test_user_site(tmp_path: Path) -> None:
    minor = sys.version_info[1]
    base = interpreter(minor)
    site = tmp_path / f".local/lib/python3.{minor}/site-packages"
    add_distribution(site, "numpy", "1.2.3", files=["numpy/__init__.py"])
    real = os.path.realpath(base)  # not the link in a virtual environment, which has no user site
    host = Host(environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    answer = read_python(host, Target(path=real, chosen_by="--python", reason="a test wants it"), TIMEOUT)
    assert answer.python.user_site == Known(str(site), "site")
    assert (
        Package(name="numpy", version="1.2.3", location=str(site), installer="pip") in answer.python.packages.require()
    )


def test_sitecustomize_that_prints_and_fails(environment: Environment) -> None:
    write(
        environment.site / "sitecustomize.py",
        "import sys\nprint('{\"version\": 1}' * 99999)\nraise ValueError('ill')\n",
    )
    add_tensorflow(environment.site)
    assert look(environment).tensorflow.version.require() == "2.21.0"


def test_standard_modules_shadowed_by_pythonpath(environment: Environment, tmp_path: Path) -> None:
    for name in ("json", "ast", "re"):
        write(tmp_path / f"mine/{name}.py", "raise ImportError('not the real one')\n")
    add_tensorflow(environment.site)
    answer = look(environment, PYTHONPATH=str(tmp_path / "mine"))
    if isinstance(answer.python.version, Unknown):  # the interpreter itself imports re at its start (editable installs)
        pytest.skip(answer.python.version.reason)
    assert answer.tensorflow.version.require() == "2.21.0"


def test_paths_that_are_not_text(environment: Environment, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    (Path(os.fsdecode(folder))).mkdir()
    add_distribution(Path(os.fsdecode(folder)), "numpy", "1.0", files=["numpy/__init__.py"])
    answer = look(environment, PYTHONPATH=os.fsdecode(folder))
    (package,) = answer.python.packages.require()
    assert package.location == f"{tmp_path}/caf\\xe9"


def test_search_path_with_zip_and_missing_folders(environment: Environment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("tensorflow.py", "")
    answer = look(environment, PYTHONPATH=f"{tmp_path}/nowhere:{tmp_path}/code.zip")
    assert str(tmp_path / "code.zip") in answer.python.search_path.require()
    assert answer.tensorflow.location.require() == f"{tmp_path}/code.zip/tensorflow.py"


def test_secrets_stay_where_they_are(environment: Environment) -> None:
    told = {"CUDA_VISIBLE_DEVICES": "0", "TF_USE_LEGACY_KERAS": "1", "SLURM_JOB_GPUS": "3"}
    kept = {"TF_VAR_password": "x", "KERAS_API_TOKEN": "x", "SLURM_JWT": "x", "HF_TOKEN": "x", "TF_API_KEY": "x"}
    variables = look(environment, **told, **kept).python.environment.require()
    assert told.items() <= variables.items()
    assert not kept.keys() & variables.keys()


@pytest.mark.parametrize(
    ("tensorflow", "packages", "legacy", "expected"),
    [
        ("2.15.1", {"keras": "2.15.0"}, "", ("2.15.0", 2)),
        ("2.15.1", {"keras": "3.4.1"}, "", ("3.4.1", 2)),
        ("2.16.2", {"keras": "3.4.1", "tf-keras": "2.16.0"}, "", ("3.4.1", 3)),
        ("2.16.2", {"keras": "3.4.1", "tf-keras": "2.16.0"}, "1", ("2.16.0", 2)),
        ("2.16.2", {"keras": "3.4.1"}, "True", (None, 2)),
        ("2.22.0", {"keras-nightly": "3.12.0.dev1"}, "0", ("3.12.0.dev1", 3)),
    ],
)
def test_which_keras(
    environment: Environment, tensorflow: str, packages: dict[str, str], legacy: str, expected: tuple[str | None, int]
) -> None:
    add_tensorflow(environment.site, tensorflow)
    for name, number in packages.items():
        add_distribution(environment.site, name, number)
    answer = look(environment, TF_USE_LEGACY_KERAS=legacy).tensorflow
    assert (answer.keras_version.get(), answer.keras_generation.get()) == expected


def script(folder: Path, text: str) -> Target:
    path = write(folder / "python", f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Target(path=str(path), chosen_by="--python", reason="a test wants it")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo 'SyntaxError: invalid syntax'; exit 1", "is older than Python 3.6, the oldest that can be asked"),
        ("exit 0", "gave no readable answer"),
        ("kill -ABRT $$", "was ended by SIGABRT"),
        ("echo broken >&2; exit 3", "ended with exit status 3 (broken)"),
        ("sleep 60", "did not answer within 0.5 s"),
        ("echo '[1,2]' >/dev/fd/$2", "gave no readable answer"),
    ],
)
def test_interpreter_that_does_not_answer(tmp_path: Path, text: str, reason: str) -> None:
    target = script(tmp_path, text)
    limit = 0.5 if "sleep" in text else TIMEOUT
    answer = read_python(Host(), target, limit)
    assert answer.python.executable.require() == target.path
    assert answer.python.version == Unknown(f"{target.path} {reason}")
    assert answer.python.packages == answer.tensorflow.version == answer.tensorflow.cuda_build == answer.python.version


def test_answer_of_wrong_types_raises_nothing(tmp_path: Path) -> None:
    rubbish = '{"version": 3, "packages": [1, {"name": []}], "path": {}, "imports": 1, "variables": [], "shadows": [1]}'
    answer = read_python(Host(), script(tmp_path, f"echo '{rubbish}' >/dev/fd/$2"), TIMEOUT)
    assert answer.python.version == Unknown("the interpreter did not tell")
    assert answer.python.environment == Known({}, "environment")


def test_metadata_that_could_not_be_read_is_unknown(tmp_path: Path) -> None:
    told = '{"version": "3.9.1", "packages": {"error": "OSError: disk"}, "user_site": {"enabled": true}}'
    answer = read_python(Host(), script(tmp_path, f"echo '{told}' >/dev/fd/$2"), TIMEOUT)
    reason = "the package metadata could not be read (OSError: disk)"
    assert answer.python.packages == answer.python.problems == Unknown(reason)
    assert answer.python.user_site == Absent("no folder of the user's own packages")
    assert answer.python.version == Known("3.9.1", "the interpreter")


def test_interpreter_that_cannot_be_started(tmp_path: Path) -> None:
    path = write(tmp_path / "python", "not a program\n")
    path.chmod(0o755)
    answer = read_python(Host(), Target(path=str(path), chosen_by="--python", reason=""), TIMEOUT)
    assert isinstance(answer.python.version, Unknown)
    assert answer.python.version.reason.startswith(f"{path} could not be started: ")


def test_interpreter_that_does_not_exist() -> None:
    target = Target(path="/nowhere/python", chosen_by="--python", reason="", problem="there is no /nowhere/python")
    answer = read_python(Host(), target)
    assert answer.python.version == answer.tensorflow.version == Unknown("there is no /nowhere/python")


def test_the_real_tensorflow() -> None:
    pytest.importorskip("importlib.metadata").distribution("tensorflow")
    answer = read_python(Host(), Target(path=sys.executable, chosen_by="own", reason=""), TIMEOUT)
    tensorflow = answer.tensorflow
    assert tensorflow.distribution.require() == "tensorflow"
    assert tensorflow.version.require().startswith("2.21.")
    assert not (isinstance(tensorflow.version, Known) and tensorflow.version.also)
    assert tensorflow.cuda_build == Known(True, "build_info.py")
    assert tensorflow.built_with_cuda.require() == "12.5.1"
    assert tensorflow.compute_capabilities.require() == NATIVE
    assert any(r.startswith("nvidia-cudnn-cu12") for r in tensorflow.cuda_requirements.require())
    assert tensorflow.keras_generation.require() == 3
    names = {p.name for p in answer.python.packages.require()}
    assert {"tensorflow", "keras", "numpy", "protobuf", "h5py", "ml-dtypes"} <= names
    assert BUILD_INFO_2_21.splitlines()[-1] in (
        Path(tensorflow.location.require()) / "python/platform/build_info.py"
    ).read_text(encoding="utf-8")  # our stand-in is true to it
