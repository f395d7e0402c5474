"""What people say of a GPU that does little, or is not used.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row
from gpudoctor.logs.sentences.words import CARDS, parts

# Other languages stand in this order: Chinese and Japanese, Korean, Russian; German, Portuguese, Spanish, French.
_CARD = (
    r"(?:\bgpus?|\u663e\u5361|\u9854\u5361|\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442.{0,3}|grafikkarte"
    r"|placa de v.deo|tarjeta gr.fica|carte graphique|\uadf8\ub798\ud53d\uce74\ub4dc)"
)
_LOW = (
    r"(?:\u4f4e|\u4e0d\u9ad8|\u4e0a\u4e0d\u53bb|\u4e0a\u304c\u3089\u306a\u3044|\ub0ae|\uc548 ?\uc4f0"
    r"|\u043d\u0438\u0437\u043a|\u043c\u0430\u043b\u043e|\u043f\u0440\u043e\u0441\u0442\u0430\u0438\u0432\u0430"
    r"|gering|niedrig|kaum|baix|baj[ao]|poco|faible)"
)
_JUMPS = (
    r"(?:spik(?:es|y|ing)|fluctuat\w{1,4}|jump(?:s|ed|ing)?|oscillat\w{1,4}|drop(?:s|ped|ping)?|up and down|on and off"
    r"|slashed|unstable|plummet\w{0,3}|\u8df3\u52a8|\u6ce2\u52a8|\u65f6\u9ad8\u65f6\u4f4e|\u5ffd\u9ad8\u5ffd\u4f4e)"
)
_LOAD = r"(?:util\w{0,8}|usage|load|consumption|engagement|us(?:e|ing) rate)"
_IDLING = parts(
    "low,little,zero,nothing,poor,bad,idl,under,not ,n't,never,barely,hardly,rarely,seldom,starv,wait,only,go up,rise"
    ",periodic,occasional,sometimes,spik,fluctuat,jump,oscillat,drop,up and down,on and off,slash,unstable,plummet,le"
    "ss gpu,sm"
    "all gpu,of the time,increase"
    ",\u7387,\u4f4e,\u4e0d\u9ad8,\u4e0a\u4e0d\u53bb,\u4e0a\u304c\u3089,\u8df3,\u6ce2,\u5ffd,\u65f6\u9ad8,\ub0ae,\uc548"
    ",\u043d\u0438\u0437\u043a,\u043c\u0430\u043b\u043e,\u043f\u0440\u043e\u0441\u0442\u0430,gering,niedrig,kaum,baix"
    ",baj,poco,faible"
)
_MOSTLY = r"(?:mostly |nearly |almost |often |just )?(?:always |constantly )?"

ROWS: tuple[Row, ...] = (
    (
        "said-gpu-idle",
        (CARDS, _IDLING),
        (
            # Low, in the words of several languages.
            r"\bgpu(?:[ -]" + _LOAD + r")\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing|poor|bad|under)\b",
            r"\b(?:low|poor|little|less|bad|zero|small) (?:volatile )?gpu[ -]" + _LOAD,
            r"\bgpus? (?:is |are |was |were |sits? |stays? )?" + _MOSTLY + r"idl(?:e|es|ing)\b",
            r"\b" + _LOAD + r"(?: rate)? of (?:the |my |each )?gpus?\b[^.\d\r\n]{0,24}\b(?:low|zero|nothing|poor)\b",
            r"gpu.{0,3}(?:\u5229\u7528|\u4f7f\u7528|\u5360\u7528)\u7387(?:[^\d\r\n]{0,6}1?[0-9](?![0-9])"
            r"|[^\d\r\n]{0,4}\u4f4e)",
            _CARD + r"[^.%\r\n]{0,30}" + _LOW,
            _LOW + r"[^.%\r\n]{0,14}" + _CARD,
            # Not used as it could be.
            r"\bgpus?\b[^.\r\n]{0,60}?\bunder[- ]?(?:utili[sz]|use)",
            r"\bunder[- ]?(?:utili[sz]\w{0,5}|used)\b[^.\r\n]{0,30}?\bgpus?",
            r"\bgpus?\b[^.\r\n]{0,30}?(?:\bnot\b|n't\b|\b(?:never|barely|hardly|rarely|seldom)\b)[^.\r\n]{0,16}?"
            r"\b(?:heavily|fully|totally|completely|efficiently|utili[sz]ed|busy|working hard|loaded)\b",
            r"\bnot (?:using|utili[sz]ing|exploiting) (?:the |my |all )?gpus?[^.\r\n]{0,12}\b(?:efficient|full"
            r"|proper|well)",
            r"\bgpus?\b[^.\r\n]{0,30}\b(?:starv|waits? for|waiting for|waiting on)",
            r"\bgpus?\b[^.\r\n]{0,16}(?:does not|doesn.t|do not|don.t) (?:go up|rise|increase)",
            r"\bonly (?:uses?|using|takes?|at) [^.\r\n]{0,16}\bgpus?\b[^.\r\n]{0,8}\d ?%",
            r"\b(?:uses?|using|takes?) only [^.\r\n]{0,10}\d ?%[^.\r\n]{0,12}\bgpu\b(?!.{0,3}mem)",
            r"\b(?:rarely|never|hardly|barely|seldom) (?:uses?|exceeds?|goes|gets?"
            r"|reach\w{0,3})\b[^.\r\n]{0,24}\d ?%[^.\r\n]{0,20}"
            r"\bgpu",
            r"\b(?:periodica?l?ly|occasional\w{0,2}|only sometimes|not constant\w{0,2})\b[^.\r\n]{0,12}\b(?:used?"
            r"|usage|using)\b"
            r"[^.\r\n]{0,8}\bgpu",
            r"\bgpu[ -]" + _LOAD + r"\b[^.%\d\r\n]{0,24}(?<![\d.])0 ?% (?:for |during )?(?:most|much|nearly all"
            r"|almost all)\b",
            # Little time, and loads that come and go.
            r"\b\d{1,3}(?:\.\d)? ?% of (?:the )?(?:device|gpu) time\b[^.\r\n]{0,8}\bidle",
            r"\b(?:device|gpu)\b[^.\r\n]{0,8}\bidle time\b",
            r"\bgpus?\b[^\r\n]{0,60}?\b(?:[7-9]\d|most)\b ?%?\+? of (?:the |its |my )?(?:\w{1,12} )?time (?:at 0"
            r"|at zero"
            r"|idle|doing nothing|waiting)",
            r"\bgpus?\b[^\r\n]{0,120}?\b" + _JUMPS + r"[^\r\n]{0,80}?(?<![\d.])0 ?%",
            r"\bgpu.{0,30}?\b" + _JUMPS + r"(?![a-z])",
            r"\bgpu.{0,16}?[\u8df3\u6ce2\u5ffd]",
        ),
        r"\bno (?:other )?gpu\b",
    ),
    (
        "said-gpu-idle",
        (("idle time",),),
        (r"\bidle time\b[^.%\r\n]{0,50}\b[5-9]\d(?:\.\d)? ?%", r"\b[5-9]\d(?:\.\d)? ?%[^.\r\n]{0,20}\bidle time\b"),
        "",
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
)
