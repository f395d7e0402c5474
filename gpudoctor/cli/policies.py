"""Finding the policy that a command is to hold a machine against."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.output import usage_error

if TYPE_CHECKING:
    from gpudoctor.policy.model import Policy

PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="What the machine has to fulfil. Default: gpudoctor.toml, or [tool.gpudoctor] in pyproject.toml, of this "
        "folder or the nearest above it.",
        show_default=False,
    ),
]
NoPolicyOption = Annotated[bool, typer.Option("--no-policy", help="Look for no policy.")]
RequireOption = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="KEY=VALUE",
        help="Ask for this in place of what the policy says: min_free_memory=6GiB; can be repeated.",
        show_default=False,
    ),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="RULE", help="Run this rule or area only; can be repeated.", show_default=False),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help="Do not count this rule; can be repeated.", show_default=False),
]


def load_policy(
    file: Path | None, no_policy: bool, require: list[str] | None, select: list[str] | None, ignore: list[str] | None
) -> Policy | None:
    """Return the policy as it stands today; None where there is none and nothing is asked for.

    Ends the program with status 2 where it cannot be used.
    """
    from gpudoctor.policy import read

    if file is not None and no_policy:
        usage_error("--policy and --no-policy contradict each other")
    path = None if no_policy else file or read.find()
    if path is None and not (require or select or ignore):
        return None
    from gpudoctor.policy.model import NOTHING_ASKED

    try:
        policy = NOTHING_ASKED if path is None else read.read(path)
        policy = read.override(policy, _pairs(require or []), select or (), ignore or ())
    except read.PolicyError as exc:
        usage_error(str(exc))
    return policy.on(dt.date.today())


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            usage_error(f"--require {text}: KEY=VALUE is wanted")
        pairs[key.strip()] = value.strip()
    return pairs
