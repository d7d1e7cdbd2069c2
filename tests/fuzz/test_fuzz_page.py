"""A page that says anything whatever gets an answer in words, and nothing else happens."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

import coterie_cli.console
from coterie_fixtures.console_stage import ConsoleStage
from coterie_fixtures.hostile_texts import HOSTILE

pytestmark = pytest.mark.ros

MESSAGES = int(os.environ.get("COTERIE_FUZZ_PAGE", "600"))
"""How many messages; in a long run more are asked for."""
WILD = (
    None, True, 0, -1, 2**63, 1e308, float("nan"), float("inf"), "", "rover", "walker", "../../a",
    "\x00", "x" * 3000, [], {}, [[[[]]]], {"a": {"b": [1, "rover"]}}, ["rover", 3], [0.0, 1.0],
    [[0, 0], [1, 0], [1, 1]], [[1e308, "x"]], "request-1", "allow", "stop", "map", *HOSTILE[:20],
)  # fmt: skip
RAW = ("", "[", "[" * 5000, "null", "3", '"stop"', "[]", "{}", '{"do":', '{"do": {}}', "x" * 9000)


def fields() -> list[str]:
    """Return the names of all that the console reads from what a page says."""
    folder = Path(coterie_cli.console.__file__).parent
    text = "\n".join(file.read_text("utf-8") for file in folder.glob("*.py"))
    named = re.findall(r'said(?:\[|\.get\()"(\w+)"|_of\(said, "(\w+)"', text)
    return sorted({name for pair in named for name in pair if name})


def message(dice: random.Random, commands: list[str], names: list[str], number: int) -> str:
    """Return what a page says: a command with fields of the console, most of them wild."""
    if dice.random() < 0.05:
        return dice.choice(RAW)
    said: dict[str, Any] = {"id": number, "do": dice.choice(commands)}
    said |= {name: dice.choice(WILD) for name in names if dice.random() < 0.5}
    if dice.random() < 0.02:
        said["do"] = dice.choice(WILD)
    return json.dumps(said)


class Alone(ConsoleStage):
    """A console whose robots nobody has heard."""


def test_whatever_a_page_says_is_answered_or_refused_in_words(
    ros: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Alone(ros, tmp_path, ["rover", "walker"])
    stage.begin()
    dice = random.Random(16)
    commands = sorted({**stage.node.commands(), **stage.node.looks()})
    names = fields()
    assert len(commands) > 10 and len(names) > 10
    replies: list[dict[str, Any]] = []

    async def talk() -> None:
        async with aiohttp.ClientSession() as session:
            address = stage.page.link().rstrip("/") + "/socket"
            async with session.ws_connect(address, max_msg_size=0) as socket:
                await socket.send_str("{}")

                async def hear() -> None:
                    async for told in socket:
                        said = json.loads(told.data)
                        if "reply" in said:
                            replies.append(said["reply"])

                hearing = asyncio.ensure_future(hear())
                for number in range(MESSAGES):
                    await socket.send_str(message(dice, commands, names, number))
                    if number % 50 == 0:
                        await asyncio.sleep(0.02)
                for _ in range(1200):  # some wait some seconds for who is not there
                    if len(replies) >= 0.98 * MESSAGES:
                        break
                    await asyncio.sleep(0.1)
                assert not socket.closed and not hearing.done()
                hearing.cancel()

    try:
        asyncio.run(talk())
        faults = [record for record in caplog.records if record.exc_info]
    finally:
        stage.close()
    assert len(replies) >= 0.98 * MESSAGES, len(replies)
    assert not faults, "\n\n".join(
        caplog.handler.formatter.format(record)[-1500:] for record in faults[:3]
    )
    assert all(one["done"] or one["text"] for one in replies)  # a refusal says why
