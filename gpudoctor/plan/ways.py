"""A stack by each installer: venv and pip, uv, conda, docker; and as a file for each of them."""

from __future__ import annotations

import shlex
from enum import Enum

from msgspec import Struct

from gpudoctor import compat
from gpudoctor.compat import NotCovered, Os
from gpudoctor.plan.commands import ENVIRONMENT, Installer, new_environment_commands, python_for, quote
from gpudoctor.plan.model import Provider, Stack

IMAGE = "tf-gpu"
SITE = "/usr/local/lib/python{python}/site-packages"
"""Where pip of the official Python images installs."""
LOADER_CONDA = 'export LD_LIBRARY_PATH="{folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'


class WayKind(str, Enum):
    """Installers."""

    PIP = "pip"
    UV = "uv"
    CONDA = "conda"
    DOCKER = "docker"


class Way(Struct, frozen=True, kw_only=True):
    """Commands that install a stack; `remark` is what has to be known beside them."""

    kind: WayKind
    commands: tuple[str, ...]
    remark: str = ""


class FileKind(str, Enum):
    """Files that a plan can be written to."""

    REQUIREMENTS = "requirements.txt"
    ENVIRONMENT = "environment.yml"
    DOCKERFILE = "Dockerfile"


def ways(stack: Stack) -> tuple[Way, ...]:
    """Each way to install a stack, the one that provides the most first."""
    if stack.route is Os.MACOS or stack.provided_by is Provider.NONE:
        return (_pip(stack), _uv(stack), _conda(stack))
    if stack.container:
        return (_docker(stack),)
    docker = () if stack.route is Os.WINDOWS else (_docker(stack),)  # Linux images get at no GPU without WSL2
    if stack.provided_by is Provider.CONDA:
        return (_conda(stack), *docker, _pip(stack), _uv(stack))
    return (_pip(stack), _uv(stack), _conda(stack), *docker)


def main_commands(stack: Stack) -> tuple[str, ...]:
    """The commands of the first way."""
    return ways(stack)[0].commands


def _pip(stack: Stack) -> Way:
    return Way(kind=WayKind.PIP, commands=new_environment_commands(stack), remark=" ".join(stack.manual))


def _uv(stack: Stack) -> Way:
    commands = new_environment_commands(stack, Installer.UV)
    return Way(kind=WayKind.UV, commands=commands, remark=" ".join(stack.manual))


def _conda(stack: Stack) -> Way:
    """Conda brings Python, and CUDA where a table says so; TensorFlow itself comes by pip."""
    specs = [quote(word, stack.route) for word in (f"python={python_for(stack)}", "pip", *stack.conda)]
    words = [quote(word, stack.route) for word in (*stack.requirements, *stack.conda_pip)]
    commands = [
        " ".join(["conda create -y -n", ENVIRONMENT, "-c conda-forge", *specs]),
        f"conda activate {ENVIRONMENT}",
        " ".join(["python -m pip install", *words]),
    ]
    commands += _conda_compiler(stack)
    folders = _conda_folders(stack)
    if folders:
        commands.append(LOADER_CONDA.format(folders=":".join(folders)))
    if stack.conda:
        remark = "mamba takes the same words. conda-forge provides the CUDA libraries."
    else:
        remark = " ".join(["mamba takes the same words. conda brings Python only.", *stack.manual])
    return Way(kind=WayKind.CONDA, commands=tuple(commands), remark=remark)


def _conda_compiler(stack: Stack) -> tuple[str, ...]:
    """Commands that bring ptxas, and libdevice to where XLA can be pointed at."""
    if not stack.conda_compiler:
        return ()
    return (
        f"conda install -y -c nvidia {stack.conda_compiler}",
        'mkdir -p "$CONDA_PREFIX/lib/nvvm/libdevice"',
        'cp "$CONDA_PREFIX/lib/libdevice.10.bc" "$CONDA_PREFIX/lib/nvvm/libdevice/"',
        'export XLA_FLAGS="--xla_gpu_cuda_data_dir=$CONDA_PREFIX/lib"',
    )


def _conda_folders(stack: Stack) -> list[str]:
    """Folders that the loader has to be told, in an active environment of conda."""
    if stack.route not in {Os.LINUX, Os.WSL2}:
        return []
    site = f"$CONDA_PREFIX/lib/python{python_for(stack)}/site-packages"
    found = [f"{site}/{folder}" for folder in stack.unsearched]
    if stack.conda:
        found.append("$CONDA_PREFIX/lib")
    if any(word.startswith("nvidia-cudnn") for word in stack.conda_pip):
        found.append(f"{site}/nvidia/cudnn/lib")
    return found


