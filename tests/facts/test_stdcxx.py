"""The C++ library that TensorFlow gets: which copy, and which symbol versions; partly against real libraries."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts.host import Host
from gpudoctor.facts.model import Absent, Known, PythonFacts, TensorFlowFacts, Unknown
from gpudoctor.facts.probes import libraries_symbols as symbols
from gpudoctor.facts.probes.libraries_stdcxx import BESIDE, read_stdcxx
from tests.facts.test_libraries import cache_file, needs_compiler

SITE = "/env/lib/python3.11/site-packages"
NAME = "libstdc++.so.6"
SYSTEM = f"/usr/lib/x86_64-linux-gnu/{NAME}"
IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)
OLD, NEW = ("GLIBCXX_3.4.25", "CXXABI_1.3.11"), ("GLIBCXX_3.4.33", "CXXABI_1.3.15")


def library(
    *,
    defines: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    weak: tuple[str, ...] = (),
    runpath: str = "",
    rpath: str = "",
) -> bytes:
    """Return a small shared library with these symbol versions and search paths."""
    strings = bytearray(b"\0")

    def put(text: str) -> int:
        strings.extend(text.encode() + b"\0")
        return len(strings) - len(text) - 1

    head, verdef, verneed = 64 + 2 * 56, b"", b""
    for number, name in enumerate(defines):
        following = 28 if number + 1 < len(defines) else 0
        verdef += struct.pack("<HHHHIII", 1, 0, number + 2, 1, 0, 20, following) + struct.pack("<II", put(name), 0)
    wanted = [*((name, 0) for name in needs), *((name, 2) for name in weak)]
    if wanted:
        verneed = struct.pack("<HHIII", 1, len(wanted), put("libc.so.6"), 16, 0)
        for number, (name, flags) in enumerate(wanted):
            verneed += struct.pack("<IHHII", 0, flags, 2, put(name), 16 if number + 1 < len(wanted) else 0)
    tags = [(29, put(runpath))] if runpath else []
    tags += [(15, put(rpath))] if rpath else []
    base, places = 0x10000, {}
    at = head
    for key, data in (("strings", bytes(strings)), ("verdef", verdef), ("verneed", verneed)):
        places[key] = base + at
        at += len(data)
    tags += [(5, places["strings"])]
    tags += [(0x6FFFFFFC, places["verdef"]), (0x6FFFFFFD, len(defines))] if defines else []
    tags += [(0x6FFFFFFE, places["verneed"]), (0x6FFFFFFF, 1)] if wanted else []
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    header = IDENT + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    size = at + len(dynamic)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    table = struct.pack("<IIQQQQQQ", 2, 4, at, base + at, base + at, len(dynamic), len(dynamic), 8)
    return header + load + table + bytes(strings) + verdef + verneed + dynamic


def reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, length: data[offset : offset + length]


class Machine:
    """A folder that stands for a machine with TensorFlow in an environment of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.variables: dict[str, str] = {}
        self.put("/env/bin/python", library())
        self.put(f"{SITE}/tensorflow/libtensorflow_framework.so.2", library(needs=("GLIBC_2.27",), runpath="/wheels"))
        self.put(f"{SITE}/tensorflow/libtensorflow_cc.so.2", library(needs=("GLIBCXX_3.4.22", "CXXABI_1.3.11")))

    def put(self, path: str, content: bytes) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def read(self) -> tuple[PythonFacts, TensorFlowFacts]:
        python = PythonFacts(
            executable=Known("/env/bin/python", "test"),
            prefix=Known("/env", "test"),
            search_path=Known((SITE,), "test"),
            packages=Known((), "test"),
            environment=Known(self.variables, "test"),
        )
        tensorflow = TensorFlowFacts(version=Known("2.21.0", "test"), location=Known(f"{SITE}/tensorflow", "test"))
        return read_stdcxx(Host(self.root, {}), python, tensorflow)

    def taken(self) -> tuple[str, str]:
        file = self.read()[0].libstdcxx_file
        assert isinstance(file, Known)
        return file.value, file.source


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_newest_of_each_family_and_nothing_else() -> None:
    defines = ("libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.13", "CXXABI_TM_1")
    data = library(defines=defines, needs=("GLIBC_2.4", "GLIBC_2.36", "GCC_3.0"), weak=("GLIBC_2.99",))
    assert symbols.defined(reader(data)) == ("GLIBCXX_3.4.30", "CXXABI_1.3.13")
    assert symbols.needed(reader(data)) == ("GLIBC_2.36",)
    assert symbols.newest(("GLIBCXX_LDBL_3.4", "GLIBCXX_3.4.10", "GLIBCXX_3.4.9")) == ("GLIBCXX_3.4.10",)


