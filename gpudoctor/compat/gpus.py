"""GPU names and PCI device ids to compute capability."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from msgspec import Struct

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.rows import Gpu, Trust
from gpudoctor.compat.versions import capability

# "RTX5090", "GTX 1080Ti" and "A100-SXM4" as the words that names are made of.
WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")
GRACE = ("GB10", "GB200", "GB300", "GH200")
CAPABILITY = re.compile(r"\d{1,2}\.\d|(?:sm|compute)_\d{2,3}")
NEAR, CLOSE = 3, 0.8
# How nvidia-smi ends a name that does not fit its table.
CUT = "..."


class UnknownGpu(NotCovered):
    """What a user called a GPU fits none, or several kinds; `near` are names that they may have meant."""

    def __init__(self, reason: str, near: tuple[str, ...]) -> None:
        super().__init__(reason)
        self.near = near


class GpuAnswer(Struct, frozen=True):
    """What is known of a GPU; `last_driver_branch` is None while drivers still serve its family."""

    name: str
    compute_capability: str
    architecture: str
    last_driver_branch: str | None
    confidence: Trust
    source: str
    on_arm: bool = False
    """It is a part of a board or a module whose processor is an ARM one: Jetson, Grace."""


def _plain(name: str) -> str:
    # Drivers write Tesla P100-PCIE-16GB, NVIDIA's newer tables Tesla P100 PCIe 16GB.
    return " ".join(name.replace("-", " ").split()).casefold().removeprefix("nvidia ")


@cache
def _by_name() -> dict[str, list[Gpu]]:
    found: dict[str, list[Gpu]] = defaultdict(list)
    for row in load(Gpu).rows:
        for name in (row.name, *row.other_names):
            found[_plain(name)].append(row)
    return dict(found)


@cache
def _by_pci_id() -> dict[str, list[Gpu]]:
    found: dict[str, list[Gpu]] = defaultdict(list)
    for row in load(Gpu).rows:
        for pci_id in row.pci_ids:
            found[pci_id].append(row)
    return dict(found)


def _pci_key(pci_id: str) -> str:
    """ "2684", "0x2684", "10de:2684" and NVML's "0x268410DE" (device, then vendor) as the table writes them."""
    text = pci_id.strip().upper().removeprefix("0X")
    if text.startswith("10DE:"):
        text = text.removeprefix("10DE:").removeprefix("0X")
    if len(text) == len("268410DE") and text.endswith("10DE"):
        text = text[:4]
    return text


def _answer(rows: list[Gpu], asked: str) -> GpuAnswer:
    """The rows' common answer; raises NotCovered naming the candidates where they differ."""
    found = sorted({row.compute_capability for row in rows}, key=capability)
    if len(found) > 1:
        candidates = "; ".join(f"{cc} ({', '.join(_chips(rows, cc))})" for cc in found)
        raise NotCovered(f"{asked} exists with more than one compute capability: {candidates}")
    row = min(rows, key=lambda row: list(Trust).index(row.confidence))
    return GpuAnswer(
        name=row.name,
        compute_capability=row.compute_capability,
        architecture=row.architecture,
        last_driver_branch=row.last_driver_branch or None,
        confidence=row.confidence,
        source=load(Gpu).source_of(row),
        on_arm=row.segment == "jetson" or row.name.startswith(GRACE),
    )


def _chips(rows: list[Gpu], cc: str) -> list[str]:
    chips = sorted({chip for row in rows if row.compute_capability == cc for chip in row.chips})
    return chips or ["chip unknown"]


def compute_capability_of(name: str | None, pci_id: str | None = None) -> GpuAnswer:
    """A GPU by its name, with or without NVIDIA in front, and its PCI device id ("2684"); raises NotCovered.

    The PCI id wins: a name may stand for several chips.
    """
    if pci_id is not None:
        rows = _by_pci_id().get(_pci_key(pci_id))
        if rows:
            return _answer(rows, f"PCI device 10de:{_pci_key(pci_id).lower()}")
    if name is None:
        asked = "GPU without name and PCI id" if pci_id is None else f"PCI device {pci_id}"
        raise NotCovered(f"{asked} is not in the tables of {load(Gpu).retrieved}")
    rows = _by_name().get(_plain(name)) or _cut(name)
    if not rows:
        raise NotCovered(f"GPU {name!r} is not in the tables of {load(Gpu).retrieved}")
    return _answer(rows, name)


