"""processors-far-from-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Facts, Gpu
from gpudoctor.findings import Applicability, Remedy, Severity
from gpudoctor.rules.gpu._code import is_hidden
from gpudoctor.rules.registry import Draft, Rule, Scope, rule


@rule(
    Severity.NOTE,
    scope=Scope.GPU,
    message="this process is bound to processors of NUMA node {mine}, and {gpu} is attached to node {node}",
)
def processors_far_from_gpu(self: Rule, facts: Facts, gpu: Gpu) -> Iterator[Draft]:
    """The processors that this process may use are not those next to the GPU.

    Why it matters: each batch crosses the link between the processors on its way to the GPU; a training that feeds many
    images gets slower by some per cent.
    How to fix: bind the program to the processors of the GPU's node, or let the scheduler do so.
    """
    mine, address = facts.host.cpu_nodes.require(), gpu.pci_address.require()
    device = next((item for item in facts.host.pci_gpus.require() if item.address == address), None)
    if device is None or device.numa_node is None or not mine or device.numa_node in mine or is_hidden(gpu):
        return
    node = device.numa_node
    bind = Remedy(
        summary="Bind the program to the processors next to the GPU; Slurm does so with --gpu-bind=closest.",
        commands=(f"numactl --cpunodebind={node} --preferred={node} COMMAND",),
        applicability=Applicability.SAFE,
    )
    yield self.finding(
        ("host.cpu_nodes", "host.pci_gpus", "gpu.pci_address"),
        remedies=(bind,),
        mine=" and ".join(map(str, mine)),
        gpu=gpu.name.get() or "the GPU",
        node=node,
    )
