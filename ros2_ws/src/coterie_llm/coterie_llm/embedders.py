"""Text embedders: WordLlama and MiniLM on this machine, or an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from coterie_llm import LanguageError
from coterie_llm.endpoint_settings import EndpointSettings
from coterie_llm.openai_model import MAX_REPLY_BYTES, read_key
from coterie_llm.redact import scrub

#: What installs the embedders that run on this machine.
SETUP = "./coterie setup --with embeddings"

EmbedderKind = Literal["none", "wordllama", "minilm", "openai"]
Rows = npt.NDArray[np.float32]

_MAX_CHARS = 500
_TIMEOUT_S = 20.0


class EmbedderError(ValueError):
    """Texts cannot be embedded: says why and what to do."""


class TextEmbedder(Protocol):
    """Puts texts into a space in which nearness is likeness of meaning."""

    name: str

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return one row of length 1 per text (n, d).

        Raises:
            EmbedderError: The endpoint did not answer, or answered something else.
        """
        ...


class EmbedderOptions(EndpointSettings):
    """Which embedder compares words that no table lists. The default is none."""

    kind: EmbedderKind = Field(
        "none",
        description="Kind of embedder; none: words outside the tables stay unknown; wordllama: "
        "fast, coarse; minilm: slower, better; openai: an OpenAI-compatible endpoint.",
    )
    base_url: str | None = Field(
        None, description="URL of the endpoint of kind openai, often ending in /v1."
    )
    model: str | None = Field(None, description="Name of the embedding model at the endpoint.")
    api_key_env: str | None = Field(
        None, description="Environment variable that holds the endpoint's key; left out: no key."
    )

    @model_validator(mode="after")
    def _complete(self) -> EmbedderOptions:
        if self.kind == "openai" and not (self.base_url and self.model):
            raise ValueError("kind 'openai' needs base_url and model")
        stray = sorted(self.model_fields_set & {"base_url", "model", "api_key_env"})
        if self.kind != "openai" and stray:
            raise ValueError(f"kind '{self.kind}' has no {', '.join(stray)}; that is kind openai's")
        return self


def load_embedder(
    options: EmbedderOptions, env: Mapping[str, str] | None = None
) -> TextEmbedder | None:
    """Return the embedder of a setting; None for kind `none`.

    Raises:
        EmbedderError: It is not installed, or its key is not set.
    """
    if options.kind == "none":
        return None
    if options.kind == "openai":
        return OpenAIEmbedder(options, os.environ if env is None else env)
    return _local(options.kind)


@lru_cache(maxsize=2)
def _local(kind: EmbedderKind) -> TextEmbedder:
    return WordLlamaEmbedder() if kind == "wordllama" else MiniLMEmbedder()


def _unit(rows: npt.NDArray[Any], count: int, name: str) -> Rows:
    vectors = np.asarray(rows, np.float32)
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise EmbedderError(
            f"{name}: expected {count} rows of finite numbers, got shape {vectors.shape}"
        )
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise EmbedderError(f"package {package} is not installed; run: {SETUP}")
    return Path(found.origin).parent


