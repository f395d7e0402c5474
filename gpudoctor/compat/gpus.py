"""GPU names and PCI device ids to compute capability."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from msgspec import Struct

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.rows import Gpu, Trust
from gpudoctor.compat.versions import capability


class GpuAnswer(Struct, frozen=True):
    """What is known of a GPU; `last_driver_branch` is None while drivers still serve its family."""

    name: str
    compute_capability: str
    architecture: str
    last_driver_branch: str | None
    confidence: Trust
    source: str


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
    rows = _by_name().get(_plain(name))
    if not rows:
        raise NotCovered(f"GPU {name!r} is not in the tables of {load(Gpu).retrieved}")
    return _answer(rows, name)
