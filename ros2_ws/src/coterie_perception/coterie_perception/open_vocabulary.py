"""The detector `open_vocabulary`: Grounding DINO, OWLv2 or OmDet-Turbo, by transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from coterie_core.detections import ImageDetection
from coterie_core.detector_options import DetectorOptions
from coterie_perception.detector import (
    ColorDetector,
    DetectorError,
    Pixels,
    checked,
    named_detections,
)
from coterie_perception.prompt_words import PromptWords

_INSTALL = "pip install torch torchvision transformers"


class OpenVocabularyDetector(ColorDetector):
    """A zero-shot detector of transformers, which looks for words.

    Raises:
        DetectorError: transformers or torch is not installed, or the model cannot be loaded.
    """

    def __init__(self, options: DetectorOptions) -> None:
        if not options.file:
            what = "folder or name, such as google/owlv2-base-patch16-ensemble"
            raise DetectorError(f"give the model that transformers is to load: file ({what})")
        try:
            import torch
            from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor
        except ImportError as error:
            raise DetectorError(f"{error.name} is not installed; run: {_INSTALL}") from None
        torch.set_num_threads(options.threads)
        try:
            # Code that lies beside a model is never run (trust_remote_code).
            self._processor = AutoProcessor.from_pretrained(options.file)
            self._model = AutoModelForZeroShotObjectDetection.from_pretrained(options.file).eval()
        except Exception as error:  # a dozen kinds, by model and by network
            text = " ".join(str(error).split())[:300]
            raise DetectorError(f"file: {options.file} cannot be loaded: {text}") from error
        self._torch = torch
        self._prompt = PromptWords(options.words)
        self._min_score = options.min_score
        self.name = Path(options.file).name

    def look_for(self, words: Sequence[str]) -> None:
        """Put these words first in the prompt."""
        self._prompt.add(words)

    def detect(self, image: Pixels) -> list[ImageDetection]:
        """Return what is in an image (rows, cols, 3), RGB."""
        rows, cols = checked(image).shape[:2]
        words = list(self._prompt.words)
        given = self._processor(
            images=Image.fromarray(image), text=[words], return_tensors="pt", truncation=True
        )
        with self._torch.inference_mode():
            made = self._model(**given)
        (found,) = self._processor.post_process_grounded_object_detection(
            made, threshold=self._min_score, target_sizes=[(rows, cols)], text_labels=[words]
        )
        names = [str(one) for one in found["text_labels"]]
        boxes, scores = found["boxes"].numpy(), found["scores"].numpy()
        return named_detections(boxes, names, scores, (cols, rows), self._min_score)
