"""What is printed while a model is trained, and tells why it is slow."""

from __future__ import annotations

from gpudoctor.logs.message import EventKind, Message

_K = EventKind

ROWS = (
    Message(
        "callback-slow",
        _K.SLOW,
        (
            " is slow compared to the batch time",
            "Method (on_",
            "Method on_",
            "methods are slow compared to the batch time",
        ),
        r"(?:Callback method `(?P<method>\w{1,40})` is slow compared to the batch time \(batch time: "
        r"(?P<batch>[\d.]{1,12})s vs `\w{1,40}` time: (?P<callback>[\d.]{1,12})s\))"
        r"|Method \(?(?P<old>on_\w{1,40})(?:\(\))?\)? is slow compared to the batch update \((?P<seconds>[\d.]{1,12})\)"
        r"|is slow compared to the batch",
        "A callback takes as long as a training step, or longer.",
        "callbacks.py",
        example="WARNING:tensorflow:Callback method `on_train_batch_end` is slow compared to the batch time (batch "
        "time: 0.0110s vs `on_train_batch_end` time: 0.0523s). Check your callbacks.",
    ),
    Message(
        "retracing",
        _K.SLOW,
        (" triggered tf.function retracing",),
        r"(?P<count>\d{1,9}) (?:out )?of the last (?P<calls>\d{1,9}) calls to (?P<function>[^\r\n]{1,160}?) triggered "
        r"tf\.function retracing|: triggered tf\.function retracing\. Tracing",
        "A function is traced again and again.",
        "def_function.py",
        example="WARNING:tensorflow:7 out of the last 9 calls to <function train_step at 0x7f> triggered tf.function "
        "retracing.",
    ),
    Message(
        "slow-compile",
        _K.SLOW,
        ("The operation took ",),
        r"The operation took (?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,2})m)?(?P<seconds>[\d.]{1,14})s",
        "XLA took so long to compile one part of the program; it does so once.",
        "slow_operation_alarm.cc",
        example="The operation took 1m44.270944s",
    ),
    Message(
        "random-layers-slow",
        _K.SLOW,
        ("Using a while_loop for converting ",),
        r"Using a while_loop for converting (?P<operation>\w{1,60})",
        "An operation of a random layer runs in a loop, picture by picture.",
        "pfor.py",
        ">=2.9",
        example="WARNING:tensorflow:Using a while_loop for converting RngReadAndSkip",
    ),
    Message(
        "input-ran-out",
        _K.USAGE,
        ("Your input ran out of data; interrupting training",),
        "",
        "There are fewer batches than steps_per_epoch asks for.",
        "Keras",
        example="WARNING:tensorflow:Your input ran out of data; interrupting training.",
    ),
    Message(
        "profile-input-bound",
        _K.SLOW,
        ("input-bound", "of the total step time sampled is "),
        r"(?i:your program is (?P<degree>highly|moderately|not) input-bound)"
        r"(?:[^\r\n]{0,40}?because (?P<share>[\d.]{1,5})% of the total step time)?"
        r"|(?P<waiting>[\d.]{1,5})\s?% of the total step time sampled is (?:spent on )?"
        r"(?:waiting for input|'?Host Input|input)",
        "The profiler tells which share of each step waits for data.",
        "TensorFlow Profiler",
        example="Your program is HIGHLY input-bound because 71.3% of the total step time sampled is waiting for input.",
    ),
    Message(
        "profile-launch-bound",
        _K.SLOW,
        ("kernel launch time", "Kernel Launch"),
        r"(?P<share>[\d.]{1,5})\s?% of the total step time sampled is (?:spent on )?'?(?:kernel launch|Kernel Launch)",
        "The profiler tells which share of each step launches kernels.",
        "TensorFlow Profiler",
        example="41.7 % of the total step time sampled is spent on 'Kernel Launch'. It could be due to CPU contention.",
    ),
    Message(
        "loss-nan",
        _K.USAGE,
        (
            "loss: nan",
            "oss: NaN",
            "oss = NaN",
            "oss = nan",
            "oss=nan",
            "NaN loss during training",
            "Invalid loss, terminating training",
        ),
        "",
        "The loss is not a number any more.",
        "Keras",
        example=" 64/64 [==============================] - 2s 31ms/step - loss: nan - accuracy: 0.1000",
    ),
    Message(
        "mixed-precision",
        _K.HARMLESS,
        (
            "mixed_float16",
            "Mixed precision compatibility check",
            "set_floatx(",
            "AUTO_MIXED_PRECISION",
            "enable_mixed_precision_graph_rewrite",
            "auto_mixed_precision",
            "dtype=tf.float16",
            "dtype='float16'",
            'dtype="float16"',
            "ixed precision",
            "ixed-precision",
            "alf precision",
            "float16 training",
            "training in float16",
        ),
        r"Mixed precision compatibility check \(mixed_\w{1,12}\): (?P<check>OK|WARNING)|(?P<policy>mixed_float16)"
        r"|set_floatx\([\"'](?P<floatx>float16)|AUTO_MIXED_PRECISION[\w\"'\]]{0,20}\s?=\s?[\"']?1"
        r"|dtype=(?:tf\.|[\"'])(?P<layer>float16)|(?:[Mm]ixed[- ]|[Hh]alf )precision|float16 training"
        r"|training in float16"
        r"|enable_mixed_precision_graph_rewrite|(?<!\w)auto_mixed_precision(?:\.cc|[\"']?\s?[:=]\s?True)",
        "The model computes with 16 bits.",
        "device_compatibility_check.py, the program",
        example="INFO:tensorflow:Mixed precision compatibility check (mixed_float16): OK",
    ),
    Message(
        "mixed-precision-slow-gpu",
        _K.SLOW,
        ("may run slowly with dtype policy mixed_float16", "does not have a compute capability of at least 7.0"),
        "",
        "This GPU has no tensor cores: mixed precision makes nothing faster on it.",
        "device_compatibility_check.py",
        ">=2.1",
        example="Your GPU may run slowly with dtype policy mixed_float16 because it does not have a compute capability",
    ),
    Message(
        "recurrent-without-cudnn",
        _K.SLOW,
        ("will not use cuDNN kernel", "will not use cuDNN kernels"),
        r"Layer (?P<layer>\w{1,60}) will not use cuDNN kernel",
        "A recurrent layer has arguments that rule out cuDNN's fast kernel.",
        "recurrent layers of Keras 2",
        example="WARNING:tensorflow:Layer lstm_1 will not use cuDNN kernels since it doesn't meet the criteria.",
    ),
    Message(
        "recurrent-layer",
        _K.HARMLESS,
        (
            "add(LSTM(",
            "add(GRU(",
            "layers.LSTM(",
            "layers.GRU(",
            "Bidirectional(LSTM",
            "Bidirectional(GRU",
            "CuDNNLSTM(",
            " (LSTM) ",
            " (GRU)  ",
        ),
        r"(?<![A-Za-z])(?:CuDNN)?(?P<layer>LSTM|GRU)\(\d|\((?P<kind>LSTM|GRU)\)",
        "The model has a recurrent layer: its steps in time run one after the other.",
        "the program, model.summary()",
        example="lstm_1 (LSTM)                (None, 64)                24832",
    ),
    Message(
        "strategy-devices",
        _K.HARMLESS,
        ("Using MirroredStrategy with devices ",),
        r"Using MirroredStrategy with devices \((?P<devices>[^)\r\n]{1,400})",
        "The devices of a mirrored training.",
        "mirrored_strategy.py",
        example="INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0',)",
    ),
    Message(
        "generator-processes",
        _K.SLOW,
        ("use_multiprocessing=True", "Found a Sequence-like"),
        r"use_multiprocessing=True` (?:and multiple workers )?may duplicate your data"
        r"|multiprocessing can interact badly",
        "A Python generator is run by several processes.",
        "Keras 2",
        example="Using a generator with `use_multiprocessing=True` and multiple workers may duplicate your data.",
    ),
    Message(
        "python-generator",
        _K.SLOW,
        (
            "fit_generator` is deprecated",
            "in fit_generator",
            "belonging to 2 classes",
            "validated image filenames belonging to ",
            " images belonging to ",
            "ConvertToTensor on a generator",
            "GeneratorDatasetOp::Dataset",
        ),
        r"fit_generator` is deprecated|in fit_generator"
        r"|(?:images|image filenames) belonging to (?P<classes>\d{1,7}) classes"
        r"|GeneratorDatasetOp",
        "The pictures come from a Python generator.",
        "Keras 2, Keras's ImageDataGenerator",
        example="Found 8005 images belonging to 2 classes.",
    ),
    Message(
        "augmentation-arguments",
        _K.SLOW,
        ("rotation_range=", "shear_range=", "zoom_range=", "width_shift_range=", "albumentations", "import imgaug"),
        r"(?P<argument>(?:rotation|shear|zoom|width_shift)_range)\s?=\s?[\d.\[(]"
        r"|(?P<package>albumentations|import imgaug)",
        "Pictures are changed at random by Python code on the processor.",
        "the program",
        example="train_datagen = ImageDataGenerator(rescale=1./255, rotation_range=40)",
    ),
    Message(
        "slow-storage",
        _K.SLOW,
        ("/content/drive/", "/content/gdrive/", "/mnt/c/", "/mnt/d/", "/mnt/e/", "gcsfuse"),
        r"(?P<path>/content/g?drive/[^\s\r\n'\"]{0,80}|/mnt/[a-e]/[^\s\r\n'\"]{0,80})|gcsfuse",
        "Data lie on storage that is slow to open files on: a mounted drive of Google, Windows or a cloud.",
        "the program",
        example="train_dir = '/content/drive/MyDrive/photos/train'",
    ),
    Message(
        "dataset-from-files",
        _K.HARMLESS,
        (" files belonging to ",),
        r"Found (?P<files>\d{1,12}) files belonging to (?P<classes>\d{1,7}) classes",
        "The pictures come from tf.data over a folder.",
        "image_dataset_from_directory",
        example="Found 23410 files belonging to 2 classes.",
    ),
    Message(
        "shuffle-buffer",
        _K.HARMLESS,
        ("Filling up shuffle buffer", "Shuffle buffer filled"),
        r"(?:Filling up shuffle buffer[^\r\n]{0,40}?: (?P<filled>\d{1,12}) of (?P<size>\d{1,12}))"
        r"|Shuffle buffer filled",
        "The input pipeline fills its buffer before it gives the first batch.",
        "shuffle_dataset_op.cc",
        example="Filling up shuffle buffer (this may take a while): 210 of 1000",
    ),
    Message(
        "cache-not-read",
        _K.HARMLESS,
        ("The calling iterator did not fully read the dataset being cached",),
        "",
        "A cache was not filled, since not all data were read.",
        "cache_dataset_ops.cc",
        example="The calling iterator did not fully read the dataset being cached.",
    ),
    Message(
        "parameters",
        _K.HARMLESS,
        ("Total params: ",),
        r"Total params: (?P<count>[\d,]{1,20})",
        "How many parameters the model has.",
        "model.summary()",
        example="Total params: 1,245 (4.86 KB)",
    ),
)
