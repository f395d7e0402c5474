"""Facts to JSON and back, and what is taken out on the way."""

from __future__ import annotations

import getpass
import json
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpudoctor.facts import codec
from gpudoctor.facts.model import (
    Absent,
    Computation,
    Device,
    Facts,
    Gpu,
    GpuProcess,
    Known,
    Library,
    LogEvent,
    Package,
    ProcessKind,
    PythonFacts,
    Unknown,
)
from tests.any_facts import any_facts
from tests.rule_case import base_names, facts_of

ME = codec.Identity(home="/home/marie", user="marie", host="curie-box")
NOBODY = codec.Identity(home="", user="", host="")
SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def redacted(facts: Facts) -> Facts:
    return codec.redact(facts, ME)


@pytest.mark.parametrize("base", base_names())
def test_round_trip_of_base_facts(base: str) -> None:
    raw = codec.encode(facts_of(base), NOBODY)
    assert codec.decode(raw) == facts_of(base)
    assert codec.encode(codec.decode(raw), NOBODY) == raw


@SETTINGS
@given(any_facts(), st.sampled_from([ME, NOBODY]))
def test_redaction_is_idempotent_and_survives_the_round_trip(facts: Facts, identity: codec.Identity) -> None:
    once = codec.redact(facts, identity)
    assert codec.redact(once, identity) == once
    assert codec.decode(codec.encode(facts, identity)) == once


def test_order_of_mappings_does_not_matter() -> None:
    def facts(*names: str) -> Facts:
        return Facts(python=PythonFacts(environment=Known(dict.fromkeys(names, "1"), "environment")))

    assert codec.encode(facts("A", "B"), NOBODY) == codec.encode(facts("B", "A"), NOBODY)


def test_what_nobody_asked_is_not_written() -> None:
    assert json.loads(codec.encode(Facts(), NOBODY)) == {
        "schema": 1,
        **{name: {} for name in ("host", "driver", "libraries", "python", "tensorflow", "training")},
        "gpus": [],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": 1, "gpus": [{"name": {"state": "known", "value": 5, "source": ""}}]}', "$.gpus[0].name.value"),
        ('{"schema": 1, "gpus": [{}, {"name": {"state": "maybe"}}]}', "$.gpus[1].name.state"),
        ('{"schema": 1, "driver": {"version": {"state": "known", "source": ""}}}', "$.driver.version"),
        ('{"schema": 1, "driver": {"versions": {}}}', "$.driver"),
        ('{"schema": 1, "colour": 1}', "colour"),
        ('{"schema": 1, "host": {"cpu_count": {"state": "known", "value": 1.5, "source": ""}}}', "$.host.cpu_count"),
        ('{"schema": 1, "driver": {"libcuda_kind": {"state": "known", "value": "x", "source": ""}}}', "libcuda_kind"),
        ('{"schema": 1, "host": {"os": {"state": "known", "value": "linux", "source": "", "so": 1}}}', "$.host.os"),
        ('{"schema": 2}', "schema 2, but this gpudoctor reads schema 1 - at `$.schema`"),
        ('{"schema": 7, "host": {"cpu": "new in 7"}}', "schema 7, but this gpudoctor reads schema 1"),
        ('{"schema": 0}', "schema 0"),
        ('{"schema": "1"}', "$.schema"),
        ("[]", "object"),
        ("null", "object"),
        ("", ""),
        ("{", ""),
        ('{"schema": 1} {"schema": 1}', ""),
        ('{"schema": 1, "gpus": ' + "[" * 100_000, ""),
        ('{"schema": 1, "host": {"os": {"state": "absent", "source": "\\ud800"}}}', ""),
        ('{"schema": 1, "training": {"step_seconds": {"state": "known", "value": NaN, "source": ""}}}', ""),
    ],
)
def test_what_is_refused_and_where(text: str, message: str) -> None:
    with pytest.raises(codec.FactsFileError) as caught:
        codec.decode(text.encode())
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(codec.FactsFileError):
        codec.decode(b'{"schema": 1, "host": {"os": {"state": "absent", "source": "\xff"}}}')


def test_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = codec.encode(facts_of("no-gpu"), NOBODY)
    monkeypatch.setattr(codec, "SIZE_LIMIT_BYTES", len(raw))
    file = tmp_path / "facts.json"
    file.write_bytes(raw)
    assert codec.read(file) == facts_of("no-gpu")
    file.write_bytes(raw + b" ")
    with pytest.raises(codec.FactsFileError, match="larger than"):
        codec.read(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(codec.FactsFileError, match="No such file"):
        codec.read(tmp_path / "none.json")
    with pytest.raises(codec.FactsFileError, match="directory"):
        codec.read(tmp_path)


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    """As a shell gives it: check --facts <(zcat facts.json.gz)."""
    os.mkfifo(tmp_path / "fifo")
    raw = codec.encode(facts_of("no-gpu"), NOBODY)
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(raw,))
    writer.start()
    assert codec.read(tmp_path / "fifo") == facts_of("no-gpu")
    writer.join()


def test_home_and_user_names_leave_paths() -> None:
    python = PythonFacts(
        executable=Known("/home/marie/tf/bin/python", "--python"),
        prefix=Known("/home/marie", "the interpreter"),
        search_path=Known(("/home/marie/x", "/home/pierre/lib", "/Users/irene/lib", "/opt/lib"), "sys.path"),
        packages=Known((Package(name="marie", version="1", location="/home/marie/site"),), "metadata"),
        environment=Known({"PATH": "/home/marie/bin:/home/mariette/bin:/usr/bin"}, "environment"),
        chosen_by=Known("VIRTUAL_ENV", "VIRTUAL_ENV names /home/marie/tf."),
    )
    clean = redacted(Facts(python=python)).python
    assert clean.executable.require() == "~/tf/bin/python"
    assert clean.prefix.require() == "~"
    assert clean.search_path.require() == ("~/x", "/home/user/lib", "/Users/user/lib", "/opt/lib")
    assert clean.packages.require()[0] == Package(name="marie", version="1", location="~/site")
    assert clean.environment.require() == {"PATH": "~/bin:/home/user/bin:/usr/bin"}
    assert clean.chosen_by == Known("VIRTUAL_ENV", "VIRTUAL_ENV names ~/tf.")


