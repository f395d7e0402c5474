"""CUDA library files that ls, find, locate, ldconfig and ldd show, and cuDNN's header."""

from __future__ import annotations

import re

from gpudoctor.logs.seen import FileSeen, Seen, compiled

OPENERS = (b"libs found in cache", b" => /", b"/libcudart", b"/libcudnn", b"/libcublas", b"#define CUDNN_M")

_NAME = (
    r"lib(?P<name>cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nccl|nvJitLink|cudnn[a-z_]{0,30})"
    r"\.so\.(?P<number>\d{1,3}(?:\.\d{1,6}){0,4})"
)
_FILE = r"(?P<folder>[^\s'\":,]{0,200}/)?" + _NAME + r"[@*]?\Z"
_LOADER = (
    r"\s{0,40}"
    + _NAME
    + r"(?: \([^)\r\n]{1,60}\))? => (?P<folder>/[^\s]{0,200}/)[\w.-]{1,60}(?: \(0x[0-9a-f]{6,16}\))?\s{0,4}\Z"
)
_LONG = r"\s{0,40}[-l][rwxsStT-]{9}[.+@]?\s.{4,120}?\s(?P<path>[^\s]{4,260})(?: -> [^\s]{1,260})?\s{0,4}\Z"
_HEADING = r"(?P<folder>/[^\s:'\"]{0,200}):\s{0,4}\Z"
_LISTS = (
    r"(?:sudo )?ls(?: -[\w-]{1,20}){0,4} (?P<folder>/[^\s|;&*]{1,200}?)(?P<glob>/?[^\s/|;&]*\*[^\s/|;&]*)?"
    r"(?: ?[|;&2].{0,200})?\Z"
)
_WHOLE = r"(?P<count>\d{2,6}) libs found in cache"
_HEADER = r"#define CUDNN_(?P<part>MAJOR|MINOR|PATCHLEVEL)\s{1,20}(?P<number>\d{1,3})\s{0,4}\Z"
_RELEASE = r"\s{0,40}(?:CUDA Version|\"version\" ?:) \"?(?P<release>\d{1,2}\.\d)(?![\d])"
_LINK = r"\bcuda -> (?:/usr/local/)?cuda-(?P<release>\d{1,2}\.\d)/?\s{0,4}\Z"
# Pages of the manual bear the names of libraries; stubs serve linking only.
_NO_LIBRARIES = ("/man/", "/stubs/")
_PARTS = ("MAJOR", "MINOR", "PATCHLEVEL")
# Of the cache's list some rows are lost where lines are cut or filtered; a filtered list is far shorter.
NEARLY_ALL = 0.9
MOST_WORDS = 60


class Reader:
    """Knows which folder is listed, and how many rows of the loader's cache are announced."""

    def __init__(self) -> None:
        self._folder = ""
        self._command = ""
        self._announced = 0
        self._rows = 0
        self._header: dict[str, str] = {}
        self._json = False

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        if seen.command != self._command:
            self._command = seen.command
            listed = seen.command.startswith(("ls ", "sudo ls ")) and compiled(_LISTS).match(seen.command)
            self._folder = listed["folder"].rstrip("/") if listed else ""
        if " => " in text:
            self._loader(text, at, seen)
        elif "libs found in cache" in text and (match := compiled(_WHOLE).search(text)):
            self._announced, self._rows = int(match["count"]), 0
        elif "CUDNN_" in text and (match := compiled(_HEADER).search(text)):
            self._defined(match["part"], match["number"], at, seen)
        elif ".so." in text and "lib" in text:
            self._files(text, at, seen)
        elif "CUDA" in text or "cuda" in text or '"version"' in text:
            self._toolkit(text, at, seen)
        elif text.startswith("/") and (match := compiled(_HEADING).match(text)):
            self._folder = match["folder"].rstrip("/")

    def _loader(self, text: str, at: str, seen: Seen) -> None:
        self._rows += self._announced > 0 and ") => /" in text
        if self._announced and self._rows >= NEARLY_ALL * self._announced:
            seen.note("libraries.told_whole", True, at)
            self._announced = 0
        match = compiled(_LOADER).match(text)
        if match is not None:
            cache = " (libc6" in text
            seen.file(_of(match, match["folder"], "ld.so.cache" if cache else "the loader"), at)

    def _files(self, text: str, at: str, seen: Seen) -> None:
        """Take a line that holds nothing but files: a sentence about a library is no sign that it is there."""
        long = compiled(_LONG).match(text) if text.lstrip()[:1] in ("-", "l") else None
        words = [long["path"]] if long else text.split()[:MOST_WORDS]
        if words and words[0].endswith(":"):  # whereis
            words = words[1:]
        bare = bool(self._folder) and self._command.startswith(("ls", "sudo ls"))
        found, files = [], 0
        for word in words:
            if not word.startswith(("/", "./", "../", "~/")) and not bare and not long:
                return
            files += ".so" in word or ".a" in word
            match = compiled(_FILE).match(word)
            if match is not None:
                found.append(match)
        if files * 2 < len(words):
            return
        for match in found:
            folder = match["folder"] or (f"{self._folder}/" if self._folder else "")
            if not any(other in folder for other in _NO_LIBRARIES):
                seen.file(_of(match, folder, ""), at)

    def _toolkit(self, text: str, at: str, seen: Seen) -> None:
        """Take the release of a toolkit: from its version file, or from the link to its folder."""
        if '"cuda" : {' in text or '"cuda": {' in text:
            self._json = True
        elif "version." in self._command or self._json:
            match = compiled(_RELEASE).match(text)
            self._json = False
            if match is not None:
                seen.file(FileSeen(name="cudart", number=match["release"], folder="", found_by=""), at)
        elif "cuda -> " in text and (match := compiled(_LINK).search(text)):
            seen.file(FileSeen(name="cudart", number=match["release"], folder="", found_by=""), at)

    def _defined(self, part: str, number: str, at: str, seen: Seen) -> None:
        self._header[part] = number
        if all(name in self._header for name in _PARTS):
            version = ".".join(self._header[name] for name in _PARTS)
            seen.file(FileSeen(name="cudnn", number=version, folder="", found_by=""), at)
            self._header = {}


def _of(match: re.Match[str], folder: str, found_by: str) -> FileSeen:
    return FileSeen(name=match["name"], number=match["number"], folder=folder.rstrip("/"), found_by=found_by)
