"""Starting and ending the servers of local models, and telling other processes where they are.

One server serves all that use the same model with the same settings: whoever starts one, a team's
supervisor or a command, writes address and key into its environment, and the processes that it
starts find it there.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from coterie_llm.errors import NoLocalModel
from coterie_llm.local_model.files import FileTrouble, model_file, model_name, require_server
from coterie_llm.local_model.server import KEY_VARIABLE
from coterie_llm.profile import ModelProfile

#: Variable with the servers that run: JSON, address and key by the hash of their settings.
SERVERS_VARIABLE = "COTERIE_LOCAL_MODELS"

_START_WITHIN_S = 120.0
_END_WITHIN_S = 5.0


@dataclass(frozen=True)
class LocalServer:
    """A server of a local model, running or to be started.

    Attributes:
        identity: Hash of the settings that it serves.
        port: Port of 127.0.0.1.
        key: Key that requests must carry.
        arguments: Command that starts it.
    """

    identity: str
    port: int
    key: str
    arguments: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """What the command needs beside the caller's environment."""
        return {KEY_VARIABLE: self.key}


def server_for(profile: ModelProfile) -> LocalServer:
    """Describe a server for a profile of kind `local`: a free port, a new key, the command.

    Raises:
        NoLocalModel: The server or the model's file is not there.
    """
    try:
        require_server()
        file = model_file(profile.file)
    except FileTrouble as trouble:
        raise NoLocalModel(str(trouble)) from None
    settings = ["--threads", profile.threads, "--context", profile.conversation_tokens]
    settings += ["--parallel", profile.parallel]
    if profile.file is not None:
        settings += ["--file", file]
    port = _free_port()
    command = [sys.executable, "-m", "coterie_llm.local_model.server", "--port", port, *settings]
    return LocalServer(
        identity_of(profile), port, secrets.token_urlsafe(24), tuple(map(str, command))
    )


def served_name(profile: ModelProfile) -> str:
    """Return the name under which a profile of kind `local` is served, recorded and metered."""
    return profile.model or model_name(profile.file)


def identity_of(profile: ModelProfile) -> str:
    """Return a hash of what a profile is served with: profiles with the same one share a server."""
    file = None if profile.file is None else str(profile.file.resolve())
    settings = [file, profile.threads, profile.conversation_tokens, profile.parallel]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]


def announced(servers: Iterable[LocalServer], env: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that tells other processes of servers, beside those in `env`."""
    known = _known(env) | {s.identity: {"port": s.port, "key": s.key} for s in servers}
    return {SERVERS_VARIABLE: json.dumps(known)} if known else {}


def running(profile: ModelProfile, env: Mapping[str, str]) -> LocalServer | None:
    """Return the server of a profile that the environment tells of; None where there is none."""
    identity = identity_of(profile)
    found = _known(env).get(identity)
    if not isinstance(found, dict):
        return None
    port, key = found.get("port"), found.get("key")
    return LocalServer(identity, port, key) if isinstance(port, int) and key else None


def ensure_served(profile: ModelProfile) -> LocalServer | None:
    """Return the server of a profile, started for this process and its children if none runs.

    It ends with this process.

    Args:
        profile: Any profile; of another kind than `local` it needs no server, and None is returned.

    Raises:
        NoLocalModel: It is not installed, or does not start.
    """
    if profile.kind != "local":
        return None
    with _starting:
        found = running(profile, os.environ)
        if found is not None:
            return found
        server = server_for(profile)
        process = _start(server)
        atexit.register(_end, process, os.getpid())
        os.environ.update(announced([server], os.environ))
        return server


_starting = threading.Lock()


def _start(server: LocalServer) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*server.arguments, "--parent", str(os.getpid())],
        env={**os.environ, **server.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a terminal's Ctrl-C ends the command, and that ends the server
    )
    said = _tail_of(process)
    deadline = time.monotonic() + _START_WITHIN_S
    while not _healthy(server):
        if process.poll() is not None:
            raise NoLocalModel(f"the local model did not start: {said()}")
        if time.monotonic() > deadline:
            _end(process, os.getpid())
            raise NoLocalModel(
                f"the local model did not start within {_START_WITHIN_S:.0f} s: {said()}"
            )
        time.sleep(0.05)
    return process


def _tail_of(process: subprocess.Popen[bytes]) -> Callable[[], str]:
    """Read a process's complaints so that it never waits for us; return who tells the last one."""
    last = ["it said nothing"]

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            last[0] = line.decode("utf-8", "replace").strip() or last[0]

    reader = threading.Thread(target=read, name="local model", daemon=True)
    reader.start()

    def tell() -> str:
        reader.join(1.0)
        return last[0]

    return tell


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a forked child that ends must not end its parent's server
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_WITHIN_S)


def _healthy(server: LocalServer) -> bool:
    try:
        # No proxy: this machine's loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{server.port}/health", timeout=2.0) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _known(env: Mapping[str, str]) -> dict[str, object]:
    try:
        known = json.loads(env.get(SERVERS_VARIABLE, "{}"))
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
