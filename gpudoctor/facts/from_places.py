"""Where a text was printed, and what the tools of that place say of the driver."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer, LogEvent
from gpudoctor.logs.formats.places import CLUSTER_SAID, ENGINE_SAID, IMAGE_SAID, WSL_SAID
from gpudoctor.logs.seen import Seen

# nvml.h, nvmlReturn_t, by what is printed of it
NVML_CODES = {
    "driver not loaded": 9, "insufficient permissions": 4, "unknown error": 999,
    "gpu access blocked by the operating system": 17, "driver/library version mismatch": 18, "timeout": 10,
    "nvml shared library not found": 12, "not found": 6,
}  # fmt: skip


# What programs print of an error of cuInit's in words, and its name in cuda.h.
CALL_WORDS = {
    "no cuda-capable device is detected": "CUDA_ERROR_NO_DEVICE", "unknown error": "CUDA_ERROR_UNKNOWN",
    "system not yet initialized": "CUDA_ERROR_SYSTEM_NOT_READY",
    "system has unsupported display driver / cuda driver combination": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
}  # fmt: skip


def call_error(told: dict[str, str]) -> str:
    """Return the error of cuInit's as TensorFlow would print it: its number in brackets, else its name."""
    if number := told.get("number") or told.get("code"):
        return f"({number})"
    words = "unknown error" if "torch" in told else told.get("words", "").strip().casefold()
    return told.get("error") or told.get("name") or CALL_WORDS.get(words, words)


def nvml_answer(code: int | None, said: str = "") -> ApiAnswer:
    """Return a refusal of NVML's, in NVML's words where the text gives the number alone."""
    words = next((words for words, number in NVML_CODES.items() if number == code), "")
    return ApiAnswer(outcome=Api.ERROR, code=code, detail=said or words)


def container_tool(seen: Seen, event: LogEvent, at: str) -> None:
    """Take what NVML answered the container tool, which runs on the host."""
    said = event.parameters.get("detail", "").partition("nvml error: ")[2]
    code = next((number for words, number in NVML_CODES.items() if said.startswith(words)), None)
    if code is not None:
        seen.note("driver.nvml", nvml_answer(code, said), at)


def cudnn_driver(seen: Seen, event: LogEvent, at: str) -> None:
    """Take the driver's version from TensorFlow's guess that it is too old."""
    if "driver" in event.parameters and seen.value("driver.version") is None:
        seen.note("driver.version", event.parameters["driver"], at)


def apply_suspend(seen: Seen) -> None:
    """Take an unknown error of CUDA's for one of its start where the machine was suspended before it."""
    slept = any(event.message == "was-suspended" for event in seen.events)
    failed = next((e for e in seen.events if e.parameters.get("error") == "CUDA_ERROR_UNKNOWN"), None)
    if slept and failed is not None and seen.value("driver.cuda_init") is None:
        answer = ApiAnswer(outcome=Api.ERROR, code=999, name="CUDA_ERROR_UNKNOWN")
        seen.note("driver.cuda_init", answer, f"{failed.source}:{failed.line}")


def _apply_image(seen: Seen) -> None:
    """Note a container where an image is named beside a libcuda that is newer than the kernel module."""
    at = seen.hints.get(IMAGE_SAID)
    told = [event.parameters for event in seen.events if event.message == "kernel-library-mismatch"]
    if at is None or not told or seen.value("host.container"):
        return
    branch = {key: told[-1].get(key, "").partition(".")[0] for key in ("kernel", "library")}
    if all(number.isdecimal() for number in branch.values()) and int(branch["library"]) > int(branch["kernel"]):
        seen.note("host.container", "docker", at)


def _apply_engine(seen: Seen) -> None:
    """Note a container where an engine is told of, and libcuda, which an engine puts in, is not found."""
    said = seen.hints.get(CLUSTER_SAID) or seen.hints.get(ENGINE_SAID)
    answer = seen.value("driver.cuda_init")
    if said is None or not isinstance(answer, ApiAnswer) or answer.outcome is not Api.NO_LIBRARY:
        return
    if not any(seen.value(path) for path in ("host.container", "host.wsl")) and "windows-prompt" not in seen.hints:
        name, _, at = said.partition("\n")
        seen.note("host.container", name, at)


def apply_places(seen: Seen) -> None:
    """Note a container, or WSL, where only words tell it.

    Of WSL something else must show that it was Linux which found no GPU, or no NVIDIA driver: the same words may stand
    beside what was tried on Windows.
    """
    _apply_image(seen)
    _apply_engine(seen)
    at = seen.hints.get(WSL_SAID)
    if at is None or seen.value("host.wsl") or "windows-prompt" in seen.hints:
        return
    linux = "linux" in seen.hints
    answers = [seen.facts[path] for path in ("driver.nvml", "driver.cuda_init") if path in seen.facts]
    failed = any(getattr(told.values[-1][0], "outcome", None) is not Api.OK for told in answers)
    without_wddm = any(gpu.value("driver_model") == "TCC" for gpu in seen.gpus)
    if (failed and (linux or "driver.nvml" in seen.facts)) or without_wddm:
        seen.note("host.wsl", "somebody says so", at)
