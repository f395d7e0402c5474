"""What people say of memory that stays taken, slow starts, more GPUs, idle ones and an old C library.

Rows for gpudoctor.logs.sentences: event, words, ways, unless. Words are in small letters.
"""

from __future__ import annotations

_MEMORY = r"gpu(?:.s)? (?:memory|resources?|v?ram|mem)"
_NEVER = r"(?:\bnot|n.t|\bnever|\bwithout)\b"
_GIVEN = r"(?:released?|freed|cleared|given back)\b"
_GIVES = r"releas(?:es?|ed|ing)|free(?:s|d|ing)?|clear(?:s|ed|ing)?|giv(?:e|es|ing) back"
_SLOW = r"(?:slow\w{0,4}|(?:very |too |so |extremely |much )?long(?:er)?|forever|ages|minutes)"
_GROWS = (
    r"(?:slow\w{0,4}|longer|(?:training |step |epoch )?time (?:also )?(?:increas|ris|grow)\w{0,3}"
    r"|(?:speed|throughput|steps?/sec)\w{0,3} (?:also )?(?:decreas|drop|fall)\w{0,4})"
)

ROWS: tuple[tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...], str], ...] = (
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
        "said-first-slow",
        (("start-up", "startup", "start up", "before", "first "), ("slow", "long", "takes", "took", "minutes")),
        (
            r"\b(?:takes?|took|taking) (?:\w{1,10} ){0,3}?(?:time|while|long|minutes|forever|ages) before (?:\w{1,10} )"
            r"{0,2}(?:begin\w{0,5}|start\w{0,3}|train\w{0,3}|comput\w{1,4})\b",
            r"\bstart[- ]?up(?: time)?\b[^.\r\n]{0,40}\b(?:is |takes? )?(?:very |too |so |extremely |really )" + _SLOW,
            r"\b(?:very|extremely|really|too|so) slow (?:during|at|on) (?:the )?(?:first )?start[- ]?up\b",
            r"\bfirst (?:computation|operation|query|predict\w{0,4}|session\.run)\b[^.\r\n]{0,30}\b(?:very |so |too "
            r"|extremely |really )?slow\b[^.\r\n]{0,40}\b(?:subsequent|later|others?|next|following|rest)\b",
        ),
        r"\bloss\b|\bnot slow",
    ),
    (
        "said-more-gpus-slower",
        (("gpus",), ("add", "increas", "more"), ("slow", "longer", "time", "speed", "sec")),
        (
            r"\b(?:add|increas)(?:ing|e|ed)?\b[^.\r\n]{0,24}\bgpus\b[^.\r\n]{0,50}\b" + _GROWS,
            r"\bslow(?:s|ed|er|ing)?(?: down)? (?:by|when|after|with|on) (?:adding|more|using more|increasing)\b"
            r"[^.\r\n]{0,24}\bgpus\b",
        ),
        r"\b(?:not|no|never|n't) (?:\w{1,8} )?slow|\bloss\b|learning rate|\bmemory\b",
    ),
    (
        "said-gpu-idle",
        (("gpu",), ("inefficien", "little", "that much", "very much", "too much", "so much")),
        (
            r"\bus(?:e|es|ing) (?:the |my )?gpu (?:very |so |too )?inefficient",
            r"\b(?:very|so|too) little (?:on|of) (?:the |my )?gpu\b",
            r"(?:n.t|\bnot) (?:really )?us(?:e|ing) (?:the |my )?gpu (?:that|very|too|so) much\b",
            r"(?:n.t|\bnot) (?:really )?us(?:e|ing) (?:that|very|too|so) much (?:of )?(?:the |my )?gpu\b(?! ?mem)",
        ),
        r"",
    ),
    (
        "said-gpu-unused",
        (("gpu",), ("not ", "n't", "instead", "without", "never")),
        (
            r"(?:\bnot|n.t|\bnever)\b (?:be |being )?(?:us(?:e|es|ed|ing)|utili[sz]\w{1,3})\b[^.\r\n]{0,12}\bgpu",
            r"\bgpu\b[^.\r\n]{0,16}(?:\bnot|n.t|\bnever)\b (?:be |being )?(?:used|utili[sz]ed|activated)\b",
            r"\b(?:us(?:es?|ing)|runs? on|running on|trains? on|training on) (?:the |my |only )?cpu\b[^.\r\n]{0,30}"
            r"\b(?:not|instead of)\b[^.\r\n]{0,8}\bgpu",
        ),
        r"\b(?:should|want|wants|prefer|do) not use|don.t use (?:the |a )?gpu",
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
    (
        "said-no-gpu-here",
        (("believe", "think"), ("nvidia",)),
        (r"\b(?:don.t|do not) (?:believe|think) (?:that )?i have (?:an?|any) nvidia\b",),
        r"",
    ),
    (
        "said-libc-old",
        (("glibc",), ("old", "new", "require", "need", "higher", "lower")),
        (
            r"\bglibc\b[^.\r\n]{0,60}(?:\.\d{1,2}\)?[^.\r\n]{0,30})?\b(?:not new enough|too old|too low)\b",
            r"\b(?:requir|need)\w{0,3}\b[^.\r\n]{0,30}\b(?:newer|higher|later)\b[^.\r\n]{0,16}\bglibc\b",
            r"\bglibc\b[^\r\n]{0,30}\bof this (?:wheel|package|build) is \d\.\d{2}\b",
        ),
        r"\b(?:bazel|cmake|gcc) (?:[\d.]{1,8} )?(?:requir|need)",
    ),
)  # fmt: skip
