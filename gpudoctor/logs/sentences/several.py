"""What people say of several GPUs and machines: no faster, hanging, how they speak to each other.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row
from gpudoctor.logs.sentences.words import parts

# A topic and a trouble in one sentence, in any order.
_BOTH = r"\A(?=.{{0,500}}?{0})(?=.{{0,500}}?{1})"
_SEVERAL = (
    r"(?:\bhorovod|\bmpirun|\b(?:two|2|three|multiple|multi|several|more|identical|both|\d{1,2})[- ]?(?:nodes?"
    r"|machines?|servers?|hosts?|workers?)\b|\bmulti[- ]?gpus?\b|\b(?:[2-9]|two|four|eight|1[0-6]) (?:\w{2,8} )?gpus\b"
    r"|\bscal(?:e|ing)\b|\bdistributed training\b)"
)
_NO_FASTER = (
    r"(?:\bslow(?:er|s|ed|down|ly)?\b|\b(?:performance|speed|throughput|efficiency)\b.{0,30}?\b(?:decreas|drop|lower"
    r"|less than|poor|bad)|\b(?:decreas|drop|lower)\w{0,4}\b.{0,20}?\b(?:performance|speed|throughput|efficiency)\b"
    r"|\b(?:don.t|didn.t|not|no) (?:get )?.{0,16}?\bspeed-? ?up|\btakes? (?:\w{1,8} )?longer\b|\b(?:almost|nearly"
    r"|about)(?: the)? same\b)"
)
_GROWS = (
    r"(?:slow\w{0,4}|longer|(?:training |step |epoch )?time (?:also )?(?:increas|ris|grow)\w{0,3}"
    r"|(?:speed|throughput|steps?/sec)\w{0,3} (?:also )?(?:decreas|drop|fall)\w{0,4})"
)

ROWS: tuple[Row, ...] = (
    (
        "said-more-gpus-slower",
        (
            parts("horovod,mpirun,node,machine,server,host,worker,gpus,multi,scal,distributed"),
            parts("slow,decreas,drop,lower,less than,poor,bad,speed,longer,same"),
        ),
        (_BOTH.format(_SEVERAL, _NO_FASTER),),
        (r"\b(?:not|no|never|n't) (?:\w{1,8} )?slow|\bloss\b|learning rate|\bcpu\b.{0,20}\bfaster|parameter server"),
    ),
    (
        "said-hangs",
        (
            (
                *("hang", "hung", "stuck", "freez", "frozen", "deadlock", "blocks forever", "never start"),
                *("\u5361\u4f4f", "\u5361\u6b7b"),
            ),
        ),
        (
            r"\b(?:hangs?|hanging|hung|freezes?|frozen|deadlock\w{0,3}|blocks forever|never starts?)\b",
            r"\bstucks?\b",
            r"\u5361\u4f4f|\u5361\u6b7b",
        ),
        r"\b(?:not|no longer|doesn't|does not|without) (?:hang|stuck|freez|get)|\bfrozen (?:graph|layer|model)"
        r"|\bpip3? freeze"
        r"|\bi(?: am|.m| was| got)? stuck|\bstuck with\b",
    ),
    (
        "said-distributed",
        (
            (
                *("multiworker", "multi-worker", "multi worker", "multi-node", "multi node", "tf_config", "horovod"),
                *("allreduce", "all-reduce", "all_reduce", "nccl", "grpc://"),
            ),
        ),
        (r"multi[- ]?(?:worker|node)|\btf_config\b|\bhorovod|\ball[-_]?reduce|(?<!nvidia-)\bnccl|grpc://",),
        "",
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
)
