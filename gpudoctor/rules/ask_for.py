"""What to paste where a text tells nothing: the commands of this person's platform."""

from __future__ import annotations

from gpudoctor.facts.model import Facts, Known
from gpudoctor.findings import Applicability, Remedy

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
