"""Version texts as TensorFlow, CUDA and NVIDIA write them. Compare what is parsed, print what was read."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from gpudoctor.compat.bundle import NotCovered

# build_info.py of the Windows wheels of 2.3 to 2.10: "64_112" is the suffix of cudart64_112.dll, CUDA 11.2.
WINDOWS_SUFFIX = re.compile(r"64_(\d{1,3})\Z")
# Longer texts are versions of nothing, and of thousands of digits Python makes no number.
LONGEST = 200
CAPABILITY = re.compile(r"(?:sm_|compute_)?(\d{1,3})(\d)[a-z]?\Z")


@lru_cache(maxsize=4096)
def version(text: str) -> Version:
    """`text` for comparison; raises NotCovered when it is no version (the text is named)."""
    if len(text) > LONGEST:
        raise NotCovered(f"{text[:LONGEST]!r}... is not a version")
    try:
        return Version(text)
    except InvalidVersion as exc:
        raise NotCovered(f"{text!r} is not a version") from exc


def cuda_release(text: str) -> tuple[int, ...]:
    """CUDA release numbers of "12.5.1", "12.5", "10" or the Windows form "64_112"; raises NotCovered."""
    suffix = WINDOWS_SUFFIX.match(text)
    if suffix is None:
        return version(text).release
    digits = suffix.group(1)
    # One digit is a major alone (cuDNN's "64_8"); CUDA's have two digits of major and one of minor.
    return (int(digits),) if len(digits) < len("112") else (int(digits[:2]), int(digits[2]))


def cuda_text(text: str) -> str:
    """The readable form of a CUDA text: "64_112" is "11.2"; anything else stays as it is."""
    return ".".join(map(str, cuda_release(text))) if WINDOWS_SUFFIX.match(text) else text


@lru_cache(maxsize=1024)
def capability(text: str) -> tuple[int, int]:
    """(major, minor) of a compute capability "8.9", "sm_89", "compute_120" or "sm_90a"; raises NotCovered."""
    major, point, minor = text.partition(".")
    if point and len(text) <= LONGEST and text.isascii() and major.isdigit() and minor.isdigit():
        return int(major), int(minor)
    match = CAPABILITY.match(text)
    if match is None:
        raise NotCovered(f"{text[:LONGEST]!r} is not a compute capability")
    return int(match.group(1)), int(match.group(2))
