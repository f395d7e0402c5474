"""The classes of programs that use GPUs, one row a class; the first row that fits counts.

Settings are named as the programs name them. No command is ever run by gpudoctor.
"""

from __future__ import annotations

from msgspec.structs import replace

from gpudoctor.processes.model import ProcessClass

LOOK = "ps -o pid,user,etime,args -p {pid}"
END = "kill {pid}"
FREE_GPU = "NUMBER-OF-A-FREE-GPU"
OTHER_GPU = f"export CUDA_VISIBLE_DEVICES={FREE_GPU}"
NO_SCREEN = ("sudo prime-select on-demand", "sudo systemctl isolate multi-user.target")
ELECTRON_ADVICE = (
    "Close it, or switch hardware acceleration off in it: Slack in Preferences > Advanced, Discord in User Settings > "
    "Advanced, Spotify in Settings; others take --disable-gpu at their start."
)

ROWS: tuple[ProcessClass, ...] = (
    ProcessClass(
        id="mps-server",
        title="MPS server",
        names=("nvidia-cuda-mps*",),
        advice="It lets several programs share the GPU (MPS); its clients are listed beside it, or counted with it. "
        "It can be stopped when no client runs.",
        commands=("echo get_server_list | nvidia-cuda-mps-control", "echo quit | nvidia-cuda-mps-control"),
    ),
    ProcessClass(
        id="miner-like",
        title="looks like a cryptocurrency miner",
        names=("xmrig*", "t-rex", "nbminer", "lolminer*", "ethminer", "phoenixminer", "gminer", "teamredminer",
               "bzminer", "nanominer", "ccminer*", "cgminer", "trexminer", "wildrig*"),
        words=r"stratum\+?\w*://|stratum2?\+(tcp|ssl)|--algo[= ](ethash|etchash|kawpow|autolykos2?|octopus)\b",
        interpreters=True,
        advice="If nobody you know has started it, take it for a break-in: tell who is in charge of the machine "
        "before it is ended, so that its origin can be found.",
        commands=(LOOK, "ls -l /proc/{pid}/exe /proc/{pid}/cwd"),
    ),
    ProcessClass(
        id="notebook-kernel",
        title="notebook kernel",
        words=r"\bipykernel(_launcher)?\b|colab_kernel_launcher|xpython\b",
        interpreters=True,
        advice="A kernel keeps its GPU memory until it is shut down; to close the notebook's tab is not enough. Save "
        "the notebook and shut its kernel down (Kernel > Shut Down Kernel, or the list of running kernels). The "
        "server's sessions tell which notebook has which kernel; its PORT and TOKEN are in the list of servers.",
        commands=("jupyter server list", "curl -s 'http://localhost:PORT/api/sessions?token=TOKEN'", LOOK, END),
    ),
    ProcessClass(
        id="ollama",
        title="inference server Ollama",
        names=("ollama*",),
        words=r"ollama (runner|serve)",
        advice="It unloads a model five minutes after the last question; it can be told to do so at once.",
        commands=("ollama ps", "ollama stop MODEL", "sudo systemctl stop ollama"),
    ),
    ProcessClass(
        id="llama-server",
        title="inference server llama.cpp",
        names=("llama-server", "llama-cli", "llama-box", "koboldcpp*", "lm-studio", "lmstudio", "lms"),
        words=r"llama_cpp\.server|llama-server|koboldcpp",
        interpreters=True,
        advice="It holds its model until it is stopped, or keeps fewer layers on the GPU with a smaller -ngl.",
        commands=(LOOK, END),
    ),
    ProcessClass(
        id="vllm",
        title="inference server vLLM",
        names=("vllm*", "vllm::*"),
        words=r"\bvllm\b|sglang\.launch_server|text-generation-(server|launcher)|lmdeploy",
        interpreters=True,
        advice="It reserves most of the GPU at its start by design; a smaller --gpu-memory-utilization leaves more.",
        commands=(LOOK, END),
    ),
    ProcessClass(
        id="triton",
        title="inference server Triton or TensorFlow Serving",
        names=("tritonserver", "triton_python_*", "tensorflow_model*"),
        advice="It holds its models until they are unloaded or it is stopped.",
        commands=("curl -X POST localhost:8000/v2/repository/models/MODEL/unload", LOOK, END),
    ),
    ProcessClass(
        id="image-generator",
        title="image generation server",
        words=r"comfyui|stable-diffusion-webui|sd-webui|invokeai|fooocus",
        interpreters=True,
        advice="It keeps its models in GPU memory between pictures; ComfyUI unloads them on request.",
        commands=(
            "curl -X POST localhost:8188/free -H 'Content-Type: application/json' "
            '-d \'{{"unload_models": true, "free_memory": true}}\'',
            END,
        ),
    ),
    ProcessClass(
        id="remote-desktop",
        title="remote desktop",
        names=("xvnc*", "x11vnc", "vncserver*", "nxagent*", "nxnode*", "xrdp*", "gnome-remote-de*", "teamviewer*",
               "anydesk*", "parsecd", "sunshine", "rustdesk", "dcvagent", "dcvserver", "dcvxserver*", "dcvextensions*"),
        advice="It encodes or draws its picture on the GPU; end its session, or let it do that on the CPU.",
        commands=(LOOK,),
    ),
    ProcessClass(
        id="firefox",
        title="browser Firefox",
        names=("firefox*", "librewolf*", "web content", "isolated web co*", "thunderbird*"),
        words=r"/(firefox|librewolf|thunderbird)[^ ]*/",
        advice="Close it, or switch hardware acceleration off: Settings > General > Performance, untick 'Use "
        "recommended performance settings', then 'Use hardware acceleration when available', and restart it.",
        commands=("MOZ_ACCELERATED=0 firefox", END),
    ),
    ProcessClass(
        id="edge",
        title="browser Edge",
        names=("msedge*", "microsoft-edge*"),
        words=r"/(msedge|microsoft-edge)\b",
        advice="Close it, or switch hardware acceleration off: edge://settings/system, 'Use graphics acceleration "
        "when available', and restart it.",
        commands=("microsoft-edge --disable-gpu", END),
    ),
    ProcessClass(
        id="brave",
        title="browser Brave",
        names=("brave*",),
        advice="Close it, or switch hardware acceleration off: brave://settings/system, 'Use graphics acceleration "
        "when available', and restart it.",
        commands=("brave-browser --disable-gpu", END),
    ),
    ProcessClass(
        id="opera",
        title="browser Opera or Vivaldi",
        names=("opera*", "vivaldi*"),
        advice="Close it, or switch hardware acceleration off: Opera in Settings > Advanced > System, Vivaldi in "
        "Settings > Webpages; and restart it.",
        commands=("vivaldi --disable-gpu", END),
    ),
    ProcessClass(
        id="vscode",
        title="editor on Electron (hardware acceleration)",
        names=("code", "code-*", "codium*", "vscodium", "cursor", "windsurf"),
        words=r"/(vscode|code|codium|cursor)/(code|codium|cursor|electron)\b",
        advice="Close it, start it with --disable-gpu, or run 'Preferences: Configure Runtime Arguments' in it and "
        'set "disable-hardware-acceleration": true.',
        commands=("code --disable-gpu",),
    ),
    ProcessClass(
        id="electron",
        title="application on Electron (hardware acceleration)",
        names=("slack", "discord*", "teams*", "signal-desktop", "spotify", "obsidian", "element-desktop", "zoom",
               "telegram*", "notion*", "figma*", "postman", "electron*", "whatsapp*"),
        words=r"/(slack|discord|teams|signal|spotify|obsidian|element|electron)[^ /]{0,40}(?:/[^ /]{0,80}){1,12} "
        r".{0,400}--type=gpu-process",
        advice=ELECTRON_ADVICE,
        commands=(LOOK, END),
    ),
    ProcessClass(
        id="chrome",
        title="browser Chrome or Chromium",
        names=("chrome*", "google-chrome*", "chromium*"),
        words=r"/(google-)?chrom(e|ium)(-\w+)?\b.* --type=gpu-process",
        advice="Close it, or switch hardware acceleration off: chrome://settings/system, 'Use graphics acceleration "
        "when available', and restart it.",
        commands=("google-chrome --disable-gpu", END),
    ),
    ProcessClass(
        id="electron-like",  # by what each program of this kind calls its process that draws
        title="application on Electron (hardware acceleration)",
        words=r"--type=gpu-process",
        advice=ELECTRON_ADVICE,
        commands=(LOOK, END),
    ),
    ProcessClass(
        id="display-server",
        title="display server",
        names=("xorg*", "x", "xwayland", "x-session*"),
        words=r"^(/usr/(lib/xorg|bin|libexec)/)?(xorg|xwayland)\b",
        advice="It draws the screen. Where the processor has graphics of its own, let that draw it: on Ubuntu by "
        "prime-select and a restart. Or train on a text console: the last command ends the desktop and all on it.",
        commands=NO_SCREEN,
    ),
    ProcessClass(
        id="compositor",
        title="desktop or compositor",
        names=("gnome-shell*", "kwin*", "plasmashell", "mutter*", "cinnamon*", "xfwm4", "picom", "compiz", "sway",
               "hyprland", "weston", "wayfire", "muffin", "marco", "gala", "cosmic-comp", "budgie-wm", "gamescope",
               "gdm*", "sddm*", "lightdm*", "krunner", "nautilus", "ksmserver", "xdg-desktop*", "dwm.exe",
               "explorer.exe"),
        advice="It draws the desktop. Where the processor has graphics of its own, let that draw it: on Ubuntu by "
        "prime-select and a restart. Or train on a text console: the last command ends the desktop and all on it.",
        commands=NO_SCREEN,
    ),
    ProcessClass(
        id="game",
        title="game or launcher",
        names=("steam*", "lutris", "heroic", "wine*", "proton", "epicgames*", "minecraft*", "retroarch", "dolphin-emu"),
        words=r"steamapps/common|/proton[^/]*/|\.exe\b",
        advice="Close it while you train; launchers draw on the GPU in the background as well.",
        commands=(LOOK, END),
    ),
)  # fmt: skip