def _docker(stack: Stack) -> Way:
    remark = "The host needs the driver and NVIDIA's container toolkit only."
    image, fault = official_image(stack)
    if not from_wheels(stack):
        if not image or fault:
            return Way(kind=WayKind.DOCKER, commands=(), remark=f"No container with its CUDA is known: {fault}.")
        remark += " That the image is still served was not looked up; its Python and its CUDA are its own."
        return Way(kind=WayKind.DOCKER, commands=(f"docker run --rm -it --gpus all {image}",), remark=remark)
    lines = " ".join(shlex.quote(line) for line in _image_of_wheels(stack))
    build = f"printf '%s\\n' {lines} | docker build -t {IMAGE} -"
    if image and fault:
        remark += f" {image} is reported not to use the GPU: {fault}."
    return Way(kind=WayKind.DOCKER, commands=(build, f"docker run --rm -it --gpus all {IMAGE}"), remark=remark)


def from_wheels(stack: Stack) -> bool:
    """Whether pip provides CUDA, so that any image with a fitting Python will do."""
    return stack.provided_by in {Provider.AND_CUDA, Provider.PIP}


def official_image(stack: Stack) -> tuple[str, str]:
    """The image of the TensorFlow project, "" where none is known, and why it is not proposed, "" where it could be."""
    try:
        image, known = compat.docker_image(stack.tensorflow)
    except NotCovered as exc:
        return "", str(exc)
    return image, known.fault


def _image_of_wheels(stack: Stack) -> list[str]:
    python = python_for(stack)
    lines = [f"FROM python:{python}-slim"]
    if stack.provided_by is not Provider.NONE:
        lines.append("ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    words = " ".join(quote(word, Os.LINUX) for word in stack.requirements)
    lines.append(f"RUN python -m pip install --no-cache-dir {words}")
    if stack.unsearched:
        folders = ":".join(f"{SITE.format(python=python)}/{folder}" for folder in stack.unsearched)
        lines.append(f"ENV LD_LIBRARY_PATH={folders}")
    return lines


def dockerfile(stack: Stack) -> str | None:
    """A Dockerfile for the stack; None where no image is known to have its CUDA."""
    if from_wheels(stack) or stack.provided_by is Provider.NONE:
        return "\n".join(_image_of_wheels(stack)) + "\n"
    image, fault = official_image(stack)
    if not image or fault:
        return None
    return f"# That the image is still served was not looked up.\nFROM {image}\n"


def requirements_txt(stack: Stack) -> str:
    """The stack for pip and uv."""
    lines = [_comment(stack), *(f"# {text}" for text in stack.manual), *stack.requirements]
    if stack.unsearched:
        folders = ", ".join(stack.unsearched)
        lines.insert(1, f"# LD_LIBRARY_PATH has to name these folders of site-packages: {folders}")
    return "\n".join(lines) + "\n"


def environment_yml(stack: Stack) -> str:
    """The stack for conda and mamba."""
    folders = _conda_folders(stack)
    lines = [_comment(stack)]
    active = [*_conda_compiler(stack), *([LOADER_CONDA.format(folders=":".join(folders))] if folders else [])]
    lines += [f"# Once it is active: {command}" for command in active]
    if not stack.conda:
        lines += [f"# {text}" for text in stack.manual]
    lines += [f"name: {ENVIRONMENT}", "channels:", "  - conda-forge", "dependencies:"]
    lines += [f"  - {word}" for word in (f"python={python_for(stack)}", "pip", *stack.conda)]
    lines += ["  - pip:", *(f'      - "{word}"' for word in (*stack.requirements, *stack.conda_pip))]
    return "\n".join(lines) + "\n"


def _comment(stack: Stack) -> str:
    if stack.provided_by is Provider.NONE:
        return f"# TensorFlow {stack.tensorflow} for the CPU, Python {python_for(stack)}"
    driver = f"driver {stack.driver_min} or newer"
    return f"# TensorFlow {stack.tensorflow}, CUDA {stack.cuda}, Python {python_for(stack)}, {driver}"


def file_text(stack: Stack, kind: FileKind) -> str | None:
    """The text of a file for the stack; None where there is none (a Dockerfile without a known image)."""
    if kind is FileKind.REQUIREMENTS:
        return requirements_txt(stack)
    if kind is FileKind.ENVIRONMENT:
        return environment_yml(stack)
    text = dockerfile(stack)
    return None if text is None else f"{_comment(stack)}\n{text}"
