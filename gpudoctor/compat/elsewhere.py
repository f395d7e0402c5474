"""Other ways than pip to CUDA for a TensorFlow release: packages of conda-forge, the official container images."""

from __future__ import annotations

from gpudoctor.compat.bundle import NotCovered, load
from gpudoctor.compat.rows import CondaCuda, DockerImage
from gpudoctor.compat.versions import version


def conda_cuda(tensorflow: str, platform: str) -> CondaCuda:
    """The packages of conda-forge that provide CUDA for a release on a platform; raises NotCovered."""
    have = version(tensorflow)
    for row in load(CondaCuda).rows:
        if row.platform == platform and version(row.from_tensorflow) <= have <= version(row.to_tensorflow):
            return row
    raise NotCovered(f"whether conda-forge provides CUDA for tensorflow {tensorflow} is not in the tables")


def docker_image(tensorflow: str) -> tuple[str, DockerImage]:
    """The official image for the minor version of a release, and what is known of it; raises NotCovered."""
    have = version(tensorflow)
    for row in load(DockerImage).rows:
        if version(row.from_tensorflow) <= have <= version(row.to_tensorflow):
            for tag in row.tags:
                if version(tag).release[:2] == have.release[:2]:
                    return f"tensorflow/tensorflow:{tag}-gpu", row
    raise NotCovered(f"no image of tensorflow {tensorflow} for the GPU is in the tables")
