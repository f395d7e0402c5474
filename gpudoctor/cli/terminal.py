"""Width and colour of text: of the terminal, or as a CI's log shows it. Nothing else depends on where it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Mapping
from typing import TextIO

NAME = "gpudoctor"
WIDTH = 80
MAX_WIDTH = 100
# Variable that a CI sets, and whether its log shows colours (Jenkins needs a plugin for that).
CI_COLOURS = {
    "GITHUB_ACTIONS": True,
    "GITLAB_CI": True,
    "TF_BUILD": True,  # Azure Pipelines
    "BUILDKITE": True,
    "CIRCLECI": True,
    "JENKINS_URL": False,
}


def look(stream: TextIO | None, environ: Mapping[str, str]) -> tuple[bool, int]:
    """Return whether to use colours, and the width in columns. NO_COLOR and FORCE_COLOR go before all else."""
    terminal = stream is not None and stream.isatty()
    shown = next((colour for name, colour in CI_COLOURS.items() if environ.get(name)), None)
    if terminal:
        width, color = min(shutil.get_terminal_size().columns, MAX_WIDTH), environ.get("TERM") != "dumb"
    elif shown is not None and _is_log(stream):
        width, color = MAX_WIDTH, shown
    else:
        width, color = WIDTH, False
    if environ.get("FORCE_COLOR"):
        color = True
    return color and not environ.get("NO_COLOR"), width


def called_as(argv0: str, environ: Mapping[str, str]) -> str:
    """Return how to call gpudoctor again: its path, where the shell would not find it by name."""
    folder, name = os.path.split(argv0)
    if name != NAME or not folder or shutil.which(NAME, path=environ.get("PATH", "")):
        return NAME
    return shlex.quote(argv0)


def _is_log(stream: TextIO | None) -> bool:
    """Whether it is a pipe, as a CI reads from; a file or what a test catches is none."""
    try:
        return stream is not None and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False
