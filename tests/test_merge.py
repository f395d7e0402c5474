"""What several sources say of the same thing, brought together."""

from __future__ import annotations

from msgspec.structs import replace

from gpudoctor.facts.merge import merge, merge_drivers, merge_gpus
from gpudoctor.facts.model import UNREAD, Absent, Api, ApiAnswer, DriverFacts, Fact, Gpu, Known, PciDevice, Unknown

ONE, OTHER = Known("535.183.01", "NVML"), Known("550.54.15", "/proc/driver/nvidia/version")
STARTED = DriverFacts(cuda_init=Known(ApiAnswer(outcome=Api.OK), "libcuda"), cuda_device_count=Known(1, "libcuda"))
SILENT = DriverFacts()


def gpu(address: str | None = None, uuid: str | None = None, name: str | None = None, source: str = "NVML") -> Gpu:
    def fact(value: str | None) -> Fact[str]:
        return Known(value, source) if value else UNREAD

    return Gpu(pci_address=fact(address), uuid=fact(uuid), name=fact(name))


def addresses(gpus: list[Gpu]) -> list[str | None]:
    return [item.pci_address.get() for item in gpus]


def test_the_first_known_value_wins_and_the_others_stay_beside_it() -> None:
    assert merge(ONE, OTHER) == replace(ONE, also=(("550.54.15", "/proc/driver/nvidia/version"),))
    assert merge(UNREAD, OTHER, ONE).require() == "550.54.15"


def test_the_same_value_twice_is_no_contradiction() -> None:
    assert merge(ONE, replace(ONE, source="libcuda")) is ONE


def test_what_was_seen_beside_a_value_before_is_kept() -> None:
    seen = replace(ONE, also=(("1", "x"),))
    assert merge(seen, OTHER) == replace(ONE, also=(("1", "x"), ("550.54.15", "/proc/driver/nvidia/version")))


def test_known_comes_before_absent_before_unknown_before_unread() -> None:
    absent, unknown = Absent("/sys/module"), Unknown("did not answer")
    assert merge(absent, ONE) == ONE
    assert merge(unknown, absent) == absent
    assert merge(UNREAD, unknown) == unknown
    assert merge(UNREAD, UNREAD) == UNREAD
    assert merge(unknown, Unknown("another reason")) == unknown


def test_each_source_fills_its_own_fields_of_the_driver() -> None:
    files = DriverFacts(kernel_module_version=Known("535.183.01", "/proc"), version=Known("535.183.01", "/proc"))
    merged = merge_drivers(files, DriverFacts(version=OTHER, nvml_device_count=Known(1, "NVML")), STARTED)
    assert merged.kernel_module_version.require() == "535.183.01"
    assert merged.nvml_device_count.require() == merged.cuda_device_count.require() == 1
    assert merged.version == replace(OTHER, also=(("535.183.01", "/proc"),))


def test_cuda_of_a_compat_library_is_what_programs_get() -> None:
    nvml, cuda = (DriverFacts(cuda_version=Known(text, "x")) for text in ("12.2", "12.8"))
    assert merge_drivers(SILENT, nvml, cuda).cuda_version.require() == "12.8"


def test_gpus_are_joined_by_address_whatever_their_order() -> None:
    nvml = [gpu("0000:01:00.0", name="A"), gpu("0000:02:00.0", name="B")]
    cuda = [
        replace(gpu("0000:02:00.0"), visible=Known(True, "")),
        replace(gpu("0000:01:00.0"), visible=Known(True, "")),
    ]
    merged = merge_gpus(nvml, cuda, (), replace(STARTED, cuda_device_count=Known(2, "")))
    assert addresses(merged) == ["0000:01:00.0", "0000:02:00.0"]
    assert [item.name.get() for item in merged] == ["A", "B"]
    assert all(item.visible.get() for item in merged)


def test_else_by_uuid_and_else_by_name_and_ordinal() -> None:
    assert len(merge_gpus([gpu(uuid="GPU-a")], [gpu(uuid="GPU-a")], (), STARTED)) == 1
    assert len(merge_gpus([gpu(name="T4")], [gpu(name="T4")], (), STARTED)) == 1
    assert len(merge_gpus([gpu(name="T4")], [gpu(name="A100")], (), STARTED)) == 2


def test_two_of_one_name_stay_two() -> None:
    nvml, cuda = [gpu(name="T4"), gpu(name="T4")], [gpu(name="T4"), gpu(name="T4")]
    assert len(merge_gpus(nvml, cuda, (), STARTED)) == 2


def test_a_known_address_is_never_joined_by_name() -> None:
    merged = merge_gpus([gpu("0000:01:00.0", name="T4")], [gpu("0000:02:00.0", name="T4")], (), STARTED)
    assert addresses(merged) == ["0000:01:00.0", "0000:02:00.0"]


def test_a_gpu_that_cuda_did_not_list_is_hidden() -> None:
    nvml = [gpu("0000:01:00.0"), gpu("0000:02:00.0")]
    merged = merge_gpus(nvml, [replace(gpu("0000:01:00.0"), visible=Known(True, "libcuda"))], (), STARTED)
    assert [item.visible.get() for item in merged] == [True, False]


def test_where_cuda_did_not_tell_nothing_is_said_of_what_is_hidden() -> None:
    driver = replace(STARTED, cuda_device_count=Unknown("did not answer"))
    assert merge_gpus([gpu("0000:01:00.0")], [], (), driver)[0].visible == UNREAD
    nameless = [gpu(name="X")]
    assert merge_gpus([gpu("0000:01:00.0")], nameless, (), STARTED)[0].visible == UNREAD


def test_memory_of_nvml_and_of_cuda_differ_by_design() -> None:
    seen = [replace(gpu("0000:01:00.0"), memory_total_bytes=Known(count, "x")) for count in (100, 90)]
    (merged,) = merge_gpus(seen[:1], seen[1:], (), STARTED)
    assert merged.memory_total_bytes == Known(100, "x")
    (other,) = merge_gpus([gpu("0000:01:00.0")], seen[1:], (), STARTED)
    assert other.memory_total_bytes == Known(90, "x")


def test_the_bus_tells_of_gpus_where_the_driver_does_not_run() -> None:
    bus = (PciDevice(address="0000:01:00.0", device_id="2684"), PciDevice(address="0000:02:00.0", device_id="2204"))
    merged = merge_gpus([], [], bus, SILENT)
    assert addresses(merged) == ["0000:01:00.0", "0000:02:00.0"]
    assert [item.pci_id.get() for item in merged] == ["2684", "2204"]


def test_where_the_driver_runs_the_bus_adds_nothing() -> None:
    bus = (PciDevice(address="0000:02:00.0", device_id="2204"),)
    assert addresses(merge_gpus([gpu("0000:01:00.0")], [], bus, STARTED)) == ["0000:01:00.0"]
    assert merge_gpus([], [], bus, STARTED) == []


def test_a_gpu_set_aside_for_a_virtual_machine_is_not_ours() -> None:
    bus = (PciDevice(address="0000:02:00.0", device_id="2204", driver="vfio-pci"),)
    assert merge_gpus([], [], bus, SILENT) == []
