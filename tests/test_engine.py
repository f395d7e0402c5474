"""The engine, with small rules made here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from gpudoctor import engine
from gpudoctor.facts.model import Absent, Computation, Device, DriverFacts, Facts, Gpu, Known, Unknown
from gpudoctor.findings import (
    Capability,
    Confidence,
    Evidence,
    Expect,
    Finding,
    Outcome,
    Remedy,
    Report,
    Severity,
    Source,
    SourceKind,
    Verdict,
)
from gpudoctor.rules.registry import Draft, Rule, Scope, rule
from gpudoctor.verdict import is_answered
from tests.rule_case import facts_of

REBOOT = Remedy(summary="Reboot.", commands=("sudo reboot",))
UPGRADE = Remedy(summary="Upgrade.")
GPUS = (Gpu(uuid=Known("GPU-a", "NVML")), Gpu(pci_address=Known("0000:02:00.0", "NVML")))


def broken(
    name: str,
    breaks: Capability | None,
    *needs: Capability,
    severity: Severity = Severity.ERROR,
    on: tuple[int, ...] | None = None,
    remedies: tuple[Remedy, ...] = (),
    evidence: tuple[str | Evidence, ...] = (),
) -> Rule:
    """Return a rule that always finds its fault; on: for these GPUs only."""

    def machine(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding(evidence, remedies=remedies)

    def gpu(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
        if facts.gpus.index(gpu) in (on or ()):
            yield self.finding(evidence, remedies=remedies)

    check = machine if on is None else gpu
    check.__name__ = name.replace("-", "_")
    scope = Scope.MACHINE if on is None else Scope.GPU
    return rule(severity, message=f"{name} is broken", breaks=breaks, needs=needs, scope=scope)(check)


def judged(*rules: Rule, facts: Facts | None = None, expect: Expect = Expect.GPU) -> Report:
    facts = Facts(gpus=GPUS) if facts is None else facts
    source = Source(kind=SourceKind.FACTS)
    return engine.judge(facts, {item.id: item for item in rules}, source=source, expect=expect)


def causes(report: Report) -> dict[str, str | None]:
    return {f"{item.rule}@{item.gpu}".removesuffix("@None"): item.explained_by for item in report.findings}


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


DRIVER = broken("driver", Capability.KERNEL_DRIVER)
NVML = broken("nvml", Capability.USER_DRIVER, Capability.KERNEL_DRIVER)
LIBRARIES = broken("libraries", Capability.CUDA_LIBS)
DEVICE = broken("device", Capability.DEVICE_INIT, Capability.USER_DRIVER, Capability.CUDA_LIBS)
NO_GPU = broken("no-gpu", Capability.HARDWARE)


def test_what_needs_a_broken_capability_is_a_consequence() -> None:
    assert causes(judged(DRIVER, NVML)) == {"driver": None, "nvml": "driver"}


def test_a_chain_is_explained_by_its_root_not_by_the_link_before() -> None:
    assert causes(judged(DRIVER, NVML, DEVICE)) == {"driver": None, "nvml": "driver", "device": "driver"}


def test_independent_faults_stay_two_root_causes() -> None:
    report = judged(DRIVER, LIBRARIES)
    assert causes(report) == {"driver": None, "libraries": None}
    assert report.summary == "2 root causes: driver; libraries"


def test_the_lowest_of_two_causes_explains() -> None:
    assert causes(judged(NVML, LIBRARIES, DEVICE)) == {"nvml": None, "libraries": None, "device": "nvml"}


def test_without_a_gpu_everything_else_is_moot() -> None:
    report = judged(NO_GPU, DRIVER, LIBRARIES, DEVICE)
    assert causes(report) == {"no-gpu": None, "driver": "no-gpu", "libraries": "no-gpu", "device": "no-gpu"}
    assert report.summary == "one root cause: no-gpu"


def test_a_need_that_is_not_broken_explains_nothing() -> None:
    assert causes(judged(NVML, DEVICE)) == {"nvml": None, "device": "nvml"}
    assert causes(judged(DEVICE)) == {"device": None}


def test_a_warning_breaks_nothing() -> None:
    driver = broken("driver", Capability.KERNEL_DRIVER, severity=Severity.WARNING)
    assert causes(judged(driver, NVML)) == {"driver": None, "nvml": None}


def test_two_rules_of_one_capability_do_not_explain_each_other() -> None:
    other = broken("other", Capability.USER_DRIVER, Capability.USER_DRIVER, Capability.KERNEL_DRIVER)
    assert causes(judged(NVML, other)) == {"nvml": None, "other": None}


def test_a_need_above_is_no_cause() -> None:
    odd = broken("odd", Capability.KERNEL_DRIVER, Capability.CUDA_LIBS)
    assert causes(judged(odd, LIBRARIES)) == {"odd": None, "libraries": None}


def test_faults_of_one_gpu_explain_those_of_the_same_gpu_only() -> None:
    lost = broken("lost", Capability.USER_DRIVER, on=(0,))
    kernels = broken("kernels", Capability.KERNELS, Capability.USER_DRIVER, on=(0, 1))
    machine = broken("machine", Capability.MEMORY, Capability.USER_DRIVER)
    assert causes(judged(lost, kernels, machine)) == {
        "lost@0": None,
        "kernels@0": "lost",
        "kernels@1": None,
        "machine": None,
    }


def test_a_fault_of_the_machine_explains_those_of_each_gpu() -> None:
    kernels = broken("kernels", Capability.KERNELS, Capability.KERNEL_DRIVER, on=(0, 1))
    assert causes(judged(DRIVER, kernels)) == {"driver": None, "kernels@0": "driver", "kernels@1": "driver"}


def test_a_gpu_is_named_by_uuid_else_by_address() -> None:
    kernels = broken("kernels", Capability.KERNELS, on=(0, 1))
    assert [item.gpu_id for item in judged(kernels).findings] == ["GPU-a", "0000:02:00.0"]


def working(*devices: str) -> Facts:
    """Return two GPUs, of which TensorFlow computed on the devices given."""
    facts = Facts(gpus=tuple(replace(gpu, pci_address=Known(f"0000:0{n}:00.0", "")) for n, gpu in enumerate(GPUS)))
    listed = tuple(Device(name=f"GPU:{n}", kind="GPU", pci_address=f"0000:0{n}:00.0") for n in (0, 1))
    done = tuple(Computation(device=name, operation="matmul", correct=name in devices) for name in ("GPU:0", "GPU:1"))
    tensorflow = replace(facts.tensorflow, devices=Known(listed, ""), computations=Known(done, ""))
    return replace(facts, tensorflow=tensorflow)


@pytest.mark.parametrize(
    ("devices", "severities"),
    [
        (("GPU:0",), {"driver": Severity.NOTE, "kernels@0": Severity.NOTE, "kernels@1": Severity.ERROR}),
        ((), {"driver": Severity.ERROR, "kernels@0": Severity.ERROR, "kernels@1": Severity.ERROR}),
    ],
)
def test_what_was_seen_to_work_outweighs_every_table(devices: tuple[str, ...], severities: object) -> None:
    report = judged(DRIVER, broken("kernels", Capability.KERNELS, on=(0, 1)), facts=working(*devices))
    assert {f"{item.rule}@{item.gpu}".removesuffix("@None"): item.severity for item in report.findings} == severities


def test_what_was_seen_to_work_leaves_warnings_and_other_matters_alone() -> None:
    slow = broken("slow", Capability.KERNELS, severity=Severity.WARNING)
    python = broken("python", Capability.PYTHON)
    report = judged(slow, python, facts=working("GPU:0", "GPU:1"))
    assert {item.rule: item.severity for item in report.findings} == {
        "slow": Severity.WARNING,
        "python": Severity.ERROR,
    }


@pytest.mark.parametrize(
    ("expect", "with_gpu", "without_gpu"),
    [
        (Expect.GPU, Severity.ERROR, Severity.ERROR),
        (Expect.ANY, Severity.WARNING, Severity.NOTE),
        (Expect.CPU, Severity.NOTE, Severity.NOTE),
    ],
)
def test_what_the_user_expects_weighs_faults_of_the_gpu(
    expect: Expect, with_gpu: Severity, without_gpu: Severity
) -> None:
    assert only(judged(DRIVER, expect=expect)).severity is with_gpu
    assert {item.severity for item in judged(NO_GPU, DRIVER, expect=expect).findings} == {without_gpu}


@pytest.mark.parametrize("expect", Expect)
def test_a_broken_tensorflow_is_an_error_on_the_cpu_too(expect: Expect) -> None:
    assert only(judged(broken("import", Capability.TENSORFLOW), expect=expect)).severity is Severity.ERROR


def test_evidence_holds_value_and_source() -> None:
    facts = facts_of("desktop-rtx4090")
    paths = ("driver.version", "gpus[0].name", "python.environment[VIRTUAL_ENV]", "python.environment[NOT_SET]")
    added = Evidence(fact="log", value="line", source="log.txt:3")
    finding = only(judged(broken("rule", None, evidence=(*paths, added)), facts=facts))
    assert [(item.fact, item.value) for item in finding.evidence] == [
        ("driver.version", "535.183.01"),
        ("gpus[0].name", "NVIDIA GeForce RTX 4090"),
        ("python.environment[VIRTUAL_ENV]", "~/tf"),
        ("python.environment[NOT_SET]", "not set"),
        ("log", "line"),
    ]
    assert finding.evidence[0].source == "NVML"
    assert finding.confidence is Confidence.CERTAIN


def test_evidence_that_is_unknown_is_left_out_and_absence_is_shown() -> None:
    facts = facts_of("driver-missing")
    finding = only(judged(broken("rule", None, evidence=("driver.version", "driver.libcuda_file")), facts=facts))
    assert [(item.fact, item.value, item.source) for item in finding.evidence] == [
        ("driver.libcuda_file", "absent", "the dynamic loader")
    ]


def test_evidence_of_a_gpu_names_which() -> None:
    kernels = broken("kernels", Capability.KERNELS, on=(1,), evidence=("gpu.pci_address",))
    assert [item.fact for item in only(judged(kernels)).evidence] == ["gpus[1].pci_address"]


@pytest.mark.parametrize(("also", "confidence"), [("470.57.02", Confidence.LIKELY), ("535.183.01", Confidence.CERTAIN)])
def test_a_contradicted_fact_lowers_confidence(also: str, confidence: Confidence) -> None:
    facts = facts_of("desktop-rtx4090", also={"driver.version": also})
    assert only(judged(broken("rule", None, evidence=("driver.version",)), facts=facts)).confidence is confidence


def test_a_path_that_does_not_exist_is_a_fault_of_the_rule() -> None:
    report = judged(broken("rule", None, evidence=("driver.colour",)))
    assert report.checks[0].outcome is Outcome.ERROR
    assert "driver.colour" in report.checks[0].reason


def test_one_remedy_of_two_faults_comes_first_and_once() -> None:
    one = broken("one", Capability.CUDA_LIBS, remedies=(UPGRADE, REBOOT))
    two = broken("two", Capability.USER_DRIVER, remedies=(REBOOT,))
    report = judged(one, two)
    assert [(item.summary, item.fixes) for item in report.remedies] == [("Reboot.", ("two", "one"))]


def test_a_remedy_that_mends_less_is_left_out_but_alternatives_stay() -> None:
    report = judged(broken("one", Capability.CUDA_LIBS, remedies=(UPGRADE, REBOOT)))
    assert [item.summary for item in report.remedies] == ["Upgrade.", "Reboot."]


def test_remedies_of_independent_faults_stay_side_by_side() -> None:
    one = broken("one", Capability.CUDA_LIBS, remedies=(UPGRADE,))
    two = broken("two", Capability.USER_DRIVER, remedies=(REBOOT,))
    assert [item.fixes for item in judged(one, two).remedies] == [("two",), ("one",)]


def test_consequences_and_notes_bring_no_remedies() -> None:
    nvml = broken("nvml", Capability.USER_DRIVER, Capability.KERNEL_DRIVER, remedies=(UPGRADE,))
    note = broken("note", None, severity=Severity.NOTE, remedies=(UPGRADE,))
    assert judged(DRIVER, nvml, note).remedies == ()


def test_findings_before_an_unknown_fact_are_kept() -> None:
    def half(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding(())
        facts.driver.version.require()

    report = judged(rule(Severity.ERROR, message="half")(half))
    assert only(report).message == "half"
    assert report.checks[0].outcome is Outcome.FAIL


def test_an_unknown_fact_of_one_gpu_does_not_hide_the_other() -> None:
    def named(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
        yield self.finding((), name=gpu.name.require())

    facts = Facts(gpus=(Gpu(name=Unknown("no answer")), Gpu(name=Known("T4", "NVML"))))
    made = rule(Severity.WARNING, message="{name}", scope=Scope.GPU)(named)
    report = judged(made, facts=facts)
    assert (only(report).message, only(report).gpu) == ("T4", 1)
    alone = judged(made, facts=Facts(gpus=facts.gpus[:1]))
    assert (alone.checks[0].outcome, alone.checks[0].reason) == (Outcome.SKIP, "no answer")


def test_what_does_not_exist_is_not_what_could_not_be_read() -> None:
    def asking(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding((), version=facts.driver.version.require())

    made = rule(Severity.ERROR, message="{version}")(asking)
    absent = judged(made, facts=Facts(driver=DriverFacts(version=Absent("/sys")))).checks[0]
    unknown = judged(made, facts=Facts()).checks[0]
    assert (absent.outcome, absent.reason, absent.applicable) == (Outcome.SKIP, "there is none (/sys)", False)
    assert (unknown.outcome, unknown.reason, unknown.applicable) == (Outcome.SKIP, "not read", True)


def test_a_rule_about_gpus_is_skipped_where_none_is_known() -> None:
    report = judged(broken("kernels", Capability.KERNELS, on=(0,)), facts=Facts())
    assert (report.checks[0].outcome, report.checks[0].reason) == (Outcome.SKIP, "no GPU is known")


def test_a_rule_that_raises_is_an_error_and_the_others_go_on() -> None:
    def bad(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding(())
        raise ZeroDivisionError("a fault of ours")

    report = judged(rule(Severity.WARNING, message="bad")(bad), DRIVER)
    outcomes = {check.rule: check.outcome for check in report.checks}
    assert outcomes == {"bad": Outcome.ERROR, "driver": Outcome.FAIL}
    assert "a fault of ours" in next(check.reason for check in report.checks if check.rule == "bad")


def test_a_message_without_one_of_its_values_is_an_error_of_the_rule() -> None:
    def unfilled(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding(())

    assert judged(rule(Severity.ERROR, message="{missing}")(unfilled)).checks[0].outcome is Outcome.ERROR


def test_braces_in_a_value_are_no_template() -> None:
    def quoting(self: Rule, facts: Facts) -> Iterator[Draft]:
        yield self.finding((), value="{have} {0} {")

    assert only(judged(rule(Severity.ERROR, message="{value}!")(quoting))).message == "{have} {0} {!"


@pytest.mark.parametrize(
    ("facts", "expect", "answered"),
    [
        (facts_of("desktop-rtx4090"), Expect.GPU, True),
        (facts_of("no-gpu"), Expect.GPU, False),
        (facts_of("no-gpu"), Expect.CPU, True),
        (Facts(), Expect.GPU, False),
        (Facts(), Expect.ANY, False),
        (facts_of("desktop-rtx4090", unknown={"tensorflow.run": "--quick"}), Expect.GPU, True),
        (
            facts_of(
                "desktop-rtx4090",
                unknown={"tensorflow.run": "-", "driver.nvml_device_count": "-", "driver.cuda_device_count": "-"},
            ),
            Expect.GPU,
            False,
        ),
    ],
)
def test_whether_the_facts_answer_what_the_user_expects(facts: Facts, expect: Expect, answered: bool) -> None:
    assert is_answered(facts, expect) is answered


def test_a_python_that_is_not_there_is_the_last_word() -> None:
    report = judged(facts=facts_of("desktop-rtx4090", unknown={
        "python.version": "there is no ~/my-evn", "tensorflow.run": "-", "tensorflow.cuda_build": "-",
        "tensorflow.version": "-", "tensorflow.computations": "-", "tensorflow.devices": "-",
        "driver.nvml_device_count": "-", "driver.cuda_device_count": "-",
    }))  # fmt: skip
    assert report.summary == "no fault found, but the Python to be judged could not be read: there is no ~/my-evn"


def test_verdict_of_nothing_known_is_unknown_not_ok() -> None:
    report = judged(facts=Facts())
    assert report.verdict is Verdict.UNKNOWN
    assert report.summary == "no fault found, but too little could be read to tell"


def test_summary_says_where_tensorflow_computes() -> None:
    healthy = facts_of("server-h200")
    assert judged(facts=healthy).summary == "no fault found; TensorFlow computes on GPU:0, GPU:1"
    assert (
        judged(facts=healthy, expect=Expect.CPU).summary == "no fault found; TensorFlow computes on CPU:0, GPU:0, GPU:1"
    )
    quick = facts_of("server-h200", unknown={"tensorflow.run": "--quick", "tensorflow.computations": "--quick"})
    assert judged(facts=quick).summary == "no fault found; TensorFlow was not started"


def test_a_fault_with_unknown_expectation_is_still_an_error() -> None:
    assert judged(DRIVER, facts=Facts()).verdict is Verdict.ERRORS
