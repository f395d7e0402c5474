"""Tell what a Python environment holds, from its files, without importing anything of it.

Started as `python - FD REQUEST` in the interpreter that is asked about; Python 3.6 and newer, standard library only.
Writes one JSON object to descriptor FD. Text that is not UTF-8 (file names may be anything) arrives as \\xNN.
importlib.metadata is not used: it does not exist before 3.8, and importing it takes longer than all that is done here.
Longer than our other files: it travels as one text.
"""

import sys

sys.path[:] = [p for p in sys.path if p]

import os  # the interpreter has loaded it at its own start

_FULL_PATH = list(sys.path)
_STDLIB = os.path.dirname(os.__file__)
# Our own imports come from the standard library even where PYTHONPATH holds a json.py.
sys.path[:] = [p for p in _FULL_PATH if p.startswith(_STDLIB) and not p.endswith("-packages")] or _FULL_PATH
import json
import re

sys.path[:] = _FULL_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

HEAD_BYTES = 65536
# What compile(2) takes for: return the syntax tree (ast.PyCF_ONLY_AST).
SYNTAX_ONLY = 0x400
RECORD_CHARACTERS = 16384
VALUE_CHARACTERS = 4096
LIBRARY_BYTES = 512 << 20
# As the compiler writes their names down: N7horovod6common13NCCLAllreduceE.
HOROVOD_CLASSES = (("nccl", b"13NCCLAllreduceE"), ("mpi", b"12MPIAllreduceE"), ("gloo", b"13GlooAllreduceE"))

RELEVANT = re.compile(
    r"(tensorflow|tf-nightly|tf-keras|tf-estimator|intel-tensorflow|keras|tensorboard|tensorrt|horovod|nvidia-|jax|torch)"
    r"|(numpy|protobuf|h5py|ml-dtypes|cupy.*|pip|uv|nvidia)$"
)
# pip renames a folder to ~ plus all but the first letter while it removes it; what is left was half removed.
LEFTOVER = re.compile(r"~(ensorflow|f[-_]|ensorboard|ntel|eras|umpy|rotobuf|5py|l_dtypes|orovod|vidia|ensorrt)", re.I)
SHADOWED = ("tensorflow", "keras", "tf_keras", "numpy")
# Terraform shares our prefix, and its TF_VAR_ variables carry passwords.
VARIABLES = re.compile(
    r"(CUDA_|TF_(?!CLI|VAR_|LOG|DATA_DIR$|TOKEN|WORKSPACE|INPUT|IN_AUTOMATION|PLUGIN|REGISTRY)|TF2_|XLA_|KERAS_|NVIDIA_|NCCL_|PYTHON|PROTOCOL_BUFFERS_|HOROVOD_|CONDA_|DYLD_|COLAB_|KAGGLE_KERNEL_RUN_TYPE$|SLURM_(JOB_ID|.*GPU.*|LOCALID)$)"
    r"|(LD_LIBRARY_PATH|LD_PRELOAD|PATH|VIRTUAL_ENV|OMP_NUM_THREADS|MKL_NUM_THREADS|GPU_DEVICE_ORDINAL|JPY_PARENT_PID)$"
)
SECRET = re.compile(r"TOKEN|SECRET|PASSW|KEY|JWT|CREDENTIAL", re.I)


