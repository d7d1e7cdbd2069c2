"""`coterie prompt`: what a model is sent for a decision, in a state of a seeded house."""

from __future__ import annotations

import difflib
import json
from typing import Any, get_args

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from coterie_bringup.errors import CommandError
from coterie_llm import DECISIONS, Mode
from coterie_llm.decision import request_for
from coterie_llm.tokens import estimate_prompt
from research.bench.decision_samples import Sample, decision_samples


def prompt(
    name: str, *, seed: int, number: int, mode: str, context: int | None, as_json: bool
) -> int:
    """Print the messages, the tools and the schema that a model gets.

    Args:
        name: The decision.
        seed: Of the house and of what happens in it.
        number: Which of the states that come up, from 1.
        mode: model or advised.
        context: Tokens of prompt and reply together; None: as many as the decision likes.
        as_json: Print the request as JSON and nothing else.

    Raises:
        CommandError: There is no such decision, state or mode.
    """
    if name not in DECISIONS:
        near = difflib.get_close_matches(name, DECISIONS, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(DECISIONS)}"
        raise CommandError(f"there is no decision {name!r}; {hint}")
    if mode not in get_args(Mode) or mode == "rule":
        raise CommandError(f"--mode: {mode!r}; one of model, advised (a rule is sent nothing)")
    console = Console(stderr=True)
    with console.status(f"playing the house of seed {seed} until {name} comes up"):
        try:
            samples = decision_samples([name], seed=seed, count=number)[name]
        except RuntimeError as error:
            raise CommandError(f"{error}; try another --seed") from None
    if len(samples) < number:
        raise CommandError(
            f"--number: {number}, but seed {seed} gives {len(samples)} states of {name}"
        )
    sent = request_shown(samples[number - 1], mode, context)
    if as_json:
        print(json.dumps(sent, indent=1, ensure_ascii=False))
    else:
        _show(name, sent)
    return 0


def request_shown(sample: Sample, mode: str, context: int | None = None) -> dict[str, Any]:
    """Return what a model is sent for a sample, and what the rule would reply, as plain data."""
    request = request_for(sample.decision, sample.state, mode, context)  # type: ignore[arg-type]
    return {
        "decision": sample.decision.name,
        "who": sample.who,
        "mode": mode,
        "prompt_tokens_estimated": estimate_prompt(request),
        "max_tokens": request.max_tokens,
        "messages": [
            {"role": m.role, "text": m.text, "images": len(m.images)} for m in request.messages
        ],
        "tools": [
            {"name": t.name, "description": t.description, "parameters": dict(t.parameters)}
            for t in request.tools
        ],
        "schema": request.schema,
        "rule": json.loads(sample.decision.rule(sample.state).model_dump_json()),
    }


def _show(name: str, sent: dict[str, Any]) -> None:
    console = Console(highlight=False)

    def section(title: str) -> None:
        console.rule(Text(title, style="bold"), align="left")

    for message in sent["messages"]:
        images = f", {message['images']} images" if message["images"] else ""
        section(f"{message['role']}{images}")
        console.print(Text(message["text"]), soft_wrap=True)
    for tool in sent["tools"]:
        section(f"tool {tool['name']}")
        fields = ", ".join(tool["parameters"].get("properties", {})) or "no arguments"
        console.print(Text(f"{tool['description']} ({fields})"), soft_wrap=True)
    section("schema of the reply")
    console.print(Syntax(json.dumps(sent["schema"], indent=1), "json", word_wrap=True))
    shown = "also advice" if sent["mode"] == "advised" else "not sent"
    section(f"the rule's reply ({shown})")
    console.print(Text(json.dumps(sent["rule"], ensure_ascii=False)), soft_wrap=True)
    tokens, most = sent["prompt_tokens_estimated"], sent["max_tokens"]
    words = f"{name}, for {sent['who'] or 'the team'}, mode {sent['mode']}: about {tokens} tokens"
    console.print(Text(f"{words}, at most {most} in reply", style="dim"))