OURS = ProcessClass(
    id="gpudoctor",
    title="the small computation of this check",
    names=("gpudoctor",),
    advice="It ends by itself.",
)
MINE = ProcessClass(
    id="own-training",
    title="Python program of yours",
    advice="Wait for it, or end it if it is no longer wanted; two trainings on one GPU slow each other down.",
    commands=(LOOK, END),
)
OTHERS = ProcessClass(
    id="other-user-training",
    title="Python program of another user",
    advice="It is not yours to end: use another GPU, wait, or ask its user.",
    commands=(LOOK, OTHER_GPU),
)
SOMEONES = ProcessClass(
    id="training",
    title="Python program",
    advice="Wait for it, end it if it is yours, or use another GPU.",
    commands=(LOOK,),
)
PREALLOCATED = ProcessClass(
    id="tensorflow-preallocated",
    title="TensorFlow, which has reserved nearly all memory",
    advice="TensorFlow reserves a GPU's memory at its start, needed or not. Start it so that it takes what it needs.",
    commands=("export TF_FORCE_GPU_ALLOW_GROWTH=true", LOOK),
)
ZOMBIE = ProcessClass(
    id="zombie",
    title="memory without a process",
    advice="No process has this number any more, and the driver still counts its memory. If it is still so in a "
    "minute, a child of it or a process that hangs in the driver holds the device file; find it, or restart.",
    commands=("sudo fuser -v /dev/nvidia*", "sudo nvidia-smi --gpu-reset -i GPU-WITHOUT-PROCESSES"),
)
DEFUNCT = ProcessClass(
    id="defunct",
    title="ended, not collected by its parent",
    advice="It has ended and cannot be ended again: its parent has to collect it. If it does not, end the parent.",
    commands=("ps -o pid,ppid,user,stat,args -p {pid},{parent}", "kill {parent}"),
)
UNSEEN = ProcessClass(
    id="unseen",
    title="cannot be seen from here",
    advice="It runs outside this container or belongs to a user whose processes are hidden. Look on the host.",
    commands=("nvidia-smi", "sudo fuser -v /dev/nvidia*"),
)
UNSEEN_IN_CONTAINER = replace(
    UNSEEN,
    advice="It runs outside this container, on the host or in another container: only the host shows it. Look there, "
    "or ask who runs the host.",
)
UNSEEN_IN_WSL = replace(
    UNSEEN,
    advice="Windows and other distributions under WSL use the GPU as well; none of their programs can be seen from "
    "here. Windows shows them: in the Task Manager (Details, with the columns of the GPU), or by its own nvidia-smi.",
    commands=("nvidia-smi.exe",),
)
UNSEEN_ON_HOST = replace(
    UNSEEN,
    advice="It belongs to a user whose processes are hidden from you, or to no process that the driver lists: one that "
    "ended badly, or a virtual machine. Who has the GPU's device files open can be seen as root.",
)
OTHER = ProcessClass(
    id="other",
    title="",
    advice="Wait for it, end it if it is yours, or use another GPU.",
    commands=(LOOK, END),
)
ALL = (*ROWS, OURS, MINE, OTHERS, SOMEONES, PREALLOCATED, ZOMBIE, DEFUNCT, UNSEEN, OTHER)
