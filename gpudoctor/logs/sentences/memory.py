"""What people say of the GPU's memory: it ran out, or stays taken.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row

_MEMORY = r"gpu(?:.s)? (?:memory|resources?|v?ram|mem)"
_NEVER = r"(?:\bnot|n.t|\bnever|\bwithout)\b"
_GIVEN = r"(?:released?|freed|cleared|given back)\b"
_GIVES = r"releas(?:es?|ed|ing)|free(?:s|d|ing)?|clear(?:s|ed|ing)?|giv(?:e|es|ing) back"

ROWS: tuple[Row, ...] = (
    (
        "said-out-of-memory",
        (("memory", "oom"), ("gpu", "batch", "cuda", "vram", "card", "model")),
        (
            r"\b(?:crash\w{0,3}|fail\w{0,2}|ends?|stops?|dies|died|error)\b[^.\r\n]{0,30}\b(?:out of (?:gpu "
            r"|video )?memory|oom|lack of (?:gpu )?memory)\b",
            r"\b(?:ran|run|runs|running|goes|went) out of (?:gpu |video |the )?(?:memory|vram)\b[^.\r\n]{0,60}"
            r"\b(?:gpu|batch|cuda|card|model)\b",
            r"\b(?:gpu|batch|cuda|card|model)\b[^.\r\n]{0,60}\b(?:ran|run|runs|running|goes|went) out of (?:gpu "
            r"|video |the )?(?:memory|vram)\b",
            r"\b(?:get|got|getting|gives?|has|have) (?:an? |the )?(?:gpu )?(?:out of memory|out-of-memory|oom)\b",
        ),
        r"\b(?:no|not|never|without|n't)\b[^.\r\n]{0,16}\b(?:memory|oom)\b|\b(?:ram|system|host|cpu)\b|\bavoid",
    ),
    (
        "said-memory-kept",
        (("releas", "free", "clear", "giv"), ("gpu",), ("memory", "resource", "ram", " mem")),
        (
            r"\b" + _MEMORY + r"\b[^.\r\n]{0,24}" + _NEVER + r"[^.\r\n]{0,16}\b" + _GIVEN,
            _NEVER + r"[^.\r\n]{0,16}\b(?:" + _GIVES + r")\b[^.\r\n]{0,24}\b" + _MEMORY,
        ),
        r"\b(?:after|even when|although|when) (?:i )?(?:kill|ctrl|the (?:process|program) (?:is|was|has|died|ended))"
        r"|\bzombie|\bkilled\b",
    ),
    (
        "said-out-of-memory",
        (("memory allocation", "allocate"), ("gpu",)),
        (
            r"\bmemory allocation error\b",
            r"\b(?:wants?|tries|trying|tried) to allocate\b[^.\r\n]{0,24}\bgpu memory\b",
        ),
        r"\bcpu\b",
    ),
)
