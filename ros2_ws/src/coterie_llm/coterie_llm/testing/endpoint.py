"""A real HTTP server on this machine that speaks chat completions, and fails on demand.

    with Endpoint(lambda request: {"place": "p3"}) as endpoint:
        endpoint.fail(rate_limit(retry_after="1"), server_error())
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="test")

It runs in a thread with an event loop of its own, so it serves synchronous tests, asynchronous
tests and other processes alike. Faults are served first, one per request, then the responder
answers.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from coterie_llm.testing.faults import (
    BROKEN_CONTENT,
    BROKEN_JSON,
    CUT_OFF,
    HTML,
    Cut,
    Drip,
    Echo,
    EmptyChoices,
    Fault,
    Hang,
    Huge,
    Obey,
    Raw,
    Refusal,
    Says,
    Status,
    form_unsupported,
    rate_limit,
    server_error,
)

__all__ = [
    "Answer",
    "BROKEN_CONTENT",
    "BROKEN_JSON",
    "CUT_OFF",
    "Cut",
    "Drip",
    "Echo",
    "EmptyChoices",
    "Endpoint",
    "Fault",
    "HTML",
    "Hang",
    "Huge",
    "Obey",
    "Raw",
    "Received",
    "Refusal",
    "Responder",
    "Says",
    "Status",
    "form_unsupported",
    "rate_limit",
    "server_error",
    "silent",
]

#: What a responder returns: text; a dict or list, which becomes JSON text; or a `Fault`.
Answer = Any
Responder = Callable[[dict[str, Any]], Answer]

_MAX_REQUEST_BYTES = 64_000_000


@dataclasses.dataclass
class Received:
    """One request as it arrived.

    Attributes:
        method: HTTP method.
        path: Path.
        headers: Headers, names in lower case.
        body: The JSON body; empty for GET.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All of the prompt's text."""
        parts = []
        for message in self.body.get("messages", []):
            content = message.get("content")
            if isinstance(content, list):
                parts += [part.get("text", "") for part in content]
            else:
                parts.append(str(content))
        return "\n".join(parts)


def silent(request: dict[str, Any]) -> Answer:
    """The default responder: an empty JSON object."""
    return {}


