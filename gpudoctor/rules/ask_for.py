"""What to do where a text tells too little: what to paste, on this person's platform, and what the versions tell."""

from __future__ import annotations

from gpudoctor import compat
from gpudoctor.facts.model import Facts, Gpu, Known
from gpudoctor.findings import Applicability, Remedy
from gpudoctor.plan import quote

_DEVICES = "import tensorflow as tf; print(tf.__version__, tf.config.list_physical_devices())"
_LINUX: tuple[str, ...] = (
    "nvidia-smi",
    f'python3 -c "{_DEVICES}"',
    "python3 -m pip list",
    "sudo dmesg | grep -iE 'nvrm|xid|nouveau' | tail -n 20",
)
_WSL: tuple[str, ...] = ("uname -r; ls /usr/lib/wsl/lib", *_LINUX[:3])
_CONTAINER = ("nvidia-smi; ls -l /dev/nvidia*", *_LINUX[1:3])
_WINDOWS = ("nvidia-smi", f'python -c "{_DEVICES}"', "python -m pip list", "python -VV")
_MACOS = ("uname -sm", f'python3 -c "{_DEVICES}"', "python3 -m pip list")


def what_to_paste(facts: Facts) -> Remedy:
    """Return the commands whose output tells what the text did not."""
    system, commands = facts.host.os.get(), _LINUX
    where = "in a terminal"
    if isinstance(facts.host.wsl, Known):
        where, commands = "in WSL", _WSL
    elif isinstance(facts.host.container, Known):
        where, commands = "in the container", _CONTAINER
    elif system == "windows":
        where, commands = "at a Windows prompt", _WINDOWS
    elif system == "macos":
        where, commands = "in a terminal", _MACOS
    summary = (
        f"Run these {where}, in the environment that runs your script, and give all that they print to `gpudoctor "
        "explain -`; or run `gpudoctor check` there."
    )
    return Remedy(summary=summary, commands=commands, applicability=Applicability.SAFE)


def what_fits(facts: Facts, *gpus: Gpu) -> tuple[Remedy, ...]:
    """Return the command that tells which TensorFlow is for these GPUs (all that a text names, if none is given)."""
    names = {gpu.name.get() for gpu in gpus or facts.gpus}
    options = [f"--gpu {quote(name, compat.Os.LINUX)}" for name in sorted(filter(None, names)) if _is_known(name)]
    if not options:
        return ()
    driver = facts.driver.version.get()
    if driver is not None:
        options.append(f"--driver {quote(driver, compat.Os.LINUX)}")
    system = "wsl2" if isinstance(facts.host.wsl, Known) else facts.host.os.get()
    if system in ("linux", "windows", "wsl2"):
        options.append(f"--os {system}")
    summary = "See which TensorFlow has code for this GPU, which driver it needs, and how to install it."
    command = f"gpudoctor plan {' '.join(options)}"
    return (Remedy(summary=summary, commands=(command,), applicability=Applicability.SAFE),)


def _is_known(name: str) -> bool:
    """Whether a name stands for one GPU: old releases of nvidia-smi cut it, and `plan` takes no names that are cut."""
    if name.endswith("..."):
        return False
    try:
        compat.compute_capability_of(name)
    except compat.NotCovered:
        return False
    return True
