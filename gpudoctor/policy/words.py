"""A policy in words: for reports, for `gpudoctor policy check`, and as a file for the machine at hand."""

from __future__ import annotations

import datetime as dt

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.policy.keys import KEYS, size_text
from gpudoctor.policy.model import Policy

GIB = 1024**3


def asked_texts(policy: Policy) -> dict[str, str]:
    """Return what is asked, as text, by key."""
    values = {name: getattr(policy, name) for name in KEYS}
    return {name: KEYS[name].shown(value) for name, value in values.items() if value is not None}


def sentences(policy: Policy, today: dt.date) -> list[str]:
    """Return what the policy asks, one sentence each, in the order of the keys."""
    said = [KEYS[name].says.replace("{value}", text) for name, text in asked_texts(policy).items()]
    if policy.select is not None:
        said.append(f"Only these rules or areas are run: {', '.join(policy.select) or 'none'}.")
    for item in policy.ignore:
        until, why = f" until {item.until}" if item.until else "", f": {item.reason}" if item.reason else ""
        over = " (expired: it counts again)" if item.until is not None and item.until < today else ""
        said.append(f"Ignored{until} is {item.rule}{over}{why}".rstrip(".") + ".")
    said += [f"Findings of {rule} are of severity {level.label}." for rule, level in policy.severity.items()]
    return said


def template(facts: Facts, *, pyproject: bool) -> str:
    """Return a policy that the machine of these facts fulfils, as TOML with comments.

    What could not be read stands in it as a comment. Free memory, processes and temperature change by the minute: they
    are left for the user to decide.
    """
    prefix = "tool.gpudoctor" if pyproject else ""
    visible = [gpu for gpu in facts.gpus if gpu.visible.get() is not False]
    lines = [f"[{prefix}]"] if prefix else []
    lines += [
        "# What this machine has to have before a training starts; `gpudoctor policy check` explains it.",
        f'expect = "{"gpu" if visible else "cpu"}"',
        'fail_on = "error"',
        *_of_gpus(visible),
        *_of_versions(facts),
    ]
    shm = facts.host.shm_bytes.get()
    lines.append(f'min_shm = "{size_text(min(shm, GIB))}"' if shm else '# min_shm = "1 GiB"')
    lines += [
        '# min_free_memory = "6 GiB"',
        "# max_gpu_processes = 0",
        '# max_used_memory = "500 MiB"',
        "# max_gpu_temperature = 80",
        "# min_images_per_second = 500",
        '# benchmark = "bench.json"  # from: gpudoctor bench -o json=bench.json',
        '# ignore = [{ rule = "thermal-or-power-throttle", until = 2030-01-31, reason = "new fans are ordered" }]',
        "",
        f"# [{prefix}.severity]" if prefix else "# [severity]",
        '# no-mixed-precision = "warning"',
    ]
    return "\n".join(lines) + "\n"


def _of_gpus(gpus: list[Gpu]) -> list[str]:
    if not gpus:
        return ["# min_gpus = 1"]
    names = sorted({name for gpu in gpus if (name := gpu.name.get())})
    capabilities = [cc for gpu in gpus if (cc := gpu.compute_capability.get())]
    memories = [size for gpu in gpus if (size := gpu.memory_total_bytes.get())]
    lowest = min(capabilities, key=lambda text: tuple(map(int, text.split("."))), default=None)
    lines = [f"min_gpus = {len(gpus)}"]
    quoted = ", ".join(_quoted(name) for name in names)
    lines.append(f"gpu_name = [{quoted}]" if names else '# gpu_name = ["A100"]')
    lines.append(f'min_compute_capability = "{lowest}"' if lowest else '# min_compute_capability = "7.0"')
    # Drivers keep a part that differs from release to release.
    whole = int(min(memories) / GIB * 0.95) if memories else 0
    lines.append(f'min_memory = "{whole} GiB"' if whole else '# min_memory = "8 GiB"')
    lines.append("# require_native_code = true")
    return lines


def _quoted(text: str) -> str:
    kept = "".join(letter for letter in text if letter.isprintable())
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _of_versions(facts: Facts) -> list[str]:
    versions = {
        "driver": facts.driver.version.get(),
        "tensorflow": facts.tensorflow.version.get(),
        "keras": facts.tensorflow.keras_version.get(),
        "python": facts.python.version.get(),
    }
    lines = []
    for name, version in versions.items():
        parts = (version or "").split(".")
        known = len(parts) > 1 and all(part.isdecimal() for part in parts[:2])
        lines.append(f'{name} = ">={parts[0]}.{parts[1]}"' if known else f'# {name} = ">=..."')
    return lines
