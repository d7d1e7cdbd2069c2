"""Real classes of transformers with few and random weights, saved and loaded as users' are."""

import json

import numpy as np
import pytest

from coterie_core.detector_options import DetectorOptions
from coterie_perception.detector import DetectorError, make_detector
from coterie_perception.prompt_words import MOST_WORDS, PromptWords

IMAGE = np.random.default_rng(3).integers(0, 255, (48, 64, 3), np.uint8)
WORDS = ("a cup", "a red chair")


def test_prompt_words_are_what_the_team_asked_for_then_the_given_ones():
    words = PromptWords(("cup", "chair"))
    words.add(["Keys!", "chair"])
    assert words.words == ("chair", "keys", "cup")
    words.add([f"thing {k}" for k in range(100)])
    assert len(words.words) == MOST_WORDS and words.words[0] == "thing 99"
    assert len(PromptWords(()).words) == MOST_WORDS


@pytest.fixture
def torch():
    pytest.importorskip("transformers", reason="pip install torch transformers")
    found = pytest.importorskip("torch", reason="pip install torch transformers")
    found.manual_seed(0)
    return found


def clip_tokenizer(folder):
    from transformers import CLIPTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = [*letters, *(f"{one}</w>" for one in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: k for k, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    made = CLIPTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16
    )
    return made, len(tokens)


def bert_tokenizer(folder):
    from transformers import BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "a", "cup", "red", "chair"]
    (folder / "vocab.txt").write_text("\n".join(words))
    return BertTokenizer(str(folder / "vocab.txt"), model_max_length=32), len(words)


def save_owlv2(folder):
    from transformers import Owlv2Config, Owlv2ForObjectDetection, Owlv2Processor
    from transformers import Owlv2ImageProcessor as Images

    tokenizer, count = clip_tokenizer(folder)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
             "num_attention_heads": 2}  # fmt: skip
    text = {**small, "vocab_size": count, "max_position_embeddings": 16, "bos_token_id": count - 2,
            "eos_token_id": count - 1, "pad_token_id": 0}  # fmt: skip
    vision = {**small, "image_size": 32, "patch_size": 8}
    config = Owlv2Config(text_config=text, vision_config=vision, projection_dim=16)
    Owlv2ForObjectDetection(config).save_pretrained(folder)
    images = Images(size={"height": 32, "width": 32})
    Owlv2Processor(images, tokenizer).save_pretrained(folder)


def save_grounding_dino(folder):
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessor,
        GroundingDinoProcessor,
        SwinConfig,
    )

    tokenizer, count = bert_tokenizer(folder)
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1], window_size=2,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=BertConfig(
            vocab_size=count, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16,
        ),
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=9,
        max_text_len=32,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = GroundingDinoImageProcessor(size={"height": 128, "width": 128})
    GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)


@pytest.mark.parametrize("save", [save_owlv2, save_grounding_dino])
def test_a_model_of_transformers_finds_boxes_for_words(torch, tmp_path, save):
    save(tmp_path)
    detector = make_detector(
        "open_vocabulary", DetectorOptions(file=str(tmp_path), words=WORDS, min_score=0.01)
    )
    found = detector.detect(IMAGE)
    assert found
    for one in found:
        x, y, width, height = one.box
        assert 0 <= x < x + width <= 64 and 0 <= y < y + height <= 48
    sure = make_detector(
        "open_vocabulary", DetectorOptions(file=str(tmp_path), words=WORDS, min_score=0.99)
    )
    assert len(sure.detect(IMAGE)) < len(found)
    detector.look_for(["red cup"])
    assert detector.detect(IMAGE) != found


def test_what_is_no_model_is_refused(torch, tmp_path):
    with pytest.raises(DetectorError, match="cannot be loaded"):
        make_detector("open_vocabulary", DetectorOptions(file=str(tmp_path)))


def test_without_transformers_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DetectorError, match="torch is not installed; run: pip install torch"):
        make_detector("open_vocabulary", DetectorOptions(file="some/model"))
