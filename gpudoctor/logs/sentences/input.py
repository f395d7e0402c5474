"""What people say of what feeds a training: slow reading, augmentation, one processor core.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row
from gpudoctor.logs.sentences.words import parts

_TIMES = parts("slow,long,bottleneck,time,ages,forever,minutes,hours,keep up,busy,fast,quick")
_DATA = parts(
    "image,picture,photo,data,file,batch,sample,record,folder,drive,disk,hdf5,h5,i/o,io ,input,pipeline,prefetch"
    ",sequence,generator,feed,\u6570\u636e,\u8bfb\u53d6"
)
_READ = (
    r"\b(?:reads?|reading|loads?|loading|loaded|opens?|opening|fetch\w{0,3}|stream\w{0,3}|i/?o|disks?"
    r"|(?:hard |google )?drive)\b"
)
_LONG = (
    r"\b(?:slow|slowly|slower|(?:too|so|very|extremely) (?:much time|long)|takes? (?:\w{1,10} ){0,2}(?:long|ages"
    r"|forever|minutes|hours|time)|bottleneck\w{0,2}|busy for|can(?:no|')t keep up)"
)
_INPUT = r"(?:input|data(?:set)?(?: loading)?|pipeline|tf\.data|i/?o|disk|read(?:ing)?|loading|generators?)"
_PREPARES = r"(?:augment|pre-?process)\w{0,6}"
# A topic and a trouble in one sentence, in any order.
_BOTH = r"\A(?=.{{0,500}}?{0})(?=.{{0,500}}?{1})"
_FEEDING = (
    r"(?:\bfeed[ _-]?dict\b|\b(?:moving|copying|transferr?ing|feeding) (?:\w{1,12} )?data from (?:the )?cpu\b"
    r"|\bhost[- ]to[- ]device\b)"
)
_SLUGGISH = r"(?:\bslow|\blag\b|\blow\b|\bbottleneck|\bnot a good idea\b|\btakes? (?:\w{1,10} ){0,2}(?:long|time)\b)"
_TIME = r"\b\d+ ?(?:s|sec\w{0,4}|min\w{0,4})\b"

ROWS: tuple[Row, ...] = (
    (
        "said-one-core",
        (parts("core,thread"), parts("single,one,only,1 ")),
        (
            r"\b(?:single|one|only (?:one|1)|only a single)[- ](?:cpu[- ])?(?:core|thread)(?:ed)?\b",
            r"\bonly (?:uses? |using )?(?:1|one) (?:cpu )?core\b",
        ),
        r"\bper core\b|single[- ]core (?:speed|performance|score)",
    ),
    (
        "said-reading-slow",
        (_DATA, (*_TIMES, "\u6162", "\u8ddf\u4e0d\u4e0a", "\u74f6\u9888", "block")),
        (
            _READ + r"[^.\r\n]{0,70}?" + _LONG,
            _LONG + r"[^.\r\n]{0,30}\b(?:to |in |at |when )?(?:read|load|fetch)(?:s|ing)?\b",
            r"\b" + _INPUT + r" (?:is (?:the |a )?)?(?:bottleneck|bound)\b",
            r"\bbottleneck\b[^.\r\n]{0,20}\b" + _INPUT + r"\b",
            r"\b(?:sequence|generators?|fit_generator|imagedatagenerator|flow_from_\w{6,10})\b[^.\r\n]{0,20}\bis (?:"
            r"\w{1,12} )"
            r"{0,2}slow\w{0,2}\b",
            _BOTH.format(_FEEDING, _SLUGGISH),
            r"\bread(?:ing)?\b[^.\r\n]{0,16}\bdata\b[^.\r\n]{0,12}\bblock",
            r"\b(?:tfrecord\w{0,8}|(?:input |data |resulting |new )?pipeline|prefetch\w{0,4}|\.cache\(\)|num_workers)\b"
            r"[^.\r\n]{0,40}\b(?:much |far |lot |\d ?x |times |significantly )(?:faster|quicker)",
            r"(?:io|\u8bfb\u53d6|\u6570\u636e|\u8bfb).{0,8}(?:\u8ddf\u4e0d\u4e0a|\u592a\u6162|\u5f88\u6162"
            r"|\u74f6\u9888)",
        ),
        r"\b(?:the|a|my) (?:pre-?trained )?(?:model|weights|checkpoint|librar\w{1,3}|module|page|tensorflow)\b"
        r"|\b(?:not|isn.t|n't) (?:\w{1,8} )?slow|\bnot (?:\w{1,12} )?(?:input|i/?o|data)\b|not the case",
    ),
    (
        "said-augmentation-slow",
        (("augment", "pre-process", "preprocess"), ("slow", "bottleneck", "cpu", "time", "long")),
        (
            r"\b" + _PREPARES + r"\b[^.\r\n]{0,90}?\b(?:slow\w{0,4}|bottleneck|too long|(?:runs?|running|done|performed"
            r"|executed|happens) (?:only )?(?:on|by|in) (?:the )?cpus?|takes? (?:\w{1,10} ){0,2}(?:time|long))",
            r"\b(?:slow|bottleneck|time)\b[^.\r\n]{0,40}\b" + _PREPARES,
        ),
        "",
    ),
    *(
        (
            event,
            (("augment",), ("epoch", "step", "iteration", "training"), ("s,", "s)", "sec", "min", "slow", "times")),
            (
                r"(?:\b|_)augment\w{0,6}\b[^\r\n]{0,120}" + _TIME + r"[^\r\n]{0,40}\b(?:but|while|without|vs)\b"
                r"[^\r\n]{0,100}" + _TIME,
                r"\bwithout (?:the |any |data |image |this )?augment\w{0,6}\b[^\r\n]{0,60}\b"
                r"(?:faster|quicker|\d ?(?:x|times))\b",
            ),
            r"",
        )
        for event in ("said-augmentation-slow", "said-reading-slow")
    ),
    (
        "said-reading-slow",
        (("nfs", "hdd", "disk", "drive", "storage", "network share", "file system", "filesystem", "bucket"), ("slow",)),
        (
            r"\b(?:nfs|cifs|hdd|(?:hard |network |external )?(?:disk|drive|share)|storage|file ?system|bucket)\b"
            r"[^.\r\n]{0,50}\b(?:very|too|so|really|quite|extremely|is|are) slow\b",
            r"\bslow (?:hdd|nfs|disk|hard (?:disk|drive)|network (?:drive|share)|storage|file ?system)\b",
        ),
        r"\b(?:not|n't|isn.t)\b[^.\r\n]{0,8}\bslow\b",
    ),
)