def test_root_s_home_and_an_empty_home() -> None:
    facts = Facts(python=PythonFacts(prefix=Known("/root/tf", "x"), executable=Known("/rootkit/python", "x")))
    root = codec.redact(facts, codec.Identity(home="/root", user="root", host=""))
    assert (root.python.prefix.require(), root.python.executable.require()) == ("~/tf", "/rootkit/python")
    for home in ("", "/"):
        assert codec.redact(facts, codec.Identity(home=home, user="", host="")) == facts


def test_sources_reasons_and_other_values_are_cleaned_too() -> None:
    facts = facts_of("no-gpu")
    driver = replace(
        facts.driver,
        version=Unknown("/home/marie/lib/libnvidia-ml.so.1 cannot be loaded"),
        cuda_version=Absent("/home/marie/lib"),
        libcuda_file=Known(
            "/usr/lib/libcuda.so.1", "/home/marie/env", (("/home/marie/libcuda.so.1", "/home/marie/b"),)
        ),
    )
    clean = redacted(replace(facts, driver=driver)).driver
    assert clean.version == Unknown("~/lib/libnvidia-ml.so.1 cannot be loaded")
    assert clean.cuda_version == Absent("~/lib")
    assert clean.libcuda_file == Known("/usr/lib/libcuda.so.1", "~/env", (("~/libcuda.so.1", "~/b"),))


def processes(*found: GpuProcess) -> Facts:
    return Facts(gpus=(Gpu(processes=Known(found, "NVML")),))


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("python train.py --token=abc123", "python train.py --token=***"),
        ("python train.py --wandb-api-key abc123 -v", "python train.py --wandb-api-key *** -v"),
        ("env HF_TOKEN='a b' python x.py", "env HF_TOKEN=*** python x.py"),
        ('run --password "se cret" /home/marie/x', "run --password *** ~/x"),
        ("git clone https://marie:pw@example.org/r", "git clone https://***@example.org/r"),
        ("python -m tokenizers.train --epochs 3", "python -m tokenizers.train --epochs 3"),
        ("ssh curie-box.example.org python", "ssh host.example.org python"),
        ("python /home/pierre/x.py", "python /home/user/x.py"),
    ],
)
def test_secrets_leave_command_lines(line: str, clean: str) -> None:
    facts = processes(GpuProcess(pid=1, kind=ProcessKind.COMPUTE, command_line=line))
    (process,) = redacted(facts).gpus[0].processes.require()
    assert process.command_line == clean


def test_users_are_told_apart_but_not_named() -> None:
    facts = processes(
        *(
            GpuProcess(pid=pid, kind=ProcessKind.COMPUTE, user=user)
            for pid, user in enumerate(["marie", "pierre", None])
        )
    )
    assert [item.user for item in redacted(facts).gpus[0].processes.require()] == ["me", "other", None]


def test_the_host_name_leaves_logs_and_only_there() -> None:
    facts = facts_of(
        "no-gpu",
        set={
            "tensorflow.log_tail": "curie-box: job:worker at curie-box.lan, curie-boxes, /home/marie/x.py",
            "tensorflow.devices": [{"name": "curie-box", "kind": "GPU"}],
        },
    )
    event = LogEvent(message="m", line=1, parameters={"file": "/home/marie/lib.so", "host": "curie-box"})
    clean = redacted(replace(facts, tensorflow=replace(facts.tensorflow, events=Known((event,), "log")))).tensorflow
    assert clean.log_tail.require() == "host: job:worker at host.lan, curie-boxes, ~/x.py"
    assert clean.events.require()[0].parameters == {"file": "~/lib.so", "host": "host"}
    assert clean.devices.require() == (Device(name="curie-box", kind="GPU"),)


def test_nested_structs_are_cleaned() -> None:
    facts = Facts()
    library = Library(name="cudart", path="/home/marie/libcudart.so", version=Unknown("/home/marie/x"))
    computation = Computation(device="GPU:0", operation="matmul", detail="in /home/marie/a.py")
    facts = replace(
        facts,
        libraries=replace(facts.libraries, found=Known((library,), "loader")),
        tensorflow=replace(facts.tensorflow, computations=Known((computation,), "x")),
    )
    clean = redacted(facts)
    assert clean.libraries.found.require() == (Library(name="cudart", path="~/libcudart.so", version=Unknown("~/x")),)
    assert clean.tensorflow.computations.require()[0].detail == "in ~/a.py"


def test_names_of_files_that_are_no_text_can_be_saved() -> None:
    facts = Facts(python=PythonFacts(executable=Known("/opt/caf\udce9/python", "--python names /opt/caf\udce9.")))
    saved = codec.decode(codec.encode(facts, NOBODY)).python.executable
    assert saved == Known("/opt/caf?/python", "--python names /opt/caf?.")


def test_identity_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("LOGNAME", "somebody")
    identity = codec.Identity.of_this_process()
    assert identity == codec.Identity(home="/home/somebody", user="somebody", host=socket.gethostname())


def test_identity_without_a_passwd_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert codec.Identity.of_this_process().user == ""
