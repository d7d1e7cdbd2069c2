"""Any OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, ...) as a `LanguageModel`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import urllib.parse
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coterie_llm.dialect import Dialect
from coterie_llm.endpoint_settings import in_clear
from coterie_llm.errors import (
    BadReply,
    CutOff,
    LanguageError,
    MissingKey,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
    RequestRejected,
    ServerFault,
    parse_retry_after,
)
from coterie_llm.extract import extract_json
from coterie_llm.fence import inline_data
from coterie_llm.redact import Secret, scrub
from coterie_llm.tokens import FREE, Prices, estimate_prompt, estimate_tokens
from coterie_llm.types import LanguageModel, ModelRequest, Reply, ToolCall, Usage
from coterie_llm.waiting import within

if TYPE_CHECKING:
    import openai

_LOG = logging.getLogger(__name__)
DEFAULT_URL = "https://api.openai.com/v1"
MAX_REPLY_BYTES: int = 2_000_000
# A new endpoint may need this many requests until its dialect is known.
_DIALECT_TRIES = 6
_CONNECT_TIMEOUT_S = 10.0
_NO_IMAGES = re.compile(r"image (input )?(is |are )?not supported", re.IGNORECASE)


def read_key(api_key_env: str, env: Mapping[str, str], base_url: str) -> Secret:
    """Read a key for an endpoint from the environment; warn where it goes there unencrypted.

    Raises:
        MissingKey: The variable is not set or empty, or holds what cannot be a key.
    """
    value = env.get(api_key_env, "").strip()
    if not value:
        raise MissingKey(
            f"environment variable {api_key_env} is not set, and the model profile names it as the "
            f"place of its key; run: export {api_key_env}=... "
            "(or leave api_key_env out if the endpoint needs no key)"
        )
    if in_clear(base_url):
        _LOG.warning(
            "the key in $%s goes to %s unencrypted: whoever reads the network reads it; use https, "
            "or a tunnel",
            api_key_env,
            base_url,
        )
    if not value.isascii() or not value.isprintable() or " " in value:
        raise MissingKey(
            f"environment variable {api_key_env} holds spaces or characters that no key has; "
            "set it to the key alone"
        )
    return Secret(value)


class OpenAIModel(LanguageModel):
    """Chat completions over HTTP, with structured output, tools and images.

    The form of a reply is asked for as JSON schema, else as JSON object, else in words, whatever
    the endpoint takes. Retries are left to `Retrying`. One client per event loop is made when first
    needed.

    Args:
        model: Name of the model at the endpoint.
        base_url: The endpoint, ending in `/v1` as a rule.
        api_key_env: Environment variable that holds the key; None: the endpoint needs none.
        timeout_s: Seconds per attempt [s].
        prices: Prices, for the cost in `Usage`.
        longest_reply_bytes: Longer replies are not read [bytes].
        env: The environment.

    Raises:
        MissingKey: The variable named is not set.
        RequestRejected: The endpoint is on another machine and that is forbidden here.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = DEFAULT_URL,
        api_key_env: str | None = None,
        timeout_s: float = 30.0,
        prices: Prices = FREE,
        longest_reply_bytes: int = MAX_REPLY_BYTES,
        env: Mapping[str, str] | None = None,
    ) -> None:
        # Heavy, so imported when a model is built and not with the package; and here rather than at
        # the first call, where it would hold up the event loop.
        import openai  # noqa: F401

        from coterie_llm.transport import refuse_remote

        env = os.environ if env is None else env
        parts = urllib.parse.urlsplit(base_url)
        self._host = parts.hostname or ""
        # Both environments count: a caller with an environment of its own cannot switch a test's
        # guard off.
        refuse_remote(self._host, os.environ)
        refuse_remote(self._host, env)
        self.name = model
        self.base_url = base_url
        self._key = None if api_key_env is None else read_key(api_key_env, env, base_url)
        self._key_env = api_key_env
        self._timeout_s = timeout_s
        self._prices = prices
        self._longest_reply_bytes = longest_reply_bytes
        self._dialect = Dialect()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI]
        self._clients = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.base_url!r})"

    async def complete(self, request: ModelRequest) -> Reply:
        """Ask the endpoint once.

        Raises:
            ModelTimeout: No complete reply in time.
            RateLimited: HTTP 429.
            ServerFault: HTTP 5xx, or a body that is not the protocol.
            ModelUnavailable: No connection, or it broke.
            RequestRejected: Any other HTTP status.
            BadReply: A reply that cannot be used.
        """
        timeout_s = self._timeout_s
        if request.timeout_s is not None:
            timeout_s = min(timeout_s, request.timeout_s)
        return await within(self._ask(request), timeout_s, f"{self.name} at {self._host}")

    def form_of(self, schema: Mapping[str, Any]) -> str:
        """Return how the endpoint was last asked for the form of such a reply."""
        return self._dialect.form_of(schema)

    async def lives(self, timeout_s: float) -> bool:
        """Return whether the endpoint answers anything at all: it is asked for its models."""
        import openai

        async def ask() -> bool:
            try:
                await self._client().models.with_raw_response.list()
            except openai.APIStatusError:
                return True
            except (openai.OpenAIError, LanguageError):
                return False
            return True

        try:
            return await within(ask(), timeout_s, f"models of {self._host}")
        except LanguageError:
            return False

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _ask(self, request: ModelRequest) -> Reply:
        for _ in range(_DIALECT_TRIES):
            try:
                text = await self._post(self._dialect.body(self.name, request))
            except RequestRejected as error:
                if error.status in (400, 422) and self._dialect.learn(request, str(error)):
                    continue
                raise
            return self._read(request, text)
        raise RequestRejected(f"{self.name} at {self._host} refuses every form of this request")

    async def _post(self, body: dict[str, Any]) -> str:
        import openai

        # Errors are built here and raised below, outside the handlers: an exception that came from
        # another drags it along, and with it requests, headers and whatever the endpoint echoed.
        error: LanguageError
        try:
            raw = await self._client().chat.completions.with_raw_response.create(**body)
            return scrub(raw.http_response.content.decode("utf-8-sig", "replace"))
        except openai.APITimeoutError:
            error = ModelTimeout(f"{self.name} at {self._host}: connection timed out")
        except openai.APIConnectionError as failure:
            error = self._from_connection(failure)
        except openai.APIStatusError as failure:
            error = self._from_status(failure)
        except LanguageError as failure:
            error = failure
            error.__context__ = None
        except openai.OpenAIError as failure:
            kind = type(failure).__name__
            error = ServerFault(f"{self.name} at {self._host}: {kind}: {_words(str(failure))}")
        raise error

    def _client(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            import httpx2
            import openai

            from coterie_llm.transport import GuardedTransport

            transport = GuardedTransport(self.base_url, self._key, self._longest_reply_bytes)
            client = openai.AsyncOpenAI(
                api_key="kept-by-the-transport",
                base_url=self.base_url,
                max_retries=0,
                http_client=httpx2.AsyncClient(
                    transport=transport,
                    timeout=httpx2.Timeout(None, connect=_CONNECT_TIMEOUT_S),
                    follow_redirects=False,
                    trust_env=False,
                ),
            )
            self._clients[loop] = client
        return client

    def _from_connection(self, failure: openai.APIConnectionError) -> LanguageError:
        cause = failure.__cause__
        kind = type(cause).__name__ if cause is not None else "no connection"
        unsent = kind in ("ConnectError", "ConnectTimeout", "PoolTimeout")
        if unsent:
            return ModelUnavailable(
                f"no connection to {self._host} ({kind}); is the model server running, and is "
                f"base_url right? It is {self.base_url}"
            )
        return ModelUnavailable(
            f"the connection to {self._host} broke before the reply was complete ({kind})",
            maybe_billed=True,
        )

    def _from_status(self, failure: openai.APIStatusError) -> LanguageError:
        status = failure.status_code
        headers = failure.response.headers
        detail, code = _error_words(failure.response.text)
        where = f"{self.name} at {self._host}: HTTP {status}"
        wait_s = parse_retry_after(headers.get("retry-after"))
        if status == 429 and "insufficient_quota" in code:
            spent = RequestRejected(f"{where}: the account has no quota left: {detail}", status=429)
            spent.endpoint_down = True
            return spent
        if status == 429:
            return RateLimited(f"{where}: too many requests: {detail}", retry_after_s=wait_s)
        if status == 408:
            return ModelTimeout(f"{where}: {detail}")
        if status >= 500 and _NO_IMAGES.search(detail):  # llama.cpp's: nothing is broken
            return RequestRejected(f"{where}: {detail}", status=status)
        if status >= 500 or status in (409, 425):
            return ServerFault(f"{where}: {detail}", status=status, retry_after_s=wait_s)
        if status in (401, 403):
            key = f"the key in {self._key_env}" if self._key_env else "api_key_env (none is named)"
            return RequestRejected(f"{where}: access refused, check {key}: {detail}", status=status)
        if status == 404:
            return RequestRejected(
                f"{where}: check base_url ({self.base_url}) and model: {detail}", status=status
            )
        if 300 <= status < 400:
            to = _words(scrub(headers.get("location", "elsewhere")))
            moved = RequestRejected(
                f"{where}: redirected to {to}; set base_url to where the endpoint is", status=status
            )
            moved.endpoint_down = True
            return moved
        return RequestRejected(f"{where}: {detail}", status=status)

    def _read(self, request: ModelRequest, text: str) -> Reply:
        where = f"{self.name} at {self._host}"
        try:
            payload = _scrubbed(json.loads(text))
        except (ValueError, RecursionError):
            raise ServerFault(
                f"{where}: the answer is not JSON but begins with '{_words(text[:200], 60)}'; "
                "is base_url the endpoint's (it often ends in /v1)?",
                maybe_billed=True,
            ) from None
        if not isinstance(payload, dict):
            raise ServerFault(f"{where}: the answer is JSON but no object", maybe_billed=True)
        if "choices" not in payload and "error" in payload:
            raise ServerFault(f"{where}: {_words(json.dumps(payload['error']))}")
        choices = payload.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        content = _content(message) if isinstance(message, dict) else ""
        field, thoughts = _thoughts(message) if isinstance(message, dict) else ("", "")
        if not content.strip() and _is_object(thoughts):  # all that was said, in the wrong field
            content = thoughts
        usage = self._usage(request, payload.get("usage"), content)
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise BadReply("the endpoint returned no choice; answer the question", usage=usage)
        if message.get("refusal"):
            words = _words(str(message["refusal"]))
            raise BadReply(f"the model refused: {words}", text=content[:2000], usage=usage)
        finish = str(choice.get("finish_reason") or "stop")
        if finish == "length":
            raise CutOff(
                request.max_tokens,
                thought=not content.strip(),
                text=content[:2000],
                usage=usage,
            )
        if finish == "content_filter":
            raise BadReply("the endpoint's content filter held the reply back", usage=usage)
        calls = self._tool_calls(request, message.get("tool_calls"), usage)
        parsed = None
        if request.schema is not None and not calls:
            try:
                if thoughts and not content.strip():
                    raise BadReply(
                        f"the reply is empty, and all text is in {field!r}: set up the endpoint's "
                        "reasoning parser for this model, or turn it off",
                        text=thoughts[:2000],
                    )
                parsed = extract_json(content)
            except BadReply as error:
                error.usage = usage
                raise
        return Reply(content, parsed, calls, usage, str(payload.get("model", "")), finish)

    def _usage(self, request: ModelRequest, reported: Any, content: str) -> Usage:
        if isinstance(reported, dict):
            sent = reported.get("prompt_tokens")
            made = reported.get("completion_tokens")
            if isinstance(sent, int) and isinstance(made, int) and sent >= 0 and made >= 0:
                if sent or made:
                    return self._prices.usage(sent, made)
        return self._prices.usage(
            estimate_prompt(request), estimate_tokens(content), estimated=True
        )

    def _tool_calls(self, request: ModelRequest, raw: Any, usage: Usage) -> tuple[ToolCall, ...]:
        if not isinstance(raw, list) or not raw:
            return ()
        known = {tool.name for tool in request.tools}
        calls = []
        for item in raw:
            function = item.get("function") if isinstance(item, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if not isinstance(function, dict) or not isinstance(name, str) or name not in known:
                raise BadReply(
                    f"there is no tool '{_words(str(name), 60)}'; the tools are "
                    f"{', '.join(sorted(known)) or 'none'}",
                    usage=usage,
                )
            arguments = function.get("arguments") or "{}"
            try:
                values = json.loads(arguments) if isinstance(arguments, str) else arguments
            except (ValueError, RecursionError):
                values = None
            if not isinstance(values, dict):
                raise BadReply(f"the arguments of tool '{name}' are no JSON object", usage=usage)
            calls.append(ToolCall(str(item.get("id", "")), name, values))
        return tuple(calls)


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # some endpoints return parts
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _thoughts(message: dict[str, Any]) -> tuple[str, str]:
    """The field that holds what a model thought, and its text."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(text := message.get(field), str) and text.strip():
            return field, text
    return "", ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _words(text: str, limit: int = 300) -> str:
    return inline_data(scrub(text), limit=limit)


def _error_words(text: str) -> tuple[str, str]:
    """Message and code of an endpoint's error body."""
    try:
        error = json.loads(text).get("error")
    except (ValueError, AttributeError, RecursionError):
        error = None
    if isinstance(error, dict):
        return _words(str(error.get("message", error))), str(error.get("code", ""))
    return _words(text) or "no details given", ""


def _scrubbed(value: Any) -> Any:
    """Plain data without keys (an escape may have hidden one in the raw body)."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {scrub(name): _scrubbed(item) for name, item in value.items()}
    return value
