"""What gpudoctor.logs.formats.said makes of sentences and of lines of programs: no fixed text announces them."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

SENTENCES = tuple(
    Message(name, kind, (), "", meaning, printed_by, example=example)
    for name, kind, meaning, printed_by, example in (
        (
            "said-slow",
            _K.SLOW,
            "Somebody says that the training is slow; why, other lines must tell.",
            "a person",
            "training one epoch takes so long",
        ),
        (
            "said-gpu-idle",
            _K.SLOW,
            "Somebody says that the load of the GPU is low.",
            "a person",
            "my gpu usage is very low while it trains",
        ),
        (
            "said-gpu-slower",
            _K.SLOW,
            "Somebody says that the GPU is no faster than the processor, or gives times that show it.",
            "a person",
            "training on the GPU is slower than on the CPU",
        ),
        (
            "said-more-gpus-slower",
            _K.SLOW,
            "Somebody says that more GPUs bring no speed, or gives times that show it.",
            "a person",
            "with two gpus it is slower",
        ),
        (
            "said-memory-taken",
            _K.DEGRADED,
            "Somebody says that the memory of the GPU is taken whole.",
            "a person",
            "TensorFlow takes all the GPU memory",
        ),
        (
            "gradient-tape",
            _K.SLOW,
            "The program has a training loop of its own; without tf.function each operation is started by Python.",
            "the program",
            "    with tf.GradientTape() as tape:",
        ),
        (
            "tf-function",
            _K.HARMLESS,
            "The program makes a graph of its steps.",
            "the program",
            "@tf.function",
        ),
        (
            "predict-in-loop",
            _K.SLOW,
            "The program calls predict() in a loop; the start of each call costs more than a small batch.",
            "the program",
            "for state in states:\n    action = model.predict(state)",
        ),
    )
)
"""Their literals are empty; an example may have several lines."""
