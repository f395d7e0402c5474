"""Tells why TensorFlow or Keras does not use the NVIDIA GPU of a machine, and how to mend it."""

__version__ = "0.1.0"
