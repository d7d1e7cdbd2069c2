"""Picture of the console's page for the guide: a team in the middle of a task, a person is asked.

    python -m research.tools.picture_console                    # renews docs/images/console.png
    python -m research.tools.picture_console --out phone.png --width 390 --height 1600

Starts a simulated team with its page, lets it explore, asks it, and gives it a task that needs a
permit. Needs Chromium, and an environment of `./coterie setup --with test`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

from coterie_fixtures.browser import Browser, chromium  # noqa: E402

TEAM = """\
name: home
world: {kind: embedded, seed: 23, floors: 1, noise: none}
mode: lockstep
seed: 23
limits: {keep_out: [bathroom]}
permits:
  rules: [{skills: [pick, place], answer: ask}]
  otherwise: allow
  wait: 280
robots:
  - {name: rover, embodiment: wheels}
  - {name: walker, embodiment: legs, role: worker}
  - {name: porter, embodiment: legs, role: worker}
leader: {prior_map: everything}
mapper: {}
planner: {}
aggregator: {method: confidence_vote}
exploration: {steps: 5}
"""
QUESTION, TASK = "Is there a table in the kitchen?", "put bowl-1 on desk-1"
PATIENCE = 300.0
"""Of this script [s]."""


def said(kind: str, text: str) -> str:
    """Return what types words into the page and sends them."""
    return (
        f"document.querySelector('#kinds input[value={kind}]').click();"
        f"document.getElementById('words').value = {json.dumps(text)};"
        "document.getElementById('talk').requestSubmit()"
    )


def play(browser: Browser) -> None:
    """Ask, give the task, and leave the page as the picture shows it."""
    browser.wait_for("document.getElementById('link')?.textContent === 'connected'")
    browser.wait_for("state.team?.can.ask && state.team.can.task && state.team.can.pictures")
    browser.run(said("task", TASK))
    browser.wait_for("state.permits?.length || state.tasks?.[0]?.outcome", PATIENCE)
    browser.wait_for("document.querySelectorAll('.request button.why').length")
    browser.run(said("ask", QUESTION))
    browser.wait_for("state.talk?.[0]?.state === 'done'", PATIENCE)
    browser.press("Show on the map")
    browser.press("Pictures")
    browser.wait_for("document.querySelector('.pictures img')?.naturalWidth")
    browser.wait_for("waiting.size === 0")
    browser.frames(3)


def main() -> int:
    """Make the picture; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "console.png")
    parser.add_argument("--width", type=int, default=1400, help="of the window [px]")
    parser.add_argument("--height", type=int, default=1000, help="of the window [px]")
    options = parser.parse_args()
    program = chromium()
    if program is None:
        print("no Chromium on this machine: apt install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        team = Path(folder, "home.yaml")
        team.write_text(TEAM)
        log = Path(folder, "up.log")
        environment = {**os.environ, "COTERIE_STATE": f"{folder}/state", "BROWSER": "true"}
        command = [str(ROOT / "coterie"), "up", str(team), "--explore", "--console"]
        with log.open("w") as out:
            running = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment, start_new_session=True
            )
        try:
            end = time.monotonic() + PATIENCE
            while not (link := re.search(r"console: (http://\S+)", log.read_text())):
                if running.poll() is not None or time.monotonic() > end:
                    print(log.read_text(), file=sys.stderr)
                    return 1
                time.sleep(0.2)
            with Browser(program, options.width, options.height) as browser:
                browser.open(link[1])
                play(browser)
                browser.picture(options.out)
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(60.0)
    print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
