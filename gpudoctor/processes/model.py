"""A class of programs that use GPUs: how it is recognised, and what to do about it."""

from __future__ import annotations

from msgspec import Struct


class ProcessClass(Struct, frozen=True, kw_only=True):
    """One class of programs.

    advice and commands are for the user to decide on; {pid}, {user} and {parent} stand for those of the process at
    hand. A command that ends a process begins with kill.
    """

    id: str
    title: str
    """As it stands in a line: browser, remote desktop."""
    names: tuple[str, ...] = ()
    """Names of programs, without their folder, in lower case; one that ends with * is the beginning of a name."""
    words: str = ""
    """Regular expression for the command line, without regard to case."""
    interpreters: bool = False
    """Its words are looked for in the command lines of Python and other interpreters too."""
    advice: str
    commands: tuple[str, ...] = ()
