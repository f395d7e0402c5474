"""What tells where a program ran: WSL in words, Dockerfiles."""

from __future__ import annotations

from gpudoctor.logs.seen import Seen, compiled

OPENERS = (b"\nFROM ",)

WSL_SAID, IMAGE_SAID, ENGINE_SAID, CLUSTER_SAID = "wsl-said", "image-said", "engine-said", "cluster-said"
_IMAGE = r"(?<![\w./-])(?:docker\.io/)?(?:nvidia/cuda|tensorflow/tensorflow|nvcr\.io/nvidia/[\w-]{2,40}):[\w.-]{1,80}"
LONGEST = 400
# A person, or a form that a person filled in.
_WSL = (
    r"\b(?:in|inside|on|under|within|using|via|app) (?:my |the |a )?(?:windows subsystem for linux|wsl) ?[12]?\b"
    r"|\bwsl ?[12]? (?:\(?ubuntu|version|distro)|\bubuntu[^\r\n]{0,30}\bwsl ?[12]?\b|\[x\] wsl ?[12]\b"
    r"|\b(?:kernel|linux distro)[^\r\n]{0,20} (?:of|for) wsl\b"
)
# Advice, and what was not done.
_NO_WSL = r"\b(?:install|please|need to|should|could|not|without|instead|recommend\w{0,2}|try|switch\w{0,3})\b"
# Said beside what fails there: elsewhere it may be the machine itself that fails.
_CONTAINER = (
    r"\b(?:in|inside|within|from) (?:the |my |a |an |this )?(?:\w{1,12} )?(?:docker|podman) container\b"
    r"|\b(?:docker|podman) container\b[^.\r\n]{0,40}\b(?:when|if|as) i (?:run|start)"
    r"|\binside (?:the |my |a |an )?(?:docker|container)\b"
    r"|\b(?:kubernetes|k8s|in(?:side)?)(?: the| a| my)? pods?\b"
)
_FAILS = r"\b(?:not|no|error|fail\w{0,2}|cannot|can.t|unable|n't|doesn.t|isn.t)\b"
_ELSEWHERE = r"\b(?:works?|working|fine|outside|without|should|could|try|recommend\w{0,2}|instead|host)\b|https?:"
# A command of theirs that is typed or told.
_ENGINE = r"\b(docker|podman|nvidia-docker|nerdctl|singularity|apptainer) (?:run|exec|shell|instance start)\b"
_CLUSTER = r"\b(?:kubernetes|k8s|kubectl|openshift)\b"
_ADVICE = r"\b(?:should|could|can also|please|try|recommend\w{0,2}|instead|prefer)\b|https?:"
_WELL = r"\b(?:works?|working|fine)\b"
_FROM = r"FROM [\w./-]{2,120}(?:[:@][\w.:-]{1,100})?(?: (?i:as) [\w-]{1,40})?\Z"
_STEP = ("RUN ", "ENV ", "ADD ", "COPY ", "WORKDIR ", "CMD ", "ENTRYPOINT ")
_ENGINES = (
    *("docker ", "podman ", "nerdctl ", "singularity ", "apptainer "),
    *("ubernetes", "UBERNETES", "k8s", "K8s", "K8S", "kubectl", "penshift", "penShift"),
)


class Reader:
    """Reads lines; of a Dockerfile the first instruction alone could be a sentence."""

    def __init__(self) -> None:
        self._image = ""

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line."""
        text = text.strip()
        if len(text) > LONGEST:
            return
        if text.startswith("FROM ") and compiled(_FROM).match(text):
            self._image = at
        elif self._image and text.startswith(_STEP):
            if seen.value("host.container") is None:
                seen.note("host.container", "docker", self._image)
            self._image = ""
        if ("container" in text or " pod" in text) and ".cc:" not in text and seen.value("host.container") is None:
            low = text.casefold()
            if (
                compiled(_CONTAINER).search(low)
                and compiled(_FAILS).search(low)
                and not compiled(_ELSEWHERE).search(low)
            ):
                seen.note("host.container", _engine_said(low), at)
        self._engine(text, at, seen)
        if "/.singularity.d/" in text:  # there only when it runs
            seen.hint(ENGINE_SAID, f"apptainer\n{at}")
        if (
            ("nvidia/" in text or "tensorflow/tensorflow:" in text)
            and IMAGE_SAID not in seen.hints
            and compiled(_IMAGE).search(text)
        ):
            seen.hint(IMAGE_SAID, at)
        if (
            WSL_SAID not in seen.hints
            and ".cc:" not in text
            and ("WSL" in text or "wsl" in text or "Subsystem" in text)
        ):
            low = text.casefold()
            if compiled(_WSL).search(low) and not compiled(_NO_WSL).search(low):
                seen.hint(WSL_SAID, at)

    def _engine(self, text: str, at: str, seen: Seen) -> None:
        """Note which engine runs the program, by a command or by a cluster's name."""
        if ".cc:" in text or not any(word in text for word in _ENGINES):
            return
        low = text.casefold()
        if compiled(_ADVICE).search(low):
            return
        if compiled(_CLUSTER).search(low):
            seen.hint(CLUSTER_SAID, f"kubernetes\n{at}")
        elif not compiled(_WELL).search(low) and (match := compiled(_ENGINE).search(low)):
            name = match[1].removeprefix("nvidia-").replace("nerdctl", "containerd").replace("singularity", "apptainer")
            seen.hint(ENGINE_SAID, f"{name}\n{at}")


def _engine_said(low: str) -> str:
    if " pod" in low and "docker" not in low:
        return "podman" if "podman" in low else "kubernetes"
    return "podman" if "podman" in low else "docker"
