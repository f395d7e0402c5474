"""Training progress: bars of Keras 2 and 3, lines of one's own loops; and what top and ps say of the process."""

from __future__ import annotations

import re

from msgspec import Struct, field

from gpudoctor.logs.seen import Seen, compiled, median

# Bars themselves are no openers: a log of gigabytes may hold nothing else. The listener samples them (see text.py).
OPENERS = (b"Epoch 1/", b"Train on ", b"sec/step", b"examples/sec", b"%CPU", b"steps_per_epoch")
MOST_UPDATES = 400
MOST_RUNS = 32
HEADING = 60
# After a heading about the load of a GPU so many lines may give it.
TOPIC_LINES = 3

_BAR = (
    r"(?<![\d/])(?P<done>\d{1,9})/(?P<all>\d{1,9}|Unknown)\s{1,4}(?:\[[=>.]{1,60}\]|[\u2501\u2500\uff"
    r"fd?]{4,90}|\u2501{0,3})"
    r"(?P<tail>[^\r\n]{0,200})"
)
_ETA = r"ETA: (?P<eta>\d{1,4}(?::\d\d){0,2}s?)"
_KERAS_3_ETA = r"\s{0,3}(?P<eta>\d{1,3}(?::\d\d){1,2}|\d{1,3}s)\s{1,2}\d"
_RATE = r"(?P<value>\d{1,6}(?:\.\d{1,3})?)\s?(?P<unit>us|ms|s|min|h)/(?P<per>step|sample|epoch|batch)"
_TOTAL = r"- (?P<seconds>\d{1,6})s(?: |\Z)"
_OWN = r"(?P<value>\d{1,5}\.\d{1,6}|\d{1,5}) ?(?P<unit>ms|sec|s|seconds)(?:/| per )(?P<per>step|batch|iter\w{0,7})\b"
_OWN_RATE = r"(?P<value>\d{1,7}(?:\.\d{1,3})?) ?(?:images|imgs?|examples|samples)(?:/| per )s(?:ec)?"
_IMAGES = ("image", "img", "example", "sample")
_OWN_EPOCH = (
    r"(?i:(?:time (?:taken )?(?:for|per) )?epoch[ :#]{1,3}(?P<number>\d{1,5})?[^\r\n]{0,60}?(?:took|t"
    r"ime|duration)[ :=]{1,3}(?P<value>\d{1,6}(?:\.\d{1,6})?) ?s)"
)
_EPOCH = r"(?<!\w)Epoch[: ]{1,2}(?P<number>\d{1,6})(?:/(?P<all>\d{1,6}))?\s{0,4}\Z"
_TOP = (
    r"\s{0,8}\d{1,8} \S{1,20}\s{1,12}(?:-?\d{1,3}|rt)\s{1,6}-?\d{1,3}(?:\s{1,12}[\d.]{1,9}[gmtk]?){3}"
    r" [RSDZTI]\s{1,6}(?P<cpu>\d{1,5}(?:[.,]\d)?)\s{1,6}[\d.,]{1,6}\s{1,8}[\d:.]{4,12} (?P<name>\S{1,"
    r"40})"
)
_PS = r"\s{0,6}(?P<cpu>\d{1,5}(?:\.\d)?) (?P<name>python[\d.]{0,5})\s{0,4}\Z"
_HEADING = r"(?i:(?:(?:#|--|=)+ ?)?(?:with |on |using )?(?:the )?(cpu|gpu)(?: only)?\s?:?-*=*)\Z"
_TQDM = (
    r"(?<![\d/])(?P<done>\d{1,9})/(?P<all>\d{1,9}) \[[\d:]{4,12}<[\d:?]{1,12}, {1,3}"
    r"(?P<value>\d{1,6}(?:\.\d{1,3})?)s/it"
)
_CARD = (
    r"(?:gpus?|rtx \d{4}(?: ?ti)?|gtx ?\d{3,4}(?: ?ti)?|tesla \w{2,4}|titan \w{1,3}|grafikkarte|\u663e\u5361"
    r"|\u9854\u5361"
    r"|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442.{0,2}|placa de v.deo|tarjeta gr.fica|carte graphique"
    r"|\uadf8\ub798\ud53d\uce74\ub4dc)"
)
_SAID_LOAD = (
    r"(?i:(?<![A-Za-z])(?<!to use )" + _CARD + r"(?![A-Za-z])(?:[ :#-]?\d{1,2}(?!\d| ?%|\.))?(?: \([^)\r\n]{1,40}\))?"
    r"(?!(?:(?!%)[^\r\n]){0,60}?(?:mem|ram\b|faster|slower|temp|fan|power|cpu|spike|peak|up to|at most|accura|loss))"
    r"[^\d%\r\n]{0,60}(?P<after>\d{1,3})(?:\.\d{1,2})?(?:\s?(?:[-~\u2013\uff5e]|-{0,2}>|to|\u5230"
    r"|\u81f3)\s?\d{1,3})?\s?[%\uff05]"
    r"(?! ?(?:slow|fast|more|less|off|gain|improv|of (?:the |my |its )?(?:gpu )?(?:v?ram|mem)))"
    r"(?!\+? of (?:the |its |my )?(?:\w{1,12} )?time (?:at|idle|doing|waiting|it is|on ))"
    r"|(?P<before>\d{1,3})(?:\.\d{1,2})?\s?% (?:of (?:\w{3,12} of )?(?:(?:the|my|its) )?)?(?:gpu|graphical processor"
    r"|graphics card)\b(?![- ]?"
    r"(?:v?ram|mem)))"
)
_BARE_LOAD = (
    r"(?i)\A(?!.{0,200}(?:cpu|mem|ram\b|accura|loss|\bval|disk|faster|slower))[^%\r\n]{0,60}?(?:currently|only|about"
    r"|around|at"
    r"|just|<|below|under|less than|stays|is) {0,2}<?(?P<load>\d{1,3})(?:\.\d)? ?%"
)
_GPUS = r"(?i:number of (?:devices|replicas)|num_gpus|replicas in sync)\s?[:=] ?(\d{1,3})"
_BATCH = (
    r"(?i:(?<!\w)batch[_ -]?sizes?)[\"'`]?\s{0,2}(?:=|:|of|is|to|was|at|(?<=[`e]) )\s{0,2}(?P<size>\d{1,7})(?!\d"
    r"|\.\d|%)"
)
_CARD_WORDS = (
    *(
        "GPU",
        "gpu",
        "Gpu",
        "RTX",
        "GTX",
        "Tesla",
        "graphic",
        "TITAN",
        "Titan",
        "rafikkarte",
        "\u663e\u5361",
        "\u9854\u5361",
    ),
    *(
        "\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442",
        "laca de v",
        "arjeta gr",
        "carte gr",
        "\uadf8\ub798\ud53d\uce74\ub4dc",
    ),
)
_HOW_MANY = (
    r"(?i:(?:\W{0,6})(?:with |on |using )?(?P<count>\d|one|single|two|four|both)(?: x)?[ -]?gpus?\b"
    r"[^%|\d]{0,40})\Z"
)
_WORDS = {"one": 1, "single": 1, "two": 2, "both": 2, "four": 4}
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "h": 3600.0}


