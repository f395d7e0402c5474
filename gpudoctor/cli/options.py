"""Options that several commands share."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Annotated, ClassVar

import typer


class Format(str, Enum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(str, Enum):
    """Formats of a report about a machine."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    MARKDOWN = "markdown"
    HTML = "html"


class FailOn(str, Enum):
    """From which severity on the exit status is 1."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
    NEVER = "never"


class Output(str):
    """FORMAT=PATH, checked while the command line is parsed."""

    formats: ClassVar[type[Enum]] = Format

    @classmethod
    def parse(cls, text: str) -> Output:
        """Return the option's value. Raises typer.BadParameter."""
        name, equals, path = text.partition("=")
        known_names = [item.value for item in cls.formats]
        if not equals or not path or name not in known_names:
            known = f"{', '.join(known_names[:-1])} or {known_names[-1]}"
            raise typer.BadParameter(f"{text!r} is not FORMAT=PATH (FORMAT is {known})")
        return cls(text)

    @property
    def kind(self) -> str:
        """Name of the format."""
        return self.partition("=")[0]

    @property
    def path(self) -> Path:
        """Where to; %h stands for the host's name."""
        return Path(self.partition("=")[2].replace("%h", os.uname().nodename if hasattr(os, "uname") else "host"))


class ReportOutput(Output):
    """The same for a report about a machine."""

    formats = ReportFormat


PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Interpreter, or folder of the environment, that runs your script. Default: the active virtual or conda "
        "environment, else the one of gpudoctor.",
        show_default=False,
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Do not start TensorFlow: read files and ask the driver only (under a second).")
]
OutputOption = Annotated[
    list[Output] | None,
    typer.Option(
        "-o",
        "--output",
        parser=Output.parse,
        metavar="FORMAT=PATH",
        help="Write a file in this format as well; can be repeated; %h stands for the host's name.",
        show_default=False,
    ),
]
ReportOutputOption = Annotated[
    list[ReportOutput] | None,
    typer.Option(
        "-o",
        "--output",
        parser=ReportOutput.parse,
        metavar="FORMAT=PATH",
        help="Write a file in this format as well; can be repeated; %h stands for the host's name.",
        show_default=False,
    ),
]
DriverSeconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="How long NVML and CUDA may take to answer.")
]
TensorFlowSeconds = Annotated[
    float, typer.Option("--tensorflow-timeout", min=1, metavar="SECONDS", help="How long TensorFlow may take to start.")
]