class WordLlamaEmbedder:
    """Mean of static token vectors (256 numbers); thousands of texts per second."""

    name = "wordllama"

    def __init__(self) -> None:
        folder = _folder("wordllama")
        from wordllama import WordLlama

        # Its own folder as cache: the weights that the wheel carries are found there.
        self._model = WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return one row of length 1 per text (n, 256)."""
        return _unit(self._model.embed([t[:_MAX_CHARS] for t in texts]), len(texts), self.name)


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 (384 numbers): six layers of a BERT, its own weights, run with numpy.

    The library that usually runs it brings a deep-learning framework of 200 MB and more; the
    forward pass is the one of Devlin et al. 2018, with the mean over tokens as the text's vector.
    """

    name = "minilm"
    _HEADS, _LAYERS, _BATCH, _MOST_TOKENS = 12, 6, 32, 128

    def __init__(self) -> None:
        import io
        import zipfile

        path = _folder("all_minilm_l6_v2") / "model.zip"
        _folder("safetensors")
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        try:
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as packed:
                weights = load(packed.read("model.safetensors"))
                tokenizer = Tokenizer.from_str(packed.read("tokenizer.json").decode())
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise EmbedderError(f"{path} cannot be read ({error}); run: {SETUP}") from None
        tokenizer.enable_padding()
        tokenizer.enable_truncation(self._MOST_TOKENS)
        self._tokenizer, self._weights = tokenizer, weights

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return one row of length 1 per text (n, 384)."""
        rows = [
            self._forward([t[:_MAX_CHARS] for t in texts[i : i + self._BATCH]])
            for i in range(0, len(texts), self._BATCH)
        ]
        return _unit(np.concatenate(rows) if rows else np.zeros((0, 384)), len(texts), self.name)

    def _forward(self, texts: list[str]) -> Rows:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([one.ids for one in encoded])
        mask = np.array([one.attention_mask for one in encoded], np.float32)
        count, length = ids.shape
        x = (
            self._weights["embeddings.word_embeddings.weight"][ids]
            + self._weights["embeddings.position_embeddings.weight"][:length]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        hidden = x.shape[-1]
        away = (1.0 - mask)[:, None, None, :] * -1e9
        for layer in range(self._LAYERS):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{at}.attention.self.{part}")
                .reshape(count, length, self._HEADS, -1)
                .transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.swapaxes(2, 3) / np.sqrt(hidden // self._HEADS) + away
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            heard = (scores / scores.sum(-1, keepdims=True)) @ value
            heard = heard.transpose(0, 2, 1, 3).reshape(count, length, hidden)
            heard = self._linear(heard, f"{at}.attention.output.dense")
            x = self._norm(x + heard, f"{at}.attention.output.LayerNorm")
            inner = _gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean: Rows = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean

    def _linear(self, x: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _gelu(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    from scipy.special import erf

    half: npt.NDArray[Any] = 0.5 * x * (1.0 + erf(x / np.sqrt(2.0)))
    return half


class OpenAIEmbedder:
    """The embeddings of an OpenAI-compatible endpoint."""

    def __init__(self, options: EmbedderOptions, env: Mapping[str, str]) -> None:
        from coterie_llm.transport import refuse_remote

        assert options.base_url and options.model  # the options' own validation
        self.name = options.model
        self._url = options.base_url
        try:
            refuse_remote(urllib.parse.urlsplit(self._url).hostname or "", os.environ)
            key = options.api_key_env
            self._key = read_key(key, env, self._url) if key else None
        except LanguageError as error:
            raise EmbedderError(str(error)) from None

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return one row of length 1 per text (n, d).

        Raises:
            EmbedderError: No answer in 20 s, a refusal, or rows that are none.
        """
        with ThreadPoolExecutor(1) as thread:  # whoever asks may stand in an event loop
            rows = thread.submit(asyncio.run, self._ask([t[:_MAX_CHARS] or " " for t in texts]))
            return _unit(rows.result(), len(texts), self.name)

    async def _ask(self, texts: list[str]) -> Rows:
        import httpx2
        import openai

        from coterie_llm.transport import GuardedTransport

        transport = GuardedTransport(self._url, self._key, MAX_REPLY_BYTES)
        http = httpx2.AsyncClient(transport=transport, timeout=_TIMEOUT_S, trust_env=False)
        try:
            async with openai.AsyncOpenAI(
                api_key="kept-by-the-transport", base_url=self._url, max_retries=2, http_client=http
            ) as client:
                told = await client.embeddings.create(
                    model=self.name, input=texts, encoding_format="float"
                )
                return np.array([one.embedding for one in told.data], np.float32)
        except (openai.OpenAIError, LanguageError, ValueError, TypeError, AttributeError) as error:
            raise EmbedderError(
                f"{self.name} at {self._url}: {scrub(str(error))[:300]}; check base_url and model"
            ) from None
