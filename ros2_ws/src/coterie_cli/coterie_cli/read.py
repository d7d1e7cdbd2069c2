"""`./coterie read`: what a person's words are read as; no robot hears them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.team_models import named_profile
from coterie_cli.ask import NOT_CLEAR
from coterie_llm import LanguageError, UsageMeter, build_decider
from coterie_requests.grammar import Door
from coterie_requests.read_request import read_request
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneError, SceneGraph
from semantic_mapper.files import load_map


def read(
    words: str,
    *,
    door: Door = "do",
    file: Path | None = None,
    robots: tuple[str, ...] = (),
    model: str | None = None,
    as_json: bool = False,
) -> int:
    """Print what words are read as; return 0, or `NOT_CLEAR` with what is asked back.

    Args:
        words: What a person says.
        door: Command that the words are for.
        file: A map whose rooms and things they may name; None: those of households.
        robots: Names of robots that may be spoken to.
        model: Name of a model profile, or the path of one (YAML); None: the grammar reads.
        as_json: Print JSON and nothing else.

    Raises:
        CommandError: The map or the profile cannot be used.
    """
    meter = UsageMeter()
    try:
        names = Vocabulary.of(load_map(file) if file else SceneGraph(), robots)
        decider = build_decider(named_profile(model), who="read", timeout_s=120.0, meter=meter)
    except (OSError, LanguageError, SceneError) as error:
        raise CommandError(str(error)) from None
    data: dict[str, Any] = {"request": None, "problem": ""}
    try:
        request = asyncio.run(read_request(words, names, decider, door))
    except NotUnderstood as error:
        told, code = error.problem.line, NOT_CLEAR
        data["problem"] = told
    else:
        told, code = f"I read: {request.told()}", 0
        data["request"] = request.model_dump(mode="json", exclude_defaults=True)
    by_model = any(row["by_model"] for row in meter.as_json())
    data["read_by"] = decider.model.name if by_model else "grammar"
    if as_json:
        print(json.dumps(data, indent=1, ensure_ascii=False))
        return code
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(told)
    console.print(f"read by: {data['read_by']}", style="dim")
    return code
