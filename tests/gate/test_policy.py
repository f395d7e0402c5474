"""Reading, overriding, explaining and writing policies, and what the engine makes of them."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from gpudoctor import engine
from gpudoctor.findings import Expect, Outcome, Report, Role, Severity, Source, SourceKind, Verdict
from gpudoctor.policy import read, words
from gpudoctor.policy.keys import KEYS, LISTS, size, size_text
from gpudoctor.policy.model import NOTHING_ASKED, Ignore, Policy
from gpudoctor.rules.registry import load_rules
from tests.rule_case import base_names, facts_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TODAY = dt.date(2027, 1, 15)
GIB = 1024**3
WHOLE = """
expect = "gpu"
fail_on = "warning"
min_gpus = 2
gpu_name = ["A100", "H100"]
min_compute_capability = 8.0
min_memory = "40GiB"
min_free_memory = "500 MB"
max_used_memory = "1GiB"
max_gpu_processes = 0
max_gpu_temperature = 80
require_native_code = true
driver = ">=535"
tensorflow = ">=2.15,<2.22"
keras = "~=3.0"
python = ">=3.10"
min_shm = 1024
min_images_per_second = 500
benchmark = "results/bench.json"
benchmark_mode = "gpu-optimized"
select = ["driver", "gpu-works"]
ignore = ["thermal-or-power-throttle", { rule = "no-mixed-precision", until = 2027-01-31, reason = "later" }]
[severity]
gpu-works = "note"
"""


def judged(base: str, policy: Policy, expect: Expect = Expect.GPU) -> Report:
    rules = load_rules(policy=True)
    return engine.judge(facts_of(base), rules, source=Source(kind=SourceKind.FACTS), expect=expect, policy=policy)


def written(folder: Path, text: str, name: str = read.OWN_FILE) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Reading.


def test_every_key_is_read(here: Path) -> None:
    policy = read.read(written(here, WHOLE))
    assert policy == Policy(
        source="gpudoctor.toml",
        expect=Expect.GPU,
        fail_on="warning",
        min_gpus=2,
        gpu_name=("A100", "H100"),
        min_compute_capability="8.0",
        min_memory=40 * GIB,
        min_free_memory=500_000_000,
        max_used_memory=GIB,
        max_gpu_processes=0,
        max_gpu_temperature=80,
        require_native_code=True,
        driver=">=535",
        tensorflow=">=2.15,<2.22",
        keras="~=3.0",
        python=">=3.10",
        min_shm=1024,
        min_images_per_second=500.0,
        benchmark=str(here / "results/bench.json"),
        benchmark_mode="gpu-optimized",
        select=("driver", "gpu-works"),
        ignore=(
            Ignore(rule="thermal-or-power-throttle"),
            Ignore(rule="no-mixed-precision", until=dt.date(2027, 1, 31), reason="later"),
        ),
        severity={"gpu-works": Severity.NOTE},
    )
    table = tomllib.loads(WHOLE)
    assert set(table) == {*KEYS, *LISTS}, "a key that this test leaves out"


def test_pyproject_holds_the_same(here: Path) -> None:
    text = '[project]\nname = "x"\n[tool.gpudoctor]\nmin_gpus = 2\n[tool.gpudoctor.severity]\ngpu-works = "error"\n'
    policy = read.read(written(here, text, read.PYPROJECT))
    assert (policy.min_gpus, policy.severity) == (2, {"gpu-works": Severity.ERROR})
    assert read.read(written(here, '[project]\nname = "x"\n', read.PYPROJECT)) == Policy(source=read.PYPROJECT)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("min_gpu = 2", "gpudoctor.toml:1: there is no key 'min_gpu'; did you mean min_gpus?"),
        ("# a comment\n\nzzz = 2", "gpudoctor.toml:3: there is no key 'zzz'"),
        ("min_gpus = '2'", 'gpudoctor.toml:1: min_gpus has to be a whole number, 0 or more, not "2"'),
        ("min_gpus = true", "gpudoctor.toml:1: min_gpus has to be a whole number, 0 or more, not true"),
        ("min_gpus = -1", "gpudoctor.toml:1: min_gpus has to be a whole number, 0 or more, not -1"),
        ("driver = '>=535'\n\nmin_memory = '6 gib'", "gpudoctor.toml:3: min_memory has to be a size such as"),
        ("min_compute_capability = '7'", "min_compute_capability has to be a compute capability such as"),
        ("tensorflow = '2.15'", 'tensorflow has to be versions such as ">=2.15,<2.22", not "2.15"'),
        ("expect = 'tpu'", 'expect has to be one of gpu, cpu, any, not "tpu"'),
        ("fail_on = 'info'", "fail_on has to be one of note, warning, error, never"),
        ("require_native_code = 1", "require_native_code has to be true or false, not 1"),
        ("min_images_per_second = inf", "min_images_per_second has to be a number, 0 or more"),
        ("gpu_name = []", "gpu_name has to be a text, or a list of texts"),
        ("select = 'driver'", 'gpudoctor.toml:1: select has to be a list, not "driver"'),
        ("select = ['drivers']", "gpudoctor.toml:1: there is no rule 'drivers'"),
        (
            "ignore = [\n  'gpu-works',\n  # why\n  'driver-mising',\n]",
            "gpudoctor.toml:4: there is no rule 'driver-mising'; did you mean driver-missing",
        ),
        ("ignore = [{ rule = 'gpu-works', untill = 2027-01-01 }]", "an ignore has no 'untill'; did you mean until?"),
        ("ignore = [{ rule = 'gpu-works', until = 'soon' }]", "until has to be a date such as 2027-01-31"),
        ("ignore = [{ rule = 'gpu-works', until = 2027-01-01T00:00:00 }]", "until has to be a date"),
        ("ignore = [{ until = 2027-01-01 }]", "a rule's id is wanted, not None"),
        ("min_gpus = 1\n[severity]\ngpu-works = 'bad'", "gpudoctor.toml:3: a severity has to be one of"),
        ("[severity]\n\n\ngpu-work = 'note'", "gpudoctor.toml:4: there is no rule 'gpu-work'"),
        ("severity = 1", "gpudoctor.toml:1: severity has to be a table of rules"),
        ("min_gpus = = 2", "at line 1, column 12"),
        ('x = """\nmin_gpu = 1\n"""\nmin_gpu = 2\n', "gpudoctor.toml:1: there is no key 'x'"),
        ('driver = ">=1"\n"min_gpu" = 2\n', "gpudoctor.toml:2: there is no key 'min_gpu'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(here: Path, text: str, told: str) -> None:
    with pytest.raises(read.PolicyError) as caught:
        read.read(written(here, text))
    assert told in str(caught.value)


def test_a_line_of_pyproject_is_told(here: Path) -> None:
    text = "[tool.other]\nmin_gpu = 1\nmin_gpus = 1\n\n[tool.gpudoctor]\nexpect = 'gpu'\nmin_gpu = 1\n"
    with pytest.raises(read.PolicyError, match=r"pyproject\.toml:7: there is no key 'min_gpu'"):
        read.read(written(here, text, read.PYPROJECT))


def test_a_file_that_cannot_be_read(here: Path) -> None:
    with pytest.raises(read.PolicyError, match=r"none\.toml: No such file"):
        read.read(here / "none.toml")
    (here / "latin.toml").write_bytes(b"# \xe4\n")
    with pytest.raises(read.PolicyError, match="not UTF-8"):
        read.read(here / "latin.toml")


def test_the_nearest_policy_is_found(here: Path) -> None:
    below = here / "a" / "b"
    below.mkdir(parents=True)
    assert read.find(below) is None or here not in (read.find(below) or Path()).parents
    written(here, "[tool.gpudoctor]\n", read.PYPROJECT)
    assert read.find(below) == here / read.PYPROJECT
    written(here / "a", "[project]\nname = 'gpudoctor-user'\n", read.PYPROJECT)
    assert read.find(below) == here / read.PYPROJECT, "without a table it is passed by"
    written(here, "min_gpus = 1")
    assert read.find(below) == here / read.OWN_FILE
    written(here / "a", "[tool]\ngpudoctor = { min_gpus = 1 }\n", read.PYPROJECT)
    assert read.find(below) == here / "a" / read.PYPROJECT


def test_no_folder_and_closed_folders_have_no_policy(here: Path) -> None:
    gone = here / "gone"
    gone.mkdir()
    code = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from gpudoctor.policy import read; "
    code += "print(read.find())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    assert read.find(here / "none" / "at-all") is None


def test_a_file_that_no_parser_can_hold(here: Path) -> None:
    path = written(here, "select = " + "[" * 100_000)
    with pytest.raises(read.PolicyError):
        read.read(path)


@pytest.mark.parametrize(
    ("text", "count"), [("6GiB", 6 * GIB), ("1.5 GiB", GIB * 3 // 2), ("500MB", 500_000_000), ("7 B", 7), (9, 9)]
)
def test_sizes(text: object, count: int) -> None:
    assert size(text) == count
    assert size(size_text(6 * GIB)) == 6 * GIB


# Overriding.


def test_options_override_the_file(here: Path) -> None:
    policy = read.read(written(here, "min_gpus = 2\nmin_memory = '1GiB'\nignore = ['gpu-works']"))
    given = {"min_gpus": "4", "require_native_code": "true", "min_images_per_second": "1.5", "gpu_name": "A100"}
    changed = read.override(policy, given, ignore=["driver-missing"], select=["driver"])
    assert (changed.min_gpus, changed.min_memory, changed.require_native_code) == (4, GIB, True)
    assert (changed.min_images_per_second, changed.gpu_name) == (1.5, ("A100",))
    assert [item.rule for item in changed.ignore] == ["gpu-works", "driver-missing"]
    assert changed.select == ("driver",)
    assert changed.source_of("min_gpus") == "given directly"
    assert changed.source_of("min_memory") == "gpudoctor.toml"


def test_a_bad_option_is_told() -> None:
    for values, told in (
        ({"min_gpu": "1"}, "there is no key 'min_gpu'; did you mean min_gpus?"),
        ({"min_gpus": "many"}, 'min_gpus has to be a whole number, 0 or more, not "many"'),
    ):
        with pytest.raises(read.PolicyError) as caught:
            read.override(NOTHING_ASKED, values)
        assert str(caught.value) == told


# What the engine makes of it.


def check_of(report: Report, rule: str) -> tuple[Outcome, str]:
    found = next(item for item in report.checks if item.rule == rule)
    return found.outcome, found.reason


def test_a_requirement_is_a_finding_with_evidence_of_machine_and_policy() -> None:
    report = judged("server-h200", Policy(source="gpudoctor.toml", min_gpus=8))
    finding = next(item for item in report.findings if item.rule == "too-few-gpus")
    assert (finding.severity, finding.role) == (Severity.ERROR, Role.ROOT_CAUSE)
    seen = [(item.fact, item.value, item.source) for item in finding.evidence]
    assert ("driver.cuda_device_count", "2", "libcuda") in seen
    assert seen[-1] == ("policy.min_gpus", "8", "gpudoctor.toml")
    assert report.verdict is Verdict.ERRORS
    assert report.policy is not None
    assert report.policy.asks == {"min_gpus": "8"}


def test_what_cannot_be_told_is_no_pass() -> None:
    facts = facts_of("desktop-rtx4090", unknown={"gpus[0].temperature_celsius": "this GPU does not tell"})
    policy = Policy(max_gpu_temperature=80)
    report = engine.judge(facts, load_rules(policy=True), source=Source(kind=SourceKind.FACTS), policy=policy)
    assert (report.verdict, report.answered) == (Verdict.UNKNOWN, False)
    assert report.summary.endswith("what the policy asks for: gpu-too-hot")
    assert check_of(report, "gpu-too-hot") == (Outcome.SKIP, "this GPU does not tell")


def test_a_policy_that_is_fulfilled_changes_nothing() -> None:
    plain = engine.judge(facts_of("server-h200"), load_rules(), source=Source(kind=SourceKind.FACTS))
    report = judged("server-h200", Policy(min_gpus=2, gpu_name=("H200",), driver=">=500"))
    assert (report.verdict, report.summary, report.findings) == (plain.verdict, plain.summary, plain.findings)
    assert check_of(report, "too-few-gpus") == (Outcome.PASS, "")
    assert check_of(report, "gpu-too-hot") == (Outcome.SKIP, "no policy asks for this")


def test_a_policy_asks_also_of_a_cpu_machine() -> None:
    report = judged("no-gpu", Policy(python=">=4"), Expect.CPU)
    assert [item.rule for item in report.findings if item.severity is Severity.ERROR] == ["python-version-not-allowed"]


def test_ignored_until_a_day() -> None:
    ignore = (Ignore(rule="no-nvidia-gpu", until=TODAY, reason="it is being bought"),)
    report = judged("no-gpu", Policy(ignore=ignore).on(TODAY))
    assert not [item for item in report.findings if item.rule == "no-nvidia-gpu"]
    outcome, reason = check_of(report, "no-nvidia-gpu")
    assert outcome is Outcome.SKIP
    assert reason.startswith(
        "ignored by the policy until 2027-01-15: it is being bought: this machine has no NVIDIA GPU"
    )
    report = judged("no-gpu", Policy(ignore=ignore).on(TODAY + dt.timedelta(days=1)))
    assert [item.rule for item in report.findings] == ["no-nvidia-gpu", "ignore-expired"]


def test_what_an_ignored_cause_explained_stands_on_its_own() -> None:
    policy = Policy(min_gpus=1)
    consequence = next(item for item in judged("no-gpu", policy).findings if item.rule == "too-few-gpus")
    assert consequence.explained_by == "no-nvidia-gpu"
    report = judged("no-gpu", Policy(min_gpus=1, ignore=(Ignore(rule="no-nvidia-gpu"),)))
    assert [(item.rule, item.role) for item in report.findings] == [("too-few-gpus", Role.ROOT_CAUSE)]


def test_an_ignored_requirement_need_not_be_answered() -> None:
    facts = facts_of("desktop-rtx4090", unknown={"gpus[0].temperature_celsius": "this GPU does not tell"})
    policy = Policy(max_gpu_temperature=80, ignore=(Ignore(rule="gpu-too-hot"),))
    report = engine.judge(facts, load_rules(policy=True), source=Source(kind=SourceKind.FACTS), policy=policy)
    assert report.verdict is Verdict.OK


def test_selected_rules_and_areas() -> None:
    report = judged("laptop-940m", Policy(select=("gpu-works", "hardware"), min_gpus=2))
    ran = {item.rule for item in report.checks if item.reason != "the policy does not select it"}
    areas = {rule.id for rule in load_rules(policy=True).values() if ".hardware." in rule.check.__module__}
    asked = {rule.id for rule in load_rules(policy=True).values() if rule.asks}
    assert ran == {"gpu-works", *areas, *asked}
    assert [item.rule for item in report.findings] == ["too-few-gpus"]


def test_severity_is_overridden_and_not_for_what_was_seen_to_work() -> None:
    lowered = judged("no-gpu", Policy(severity={"no-nvidia-gpu": Severity.WARNING}))
    assert lowered.verdict is Verdict.UNKNOWN or lowered.verdict is Verdict.WARNINGS
    assert [item.severity for item in lowered.findings] == [Severity.WARNING]
    policy = Policy(severity={"a": Severity.ERROR})
    assert policy.weighed("a", Severity.WARNING, Severity.WARNING) is Severity.ERROR
    assert policy.weighed("a", Severity.NOTE, Severity.WARNING) is Severity.NOTE
    assert policy.weighed("b", Severity.WARNING, Severity.WARNING) is Severity.WARNING
    assert Policy(severity={"a": Severity.NOTE}).weighed("a", Severity.WARNING, Severity.ERROR) is Severity.NOTE


# In words, as a file, for editors.


def test_a_policy_in_words(here: Path) -> None:
    said = words.sentences(read.read(written(here, WHOLE)), dt.date(2027, 2, 1))
    assert "Each GPU has to have at least 40 GiB of memory." in said
    assert "Ignored until 2027-01-31 is no-mixed-precision (expired: it counts again): later." in said
    assert len(said) == len(KEYS) + 1 + 2 + 1
    assert [line for line in said if "{" in line or not line.endswith(".")] == []


@pytest.mark.parametrize("base", base_names())
@pytest.mark.parametrize("name", [read.OWN_FILE, read.PYPROJECT])
def test_a_machine_fulfils_the_policy_that_is_written_for_it(here: Path, base: str, name: str) -> None:
    facts = facts_of(base)
    policy = read.read(written(here, words.template(facts, pyproject=name == read.PYPROJECT), name))
    rules = load_rules(policy=True)
    source = Source(kind=SourceKind.FACTS)
    report = engine.judge(facts, rules, source=source, expect=policy.expect or Expect.GPU, policy=policy)
    assert [item.message for item in report.findings if rules[item.rule].asks] == []


def test_what_is_suggested_in_comments_can_be_switched_on(here: Path) -> None:
    text = words.template(facts_of("server-h200"), pyproject=False)
    lines = [line.removeprefix("# ") for line in text.splitlines()[1:]]
    policy = read.read(written(here, "\n".join(lines)))
    assert policy.min_images_per_second == 500


def schema() -> dict[str, Any]:
    text = (resources.files("gpudoctor") / "schemas" / "policy.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_the_schema_for_editors_takes_what_the_reader_takes() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    table = json.loads(json.dumps(tomllib.loads(WHOLE), default=str))
    jsonschema.validate(table, schema())
    assert set(schema()["properties"]) == {*KEYS, *LISTS}
    for wrong in ({"min_gpu": 1}, {"min_gpus": -1}, {"min_memory": "6 gib"}, {"ignore": [{"until": "2027-01-01"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema())


def test_rules_are_named_without_importing_them() -> None:
    from gpudoctor.rules.registry import area_of, rule_areas

    assert rule_areas() == {rule.id: area_of(rule) for rule in load_rules(policy=True).values()}
