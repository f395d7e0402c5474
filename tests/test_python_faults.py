"""Ill environments from their files to the report: stand-in packages, a real interpreter, no TensorFlow started."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.engine import judge
from gpudoctor.facts.model import Facts, HostFacts, Known, Unknown
from gpudoctor.facts.probes.python_environment import read_python
from gpudoctor.findings import Expect, Report, Role, Severity, Source, SourceKind
from gpudoctor.rules.registry import load_rules
from tests.environments import Environment, add_distribution, add_tensorflow, make_environment, write

NOT_STARTED = Unknown("not started")
HOST = HostFacts(
    os=Known("linux", "test"),
    machine=Known("x86_64", "test"),
    libc=Known("glibc 2.36", "test"),
    cpu_flags=Known(("avx", "avx2"), "test"),
)


def report_of(environment: Environment, variables: Mapping[str, str]) -> Report:
    """Return what the files of an environment lead to, for someone who trains on the CPU."""
    answer = read_python(environment.host(**variables), environment.target, 60.0)
    tensorflow = replace(
        answer.tensorflow, run=NOT_STARTED, devices=NOT_STARTED, computations=NOT_STARTED, events=NOT_STARTED
    )
    facts = Facts(host=HOST, python=answer.python, tensorflow=tensorflow)
    return judge(facts, load_rules(), source=Source(kind=SourceKind.LIVE), expect=Expect.CPU)


def family(site: Path, version: str, others: str, requires: tuple[str, ...] = ()) -> None:
    """Write a TensorFlow with the packages around it. others: the versions of NumPy, protobuf and Keras."""
    numpy, protobuf, keras = others.split()
    add_tensorflow(site, version, requires=("numpy", "protobuf", "keras", *requires))
    for name, found in (("numpy", numpy), ("protobuf", protobuf), ("keras", keras), ("tensorboard", "2.20.0")):
        add_distribution(site, name, found, files=[f"{name}/__init__.py"])


def healthy(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.21.0", "2.4.0 6.31.1 3.15.1")
    return {}


def healthy_with_old_family(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "1.26.4 4.25.3 2.15.0", ("numpy<2.0.0,>=1.23.5", "keras<2.16,>=2.15.0"))
    return {}


def numpy_2_under_215(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "2.0.2 4.25.3 2.15.0", ("numpy<2.0.0,>=1.23.5",))
    return {}


def protobuf_4_under_210(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.10.1", "1.23.5 4.25.3 2.10.0", ("protobuf<3.20,>=3.9.2",))
    return {}


def protobuf_4_under_210_in_python(site: Path, folder: Path) -> dict[str, str]:
    protobuf_4_under_210(site, folder)
    return {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}


def keras_2_under_221(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.21.0", "2.4.0 6.31.1 2.15.0", ("keras>=3.12.0",))
    return {}


def legacy_keras_without_it(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    return {"TF_USE_LEGACY_KERAS": "1"}


def gone_backend(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    return {"KERAS_BACKEND": "theano"}


def two_versions(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    add_tensorflow(site, "2.20.0", name="tensorflow-cpu", requires=())
    return {}


def stub_and_what_it_requires(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "1.26.4 4.25.3 2.15.0")
    (site / "tensorflow-2.15.1.dist-info").rename(site / "tensorflow_macos-2.15.1.dist-info")
    add_distribution(site, "tensorflow", "2.15.1", requires=["tensorflow-macos==2.15.1"])
    return {}


def files_deleted(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    shutil.rmtree(site / "tensorflow")
    return {}


def hidden_by_a_script(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    return {"PYTHONPATH": str(write(folder / "mine" / "tensorflow.py").parent)}


def set_aside_by_pip(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    (site / "~ensorflow-2.20.0.dist-info").mkdir()
    return {}


def horovod_without_extension(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "1.26.4 4.25.3 2.15.0")
    add_distribution(site, "horovod", "0.28.1", files=["horovod/__init__.py"])
    return {}


def horovod(site: Path, *, extension: bytes = b"\x7fELF N7horovod6common13NCCLAllreduceE") -> None:
    files = ["horovod/__init__.py", "horovod/tensorflow/__init__.py"]
    write(site / "horovod/tensorflow/mpi_lib.cpython-311-x86_64-linux-gnu.so", extension)
    add_distribution(site, "horovod", "0.28.1", files=files)


def horovod_whole(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "1.26.4 4.25.3 2.15.0")
    horovod(site)
    return {}


def horovod_with_keras_3(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    horovod(site)
    return {}


def keras_json(backend: str) -> Callable[[Path, Path], dict[str, str]]:
    """Let keras.json name a back-end."""

    def ill(site: Path, folder: Path) -> dict[str, str]:
        healthy(site, folder)
        write(folder / "home/.keras/keras.json", f'{{"backend": "{backend}", "floatx": "float32"}}')
        return {}

    ill.__name__ = f"keras_json_{backend}"
    return ill


def keras_json_and_a_variable(site: Path, folder: Path) -> dict[str, str]:
    keras_json("cntk")(site, folder)
    return {"KERAS_BACKEND": "tensorflow"}


def keras_json_before_keras_3(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.15.1", "1.26.4 4.25.3 2.15.0")
    write(folder / "home/.keras/keras.json", '{"backend": "theano"}')
    return {}


def torch_backend(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    add_distribution(site, "torch", "2.8.0", files=["torch/__init__.py"])
    return {"KERAS_BACKEND": "torch"}


def dead_gpu_package(site: Path, folder: Path) -> dict[str, str]:
    add_distribution(site, "tensorflow-gpu", "2.12.0")
    return {}


def gpu_package_beside_the_right_one(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    add_distribution(site, "tensorflow-gpu", "2.12.0")
    return {}


def old_gpu_package(site: Path, folder: Path) -> dict[str, str]:
    family(site, "2.10.1", "1.23.5 3.19.6 2.10.0")
    (site / "tensorflow-2.10.1.dist-info").rename(site / "tensorflow_gpu-2.10.1.dist-info")
    text = (
        (site / "tensorflow_gpu-2.10.1.dist-info/METADATA")
        .read_text()
        .replace("Name: tensorflow", "Name: tensorflow-gpu")
    )
    write(site / "tensorflow_gpu-2.10.1.dist-info/METADATA", text)
    return {}


def cluster_without_this_task(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    return {"TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}}'}


def cluster(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    return {"TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'}


def plugin_without_tensorboard(site: Path, folder: Path) -> dict[str, str]:
    healthy(site, folder)
    shutil.rmtree(site / "tensorboard-2.20.0.dist-info")
    add_distribution(site, "tensorboard-data-server", "0.7.2")
    return {}


@pytest.mark.parametrize(
    ("ill", "roots"),
    [
        (healthy, []),
        (healthy_with_old_family, []),
        (numpy_2_under_215, ["numpy-abi-mismatch"]),
        (protobuf_4_under_210, ["protobuf-mismatch"]),
        (protobuf_4_under_210_in_python, []),
        (keras_2_under_221, ["keras-version-mismatch"]),
        (legacy_keras_without_it, ["keras-version-mismatch"]),
        (gone_backend, ["wrong-keras-backend"]),
        (two_versions, ["tf-package-conflict"]),
        (stub_and_what_it_requires, []),
        (files_deleted, ["tf-package-conflict"]),
        (hidden_by_a_script, ["tf-package-conflict"]),
        (set_aside_by_pip, []),
        (horovod_without_extension, ["horovod-build-missing"]),
        (horovod_whole, []),
        (horovod_with_keras_3, []),
        (keras_json("tensorflow"), []),
        (keras_json("cntk"), ["wrong-keras-backend"]),
        (keras_json("theano"), ["wrong-keras-backend"]),
        (keras_json("jax"), ["wrong-keras-backend"]),
        (keras_json("openvino"), ["wrong-keras-backend"]),
        (keras_json_and_a_variable, []),
        (keras_json_before_keras_3, []),
        (torch_backend, ["wrong-keras-backend"]),
        (dead_gpu_package, ["tensorflow-gpu-package-removed"]),
        (gpu_package_beside_the_right_one, []),
        (old_gpu_package, []),
        (cluster_without_this_task, ["nccl-or-distributed-failure"]),
        (cluster, []),
        (plugin_without_tensorboard, []),
    ],
)
def test_root_causes(tmp_path: Path, ill: Callable[[Path, Path], dict[str, str]], roots: list[str]) -> None:
    environment = make_environment(tmp_path)
    report = report_of(environment, ill(environment.site, tmp_path))
    found = [item for item in report.findings if item.role is Role.ROOT_CAUSE and item.severity >= Severity.WARNING]
    assert [item.rule for item in found] == roots
    for item in found:
        assert item.remedies
        commands = [command for remedy in item.remedies for command in remedy.commands if "pip install" in command]
        assert all(environment.python in command for command in commands)


def test_what_is_left_of_tensorboard_is_worth_a_note(tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    report = report_of(environment, plugin_without_tensorboard(environment.site, tmp_path))
    (note,) = [item for item in report.findings if item.rule == "tensorboard-missing-for-callback"]
    assert note.severity is Severity.NOTE
    assert note.message.startswith("tensorboard-data-server 0.7.2 is installed without TensorBoard")
    assert f"{environment.python} -m pip install tensorboard" in note.remedies[0].commands
