"""Prompts: what was typed at a shell, at Python or in a notebook, and the answers that only the question explains."""

from __future__ import annotations

from gpudoctor.facts.model import Api, ApiAnswer, RunOutcome, TensorFlowRun
from gpudoctor.logs.seen import Seen, compiled

OPENERS = (
    b">>> ",
    b"__version__",
    b"CUDA_VISIBLE_DEVICES",
    b"is_built_with_cuda",
    b"list_physical_devices",
    b"docker run",
)

MOST_VARIABLES = 64
VALUE = 400

_PROMPT = (
    r"(?:\([\w./~-]{1,60}\) ?)?(?:"
    r"(?P<user>[\w.-]{1,40})@(?P<host>[\w.-]{1,60})[: ][^$#%>\r\n]{0,100}[$#%] "
    r"|\[[\w.-]{1,40}@(?P<where>[\w.-]{1,60}) [^\]\r\n]{0,80}\][$#] ?"
    r"|(?P<python>>>> ?|\.\.\. ?|In \[\d{1,5}\]: ?)"
    r"|(?:PS )?[A-Za-z]:\\[^>\r\n]{0,120}> ?"
    r"|[\w.~/-]{0,60}\$ |% |# |(?:Singularity|Apptainer)[^>\r\n]{0,60}> )(?P<typed>.{0,1000})"
)
_ON_PURPOSE = r"(?i:\b(?:disabl\w{1,3}|turn\w{0,3} off|hid|hide|hiding|without) (?:the |my )?gpus?\b)"
_VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "KERAS_BACKEND", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
    *("TF_FORCE_GPU_ALLOW_GROWTH", "XLA_FLAGS", "CUDA_HOME", "TF_USE_LEGACY_KERAS"),
)
_VARIABLE = (
    r"(?:^|export |set |setenv |ENV |-e |--env |environ\[[\"']|[ ;{][\"']?)(?P<name>" + "|".join(_VARIABLES) + r")"
    r"(?:[\"']\] ?|[\"'](?=:))?(?: ?= ?|: )[\"']?(?P<value>[^\s\"';]{0,300})"
)
_GIVES_GPUS = ("--gpus", "--device", "--runtime", "nvidia-docker", "--nv", "--rocm")
_ECHO = r"echo [\"']?[$%]\{?(\w{4,40})"
_VERSION = (
    r"(?:[bv]?'?v?\d[\w.-]{4,60}'? )?[\"']?(?P<version>[12]\.\d{1,2}\.\d{1,2}(?:-?rc\d|\.dev\d{8}|\+n"
    r"v[\d.]{2,6}|-dev0\+\w{2,20})?)[\"']?\Z"
)
_SAID = (
    r"(?i:(?:tensorflow|tf)(?:[ _.]__version__|[ _-]version(?: is)?|\.version\.VERSION|)\s{0,6}[:=](?!=)"
    r"\s{0,4}|tensorflow version:?\s{1,4}|TensorFlow v)"
    r"v?[\"']?(?P<version>[12]\.\d{1,2}\.\d{1,2}(?:rc\d|-dev0\+\w{2,20})?)(?![\w.]*\.whl)"
)
# A command or statement that does nothing but import it.
_IMPORTS = r"import (?:tensorflow|keras)(?: as \w{1,10})?[\"']?;?\s{0,4}(?:print\([\w.]{1,40}\))?[\"']?\s{0,4}\Z"
_KERAS = r"[\"']?([23]\.\d{1,2}\.\d{1,2})[\"']?\Z"
_ASKS_VERSION = (
    "tf.__version__",
    "tensorflow.__version__",
    "tf.version.VERSION",
    "tf.VERSION",
    "tensorflow.version.VERSION",
)
_ASKS_KERAS = ("keras.__version__",)
_ASKS_BACKEND = ("backend.backend()", "config.backend()", "keras.backend()")
_BACKEND = r"[\"']?(jax|torch|numpy|openvino|theano|cntk)[\"']?\Z"
_ASKS_DEVICES = ("list_physical_devices", "list_logical_devices", "experimental_list_devices")
_NUMBER = (
    r"(?i:num(?:ber)?(?: of)? gpus? (?:available|found|detected)|gpus? available|available gpus?)\s{0"
    r",3}[:=]?\s{1,4}(?P<count>\d{1,3}|\[\]|True|False)\s{0,4}\Z"
)
_COUNTED = ("available", "found", "detected")
_BUILT = r"(?i:built[_ ]with[_ ]cuda(?:\(\))?)\s{0,3}[:=]?\s{1,4}(True|False)"


