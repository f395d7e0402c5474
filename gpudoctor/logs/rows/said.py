"""What gpudoctor.logs.sentences and gpudoctor.logs.formats.said make of lines: no fixed text announces them."""

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
            "said-eager-slower",
            _K.SLOW,
            "Somebody says that the training is slower with eager execution than without.",
            "a person",
            "with eager execution it is five times slower",
        ),
        (
            "said-first-slow",
            _K.SLOW,
            "Somebody says that the first run of a model takes much longer than the later ones.",
            "a person",
            "the first image takes 3 minutes, the others a second",
        ),
        (
            "first-call-slow",
            _K.SLOW,
            "Of the times of several calls the first is much longer than the others.",
            "the program",
            "time taken: 6.4121\ntime taken: 0.0391\ntime taken: 0.0388\ntime taken: 0.0402",
        ),
        (
            "said-retracing",
            _K.SLOW,
            "Somebody says that a function is traced again and again.",
            "a person",
            "a new graph is made for every batch",
        ),
        (
            "said-new-models",
            _K.HARMLESS,
            "Somebody says that a program makes a new model in each round of a loop.",
            "a person",
            "it builds a new model in each iteration",
        ),
        (
            "said-logging-slow",
            _K.SLOW,
            "Somebody says that callbacks, summaries or checkpoints slow the training down.",
            "a person",
            "writing the summaries is slow",
        ),
        (
            "said-other-gpu",
            _K.DEGRADED,
            "Somebody says that programs number the GPUs otherwise than nvidia-smi, or take another one than meant.",
            "a person",
            "the device indices do not match those of nvidia-smi",
        ),
        (
            "said-throttled",
            _K.SLOW,
            "Somebody says that heat slows the GPU down.",
            "a person",
            "the gpu overheats after an hour",
        ),
        (
            "said-reading-slow",
            _K.SLOW,
            "Somebody says that reading the data is slow, or that another input made the training faster.",
            "a person",
            "loading the images takes too long",
        ),
        (
            "said-augmentation-slow",
            _K.SLOW,
            "Somebody says that augmentation, or another preparation of the data, is slow or runs on the processor.",
            "a person",
            "the augmentation is the bottleneck",
        ),
        (
            "said-larger-batch",
            _K.SLOW,
            "Somebody says that larger batches make the training faster, or suspects that batches are too small.",
            "a person",
            "with a larger batch size it is faster",
        ),
        (
            "said-weak-gpu",
            _K.HARMLESS,
            "Somebody says that the graphics card is old or weak.",
            "a person",
            "my graphics card is quite old",
        ),
        (
            "said-16-bits",
            _K.HARMLESS,
            "Somebody says that the model computes with 16 bits.",
            "a person",
            "I turned on fp16",
        ),
        (
            "said-nan",
            _K.USAGE,
            "Somebody says that the loss, or what the model gives, is not a number.",
            "a person",
            "after some steps the loss is nan",
        ),
        (
            "said-hangs",
            _K.OPERATION_FAILED,
            "Somebody says that the program hangs.",
            "a person",
            "it hangs there",
        ),
        (
            "said-distributed",
            _K.HARMLESS,
            "Somebody writes of a training with several workers.",
            "a person",
            "I use MultiWorkerMirroredStrategy",
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
