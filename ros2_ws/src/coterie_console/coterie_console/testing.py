"""A headless Chromium for tests of pages, spoken to over its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip


def chromium() -> str | None:
    """Return the browser's program, or None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own; use as a context."""

    def __init__(self, program: str, width: int = 1500, height: int = 900) -> None:
        """Start the browser.

        Args:
            program: What `chromium` returned.
            width: Of the window [px].
            height: Of the window [px].
        """
        self._profile = Path(tempfile.mkdtemp(prefix="coterie-browser-"))
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--window-size={width},{height}",
             f"--user-data-dir={self._profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._number = 0
        self.console: list[str] = []
        try:
            self._socket = connect(self._target(), max_size=None)
            self.send("Page.enable")
            self.send("Runtime.enable")
            self.send(
                "Emulation.setDeviceMetricsOverride",
                width=width, height=height, deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._end()

    def open(self, url: str) -> None:
        """Go to a page."""
        self.send("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Return what a JavaScript expression (or its promise) gives."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}"[:500])
        return answer["result"].get("value")

    def frames(self, count: int) -> None:
        """Wait until the page has been drawn so many times."""
        for _ in range(count):
            self.run("new Promise(done => requestAnimationFrame(() => done(1)))")

    def wait_for(self, script: str, within: float = 60.0) -> Any:
        """Wait until an expression is true and return it; many times longer than it takes."""
        end = time.monotonic() + within
        while not (value := self.run(script)):
            if time.monotonic() > end:
                text = self.run("document.body?.innerText")
                raise AssertionError(f"not within {within} s: {script}; the page says: {text}")
            time.sleep(0.05)
        return value

    def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.wait_for(f"(document.body?.innerText ?? '').includes({json.dumps(text)})")

    def press(self, text: str) -> None:
        """Click the button whose label holds a text, or else what shows just this text."""
        wanted = json.dumps(text)
        script = (
            "(() => { const all = (s) => [...document.querySelectorAll(s)];"
            f" const b = all('button').find(b => b.innerText.includes({wanted}))"
            f" ?? all('*').findLast(e => e.innerText?.trim() === {wanted});"
            " if (!b) return false; b.click(); return true; })()"
        )
        self.wait_for(script)

    def click(self, x: float, y: float, shift: bool = False) -> None:
        """Click a place [px] with the mouse."""
        at = {"x": x, "y": y, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, file: Path) -> None:
        """Save what the page looks like as a PNG."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message))
        while True:
            reply = json.loads(self._socket.recv(timeout=60.0))
            if reply.get("method") == "Runtime.exceptionThrown":
                self.console.append(json.dumps(reply["params"])[:2000])
            if reply.get("id") == number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return dict(reply["result"])

    def _target(self) -> str:
        """Wait for the browser; return the address of its page."""
        file, end = self._profile / "DevToolsActivePort", time.monotonic() + 60.0
        while time.monotonic() < end and self._process.poll() is None:
            if file.is_file() and (lines := file.read_text().split()):
                with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as reply:
                    pages = [t for t in json.load(reply) if t["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.05)
        raise RuntimeError("the browser did not start")

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)