class Run(Struct):
    """One start of a training."""

    gpus: int | None = None
    device: str = ""
    at: str = ""
    first: tuple[float, str] | None = None
    rates: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    last_at: str = ""
    last_done: int = 0
    steps: int | None = None
    one_step: int = 0

    def step_seconds(self) -> float | None:
        """Return the time of a step in the steady state: later epochs' averages, else the latest readings."""
        if len(self.ends) > 1:
            return median(self.ends[1:])
        rates = [*self.rates[-12:], *self.ends]
        return median(rates[-5:]) if rates else None


class Reader:
    """Reads updates of a progress bar, bounded: the first and the latest count."""

    def __init__(self) -> None:
        self.runs = [Run()]
        self._epoch = 0
        self._topic = 0  # so many lines more are about the load of a GPU

    def line(self, text: str, at: str, seen: Seen) -> None:
        """Take a line, or one update of a bar."""
        parted = "/" in text and compiled(r"\d/[\dU]").search(text) is not None
        if parted and (match := compiled(_BAR).search(text)) and self._update(match, at, seen):
            pass
        elif "Epoch" in text and (match := compiled(_EPOCH).search(text)):
            self._epoch = int(match["number"])
            if self._epoch == 1 and (self.runs[-1].epochs or self.runs[-1].ends):
                self._begin(None, "", at)
            seen.recognised += 1
            seen.hint("training", at)
        else:
            self._own(text, at, seen)
        if "%" in text or "\uff05" in text:
            self._said_load(text, at, seen)
        self._topic = TOPIC_LINES if "GPU util" in text or "GPU usage" in text else max(0, self._topic - 1)
        if "batch" in text.casefold() and (match := compiled(_BATCH).search(text)) and 0 < int(match["size"]) < 10**6:
            seen.note("training.batch_size", int(match["size"]), at)
        self._start(text, at, seen)

    def _said_load(self, text: str, at: str, seen: Seen) -> None:
        """Take a line with per cents in it."""
        found: list[re.Match[str]] = []
        if "|" not in text and any(word in text for word in _CARD_WORDS):
            found = [*compiled(_SAID_LOAD).finditer(text)]
        if found:  # of several the last counts: before it was high, now it is low
            self._load(int(found[-1]["after"] or found[-1]["before"]), at, seen)
        elif self._topic and (match := compiled(_BARE_LOAD).search(text)):
            self._load(int(match["load"]), at, seen)

    def _load(self, load: int, at: str, seen: Seen) -> None:
        """Take the load of a GPU, in per cent, as a person tells it."""
        if load <= 100:  # noqa: PLR2004 (per cent)
            seen.sample("gpu-load", float(load))
            seen.hint("gpu-load-said", at)

    def _start(self, text: str, at: str, seen: Seen) -> None:
        """Take a line that begins another run."""
        stripped = text.strip()
        if "CUDA_VISIBLE_DEVICES=" in seen.command and stripped.endswith(seen.command) and (
            match := compiled(r"CUDA_VISIBLE_DEVICES=[\"']?([\d,]{1,60}|-1|(?=[\s\"']))").search(seen.command)
        ):  # fmt: skip
            value = match[1]
            gpus = 0 if value in ("", "-1") else len([part for part in value.split(",") if part])
            self._begin(gpus, "cpu" if gpus == 0 else "gpu", at)
        elif (stripped[:1] in ("#", "-", "=") or (stripped[-1:] == ":" and len(stripped) < 30)) and (  # noqa: PLR2004
            match := compiled(_HEADING).match(stripped)
        ):
            self._begin(None, match[1].lower(), at)
        elif (stripped[:1] in ("#", "-", "=") or stripped[-1:] == ":") and len(stripped) < HEADING and (
            match := compiled(_HOW_MANY).match(stripped)
        ):  # fmt: skip
            count = match["count"].lower()
            self._begin(_WORDS.get(count) or int(count), "gpu", at)
        elif "MirroredStrategy with devices" in text:
            self._begin(text.count("device:GPU:"), "gpu", at)
        elif "OneDeviceStrategy" in text and len(stripped) < HEADING:
            self._begin(1, "gpu", at)
        elif ("umber of" in text or "eplicas" in text or "gpus" in text) and (match := compiled(_GPUS).search(text)):
            self._begin(int(match[1]), "gpu", at)

    def _begin(self, gpus: int | None, device: str, at: str) -> None:
        run = self.runs[-1]
        if run.step_seconds() is None:
            run.gpus, run.device, run.at = gpus if gpus is not None else run.gpus, device or run.device, at
        elif len(self.runs) < MOST_RUNS:
            self.runs.append(Run(gpus=gpus, device=device, at=at))
        self._epoch = 0

    def _update(self, bar: re.Match[str], at: str, seen: Seen) -> bool:
        """Take an update of a progress bar; return whether it was one."""
        done, tail = int(bar["done"]), bar["tail"]
        steps = None if bar["all"] == "Unknown" else int(bar["all"])
        rate, total = compiled(_RATE).search(tail), compiled(_TOTAL).search(tail)
        eta = compiled(_ETA).search(tail) or (compiled(_KERAS_3_ETA).match(tail) if rate else None)
        if steps is not None and done >= steps:
            eta = None  # Keras 3 then writes the whole time in its place
        if rate is None and eta is None and total is None:
            return False
        run = self.runs[-1]
        seen.recognised += 1
        seen.hint("training", at)
        run.last_at = at
        finished = steps is not None and done >= steps and eta is None
        if finished:
            seen.hint("epoch-finished", at)
        seconds = None
        if rate is not None and rate["per"] in ("step", "batch"):
            seconds = float(rate["value"]) * _UNITS[rate["unit"]]
        elif rate is not None and rate["per"] == "sample":
            seen.sample("sample-seconds", float(rate["value"]) * _UNITS[rate["unit"]])
            seen.note(
                "training.images_per_second", round(1 / max(float(rate["value"]) * _UNITS[rate["unit"]], 1e-9), 2), at
            )
            seen.facts["training.images_per_second"].values = seen.facts["training.images_per_second"].values[-1:]
            steps = None
        elif eta is not None and steps is not None and steps > done > 0:
            seconds = _clock(eta["eta"]) / (steps - done)
        if seconds is not None:
            self._step(run, (done, steps), seconds, finished, at)
        whole = compiled(r"(?:\A|\s)(?P<seconds>\d{1,6})s (?:\d{1,6}\w{1,2}/)").search(tail) or total
        if finished and whole is not None and steps is not None and steps > 1 and len(run.epochs) < MOST_UPDATES:
            run.epochs.append(float(whole["seconds"]))
        return True

    def _step(self, run: Run, place: tuple[int, int | None], seconds: float, finished: bool, at: str) -> None:
        done, steps = place
        if steps == 1:
            run.one_step += 1
        else:
            run.steps = steps or run.steps
        if done == 1 and run.first is None and not finished and not run.ends:
            run.first = (seconds, at)
        elif finished:
            run.ends = [*run.ends, seconds][-MOST_UPDATES:]
        elif done > 1:
            run.rates = [*run.rates, seconds][-MOST_UPDATES:]
        run.last_done = done

    def _own(self, text: str, at: str, seen: Seen) -> None:
        """Take a line of a loop that somebody wrote."""
        run = self.runs[-1]
        if "s/it" in text and (match := compiled(_TQDM).search(text)):
            self._step(run, (int(match["done"]), int(match["all"])), float(match["value"]), False, at)
            run.last_at = at
            seen.recognised += 1
            seen.hint("training", at)
        elif ("step" in text or "batch" in text or "iter" in text) and (match := compiled(_OWN).search(text)):
            run.rates = [*run.rates, float(match["value"]) * _UNITS[match["unit"]]][-MOST_UPDATES:]
            run.last_at = at
            seen.recognised += 1
            seen.hint("training", at)
        elif (
            ("/s" in text or "per s" in text)
            and any(word in text for word in _IMAGES)
            and (match := compiled(_OWN_RATE).search(text))
        ):
            seen.note("training.images_per_second", float(match["value"]), at)
            seen.facts["training.images_per_second"].values = seen.facts["training.images_per_second"].values[-1:]
            seen.hint("training", at)
        elif "poch" in text and (match := compiled(_OWN_EPOCH).search(text)):
            run.epochs.append(float(match["value"]))
            seen.hint("training", at)
            seen.recognised += 1
        elif "python" in text and text.lstrip()[:1].isdigit() and (
            match := compiled(_TOP).match(text) or compiled(_PS).match(text)
        ) and match["name"].startswith("python"):  # fmt: skip
            seen.sample("process-cpu", float(match["cpu"].replace(",", ".")))
            seen.hint("process-cpu", at)
            seen.recognised += 1


def _clock(text: str) -> float:
    """Return seconds of 41s, 3:12:44 or 54:17."""
    seconds = 0
    for part in text.rstrip("s").split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)