def test_a_cut_or_damaged_library_raises_a_value_error_at_most() -> None:
    data = library(defines=OLD, needs=("GLIBC_2.27",))
    for length in range(0, len(data), 3):
        for ask in (symbols.defined, symbols.needed):
            try:
                ask(reader(data[:length]))
                ask(reader(data[:length] + b"\xff" * (len(data) - length)))
            except ValueError:
                continue


@needs_compiler
def test_versions_as_a_linker_writes_them(tmp_path: Path) -> None:
    (tmp_path / "v.map").write_text("GLIBCXX_3.4 { global: one; };\nGLIBCXX_3.4.7 { global: two; } GLIBCXX_3.4;\n")
    (tmp_path / "d.c").write_text("int one(void) { return 1; }\nint two(void) { return 2; }\n")
    (tmp_path / "n.c").write_text("int two(void);\nint three(void) { return two(); }\n")
    make = ["cc", "-shared", "-fPIC", "-o"]
    subprocess.run([*make, "libd.so", "d.c", "-Wl,--version-script=v.map"], cwd=tmp_path, check=True)
    subprocess.run([*make, "libn.so", "n.c", "-L.", "-ld"], cwd=tmp_path, check=True)
    assert symbols.defined(reader((tmp_path / "libd.so").read_bytes())) == ("GLIBCXX_3.4.7",)
    assert "GLIBCXX_3.4.7" in symbols.needed(reader((tmp_path / "libn.so").read_bytes()))


@needs_compiler
def test_the_loader_refuses_what_the_numbers_say(tmp_path: Path) -> None:
    """A copy that ends before the version that is needed is refused in the words that the log reader knows."""
    (tmp_path / "old.map").write_text("GLIBCXX_3.4.19 { global: one; };\n")
    (tmp_path / "new.map").write_text("GLIBCXX_3.4.19 { global: one; };\nGLIBCXX_3.4.22 { global: two; };\n")
    (tmp_path / "d.c").write_text("int one(void) { return 1; }\nint two(void) { return 2; }\n")
    (tmp_path / "n.c").write_text("int two(void);\nint three(void) { return two(); }\n")
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        words = [f"-Wl,--version-script={name}.map", f"-Wl,-soname,{NAME}", "-o", f"{name}/{NAME}"]
        subprocess.run(["cc", "-shared", "-fPIC", "d.c", *words], cwd=tmp_path, check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "n.c", f"new/{NAME}", "-o", "n.so"], cwd=tmp_path, check=True)
    needed = symbols.needed(reader((tmp_path / "n.so").read_bytes()))
    for name, enough in (("old", False), ("new", True)):
        have = symbols.defined(reader((tmp_path / name / NAME).read_bytes()))
        assert ("GLIBCXX_3.4.22" in have, "GLIBCXX_3.4.22" in needed) == (enough, True)
        done = subprocess.run(
            [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(tmp_path / "n.so")],
            env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path / name)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == enough, done.stderr
        assert ("version `GLIBCXX_3.4.22' not found" in done.stderr) != enough


@pytest.mark.skipif(sys.platform != "linux", reason="reads the library of this Linux")
def test_the_library_of_this_machine_defines_what_its_bytes_hold() -> None:
    python = PythonFacts(executable=Known(sys.executable, ""), search_path=Known((), ""), prefix=Known(sys.prefix, ""))
    told, _ = read_stdcxx(Host(), python, TensorFlowFacts(location=Absent("test")))
    if isinstance(told.libstdcxx, Absent):
        pytest.skip("no libstdc++ here")
    data = Path(told.libstdcxx_file.require()).read_bytes()
    found = re.findall(rb"\0((?:GLIBCXX|CXXABI)_\d+(?:\.\d+)*)(?=\0)", data)
    assert told.libstdcxx.require() == symbols.newest(name.decode() for name in found)


def test_what_tensorflow_needs_is_the_newest_of_all_its_libraries(machine: Machine) -> None:
    _, tensorflow = machine.read()
    source = f"{SITE}/tensorflow/libtensorflow_framework.so.2"
    assert tensorflow.symbol_versions == Known(("GLIBC_2.27", "GLIBCXX_3.4.22", "CXXABI_1.3.11"), source)


