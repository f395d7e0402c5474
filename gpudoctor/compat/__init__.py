"""Typed look-ups over the bundled tables. What they do not cover is an answer of its own: NotCovered."""

from __future__ import annotations

from gpudoctor.compat.bundle import NotCovered, TableError, TableInfo, tables, use_folder
from gpudoctor.compat.drivers import (
    DriverCuda,
    DriverNeed,
    Os,
    branch_of_driver,
    cuda_max_for_driver,
    driver_branches,
    first_branch_for_architecture,
    last_branch_for_architecture,
    min_driver_for_cuda,
)
from gpudoctor.compat.elsewhere import conda_cuda, docker_image
from gpudoctor.compat.gpucode import CodeAnswer, GpuCode, gpu_code, gpu_code_of_release
from gpudoctor.compat.gpus import GpuAnswer, UnknownGpu, compute_capability_of, family_of, find_gpu
from gpudoctor.compat.libraries import (
    compiled_cudnn,
    cuda_of_build,
    cuda_soname,
    cudnn_first_without,
    cudnn_lowest_capability,
    highest_capability,
    required_libraries,
    wheel_of_library,
)
from gpudoctor.compat.releases import (
    and_cuda_pins,
    cuda_of,
    cuda_wheels,
    is_newer_than_tables,
    keras_for,
    newest_release,
    pip_route,
    pythons_of,
    releases,
    tables_date,
    tested_build,
    wheel,
)
from gpudoctor.compat.rows import DriverBranch, Trust
from gpudoctor.compat.versions import capability, cuda_release, cuda_text, version

__all__ = [
    "CodeAnswer",
    "DriverBranch",
    "DriverCuda",
    "DriverNeed",
    "GpuAnswer",
    "GpuCode",
    "NotCovered",
    "Os",
    "TableError",
    "TableInfo",
    "Trust",
    "UnknownGpu",
    "and_cuda_pins",
    "branch_of_driver",
    "capability",
    "compiled_cudnn",
    "compute_capability_of",
    "conda_cuda",
    "cuda_max_for_driver",
    "cuda_of",
    "cuda_of_build",
    "cuda_release",
    "cuda_soname",
    "cuda_text",
    "cuda_wheels",
    "cudnn_first_without",
    "cudnn_lowest_capability",
    "docker_image",
    "driver_branches",
    "family_of",
    "find_gpu",
    "first_branch_for_architecture",
    "gpu_code",
    "gpu_code_of_release",
    "highest_capability",
    "is_newer_than_tables",
    "keras_for",
    "last_branch_for_architecture",
    "min_driver_for_cuda",
    "newest_release",
    "pip_route",
    "pythons_of",
    "releases",
    "required_libraries",
    "tables",
    "tables_date",
    "tested_build",
    "use_folder",
    "version",
    "wheel",
    "wheel_of_library",
]
