"""The symbol versions of libstdc++ that `strings libstdc++.so.6 | grep GLIBCXX` and its like list."""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"GLIBCXX_3.4\n", b"GLIBCXX_3.4\r\n", b"CXXABI_1.3\n", b"CXXABI_1.3\r\n", b"grep GLIBCXX", b"grep CXXABI")

FACT, FILE = "python.libstdcxx", "python.libstdcxx_file"
_VERSION = r"(?P<family>GLIBCXX|CXXABI)_(?P<number>\d{1,3}(?:\.\d{1,3}){1,3})\Z"
_PATH = r"(?P<path>/[^\s|;'\"]{1,250}/libstdc\+\+\.so[.\d]{0,12})"
# One that picks some of the versions, or cuts the list, does not tell the newest; `tail` does.
_WHOLE = r"grep (?:-\w{1,4} )?['\"^]{0,2}(?:GLIBCXX|CXXABI|GLIBC)\b_?['\"]?(?! ?\d)(?!.*\bhead\b)"
# The first version that each family ever had: a list that holds it was not picked for a newer one.
_FIRST = {"GLIBCXX": "3.4", "CXXABI": "1.3"}


class Reader:
    """Keeps the versions of the library that is listed."""

    def __init__(self) -> None:
        self._command = ""
        self._whole = False
        self._newest: dict[str, str] = {}

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if "libstdc++.so" in text and ("strings" in text or "objdump" in text or "readelf" in text):
            self._begin(text, at, seen)
            return
        if not text.lstrip().startswith(("GLIBCXX_", "CXXABI_")):
            return
        match = compiled(_VERSION).match(text.strip())
        if match is None:
            return
        family, number = match["family"], match["number"]
        if not self._whole and number == _FIRST[family]:
            self._newest, self._whole = {}, True
        if not self._whole:
            return
        if _numbers(number) >= _numbers(self._newest.get(family, "0")):
            self._newest[family] = number
        found = tuple(f"{name}_{self._newest[name]}" for name in _FIRST if name in self._newest)
        seen.facts.pop(FACT, None)
        seen.note(FACT, found, at)

    def _begin(self, text: str, at: str, seen: Seen) -> None:
        self._newest = {}
        self._whole = compiled(_WHOLE).search(text) is not None
        path = compiled(_PATH).search(text)
        if path is not None:
            seen.note(FILE, path["path"], at)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
