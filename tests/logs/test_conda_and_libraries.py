"""What texts tell of conda's virtual packages, of the C library and of the C++ library."""

from __future__ import annotations

import json

import pytest

from gpudoctor.facts.from_text import facts_of_texts
from gpudoctor.facts.model import CondaPackage, Facts, Known, Unknown
from gpudoctor.facts.text_files import Part

CUDA = CondaPackage(name="__cuda", version="12.2", build="0")
GLIBC = CondaPackage(name="__glibc", version="2.35", build="0")
LISTED = "GLIBCXX_3.4\nGLIBCXX_3.4.9\nGLIBCXX_3.4.30\nGLIBCXX_3.4.25\nGLIBCXX_DEBUG_MESSAGE_LENGTH\n"


def told(text: str) -> Facts:
    return facts_of_texts([Part("log.txt", [text.encode()])])


@pytest.mark.parametrize(
    "text",
    [
        "       virtual packages : __glibc=2.35=0\n                          __cuda=12.2=0\n"
        "       platform : linux-64\n",
        "       virtual packages : __glibc=2.35\n                          __cuda=12.2\n",
        json.dumps({"rc_path": "x", "virtual_pkgs": [["__glibc", "2.35", "0"], ["__cuda", "12.2", "0"]]}, indent=2),
        json.dumps({"virtual packages": ["__glibc=2.35=0", "__cuda=12.2=0"], "user": "__other=1=0"}, indent=4),
    ],
    ids=["conda", "old conda", "conda --json", "mamba --json"],
)
def test_condas_virtual_packages(text: str) -> None:
    assert told(text).python.conda_virtual_packages.get() == (GLIBC, CUDA)


def test_the_latest_list_counts_and_an_empty_one_is_one() -> None:
    text = "       virtual packages : __cuda=12.2=0\n          base environment : /x\n"
    assert told(f"{text}\n       virtual packages : __glibc=2.35=0\n").python.conda_virtual_packages.get() == (GLIBC,)
    assert told('{\n  "virtual_pkgs": []\n}\n').python.conda_virtual_packages.get() == ()
    assert isinstance(told("conda info\n").python.conda_virtual_packages, Unknown)


@pytest.mark.parametrize(
    ("command", "listed", "expected"),
    [
        ("$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX", LISTED, ("GLIBCXX_3.4.30",)),
        ("$ strings /usr/lib64/libstdc++.so.6 | grep CXXABI", "CXXABI_1.3\nCXXABI_1.3.13\n", ("CXXABI_1.3.13",)),
        ("", LISTED, ("GLIBCXX_3.4.30",)),
        ("$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX | tail -1", "GLIBCXX_3.4.30\n", ("GLIBCXX_3.4.30",)),
        ("$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX | tail -1", "GLIBCXX_DEBUG_MESSAGE_LENGTH\n", None),
        ("$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX_3.4.2", "GLIBCXX_3.4.20\nGLIBCXX_3.4.21\n", None),
        ("$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX | head -3", "GLIBCXX_3.4.1\n", None),
        ("", "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by x.so)\n", None),
    ],
)
def test_the_newest_version_that_a_list_holds(command: str, listed: str, expected: tuple[str, ...] | None) -> None:
    python = told(f"{command}\n{listed}").python
    assert python.libstdcxx.get() == expected
    if command:
        assert python.libstdcxx_file == Known("/usr/lib64/libstdc++.so.6", "log.txt:1")


def test_a_later_library_takes_the_place_of_an_earlier_one() -> None:
    first = f"$ strings /usr/lib64/libstdc++.so.6 | grep GLIBCXX\n{LISTED}"
    second = "$ strings /opt/conda/lib/libstdc++.so.6 | grep GLIBCXX\nGLIBCXX_3.4\nGLIBCXX_3.4.19\n"
    assert told(first + second).python.libstdcxx.get() == ("GLIBCXX_3.4.19",)


@pytest.mark.parametrize(
    ("text", "libc"),
    [
        ("ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31\nCopyright (C) 2020\n", "glibc 2.31"),
        ("ldd (GNU libc) 2.17\n", "glibc 2.17"),
        ("$ getconf GNU_LIBC_VERSION\nglibc 2.36\n", "glibc 2.36"),
        ("musl libc (x86_64)\nVersion 1.2.4\n", "musl"),
    ],
)
def test_the_c_library(text: str, libc: str) -> None:
    assert told(text).host.libc.get() == libc
