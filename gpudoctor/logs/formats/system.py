"""What tells of the operating system, the processor and the PCI bus: uname, banners, os-release, lscpu, lspci."""

from __future__ import annotations

from gpudoctor.facts.model import PciDevice
from gpudoctor.logs.seen import Seen, compiled, plain_address

OPENERS = (
    b"microsoft-standard",
    b"-tegra",
    b"PRETTY_NAME=",
    b"VGA compatible controller",
    b"3D controller",
    b"model name\t",
)

_BANNER = (
    r"Python (?P<version>\d\.\d{1,2}\.\d{1,2}\w{0,4}) [(|].{0,140}?\[(?P<compiler>[^\]\r\n]{2,60})\]"
    r"(?: :: [\w, .]{2,60})?(?: on (?P<os>linux2?|win32|darwin))?"
)
_VERSION = r"(?:\$ |> |% )?Python (?P<version>[23]\.\d{1,2}\.\d{1,2}(?:rc\d|[ab]\d)?)\s{0,4}\Z"
_UNAME = (
    r"(?P<kernel>\d{1,2}\.\d{1,3}\.\d{1,3}[-\w.+~]{0,40}-(?:microsoft|tegra|generic|amd64|Microsoft|a"
    r"zure|aws|gcp)[-\w.+]{0,30})"
)
_LSPCI = (
    r"(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?:VGA compatible controller|3D controller|Display controller)(?: \[0[0-9a-f]{3}\])?: (?P<name>.{2,160})"
)
# A machine whose screen is a hypervisor's has no card but one that is passed through, which is listed too.
_VIRTUAL = ("VMware", "VirtualBox", "QXL", "Cirrus Logic", "Hyper-V")
_FOLDER = r"(?:python(\d)\.|[Pp]ython(\d))(\d{1,2})[/\\](?:lib[/\\])?(?:site|dist)-packages"
_SYSTEMS = {"linux": "linux", "linux2": "linux", "win32": "windows", "darwin": "macos"}
_IDS = {"ubuntu": "ubuntu", "debian": "debian", "fedora": "fedora", "centos": "centos", "arch": "arch",
        "rocky": "rocky", "pop!_os": "pop", "linux mint": "linuxmint", "red hat": "rhel",
        "opensuse": "opensuse-leap"}  # fmt: skip
_SIGNS = (
    ("windows", ("\\Users\\", "C:\\", ".dll", "Microsoft Windows", "Windows-10-", "Windows-11-", "PS C:")),
    ("linux", (".so.", "/usr/lib", "/home/", "/lib64", "/usr/local/", "GNU/Linux", "x86_64-linux-gnu", "/dev/nvidia")),
    # The name alone stands in what is for several systems.
    ("macos", ("Darwin ", "darwin", "macOS-", "macOS 1", "macOS 2", "/Users/", "tensorflow-metal", "tensorflow-macos",
               "Apple M", "MacBook")),
    # Beside macOS's name it tells that the text is about several systems.
    ("linux-name", ("Ubuntu", "ubuntu", "Debian", "debian", "CentOS", "Fedora", "Linux")),
)  # fmt: skip


