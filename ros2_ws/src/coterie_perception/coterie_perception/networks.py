"""Networks in onnxruntime: sessions of an ONNX model, and images as they take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from coterie_perception.detector import DetectorError, Floats, Pixels

SETUP = "./coterie setup --with detector"


def session(model: bytes | Path, threads: int) -> Any:
    """Return an onnxruntime session of a model that computes on the CPU.

    Raises:
        DetectorError: onnxruntime is not installed, or it cannot load the model.
    """
    try:
        import onnxruntime
    except ImportError:
        raise DetectorError(f"onnxruntime is not installed; run: {SETUP}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors: warnings of networks that work are of no use here
    source = model if isinstance(model, bytes) else str(model)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it has dozens, of a module of its own
        text = " ".join(str(error).split())[:300]
        raise DetectorError(f"onnxruntime cannot load the network: {text}") from error


def resized(image: Pixels, size: tuple[int, int]) -> Floats:
    """Return an image as (3, rows, cols), 0..255, of a size (columns, rows) [px]."""
    small = Image.fromarray(image).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(small, np.float32).transpose(2, 0, 1)
