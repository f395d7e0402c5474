"""The report in a word and a sentence, and whether the facts tell what the user wants to know."""

from __future__ import annotations

from gpudoctor.facts.model import Api, Facts, Known, Unknown
from gpudoctor.findings import Expect, Finding, Report, Role, Severity, SourceKind, Verdict
from gpudoctor.rules.observed import computed_on, failed_operations, seen_gpu_devices, working_gpu_devices

# How the rows begin that tell what a person says, see gpudoctor.logs.rows.said; among them, what is no complaint.
SAID = "said-"
NO_COMPLAINTS = ("said-weak-gpu", "said-16-bits", "said-distributed", "said-new-models", "said-no-gpu-here",
                 "said-secure-boot", "said-throttled")  # fmt: skip
# Facts of a GPU that people write down; the others only a tool tells.
WRITTEN = ("name", "compute_capability")


def exit_status(report: Report, fail_on: str) -> int:
    """Return the exit status that the output contract promises. fail_on: note, warning, error or never."""
    if fail_on != "never" and any(item.severity >= Severity[fail_on.upper()] for item in report.findings):
        return 1
    return 3 if report.verdict is Verdict.UNKNOWN else 0


def is_answered(facts: Facts, expect: Expect, kind: SourceKind = SourceKind.LIVE) -> bool:
    """Whether the facts tell if the machine can do what the user expects of it."""
    if kind is SourceKind.TEXT:
        return _is_told(facts, expect)
    started = facts.tensorflow.run.get() is not None
    if expect is Expect.GPU:
        if started:
            return bool(working_gpu_devices(facts))
        seen = (facts.driver.cuda_device_count.get() or 0) > 0 or (facts.driver.nvml_device_count.get() or 0) > 0
        return seen and facts.tensorflow.version.get() is not None
    return started or facts.tensorflow.version.get() is not None or facts.host.os.get() is not None


def _is_told(facts: Facts, expect: Expect) -> bool:
    """Whether a text tells anything, and leaves no GPU out without a reason."""
    listed = facts.tensorflow.devices.get()
    if listed is not None and expect is Expect.GPU:
        return any(device.kind == "GPU" for device in listed)
    if expect is Expect.GPU and _left_out(facts):
        return False
    # What somebody says of a machine, and the GPU's name alone, are no sign of health.
    events = facts.tensorflow.events.get() or ()
    told = any(not event.message.startswith(SAID) for event in events) or listed is not None
    told = told or any(isinstance(getattr(gpu, name), Known) for gpu in facts.gpus for name in gpu.__struct_fields__
                       if name not in WRITTEN)  # fmt: skip
    groups = (facts.driver, facts.training, facts.libraries)
    return told or any(
        isinstance(getattr(group, name), Known)
        for group in groups
        for name in group.__struct_fields__
        if group is not facts.driver or name != "version"  # people write it down
    )


def _left_out(facts: Facts) -> bool:
    """Whether CUDA did not start, or TensorFlow left a GPU out: whatever the reason, that is no health."""
    cuda = facts.driver.cuda_init.get()
    failed = cuda is not None and cuda.outcome not in (Api.OK, Api.NO_LIBRARY)
    return failed and not seen_gpu_devices(facts)


def unexplained(facts: Facts) -> str:
    """Return how CUDA or NVML failed in a text that shows no GPU at work, or what somebody says, empty if neither."""
    driver = facts.driver
    for name, answer in (("CUDA", driver.cuda_init.get()), ("NVML", driver.nvml.get())):
        if answer is not None and answer.outcome is not Api.OK and not seen_gpu_devices(facts):
            return f"{name}: {answer.name or answer.detail or answer.code or 'an error'}"
    return _failure(facts) or _complaint(facts)


def _failure(facts: Facts) -> str:
    """Return the first operation that failed in a text that shows no GPU at work; empty where none did."""
    failed = () if seen_gpu_devices(facts) else failed_operations(facts)
    return f"{failed[0].message}, line {failed[0].line}" if failed else ""


def _complaint(facts: Facts) -> str:
    """Return what somebody complains of in a text, as it stands there; empty where nobody does, or the GPU is used."""
    for event in () if seen_gpu_devices(facts) else facts.tensorflow.events.get() or ():
        if event.message.startswith(SAID) and event.message not in NO_COMPLAINTS:
            return event.parameters.get("words", "").strip("#*> ") or event.message
    return ""


def verdict_of(findings: list[Finding], answered: bool, failure: str = "") -> Verdict:
    """Return the verdict; what is not answered, or a failure that no finding explains, is unknown, unless an error is.

    failure: what unexplained() says of a text.
    """
    worst = max((finding.severity for finding in findings), default=Severity.NOTE)
    if worst is Severity.ERROR:
        return Verdict.ERRORS
    if not answered or (failure and worst is Severity.NOTE):
        return Verdict.UNKNOWN
    return Verdict.WARNINGS if worst is Severity.WARNING else Verdict.OK


def summarise(
    findings: list[Finding], facts: Facts, verdict: Verdict, expect: Expect, *, kind: SourceKind, unread: list[str]
) -> str:
    """Return one sentence. unread: rules of the policy that could not tell."""
    roots = [item for item in findings if item.role is Role.ROOT_CAUSE and item.severity >= Severity.WARNING]
    if roots:
        count = len({(item.rule, item.message) for item in roots})  # of several GPUs the same is one
        what = {1: "one root cause"}.get(count, f"{count} root causes")
        return f"{what}: {'; '.join(dict.fromkeys(item.rule for item in roots))}"
    if unread:
        return f"no fault found, but it could not be told whether this is what the policy asks for: {', '.join(unread)}"
    if verdict is Verdict.UNKNOWN:
        listed = facts.tensorflow.devices.get()
        if listed is not None and not any(device.kind == "GPU" for device in listed):
            return "TensorFlow lists no GPU, and no check explains why"
        if kind is SourceKind.TEXT and (failure := unexplained(facts)):
            what = "a trouble" if failure == _complaint(facts) else "an error"
            return f"the text shows {what} whose cause it does not tell ({failure})"
        if kind is SourceKind.TEXT:
            return "nothing in the text tells what is wrong"
        if isinstance(python := facts.python.version, Unknown) and isinstance(facts.host.os, Known):
            return f"no fault found, but the Python to be judged could not be read: {python.reason}"
        return "no fault found, but too little could be read to tell"
    if facts.tensorflow.run.get() is None:
        return "no fault found; TensorFlow was not started" if kind is not SourceKind.TEXT else "no fault in the text"
    names = sorted(device for device, right in computed_on(facts).items() if right)
    where = [name for name in names if name.startswith("GPU")] if expect is Expect.GPU else names
    return f"no fault found; TensorFlow computes on {', '.join(where)}" if where else "no fault found"