class Reader:
    """Reads lines that stand alone."""

    def __init__(self) -> None:
        self._other_cards = ""
        self._cards: list[PciDevice] = []

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        plain = text.replace("/c/Users/", "/") if "/c/Users/" in text else text  # Windows's, seen from Linux
        plain = plain.replace(":/Users/", "\\Users\\") if ":/Users/" in plain else plain  # and with the other slash
        for system, signs in _SIGNS:
            if system not in seen.hints and any(sign in plain for sign in signs):
                seen.hint(system, at)
        if "-packages" in text and (match := compiled(_FOLDER).search(text)):
            seen.hints.setdefault("python-folder", f"{match[1] or match[2]}.{match[3]}\n{at}")
        if "Python " in text:
            self._python(text, at, seen)
        if "controller" in text or "Kernel driver in use" in text:
            self._pci(text, at, seen)
        if text.startswith(("PRETTY_NAME=", "Description:", "DISTRIB_DESCRIPTION=", "Operating System:")):
            self._distribution(text.partition("=" if "=" in text else ":")[2].strip(" \t\"'"), at, seen)
        if text.startswith(("model name", "Model name")) and ":" in text:
            seen.note("host.cpu_model", text.partition(":")[2].strip()[:80], at)
        elif text.startswith(("flags\t", "Flags:", "flags ")) and " sse2 " in text:
            seen.note("host.cpu_flags", tuple(text.partition(":")[2].split())[:400], at)
        elif "libc" in text or "ldd (" in text:
            self._libc(text.strip(), at, seen)
        elif text.lstrip().startswith("# R") and " (release), REVISION: " in text:
            seen.note("host.tegra", "/etc/nv_tegra_release", at)
            seen.note("host.machine", "aarch64", at)
            seen.hint("linux", at)
        elif '"backend": "' in text and (match := compiled(r'\s{0,40}"backend": "(\w{2,20})",?\Z').match(text)):
            seen.note("python.keras_json_backend", match[1], at)
        self._kernel(text, at, seen)

    def _libc(self, row: str, at: str, seen: Seen) -> None:
        """Take what ldd and getconf say of the C library."""
        libc = row.startswith(("ldd (", "glibc "))
        if libc and (match := compiled(r"(?:ldd \(.{2,60}\)|glibc) (\d\.\d{1,2})\b\s{0,4}\Z").match(row)):
            seen.note("host.libc", f"glibc {match[1]}", at)
        elif row.startswith("musl libc ("):
            seen.note("host.libc", "musl", at)

    def _python(self, text: str, at: str, seen: Seen) -> None:
        match = compiled(_BANNER).search(text)
        if match is not None:
            if match["os"]:
                seen.note("host.os", _SYSTEMS[match["os"]], at)
            if "32 bit" in match["compiler"]:
                seen.note("python.bits", 32, at)
            elif "64 bit" in match["compiler"]:
                seen.note("python.bits", 64, at)
        else:
            match = compiled(_VERSION).match(text.strip())
        if match is not None:
            seen.note("python.version", match["version"], at)

    def _kernel(self, text: str, at: str, seen: Seen) -> None:
        if ("icrosoft" in text or "-tegra" in text or "-generic" in text or "Linux " in text) and (
            match := compiled(_UNAME).search(text)
        ):
            kernel = match["kernel"]
            if "icrosoft" in kernel:
                seen.note("host.wsl", kernel, at)
            if "-tegra" in kernel:
                seen.note("host.tegra", "a board with a Tegra kernel", at)
            if "Linux " in text or "uname" in seen.command or "icrosoft" in kernel or "-tegra" in kernel:
                seen.note("host.kernel", kernel, at)
                seen.hint("linux", at)
        if "Darwin " in text and compiled(r"Darwin (?:arm64|x86_64|Kernel|[\w.-]{1,60} \d{2}\.\d)").search(text):
            seen.note("host.os", "macos", at)
        if "uname" in seen.command or "Linux " in text or "Darwin " in text or "-tegra" in text:
            machine = compiled(r"(?<![\w/-])(x86_64|aarch64|arm64)(?![\w/-])").search(text)
            if machine is not None and "Kernel Module" not in text:
                seen.note("host.machine", machine[1], at)
                if machine[1] == "aarch64":  # a Mac calls it arm64
                    seen.hint("linux", at)
        match = compiled(r"macOS-(\d{2}[\d.]{0,6})-(arm64|x86_64)").search(text) if "macOS-" in text else None
        if match is not None:
            seen.note("host.os", "macos", at)
            seen.note("host.machine", match[2], at)
        if "Microsoft Windows [Version" in text or (
            "Windows-1" in text and compiled(r"Windows-1[01]-10\.0\.\d").search(text)
        ):
            seen.note("host.os", "windows", at)

    def _distribution(self, name: str, at: str, seen: Seen) -> None:
        if not name:
            return
        seen.note("host.distribution", name[:60], at)
        known = next((short for long, short in _IDS.items() if name.casefold().startswith(long)), None)
        if known is not None:
            seen.note("host.distribution_id", known, at)
        version = compiled(r"(\d{1,2}(?:\.\d{1,2})?)").search(name)
        if version is not None:
            seen.note("host.distribution_version", version[1], at)

    def _pci(self, text: str, at: str, seen: Seen) -> None:
        match = compiled(_LSPCI).search(text)
        if match is None:
            driver = compiled(r"Kernel driver in use: (\w{2,20})").search(text)
            if driver is not None and self._cards and self._cards[-1].driver is None:
                self._cards[-1] = PciDevice(
                    address=self._cards[-1].address, device_id=self._cards[-1].device_id, driver=driver[1]
                )
                seen.facts["host.pci_gpus"].values = [(tuple(self._cards), at)]
            return
        if "NVIDIA" in match["name"]:
            code = compiled(r"\[10de:([0-9a-f]{4})\]").search(match["name"])
            name = compiled(r"\[((?:GeForce|Quadro|Tesla|TITAN|RTX|NVIDIA|A\d|H\d|L\d|T\d)[^\]\r\n]{0,50})\]").search(
                match["name"]
            )
            address = plain_address(match["address"])
            self._cards = [*self._cards, PciDevice(address=address, device_id=code[1] if code else "")][:64]
            gpu = seen.gpu(address=address, name=name[1] if name else None, at=at)
            if code is not None:
                gpu.note("pci_id", code[1], at)
            seen.facts.pop("host.pci_gpus", None)
            seen.note("host.pci_gpus", tuple(self._cards), at)
        elif not self._cards and (
            any(name in match["name"] for name in _VIRTUAL)
            or "vga" not in seen.command.casefold().replace("vga|3d", "").replace("3d|vga", "")
        ):
            seen.note("host.pci_gpus", (), at)
