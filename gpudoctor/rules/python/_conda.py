"""What conda's list tells of TensorFlow."""

from __future__ import annotations

from gpudoctor.facts.model import Facts, Known
from gpudoctor.plan import quote
from gpudoctor.rules.python._pip import conda_install, shell

NAMES = ("tensorflow", "tensorflow-base")
# conda-forge says cpu_, Anaconda's own channel names the mathematics library of its CPU builds.
CPU_BUILDS = ("cpu_", "mkl_", "eigen_")
VIRTUAL = "__cuda"
# What a driver of the last years serves, where it is not known.
USUAL_CUDA = "12.0"


def cpu_build(facts: Facts) -> str | None:
    """Return name, version and build of conda's TensorFlow if it is a build for the CPU."""
    for item in facts.python.conda_packages.get() or ():
        if item.name in NAMES and item.build.startswith(CPU_BUILDS):
            return f"{item.name}-{item.version}-{item.build}"
    return None


def sees_no_driver(facts: Facts) -> bool:
    """Whether conda's own list of virtual packages is known and has no __cuda in it."""
    listed = facts.python.conda_virtual_packages
    return isinstance(listed, Known) and not any(item.name == VIRTUAL for item in listed.value)


def install_command(facts: Facts) -> str:
    """Return the command that makes conda install a build with CUDA."""
    cuda = quote(facts.driver.cuda_version.get() or USUAL_CUDA, shell(facts))
    return f"CONDA_OVERRIDE_CUDA={cuda} {conda_install(facts, 'tensorflow=*=cuda*', channel='conda-forge')}"