def test_the_order_is_the_loaders(machine: Machine) -> None:
    machine.put(SYSTEM, library(defines=OLD))
    assert machine.taken() == (SYSTEM, "default folders")
    machine.put(f"/opt/gcc/{NAME}", library(defines=NEW))
    machine.put("/etc/ld.so.cache", cache_file((NAME, f"/opt/gcc/{NAME}")))
    assert machine.taken() == (f"/opt/gcc/{NAME}", "ld.so.cache")
    machine.put(f"/wheels/{NAME}", library(defines=OLD))
    assert machine.taken() == (f"/wheels/{NAME}", "RUNPATH")
    machine.put(f"/mine/{NAME}", library(defines=OLD))
    machine.variables["LD_LIBRARY_PATH"] = "/nowhere::/mine"
    assert machine.taken() == (f"/mine/{NAME}", "LD_LIBRARY_PATH")
    machine.variables["LD_PRELOAD"] = f"/lib/other.so /opt/gcc/{NAME}"
    assert machine.taken() == (f"/opt/gcc/{NAME}", "LD_PRELOAD")
    assert machine.read()[0].libstdcxx == Known(NEW, f"/opt/gcc/{NAME}")


def test_condas_copy_may_come_first_where_tensorflow_has_a_runpath(machine: Machine) -> None:
    machine.put(SYSTEM, library(defines=OLD))
    machine.put(f"/env/lib/{NAME}", library(defines=NEW))
    machine.put("/env/conda-meta/history", b"")
    python, _ = machine.read()
    assert python.libstdcxx == Known(OLD, SYSTEM, ((NEW, f"/env/lib/{NAME}"),))


def test_condas_copy_wins_where_the_interpreter_leads_there(machine: Machine) -> None:
    machine.put("/env/bin/python", library(rpath="$ORIGIN/../lib"))
    machine.put(f"{SITE}/tensorflow/libtensorflow_framework.so.2", library(needs=("GLIBC_2.17",)))
    machine.put(SYSTEM, library(defines=OLD))
    machine.put(f"/env/lib/{NAME}", library(defines=NEW))
    assert machine.read()[0].libstdcxx == Known(NEW, f"/env/lib/{NAME}")
    assert machine.taken() == (f"/env/lib/{NAME}", "RPATH")


def test_a_copy_that_only_other_modules_find_is_better_than_none(machine: Machine) -> None:
    machine.put(f"/env/lib/{NAME}", library(defines=NEW))
    machine.put("/env/conda-meta/history", b"")
    assert machine.taken() == (f"/env/lib/{NAME}", BESIDE)


def test_what_is_no_library_is_passed_over(machine: Machine) -> None:
    machine.variables["LD_LIBRARY_PATH"] = "/fifo:/text:/32:/folder"
    (machine.root / "fifo").mkdir()
    os.mkfifo(machine.root / "fifo" / NAME)
    machine.put(f"/text/{NAME}", b"INPUT(-lstdc++)")
    machine.put(f"/32/{NAME}", b"\x7fELF\x01\x01" + bytes(90))
    (machine.root / "folder" / NAME).mkdir(parents=True)
    machine.put(SYSTEM, library(defines=OLD))
    done: list[tuple[str, str]] = []
    thread = threading.Thread(target=lambda: done.append(machine.taken()), daemon=True)
    thread.start()
    thread.join(60)  # opening a FIFO would wait for ever
    assert done == [(SYSTEM, "default folders")]


def test_none_at_all_is_told_as_such(machine: Machine) -> None:
    python, _ = machine.read()
    assert python.libstdcxx == Absent("no libstdc++.so.6 where the loader looks")


def test_what_was_not_read_is_unknown_for_the_same_reason(tmp_path: Path) -> None:
    reason = Unknown("the interpreter hangs")
    python, tensorflow = read_stdcxx(Host(tmp_path, {}), PythonFacts(search_path=reason), TensorFlowFacts())
    assert isinstance(python.libstdcxx, Unknown) and isinstance(tensorflow.symbol_versions, Unknown)
    python, _ = read_stdcxx(
        Host(tmp_path, {}),
        PythonFacts(executable=Known(sys.executable, ""), search_path=Known((), "")),
        TensorFlowFacts(location=Absent("test")),
    )
    assert isinstance(python.libstdcxx, Unknown)
