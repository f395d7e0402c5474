"""What pip, uv, poetry and conda print when they cannot make the environment."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "windows-long-path",
        _K.USAGE,
        ("not have Windows Long Path support enabled", "file or folder name exceeding 255 characters"),
        "",
        "A file of the package has a longer path than Windows allows.",
        "pip",
        example="HINT: This error might have occurred since this system does not have Windows Long Path support "
        "enabled.",
    ),
    Message(
        "pip-depends",
        _K.USAGE,
        (" depends on ",),
        r"(?P<package>tensorflow(?:-(?:gpu|cpu|intel|macos))?) (?P<version>\d[\w.]{0,20}) depends on "
        r"(?P<requirement>[^\r\n]{1,120})",
        "What a release of it asks for, where pip finds no set of versions.",
        "pip",
        example="    tensorflow 2.7.4 depends on protobuf<3.20 and >=3.9.2",
    ),
    Message(
        "pip-os-error",
        _K.USAGE,
        ("ould not install packages due to an ",),
        r"ould not install packages due to an (?:OSError|EnvironmentError): "
        r"\[(?P<error>(?:Errno|WinError) \d{1,5})\](?: (?P<reason>[^:\r\n]{1,80}))?(?:: (?P<path>[^\r\n]{1,300}))?",
        "The system refused what pip wanted to write.",
        "pip",
        example="ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
    ),
    Message(
        "pip-no-space",
        _K.USAGE,
        ("OSError: [Errno 28]", "OSError: [Errno 122]", "failed to write to file", "No space left on device (os error"),
        r"OSError: \[(?P<error>Errno (?:28|122))\]|(?:tensorflow|nvidia)[^\r\n]{0,200}No space left on device",
        "The disk or the quota is full.",
        "pip, uv",
        example="OSError: [Errno 28] No space left on device",
    ),
    Message(
        "pip-no-memory",
        _K.USAGE,
        ("MemoryError",),
        r"MemoryError[^\r\n]{0,80}(?:install|no-cache-dir)|(?:install|pip)[^\r\n]{0,80}MemoryError",
        "pip had too little memory for a file of this size.",
        "pip, a person",
        example="I got a MemoryError when I tried to install tensorflow",
    ),
    Message(
        "pip-denied",
        _K.USAGE,
        ("ermission denied: '",),
        r"ermission denied: '(?P<path>[^'\r\n]{0,200}(?:site|dist)-packages)",
        "pip may not write into this Python's folder of packages.",
        "pip",
        example="[Errno 13] Permission denied: '/usr/local/lib/python3.9/dist-packages/absl'",
    ),
    Message(
        "pip-managed-elsewhere",
        _K.USAGE,
        ("error: externally-managed-environment",),
        "",
        "The system lets pip change nothing in its own Python.",
        "pip",
        example="error: externally-managed-environment",
    ),
    Message(
        "python-not-satisfied",
        _K.USAGE,
        (", so it will not be satisfied for Python", " does not satisfy Python"),
        r"(?P<package>tensorflow[\w-]{0,40}) requires Python (?P<needed>[^\r\n]{1,60}?), so it will not be satisfied"
        r"|does not satisfy Python[^\r\n]{1,60}? and (?P<wanted>tensorflow[^\s\r\n]{0,60}) ",
        "No release of it serves all the Pythons that the project allows.",
        "poetry, uv",
        example="tensorflow requires Python >=3.9,<3.13, so it will not be satisfied for Python >=3.13,<4.0",
    ),
    Message(
        "channel-lacks",
        _K.USAGE,
        ("nothing provides requested tensorflow", "does not exist (perhaps"),
        r"nothing provides requested (?P<package>tensorflow[\w-]{0,20})"
        r"|(?P<named>tensorflow(?:-[a-z]{2,5})?)(?: [^\r\n]{0,60})? does not exist \(perhaps"
        r"|(?P<wanted>tensorflow(?:-[a-z]{2,5})?)[^\r\n]{0,60}, which does not exist \(perhaps",
        "conda's channels have no such release for this platform.",
        "mamba, conda",
        example="  - nothing provides requested tensorflow >=2.10",
    ),
    Message(
        "conda-python-conflicts",
        _K.USAGE,
        (
            "which conflicts with any installable versions",
            "->python ",
            " -> python ",
            " requires python ",
            "pin on python ",
        ),
        r"python [^\r\n]{1,80}?, which conflicts with any installable versions"
        r"|(?P<build>tensorflow)[^\r\n]{0,80} requires python [^\r\n]{1,60}, but none of the providers|pin on python \d"
        r"|(?P<package>tensorflow)[^\r\n]{0,60}-> ?python [\d.*]{1,8}",
        "conda has no build for the Python of this environment.",
        "mamba, conda",
        example="   └─ python 3.7.* , which conflicts with any installable versions previously reported;",
    ),
    Message(
        "resolver-failed",
        _K.USAGE,
        (
            "version solving failed",
            "No solution found when resolving",
            "SolverProblemError",
            "Could not solve for environment specs",
            "UnsatisfiableError:",
            "ResolutionFailure",
            "ResolvePackageNotFound",
            "ackages are not available from current channels",
        ),
        "",
        "The installer finds no set of versions that serves all that is asked for.",
        "uv, poetry, conda, mamba",
        example="error    libmamba Could not solve for environment specs",
    ),
    Message(
        "resolver-names",
        _K.HARMLESS,
        (
            "no version of tensorflow",
            "no versions of tensorflow",
            "depends on tensorflow",
            "- tensorflow",
            "Because tensorflow",
            "-tensorflow->",
            "tensorflow [",
            "tensorflow   but there are no viable",
            "is not installable because there are no viable options",
        ),
        # What follows belongs to other messages.
        r"(?:no versions? of|depends on|Because|-)(?= ?(?P<package>tensorflow[\w-]{0,30})"
        r"(?![^\r\n]{0,60}-> ?python))|tensorflow(?= \[| {1,4}but there are no viable"
        r"| [^\r\n]{1,40} is not installable because)",
        "The installer, or a list of requirements, names TensorFlow.",
        "uv, poetry, conda, mamba",
        example="Because no versions of tensorflow match >1.8,<2.0",
    ),
    Message(
        "pip-no-match",
        _K.USAGE,
        ("o matching distribution found",),
        r"o matching distribution found(?: for (?:(?P<requirement>(?:tensorflow|tf-)[\w.=<>!,~+*-]{0,80})|th(?:is|e) )"
        r"|[.,! ]{0,3}$)",
        "pip finds no release of it for this Python and platform, or has no way to the index.",
        "pip",
        example="ERROR: No matching distribution found for tensorflow==2.3.0",
    ),
    Message(
        "pip-link-skipped",
        _K.USAGE,
        ("it is not compatible with this Python", "none of the wheel's tags"),
        r"tensorflow[\w-]{0,20}-\d\S{0,160}\.whl[^\r\n]{0,200}it is not compatible with this Python"
        r"|none of the wheel's tags[^\r\n]{0,300}tensorflow[\w-]{0,20}-\d",
        "pip leaves out a file that is for another Python, processor or operating system.",
        "pip -vvv",
        example="Skipping link: none of the wheel's tags (cp39-cp39-win_amd64) are compatible (run pip debug --verbose "
        "to show compatible tags): https://files.example/tensorflow-2.5.0-cp39-cp39-win_amd64.whl",
    ),
)
