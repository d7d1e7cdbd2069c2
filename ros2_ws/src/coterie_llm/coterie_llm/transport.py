"""The HTTP side of `OpenAIModel`: puts the key on, bounds what is read, stays local in tests.

The key is put on the request here and nowhere else: the client above, its exceptions and its logs
never hold it. Only the headers that the protocol needs are sent; nothing about this machine goes to
the endpoint.
"""

from __future__ import annotations

import ipaddress
import os
import urllib.request
from collections.abc import AsyncIterator, Mapping

import httpx2

from coterie_llm.errors import BadReply, RequestRejected
from coterie_llm.redact import Secret

#: With this set to 1 no model beyond this machine can be asked. The tests set it.
LOCAL_ONLY_VARIABLE = "COTERIE_TEST_LOCAL_ONLY"

_SENT_HEADERS = ("host", "content-type", "content-length", "transfer-encoding")
_ERROR_BYTES = 64_000


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's loopback."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refuse_remote(host: str, env: Mapping[str, str]) -> None:
    """Make calls to other machines impossible where that is wanted.

    Raises:
        RequestRejected: The variable is set and the host is not this machine.
    """
    if env.get(LOCAL_ONLY_VARIABLE) == "1" and not is_loopback(host):
        raise RequestRejected(
            f"'{host}' is not this machine and {LOCAL_ONLY_VARIABLE}=1 allows no other; "
            "in a test use a server on this machine or a cassette"
        )


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL; none for this machine."""
    parsed = httpx2.URL(url)
    if is_loopback(parsed.host) or urllib.request.proxy_bypass(parsed.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parsed.scheme) or proxies.get("all")


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests with the key, and reads no more than allowed.

    Args:
        url: The endpoint's base URL.
        key: The key, or None for a keyless endpoint.
        longest_reply_bytes: Longest reply that is read [bytes].
    """

    def __init__(self, url: str, key: Secret | None, longest_reply_bytes: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport(proxy=proxy_for(url))
        self._key = key
        self._longest = longest_reply_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        refuse_remote(request.url.host, os.environ)
        headers = {name: request.headers[name] for name in _SENT_HEADERS if name in request.headers}
        headers.update(
            {"accept": "application/json", "accept-encoding": "identity", "user-agent": "coterie"}
        )
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.reveal()}"
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        response = await self._inner.handle_async_request(sent)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        failed = response.status_code >= 300
        limit = _ERROR_BYTES if failed else self._longest
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Bounded(stream, limit, cut=failed),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """A body of bounded length: cut there, or refused."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, *, cut: bool) -> None:
        self._inner = inner
        self._limit = limit
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for chunk in self._inner:
            if len(chunk) <= left:
                left -= len(chunk)
                yield chunk
                continue
            if self._cut:
                yield chunk[:left]
                return
            raise BadReply(
                f"the reply is longer than {self._limit} bytes; reply with the JSON object only"
            )

    async def aclose(self) -> None:
        await self._inner.aclose()