def printable(text: "str") -> "str":
    """Return text that survives JSON: bytes that are not UTF-8 become \\xNN."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeError:
        return text.encode("ascii", "backslashreplace").decode("ascii")


def clean(value: "object") -> "object":
    """Make a value fit for JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bytes):
        return printable(os.fsdecode(value))
    if isinstance(value, dict):
        return {printable(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [clean(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else printable(repr(value))


def guarded(ask: "Callable[[], object]") -> "object":
    """Ask one thing; an error is the answer {"error": text}, and the other things are still told."""
    try:
        return ask()
    except Exception as exc:  # noqa: BLE001 (what is ill here may be ill in any way)
        return {"error": "{}: {}".format(type(exc).__name__, exc)}


def names_in(folder: "str") -> "list[str]":
    """Return the sorted names in a folder; none if it cannot be read (a zip file, a missing folder)."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def head(path: "str", limit: "int" = HEAD_BYTES) -> "str | None":
    """Return the first bytes of a regular file as text, None if there are none to be had."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def normal(name: "str") -> "str":
    """Return a distribution's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(folders: "Iterable[str]") -> "list[tuple[str, str, str, str]]":
    """Return (normal name, version, folder, entry) of each metadata folder, all told by names alone."""
    found = []
    for folder in folders:
        entries = names_in(folder)
        if folder.endswith(".egg") and "EGG-INFO" in entries:
            parts = os.path.basename(folder)[:-4].split("-")
            found.append((normal(parts[0]), "".join(parts[1:2]), folder, "EGG-INFO"))
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")) and not entry.startswith("~"):
                parts = re.sub(r"-py\d[\d.]*$", "", entry.rsplit(".", 1)[0]).split("-", 1)
                found.append((normal(parts[0]), parts[1] if len(parts) > 1 else "", folder, entry))
    return found


def recorded(base: "str") -> "list[str] | None":
    """Return the first files outside the metadata that RECORD lists, [] if it lists none, None if it does not tell."""
    record = head(os.path.join(base, "RECORD"), RECORD_CHARACTERS)
    if not record:
        return None
    lines = record.splitlines()[: None if len(record) < RECORD_CHARACTERS else -1]  # the last may be cut short
    paths = [line.rsplit(",", 2)[0].strip('"') for line in lines]
    return [p for p in paths if ".dist-info/" not in p and not p.startswith("..") and "__pycache__" not in p][:5]


def package(name: "str", version: "str", folder: "str", entry: "str") -> "dict[str, object]":
    """Read one distribution's metadata; `problem` is empty, no-metadata, no-version or files-missing."""
    base = os.path.join(folder, entry)
    text = head(os.path.join(base, "METADATA")) or head(os.path.join(base, "PKG-INFO")) or head(base)
    fields = {}  # type: dict[str, list[str]]
    for line in re.split(r"\r?\n\r?\n", text or "", maxsplit=1)[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            fields.setdefault(key.lower(), []).append(value.strip())
    listed = recorded(base)
    present = not listed or any(os.path.exists(os.path.join(folder, p)) for p in listed)
    told = fields.get("version", [""])[0]
    if not text:
        problem = "no-metadata"
    elif not told:
        problem = "no-version"
    else:
        problem = "" if present else "files-missing"
    return {
        "name": name,
        "version": told or version,
        "folder": folder,
        "entry": entry,
        "installer": (head(os.path.join(base, "INSTALLER")) or "").strip() or None,
        "requires_python": fields.get("requires-python", [None])[0],
        "requires": fields.get("requires-dist", []),
        "problem": problem,
        "empty": listed == [],
    }


def packages(folders: "list[str]") -> "list[dict[str, object]]":
    """Return the relevant distributions, and those that TensorFlow or Keras require."""
    all_found = distributions(folders)
    chosen = {item: package(*item) for item in all_found if RELEVANT.match(item[0])}
    needed = set()  # type: set[str]
    for item, told in chosen.items():
        if re.match(r"tensorflow|tf-|intel-tensorflow|keras", item[0]):
            needed.update(normal(re.split(r"[^\w.-]", str(r), maxsplit=1)[0]) for r in list(told["requires"]))  # type: ignore[call-overload]
    for item in all_found:
        if item not in chosen and item[0] in needed:
            chosen[item] = package(*item)
    return [chosen[item] for item in all_found if item in chosen]


def provider(name: "str") -> "dict[str, object] | None":
    """Tell what `import NAME` would load, by asking the import system and loading nothing."""
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec(name, None) if find_spec else None
        if spec is None:
            continue
        places = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
        if places is None:
            return {"kind": "module", "origin": spec.origin, "folder": os.path.dirname(spec.origin or "")}
        kind = "package" if spec.origin not in (None, "namespace") else "namespace"
        return {"kind": kind, "origin": places[0] if places else spec.origin, "folder": os.path.dirname(places[0])}
    return None


def literal_assignments(text: "str") -> "dict[str, object]":
    """Return the module's assignments whose values are plain data; a dict made by OrderedDict([...]) counts as such."""
    values = {}
    for node in compile(text, "build_info.py", "exec", SYNTAX_ONLY, True).body:
        if kind(node) != "Assign" or kind(node.targets[0]) != "Name":
            continue
        source = node.value.args[0] if kind(node.value) == "Call" and node.value.args else node.value
        try:
            values[node.targets[0].id] = literal(source)
        except (ValueError, TypeError, RecursionError):
            continue
    return values


def kind(node: "object") -> "str":
    """Return of what kind a node of a syntax tree is: Assign."""
    return type(node).__name__


def literal(node: "Any") -> "object":
    """Return the plain data that a node stands for. Raises ValueError.

    As ast.literal_eval does; importing ast takes as long as a tenth of all that is done here.
    """
    named = kind(node)
    if named in ("Constant", "NameConstant"):
        return node.value
    if named in ("Str", "Bytes", "Num"):  # before Python 3.8
        return node.n if named == "Num" else node.s
    if named in ("List", "Tuple", "Set"):
        found = [literal(item) for item in node.elts]
        return tuple(found) if named == "Tuple" else found
    if named == "Dict":
        return {literal(node.keys[place]): literal(value) for place, value in enumerate(node.values)}
    raise ValueError(named)


def build_info(roots: "list[str]") -> "dict[str, object] | None":
    """Read TensorFlow's build_info.py: one dict from 2.3 on, plain assignments before (in tensorflow_core to 2.1)."""
    for root in roots:
        path = os.path.join(root, "python", "platform", "build_info.py")
        text = head(path, 1 << 20)
        if text is not None:
            values = literal_assignments(text)
            inner = values.get("build_info")
            values = dict(inner) if isinstance(inner, (dict, list)) else values
            return {"path": path, "values": values}
    return None


def version_in_files(roots: "list[str]") -> "str | None":
    """Return the version that the installed files carry: it differs from the metadata's after a half-done upgrade."""
    for root in roots:
        for name in ("version.h", "release_version.h"):
            text = head(os.path.join(root, "include", "tensorflow", "core", "public", name)) or ""
            parts = re.findall(r"#define TF_(?:MAJOR|MINOR|PATCH)_VERSION\s+(\d+)", text)
            suffix = re.search(r'#define TF_VERSION_SUFFIX\s+"-?([^"]*)"', text)
            if len(parts) == 3:  # noqa: PLR2004 (major, minor, patch)
                return ".".join(parts) + (suffix.group(1) if suffix else "")
        setup = head(os.path.join(root, "tools", "pip_package", "setup.py")) or ""
        found = re.search(r"^_VERSION\s*=\s*'(\d[^']*)'", setup, re.M)
        if found:
            return found.group(1).replace("-", "")
    return None


def tensorflow(found: "object") -> "dict[str, object] | None":
    """Tell what the folder that `import tensorflow` would load says of itself."""
    root = found.get("origin") if isinstance(found, dict) and found.get("kind") in ("package", "namespace") else None
    if not isinstance(root, str):
        return None
    roots = [root, os.path.join(os.path.dirname(root), "tensorflow_core")]
    native = {}
    for place in roots:
        for folder in (place, os.path.join(place, "python")):
            for name in names_in(folder):
                if re.match(r"libtensorflow_(cc|framework)|_pywrap_tensorflow_internal\.(so|pyd)", name):
                    native[name] = os.path.getsize(os.path.join(folder, name))
    plugins = os.path.join(os.path.dirname(root), "tensorflow-plugins")
    return {
        "root": root,
        "build_info": guarded(lambda: build_info(roots)),
        "version_in_files": guarded(lambda: version_in_files(roots)),
        "native": native,
        "plugins": names_in(plugins),
    }


def shadows(folders: "list[str]") -> "list[dict[str, object]]":
    """Return files and folders that hide a package from scripts: on the search path, or in the current folder."""
    found = []
    current = os.getcwd()
    for folder in folders + [f for f in [current] if f not in folders]:
        for name in SHADOWED:
            path = os.path.join(folder, name + ".py")
            checkout = os.path.join(folder, name, "__init__.py")
            if os.path.isfile(path):
                found.append({"name": name, "path": path, "on_path": folder in folders})
            elif folder not in folders and os.path.isfile(checkout):
                found.append({"name": name, "path": os.path.dirname(checkout), "on_path": False})
    return found


def environment() -> "dict[str, object]":
    """Tell the kind of the environment and the Python below it."""
    config = {}
    for line in (head(os.path.join(sys.prefix, "pyvenv.cfg")) or "").splitlines():
        key, _, value = line.partition("=")
        config[key.strip().lower()] = value.strip()
    base = getattr(sys, "real_prefix", getattr(sys, "base_prefix", sys.prefix))
    conda = [n[:-5] for n in names_in(os.path.join(sys.prefix, "conda-meta")) if n.endswith(".json")]
    conda = [n for n in conda if RELEVANT.match(n) or re.match(r"cuda|cudnn|nccl|lib(cu|nv)", n)]
    below = "conda" if os.path.isdir(os.path.join(base, "conda-meta")) else "system"
    for mark, kind in (("/versions/", "pyenv"), ("/uv/python/", "uv"), ("/Cellar/", "homebrew")):
        below = kind if mark in base.replace(os.sep, "/") + "/" else below
    return {
        "kind": "venv" if sys.prefix != base else below,
        "base_kind": below,
        "base_prefix": base,
        "made_by": "uv" if "uv" in config else "virtualenv" if "virtualenv" in config else None,
        "system_site_packages": config.get("include-system-site-packages", "").lower() == "true",
        "ensurepip": os.path.isdir(os.path.join(_STDLIB, "ensurepip")),
        "externally_managed": os.path.exists(os.path.join(_STDLIB, "EXTERNALLY-MANAGED")),
        "conda": conda,
    }


def user_site() -> "dict[str, object]":
    """Tell whether the user's own packages are in use; `enabled` is None where Python forbids it (security)."""
    site = sys.modules.get("site")
    folder = getattr(site, "USER_SITE", None)
    return {"enabled": getattr(site, "ENABLE_USER_SITE", False), "folder": folder, "on_path": folder in sys.path}


def keras_config() -> "dict[str, object] | None":
    """Read keras.json, where Keras keeps its back-end."""
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    text = head(os.path.join(home, "keras.json"))
    if text is None:
        return None
    content = json.loads(text)
    return {"path": os.path.join(home, "keras.json"), "backend": content.get("backend")}


def horovod(found: "object") -> "list[str] | None":
    """Return the frameworks for which Horovod's extension is built: its own --check-build does not tell rightly."""
    root = found.get("origin") if isinstance(found, dict) and found.get("kind") == "package" else None
    if not isinstance(root, str):
        return None
    return [
        n for n in names_in(root) if any(re.match(r"mpi_lib.*\.(so|pyd)$", f) for f in names_in(os.path.join(root, n)))
    ]


def horovod_operations(found: "object") -> "list[str]":
    """Return by what Horovod's part for TensorFlow exchanges gradients: its library holds a class for each way."""
    root = found.get("origin") if isinstance(found, dict) and found.get("kind") == "package" else None
    folder = os.path.join(root, "tensorflow") if isinstance(root, str) else ""
    for name in names_in(folder) if folder else []:
        path = os.path.join(folder, name)
        if re.match(r"mpi_lib.*\.so$", name) and os.path.isfile(path) and 0 < os.path.getsize(path) < LIBRARY_BYTES:
            with open(path, "rb") as file:
                content = file.read()
            return [way for way, sign in HOROVOD_CLASSES if sign in content]
    return []


def everything() -> "dict[str, object]":
    """Collect all that is told."""
    folders = []  # type: list[str]
    seen = set()
    for folder in sys.path:  # lib and lib64 are often one folder by two names
        real = os.path.realpath(folder)
        if real not in seen:
            seen.add(real)
            folders.append(folder)
    imports = {name: guarded(lambda name=name: provider(name)) for name in (*SHADOWED, "tensorboard", "horovod")}  # type: ignore[misc]
    uname = getattr(os, "uname", None)
    told = {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "version": ".".join(str(n) for n in sys.version_info[:3]),
        "full_version": sys.version,
        "implementation": sys.implementation.name,
        "abiflags": getattr(sys, "abiflags", ""),
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "platform": sys.platform,
        "machine": uname().machine if uname else os.environ.get("PROCESSOR_ARCHITECTURE", ""),
        "environment": guarded(environment),
        "path": list(sys.path),
        "user_site": guarded(user_site),
        "packages": guarded(lambda: packages(folders)),
        "leftovers": [os.path.join(f, n) for f in folders for n in names_in(f) if LEFTOVER.match(n)],
        "imports": imports,
        "tensorflow": guarded(lambda: tensorflow(imports["tensorflow"])),
        "shadows": guarded(lambda: shadows(folders)),
        "horovod": guarded(lambda: horovod(imports["horovod"])),
        "horovod_operations": guarded(lambda: horovod_operations(imports["horovod"])),
        "keras_config": guarded(keras_config),
        "variables": {
            k: v[:VALUE_CHARACTERS] for k, v in os.environ.items() if VARIABLES.match(k) and not SECRET.search(k)
        },
    }
    return clean(told)  # type: ignore[return-value]


def main() -> "None":
    """Write everything to the descriptor that the parent named."""
    descriptor = int(sys.argv[1])
    payload = json.dumps(everything()).encode("ascii") + b"\n"
    while payload:
        payload = payload[os.write(descriptor, payload) :]
    os.close(descriptor)


main()
