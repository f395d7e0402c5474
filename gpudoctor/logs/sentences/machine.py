"""What people say of a machine, its driver and its packages.

Rows: see gpudoctor.logs.sentences.row.
"""

from __future__ import annotations

from gpudoctor.logs.sentences.row import Row

_RUNS = r"(?:run(?:s|ning)?|execut\w{1,3}|typ(?:e|ing)|call(?:ing)?|command|using|use)"
_STOPS = (
    r"(?:hangs?|hung|hanging|freez\w{1,3}|froze|stucks?|st[ou]p\w{0,3} (?:working|responding)|never (?:returns?|ends?"
    r"|finish\w{0,2}|comes? back)|no (?:response|output|answer)|(?:doesn.t|does not|not) (?:respond|return|answer"
    r"|finish|end)\w{0,3}|takes forever|blocks?)"
)
_ROOT = r"(?:as root|(?:with|using|under|by) sudo|sudo|root user|as the root|superuser)"
_HAVE_BOTH = r"\b(?:have|had|has|installed|installing)\b[^.\r\n]{0,20}\bboth\b[^\r\n]{0,10} ?[`'\"]?(?:tensorflow|tf)"

ROWS: tuple[Row, ...] = (
    (
        "said-no-gpu-here",
        (("without", "no ", "not have", "n't have", "lack"), ("gpu", "nvidia", "graphics", "video card")),
        (
            r"\b(?:machine|computer|laptop|server|node|pc|box|system|vm|instance|host|cluster|mac)\b[^.\r\n]{0,24}"
            r"\bwithout\W{1,3}(?:an? |any )?(?:nvidia |dedicated |discrete )?(?:gpus?|graphics? card|video card)\b",
            r"\b(?:i|we|machine|computer|laptop|server|node|pc|system)\b (?:do(?:es)? not|don.t|doesn.t) have "
            r"(?:an? |any )?(?:nvidia |dedicated |discrete )?(?:gpus?|graphics? card|video card)\b",
            r"\b(?:machine|computer|laptop|server|node|pc|system)\b[^.\r\n]{0,16}\b(?:has|have|with) no (?:nvidia "
            r"|dedicated |discrete )?(?:gpus?|graphics? card)\b",
            r"\bno (?:nvidia |dedicated |discrete )?(?:gpus?|graphics? card|video card) (?:on|in) (?:my|this|the|our"
            r"|that) (?:machine|computer|laptop|server|node|pc|box|system|vm|instance|host|mac)\b",
        ),
        r"\b(?:support|driver|enough|access|memory|available|detect|another|other|also|same|tried|works?"
        r"|most likely|or you)|\?",
    ),
    (
        "said-two-packages",
        (("both",), ("tensorflow-gpu", "tensorflow gpu", "tensorflow_gpu", "tf-gpu")),
        (
            _HAVE_BOTH + r"[`'\"]? [^\r\n]{0,16}\b(?:and|&) (?:the )?[`'\"]?(?:tensorflow|tf)[-_ ]gpu\b",
            _HAVE_BOTH + r"[-_ ]gpu\b[^\r\n]{0,16}\b(?:and|&) (?:the )?[`'\"]?(?:tensorflow|tf)\b(?![-_ ]gpu)",
        ),
        r"\b(?:should|why|not|never|without|n.t)\b[^.\r\n]{0,24}\b(?:both|install\w{0,3})\b",
    ),
    (
        # Both by name and release, and which one is used, in Chinese.
        "said-two-packages",
        (
            *(("tensorflow==", "tensorflow "), ("tensorflow-gpu", "tensorflow_gpu")),
            *(("cpu",), ("\u9ed8\u8ba4", "\u7528\u7684\u662f")),
        ),
        (r"\btensorflow ?(?:==)? ?[12]\.\d[^\r\n]{0,60}cpu[^\r\n]{0,40}tensorflow[-_]gpu",),
        r"",
    ),
    (
        "said-secure-boot",
        (("secure boot", "secureboot", "secure-boot"),),
        (
            r"\bsecure[ -]?boot\b[^.\r\n]{0,40}\b(?:is|was|to be|being|were|turned|had been|got)? ?(?:enabled|turned on"
            r"|on\b|active)",
            r"\b(?:disabl\w{1,3}|turn\w{0,3} off|switch\w{0,3} off)\b[^.\r\n]{0,24}\bsecure[ -]?boot\b",
        ),
        r"\bsecure[ -]?boot\b[^.\r\n]{0,24}\b(?:is|was|were) (?:already )?(?:disabled|off|not)|\balready (?:disabl"
        r"|turn)\w{0,3}|\bhave (?:also )?(?:disabl|turn)\w{0,3}",
    ),
    (
        "said-works-for-root",
        (("root", "sudo"), ("gpu", "cuda", "tensorflow", "nvidia", "device", "works", "unless")),
        (
            r"\b(?:only|just)\b[^.\r\n]{0,50}\b" + _ROOT + r"\b",
            r"\b(?:works?|worked|working|fine|recogni[sz]e\w{0,1}|sees?|detect\w{0,2}|utili[sz]e)\b[^.\r\n]{0,40}\b"
            r"(?:when|if|after|once|unless)?[^.\r\n]{0,30}\b" + _ROOT + r"\b",
            r"\bafter\b[^.\r\n]{0,50}\b" + _ROOT + r"\b[^.\r\n]{0,60}\bwork\w{0,3}\b",
            r"\bunless\b[^.\r\n]{0,30}\b" + _ROOT + r"\b",
            r"\bwithout (?:running (?:it )?as root|sudo|being root)\b",
        ),
        r"\b(?:docker|pip|conda|apt|install\w{0,6}|daemon|root (?:cause|folder|dir|dev|path|error))\b|/root"
        r"|\b(?:not|n.t) (?:work|help)\w{0,3}[^.\r\n]{0,30}\b" + _ROOT,
    ),
    (
        "said-smi-hangs",
        (
            ("nvidia-smi",),
            ("hang", "hung", "freez", "froze", "stuck", "stop", "never", "no ", "not ", "n't", "forever"),
        ),
        (
            r"\b(?:when|if|even|also|once)\b[^.\r\n]{0,24}\bnvidia-smi\b[^.\r\n]{0,50}\b" + _STOPS,
            r"\bnvidia-smi\b\W{0,3}(?:command |also |itself |just |simply |then |too |it |will ){0,3}" + _STOPS,
            r"\b" + _RUNS + r"\b\W{0,3}nvidia-smi\b[^.\r\n]{0,40}\b" + _STOPS,
        ),
        r"\b(?:no|not|n't)\b (?:hang|stuck|freez)|shows?|no (?:process|gpu|device)",
    ),
    (
        "said-order-differs",
        (("nvidia-smi", "cuda_device_order", "pci_bus_id", "pci order"), ("gpu", "device", "card", "order", "index")),
        (
            r"\bnvidia-smi\b[^.\r\n]{0,60}\b(?:other|different|reverse\w{0,1}|another|opposite|inconsistent"
            r"|not the same)\b[^.\r\n]{0,24}\b(?:order|ids?|index\w{0,2}|number\w{0,3}|gpu)\b",
            r"\b(?:order|ids?|index\w{0,2}|indices|number\w{0,3}|gpu)\b[^.\r\n]{0,40}\b(?:disagrees?|mismatch\w{0,2}"
            r"|do(?:es)? not match|don.t match|doesn.t match|differs?|different)\b[^.\r\n]{0,24}\bnvidia-smi\b",
            r"\b(?:set|select|chose|choose|pick)\w{0,3}\b[^.\r\n]{0,24}\bgpus? ?\d\b[^\r\n]{0,90}\bnvidia-smi\b"
            r"[^.\r\n]{0,60}\bgpus? ?\d\b",
            r"\bnvidia-smi\b[^.\r\n]{0,12}\blists\b[^.\r\n]{0,24}\bpci\b",
            r"\bcuda_device_order\W{1,5}pci_bus_id\b[^.\r\n]{0,30}\b(?:fix|solv|help|work|did)",
            r"\bcuda_visible_devices\W{1,5}\d\b[^\r\n]{0,60}\bnvidia-smi\b[^.\r\n]{0,40}\bgpu ?\d\b",
        ),
        r"",
    ),
    (
        "said-path-in-the-way",
        (
            ("ld_library_path", "/usr/local/cuda", "library path"),
            ("remov", "unset", "conflict", "clear", "order", "first", "ahead", "before"),
        ),
        (
            r"\b(?:remov|unset|delet|clear|empty)\w{0,4}\b[^\r\n]{0,60}\bld_library_path\b[^\r\n]{0,40}\b(?:solv|fix"
            r"|work|help|resolv)\w{0,3}",
            r"\b(?:unset(?:ting)?|clearing|emptying) \W?ld_library_path\b",
            r"/usr/local/cuda\S{0,24}[^\r\n]{0,24}\b(?:caus|creat|is|was)\w{0,3}\b[^\r\n]{0,16}\bconflict",
            r"\b(?:load|pick|find|use)\w{0,3}\b[^.\r\n]{0,24}\b(?:system|other|wrong)\b[^.\r\n]{0,24}\b(?:librar\w{1,3}"
            r"|cuda|cudnn|one)\b[^.\r\n]{0,24}\b(?:ahead|instead|before|first)\b",
        ),
        r"\b(?:not|n't)\b[^.\r\n]{0,16}\b(?:solve|fix|work|help)",
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
)
