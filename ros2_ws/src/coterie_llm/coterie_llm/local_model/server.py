"""The program that serves a local model: llama.cpp's server on loopback, bounded, with a key.

    python -m coterie_llm.local_model.server --file MODEL.gguf --port 8089

It ends with SIGINT or SIGTERM, and with whoever started it (`--parent`). The key that requests must
carry is in the environment, where other users of the machine cannot read it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from coterie_llm.local_model.files import FileTrouble, model_file, model_name, require_server

#: Variable that holds the key which requests must carry.
KEY_VARIABLE = "COTERIE_LOCAL_MODEL_KEY"

_WARNINGS = 2
_PARENT_LOOKED_AT_S = 1.0
# Prompts that lost their slot are kept so that a robot's next prompt need not be read again [MiB].
_KEPT_PROMPTS_MIB = 64
_KEPT_ALIVE_S = 600
_PART_TOKENS = 128


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to end; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", type=Path, help="GGUF file; default: the model in the box")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--threads", type=int, default=1, help="threads that compute")
    parser.add_argument("--context", type=int, default=4096, help="tokens of one conversation")
    parser.add_argument("--parallel", type=int, default=2, help="conversations at a time")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    given = parser.parse_args(arguments)
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        require_server()
        file = model_file(given.file)
        server = _serve(given, file)
    except (FileTrouble, RuntimeError) as error:
        print(f"local model: {error}", file=sys.stderr, flush=True)
        return 1
    print(
        f"{model_name(given.file)} at {server.listening_address}: {given.parallel} conversations "
        f"of {given.context} tokens, {given.threads} thread(s), {memory_mb():.0f} MB",
        flush=True,
    )
    while not ended.wait(_PARENT_LOOKED_AT_S):
        if given.parent and os.getppid() != given.parent:
            break
    # llama.cpp finishes the batch that it computes, which may take seconds; nobody waits for it.
    os._exit(0)


def _serve(given: argparse.Namespace, file: Path) -> Any:
    """Start the server in threads of its own.

    Raises:
        RuntimeError: The file cannot be loaded, or the port is taken.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {model_name(given.file)}
    params.hostnames = ["127.0.0.1"]
    params.port = given.port
    params.n_parallel = given.parallel
    params.n_ctx = given.context * given.parallel
    # More threads than free cores spin on barriers: tens of times slower than one.
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = given.threads
        threads.poll = 0
    # A prompt is read in such parts; between them others get their turn, and who left is noticed.
    params.n_batch = params.n_ubatch = _PART_TOKENS
    params.n_threads_http = given.parallel + 8  # whoever waits for a slot holds one
    params.cache_ram_mib = _KEPT_PROMPTS_MIB
    params.timeout_read = params.timeout_write = _KEPT_ALIVE_S
    params.verbosity = _WARNINGS
    params.ui = params.endpoint_slots = False
    params.offline = True
    key = os.environ.get(KEY_VARIABLE, "")
    if key:
        params.api_keys = [key]
    return xllamacpp.Server(params)


def memory_mb(pid: int | None = None) -> float:
    """Return how much memory a process holds now [MB]; 0 where it does not exist."""
    try:
        status = Path(f"/proc/{pid or os.getpid()}/status").read_text()
    except OSError:
        return 0.0
    held = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return int(held[0]) / 1000 if held else 0.0  # one that has ended holds none


if __name__ == "__main__":
    sys.exit(main())
