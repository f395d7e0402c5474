"""Sentences that come near to one of gpudoctor.logs.sentences.machine, and say something else."""

from __future__ import annotations

import pytest

from tests.logs.test_texts import lead_of, report_of


@pytest.mark.parametrize(
    "text",
    [
        "The device is not found, and running it with sudo does not help.",
        "I installed the driver with sudo apt install, and the gpu works fine.",
        "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nnvidia-smi lists the GPUs in the order of PCI.",
        "Removing the folder from LD_LIBRARY_PATH did not help.",
        "nvidia-smi shows no process while my program is stuck in reading files.",
        "nvidia-smi does not show any process.",
        "Does it run on a machine without a GPU?",
        "My laptop does not have enough GPU memory for this model.",
        "Secure Boot is already disabled, and the driver works.",
        "It works on the server without GPU support too.",
        "We run it in a docker container, which works fine.",
        "The disk is not slow.",
        "I never run out of memory with this model on the GPU.",
        "My computer runs out of RAM; the system memory is too small for the model.",
        "We tested it in a pod, which works fine.",
        "Why should I install both tensorflow and tensorflow-gpu?",
        "It works with both tensorflow-gpu and tensorflow.",
        "There is no GPU driver in this image.",
        "- TensorFlow version: 2.2.0\n- CUDA/cuDNN version: 10.1 / 7.6\n[PhysicalDevice(name='/physical_device:CPU:0', "
        "device_type='CPU')]",
        "- TensorFlow version: 2.9.0\n- CUDA/cuDNN version: 12.1\nMy model does not learn.",
    ],
)
def test_near_miss_is_no_fault(text: str) -> None:
    assert lead_of(report_of(text + "\n")) in ("", "nothing")


def test_a_text_about_several_systems_is_of_none() -> None:
    report = report_of("Platforms: macOS 12, Ubuntu 20.04\npip install tensorflow\n")
    assert lead_of(report) == ""
    assert lead_of(report_of("It works on macOS, but on the server:\nphysical devices: []\n")) != "macos-no-gpu"
    assert lead_of(report_of("Platform: macOS 12\nphysical devices: []\n")) == "macos-no-gpu"
