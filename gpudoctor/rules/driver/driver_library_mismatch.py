"""driver-library-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.model import Api, DriverFacts, Facts, Known, LibcudaKind
from gpudoctor.findings import Applicability, Capability, Confidence, Remedy, Severity
from gpudoctor.rules.driver._install import install_driver
from gpudoctor.rules.driver._packages import mixed, shown
from gpudoctor.rules.driver._state import (
    CUDA_SYSTEM_DRIVER_MISMATCH,
    NVML_LIBRARY_MISMATCH,
    answers,
    failed_with,
    outcome,
)
from gpudoctor.rules.python._state import events, seen
from gpudoctor.rules.registry import Draft, Rule, rule

REBOOT = Remedy(
    summary="Reboot, so that the kernel loads the module that belongs to the installed libraries.",
    commands=("sudo reboot",),
    applicability=Applicability.UNSAFE,
)


@rule(
    Severity.ERROR,
    breaks=Capability.USER_DRIVER,
    needs=(Capability.KERNEL_DRIVER,),
    message="the loaded NVIDIA kernel module is {module}, the driver's libraries are {library}: they must be the same",
    variants={
        "unnumbered": "the loaded NVIDIA kernel module and the driver's libraries are of different versions",
        "part": "the driver's libraries are of different releases, or installed in part: {library}, which libcuda asks "
        "for, is not found",
        "packages": "the installed packages of the NVIDIA driver are of different versions: {module} and {library}",
    },
)
def driver_library_mismatch(self: Rule, facts: Facts) -> Iterator[Draft]:
    """The NVIDIA kernel module and the driver's libraries have different versions.

    Why it matters: NVML and CUDA refuse to start. It comes after a driver update (often an automatic one) without a
    reboot: the old module stays loaded beside the new libraries.
    How to fix: reboot. On a server that cannot reboot, stop all that uses the GPU, unload the modules nvidia_uvm,
    nvidia_drm, nvidia_modeset and nvidia, and load nvidia again.
    """
    if isinstance(facts.host.wsl, Known):
        return  # two numbers are normal there: the driver is that of Windows
    driver = facts.driver
    if isinstance(facts.host.container, Known) and events(facts, "kernel-library-mismatch"):
        return  # a container may bring a libcuda of its own (compat): driver-too-old-for-cuda judges that
    if events(facts, "driver-part-missing") and not answers(facts):
        yield _part(self, facts)
        return
    module, library = _versions(driver)
    refused = failed_with(driver.nvml.get(), NVML_LIBRARY_MISMATCH) or failed_with(
        driver.cuda_init.get(), CUDA_SYSTEM_DRIVER_MISMATCH
    )
    if driver.libcuda_kind.get() is LibcudaKind.COMPAT and outcome(driver.nvml.get()) is Api.OK:
        return  # the driver is of one version, and refuses a libcuda that is not its own: driver-too-old-for-cuda
    started = Api.OK in (outcome(driver.nvml.get()), outcome(driver.cuda_init.get()))
    differ = module is not None and library is not None and module != library
    told = events(facts, "kernel-library-mismatch") and not started
    if not refused and not told and not differ and not answers(facts):
        found = tuple(_packages_differ(self, facts))
        yield from found
        if found:
            return
    if not refused and not told and (not differ or started or outcome(driver.cuda_init.require()) is not Api.ERROR):
        return
    yield self.finding(
        ("driver.nvml", "driver.cuda_init", "driver.kernel_module_version", "driver.nvml_version",
         "driver.libcuda_version"),
        variant=None if differ else "unnumbered",
        remedies=(REBOOT,),
        module=module or "",
        library=library or "",
    )  # fmt: skip


def _versions(driver: DriverFacts) -> tuple[str | None, str | None]:
    """Return the version of the loaded module, and that of the driver's own libraries."""
    own = driver.libcuda_kind.get() is LibcudaKind.DRIVER
    library = driver.nvml_version.get() or (driver.libcuda_version.get() if own else None)
    return driver.kernel_module_version.get(), library


def _part(self: Rule, facts: Facts) -> Draft:
    """Say which library of the driver another one of its own release does not find."""
    lacking = events(facts, "driver-part-missing")
    return self.finding(
        seen(lacking),
        variant="part",
        confidence=Confidence.LIKELY,
        remedies=install_driver(facts),
        library=lacking[0].parameters["library"],
    )


def _packages_differ(self: Rule, facts: Facts) -> Iterator[Draft]:
    """Find packages of two versions in a text: what is loaded they do not tell."""
    pair = mixed(facts)
    if pair is not None:
        yield self.finding(
            shown(facts, *(text.partition(" ")[0] for text in pair)),
            variant="packages",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            remedies=install_driver(facts),
            module=pair[0],
            library=pair[1],
        )
