"""tf_env_collect.sh: sections of keys and values (its lists and tables other readers know)."""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"== check python =====", b"== are we in docker", b"== env =======")


class Reader:
    """Reads what stands below the headings `== name ====`."""

    def __init__(self) -> None:
        self._section = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if text.startswith("== "):
            self._section = text.strip("= \t")
            return
        if not self._section:
            return
        row = text.strip()
        if self._section == "are we in docker" and row in ("Yes", "No"):
            seen.note("host.container", "docker" if row == "Yes" else None, at)
        elif self._section == "env" and (
            match := compiled(r"(LD_LIBRARY_PATH|CUDA_VISIBLE_DEVICES) (\S{1,400})\Z").match(row)
        ):
            seen.variables[match[1]] = (match[2], at)
        elif self._section.startswith("python version"):
            self._python(row, at, seen)
        elif row.startswith("python version: "):
            seen.note("python.version", row.removeprefix("python version: ").strip()[:20], at)
        elif row.startswith("os platform version: "):
            seen.note("host.os", "linux", at)

    def _python(self, row: str, at: str, seen: Seen) -> None:
        match = compiled(r"\(?(?:major=)?(\d), (?:minor=)?(\d{1,2}), (?:micro=)?(\d{1,2}), (?:releaselevel=)?'").match(
            row
        )
        if match is not None:
            seen.note("python.version", ".".join(match.groups()), at)