class Endpoint:
    """The server. Use it as a context manager, plain or asynchronous.

    Args:
        responder: Called with the request's JSON body in the server's thread; returns the reply,
            to `/embeddings` a list of rows of numbers.
        model: Name that `/v1/models` lists and answers carry.
        usage: Reported token counts (prompt, completion); None: none are reported.
        delay_s: Waits before every answer [s].
        dead: Nothing is answered at all, as by a machine that hangs.
        key: Requests without `Authorization: Bearer <key>` get HTTP 401; None: no key needed.

    Attributes:
        received: All requests to chat completions, in order of arrival.
        running: Requests being answered now.
        most_running: The most that were answered at a time.
    """

    def __init__(
        self,
        responder: Responder = silent,
        *,
        model: str = "test-model",
        usage: tuple[int, int] | None = (100, 20),
        delay_s: float = 0.0,
        dead: bool = False,
        key: str | None = None,
    ) -> None:
        self.responder = responder
        self.model = model
        self.usage = usage
        self.delay_s = delay_s
        self.dead = dead
        self.key = key
        self.received: list[Received] = []
        self.running = 0
        self.most_running = 0
        self._faults: collections.deque[Fault] = collections.deque()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._port = 0

    @property
    def url(self) -> str:
        """Base URL for clients."""
        return f"http://127.0.0.1:{self._port}/v1"

    def fail(self, *faults: Fault) -> None:
        """Queue faults: each of the next requests meets one."""
        self._faults.extend(faults)

    def start(self) -> Endpoint:
        """Start serving; returns when the port is open."""
        self._thread = threading.Thread(target=self._run, name="endpoint", daemon=True)
        self._thread.start()
        if not self._ready.wait(30.0):
            raise RuntimeError("the test endpoint did not start within 30 s")
        return self

    def stop(self) -> None:
        """Stop serving, cut what is open, wait for the thread."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30.0)
        self._thread = None

    def __enter__(self) -> Endpoint:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Endpoint:
        return self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.stop)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._connection(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                connections.discard(task)
                writer.transport.abort()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1_000_000)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                if name:
                    headers[name.strip().lower()] = value.strip()
            length = min(int(headers.get("content-length", "0")), _MAX_REQUEST_BYTES)
            raw = await reader.readexactly(length)
            request = Received(method, path, headers, json.loads(raw) if raw else {})
            if not await self._answer(request, writer):
                return

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is over."""
        if self.dead:
            await asyncio.sleep(3600.0)
        if request.path.endswith("/models"):
            listed = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
            return await self._send(writer, 200, json.dumps(listed).encode())
        if request.path.endswith("/embeddings"):
            return await self._send(writer, 200, self._embeddings(self.responder(request.body)))
        if not request.path.endswith("/chat/completions"):
            return await self._send(writer, 404, _error_body("no such path", "not_found"))
        self.received.append(request)
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return await self._send(writer, 401, _error_body("wrong key", "invalid_api_key"))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            answer: Answer = self._faults.popleft() if self._faults else Fault()
            if type(answer) is Fault or isinstance(answer, Drip):
                drip = answer if isinstance(answer, Drip) else None
                try:
                    answer = self.responder(request.body)
                except Exception as error:
                    answer = Status(500, f"the responder raised {type(error).__name__}: {error}")
                if drip is not None and not isinstance(answer, Fault):
                    return await self._drip(writer, self._completion(answer), drip.pause_s)
            return await self._give(answer, request, writer)
        finally:
            self.running -= 1

    async def _give(self, answer: Answer, request: Received, writer: asyncio.StreamWriter) -> bool:
        if isinstance(answer, Status):
            body = _error_body(answer.message, answer.code)
            return await self._send(writer, answer.status, body, headers=answer.headers)
        if isinstance(answer, Hang):
            await asyncio.sleep(answer.seconds)
            return False
        if isinstance(answer, Cut):
            if not answer.before_headers:
                body = self._completion({"place": "p3"})
                writer.write(_head(200, len(body)) + body[: len(body) // 2])
                await writer.drain()
            return False
        if isinstance(answer, Raw):
            return await self._send(
                writer, answer.status, answer.body, content_type=answer.content_type
            )
        if isinstance(answer, Huge):
            return await self._huge(writer, answer.size)
        if isinstance(answer, Says):
            body = self._completion(answer.content, finish_reason=answer.finish_reason)
        elif isinstance(answer, Refusal):
            body = self._completion(None, refusal=answer.words)
        elif isinstance(answer, EmptyChoices):
            body = self._completion(None, choices=False)
        elif isinstance(answer, Obey):
            ordered = request.text.partition(answer.marker)[2]
            start = ordered.find("{")
            # A quoted label arrives with its quotes escaped; a gullible model would not mind.
            ordered = ordered[start:].replace('\\"', '"').replace("'", '"')
            body = self._completion(ordered[: ordered.find("}") + 1])
        elif isinstance(answer, Echo):
            words = json.dumps({"headers": request.headers, "body": request.body})
            auth = request.headers.get("authorization", "")
            echoed = (("X-Your-Authorization", auth), ("Location", f"http://x/?key={auth}"))
            body = _error_body(words, "bad_request")
            return await self._send(writer, answer.status, body, headers=echoed)
        else:
            body = self._completion(answer)
        return await self._send(writer, 200, body)

    def _embeddings(self, rows: Answer) -> bytes:
        """Rows of numbers as the protocol has them; anything else as it is."""
        data = rows
        if isinstance(rows, list):
            data = [
                {"object": "embedding", "index": k, "embedding": row} for k, row in enumerate(rows)
            ]
        return json.dumps({"object": "list", "model": self.model, "data": data}).encode()

    def _completion(
        self,
        content: Answer,
        *,
        finish_reason: str = "stop",
        refusal: str | None = None,
        choices: bool = True,
    ) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
        if isinstance(content, dict) and "tool_calls" in content:
            message = {"role": "assistant", "content": None, **content}
            finish_reason = "tool_calls"
        elif content is not None and not isinstance(content, str):
            message["content"] = json.dumps(content)
        answer: dict[str, Any] = {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]
            if choices
            else [],
        }
        if self.usage is not None:
            sent, made = self.usage
            answer["usage"] = {
                "prompt_tokens": sent,
                "completion_tokens": made,
                "total_tokens": sent + made,
            }
        return json.dumps(answer).encode()

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: bytes,
        *,
        content_type: str = "application/json",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> bool:
        writer.write(_head(status, len(body), content_type, headers) + body)
        await writer.drain()
        return True

    async def _drip(self, writer: asyncio.StreamWriter, body: bytes, pause_s: float) -> bool:
        writer.write(_head(200, len(body)))
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(pause_s)
        return True

    async def _huge(self, writer: asyncio.StreamWriter, size: int) -> bool:
        start = b'{"choices": [{"message": {"role": "assistant", "content": "'
        writer.write(_head(200, size) + start)
        left = size - len(start)
        while left > 0:
            chunk = b"a" * min(left, 65_536)
            left -= len(chunk)
            writer.write(chunk)
            await writer.drain()
        return False


def _head(
    status: int,
    length: int,
    content_type: str = "application/json",
    headers: tuple[tuple[str, str], ...] = (),
) -> bytes:
    lines = [
        f"HTTP/1.1 {status} Status",
        f"Content-Type: {content_type}",
        f"Content-Length: {length}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _error_body(message: str, code: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