class Reader:
    """Keeps the question until its answer comes."""

    def __init__(self) -> None:
        self._asked = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        typed = self._prompt(text, at, seen)
        self._variable(text, at, seen)
        if typed is not None:
            seen.command = typed
            self._asked = typed
            self._question(typed, at, seen)
            return
        self._statement(text.strip(), at, seen)
        if self._asked and text.strip():
            self._answer(text.strip(), at, seen)

    def _prompt(self, text: str, at: str, seen: Seen) -> str | None:
        if not any(sign in text for sign in ("$ ", "# ", "% ", ">", "]:")):
            return None
        match = compiled(_PROMPT).match(text.lstrip())
        if match is None:
            return None
        host = match["host"] or match["where"]
        if ":/mnt/c" in text and host:
            seen.note("host.wsl", "a folder of Windows at the prompt", at)
        if match["user"] == "root" and compiled(r"[0-9a-f]{12}\Z").match(host or ""):
            seen.note("host.container", "docker", at)
        if text.lstrip().startswith(("Singularity", "Apptainer")):
            seen.note("host.container", "apptainer", at)
        if text.lstrip().startswith("PS ") or (":\\" in text and compiled(r"[A-Za-z]:\\").match(text.lstrip())):
            seen.hint("windows-prompt", at)
        return match["typed"].strip()

    def _question(self, typed: str, at: str, seen: Seen) -> None:
        for run, name in (("docker run", "docker"), ("podman run", "podman"), ("singularity exec", "apptainer"),
                          ("apptainer exec", "apptainer"), ("nvidia-docker run", "docker")):  # fmt: skip
            if run in typed:
                seen.hint(f"runs-{name}", at)
                if not any(option in typed for option in _GIVES_GPUS):
                    seen.hint("container-without-gpus", at)
        if typed.startswith("sudo ") and "nvidia-smi" in typed:
            seen.hint("as-root", at)

    def _variable(self, text: str, at: str, seen: Seen) -> None:
        if ("=" not in text and ": " not in text) or not any(name in text for name in _VARIABLES):
            return
        for match in compiled(_VARIABLE).finditer(text):
            value = match["value"].strip("\\n")
            if value == "-1" and compiled(_ON_PURPOSE).search(text):
                continue  # somebody tells of a comparison with the CPU
            if len(seen.variables) < MOST_VARIABLES:
                seen.variables[match["name"]] = (value, at)
                seen.recognised += 1

    def _statement(self, text: str, at: str, seen: Seen) -> None:
        """Take a line that says by itself what it is about."""
        if text.startswith(("docker run ", "sudo docker run ", "podman run ", "nvidia-docker run ")):
            self._question(text, at, seen)
        low = text.lower()
        if "ersion" in text and ("tf" in low or "tensorflow" in low) and (match := compiled(_SAID).search(text)):
            seen.note("tensorflow.version", match["version"], at)
        gpus = ("GPU" in text or "gpu" in text) and any(word in low for word in _COUNTED)
        if gpus and (match := compiled(_NUMBER).search(text)):
            self._counted(match["count"], at, seen)
        if "built" in low and (match := compiled(_BUILT).search(text)):
            seen.note("tensorflow.cuda_build", match[1] == "True", at)
        if 'device_type: "' in text and (match := compiled(r'device_type: "(GPU|CPU)"').search(text)):
            seen.devices.setdefault(f"{match[1]}:0", ({}, at))

    def _counted(self, count: str, at: str, seen: Seen) -> None:
        if count in ("0", "[]", "False"):
            seen.no_devices_at = at
            seen.recognised += 1
        elif count == "True":
            seen.devices.setdefault("GPU:0", ({}, at))
        else:
            for number in range(min(int(count), 16)):
                seen.devices.setdefault(f"GPU:{number}", ({}, at))

    def _answer(self, text: str, at: str, seen: Seen) -> None:
        asked = self._asked
        if any(word in asked for word in _ASKS_KERAS) and (match := compiled(_KERAS).match(text)):
            seen.note("tensorflow.keras_version", match[1], at)
        elif any(word in asked for word in _ASKS_VERSION) and (match := compiled(_VERSION).match(text)):
            seen.note("tensorflow.version", match["version"], at)
            if any(word in asked for word in _ASKS_DEVICES):
                return  # both were asked in one line: the devices are still to come
        elif any(word in asked for word in _ASKS_BACKEND) and (match := compiled(_BACKEND).match(text)):
            seen.tell("keras-backend-told", at, backend=match[1])
        elif "egmentation fault" in text and compiled(_IMPORTS).search(asked):
            detail = "was ended by SIGSEGV"
            run = TensorFlowRun(outcome=RunOutcome.SIGNAL, stage="importing", detail=detail)
            seen.note("tensorflow.run", run, at)
        elif text in ("True", "False"):
            if "is_built_with_cuda" in asked:
                seen.note("tensorflow.cuda_build", text == "True", at)
            elif "cuda.is_available" in asked and text == "True":  # PyTorch says so
                seen.note("driver.cuda_init", ApiAnswer(outcome=Api.OK), at)
            elif "is_gpu_available" in asked:
                self._counted(text, at, seen)
        elif asked.startswith("echo ") and (match := compiled(_ECHO).match(asked)):
            if len(text) < VALUE and len(seen.variables) < MOST_VARIABLES:
                seen.variables[match[1]] = ("" if text == f"%{match[1]}%" else text, at)
                seen.recognised += 1
        elif not self._listed(asked, text, at, seen):
            return
        self._asked = ""

    def _listed(self, asked: str, text: str, at: str, seen: Seen) -> bool:
        """Take the answer to a question for devices; return whether it was one."""
        if "gpu_device_name" in asked and text in ("''", '""'):
            seen.no_devices_at = at
        elif not any(word in asked for word in _ASKS_DEVICES):
            return False
        elif text in ("[]", "0") and "'CPU'" not in asked and '"CPU"' not in asked:
            seen.no_devices_at = at
        elif text == "1" and "len(" in asked:
            seen.devices.setdefault("GPU:0", ({}, at))
        else:
            return False
        seen.recognised += 1
        return True