def _cut(name: str) -> list[Gpu]:
    """GPUs that nvidia-smi may mean by a name that it has cut to fit its table: "RTX PRO 1000 Blac...".

    What stands before the number of a model is common to several generations.
    """
    if not name.endswith(CUT):
        return []
    start = _plain(name.removesuffix(CUT).rstrip())
    if not any(character.isdigit() for character in start):
        return []
    return [row for whole, found in _by_name().items() if whole.startswith(start) for row in found]


@cache
def _families() -> dict[str, str]:
    return {row.compute_capability: row.architecture for row in load(Gpu).rows}


def family_of(compute_capability: str) -> str:
    """The family of GPUs with a compute capability: "Maxwell" for "5.0"; raises NotCovered."""
    major, minor = capability(compute_capability)
    found = _families().get(f"{major}.{minor}")
    if found is None:
        raise NotCovered(f"compute capability {compute_capability} is not in the tables of {load(Gpu).retrieved}")
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))


def _holds(name: tuple[str, ...], part: tuple[str, ...]) -> bool:
    """Whether the words of a part stand side by side in a name."""
    return any(name[start : start + len(part)] == part for start in range(len(name) - len(part) + 1))


def find_gpu(text: str) -> GpuAnswer:
    """A GPU as people call it: a name or a part of one ("940M", "RTX5090"), or a compute capability ("8.6").

    A part counts where all GPUs that have it in their name have one compute capability. Raises UnknownGpu.
    """
    plain = _plain(text)
    if CAPABILITY.fullmatch(plain):
        return _of_capability(plain)
    exact = _by_name().get(plain)
    words = _words(plain)
    same = [rows for name, rows in _by_name().items() if _words(name) == words]
    rows = exact or [row for found in same for row in found]
    if not rows and words:
        rows = [row for name, found in _by_name().items() if _holds(_words(name), words) for row in found]
    if not rows:
        raise UnknownGpu(f"GPU {text!r} is not in the tables of {load(Gpu).retrieved}", _near(plain))
    try:
        return _answer(rows, text)
    except NotCovered as exc:
        one_each = {row.compute_capability: row.name for row in reversed(rows)}
        names = tuple(dict.fromkeys(one_each.values()))
        raise UnknownGpu(str(exc), names if len(names) > 1 else ()) from exc


def _of_capability(text: str) -> GpuAnswer:
    major, minor = capability(text)
    plain = f"{major}.{minor}"
    try:
        family = family_of(plain)
    except NotCovered:
        family = ""
    rows = [row for row in load(Gpu).rows if row.compute_capability == plain]
    return GpuAnswer("", plain, family, None, Trust.HIGH, load(Gpu).source_of(rows[0]) if rows else "the rules alone")


def _near(plain: str) -> tuple[str, ...]:
    """Names that a misspelt one may have meant, the nearest first; people leave out the maker's first word."""
    import difflib  # only a misspelt name needs it

    names = {" ".join(_words(name)): rows[0].name for name, rows in _by_name().items()}
    wanted = " ".join(_words(plain))
    if not wanted:
        return ()
    scores: dict[str, float] = {}
    for start in ("", "geforce ", "tesla ", "quadro "):
        matcher = difflib.SequenceMatcher(b=start + wanted)
        for key in difflib.get_close_matches(start + wanted, names, NEAR, CLOSE):
            matcher.set_seq1(key)
            scores[key] = max(matcher.ratio(), scores.get(key, 0))
    return tuple(names[key] for key in sorted(scores, key=scores.__getitem__, reverse=True)[:NEAR])
