"""`./coterie robot score`: what robots claim, judged by the tags that their cameras saw."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_cli.options import AsJson
from coterie_world.scene import SceneGraph

_COLORS = {"right": "green", "wrong": "red", "unknown": "dim"}


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """What is judged, and by what."""

    recording: Annotated[
        Path, typer.Argument(help="Path of a recording with color images, depth and tf.")
    ]
    tags: Annotated[Path, typer.Argument(help="Path of the YAML file of the lab's tags.")]
    map: Annotated[
        Path | None, typer.Option(help="Path of the team's map, of ./coterie up or map.")
    ] = None
    answers: Annotated[
        Path | None,
        typer.Option(
            help="Path of a file with results of ./coterie ask --json, one after another."
        ),
    ] = None
    outcomes: Annotated[
        Path | None,
        typer.Option(help="Path of a file with results of ./coterie do --json, one after another."),
    ] = None
    within: Annotated[
        float, typer.Option(min=0.01, help="Largest distance of a right claim from its tag [m].")
    ] = 0.5
    every: Annotated[int, typer.Option(min=1, help="Step between the frames used.")] = 1
    as_json: AsJson = False


def score(options: ScoreOptions) -> int:
    """Score localization, map, answers and outcomes by tags seen; exit code 1 if no tag was."""
    from coterie_cli.tags import given_tags
    from coterie_perception.detector import DetectorError
    from coterie_perception.tag_truth import TagReferee, TagScore, moves_of, tags_in
    from coterie_recordings import RecordingError, open_recording
    from coterie_world.scene import SceneError
    from semantic_mapper.files import load_map

    if options.answers and not options.map:
        raise CommandError("--answers needs --map, which tells where rooms are")
    table = given_tags(options.tags)
    try:
        sights = tags_in(open_recording(options.recording), table, options.every)
        scene = load_map(options.map) if options.map else SceneGraph()
    except (RecordingError, DetectorError, SceneError, OSError) as error:
        raise CommandError(str(error)) from None
    referee = TagReferee(table, sights, options.within)
    found = TagScore(list(referee.localization()))
    if options.map:
        found.rows += referee.mapped(scene)
    for label, room, yes in _presence(options.answers, scene):
        found.rows.append(referee.answered(label, room, yes, scene))
    if options.outcomes:
        try:
            found.rows += [referee.brought(*one) for one in moves_of(_results(options.outcomes))]
        except ValueError as error:
            raise CommandError(f"--outcomes: {options.outcomes}: {error}") from None
    kinds = list(dict.fromkeys(row.kind for row in found.rows))
    shares = {kind: found.share(kind) for kind in kinds}
    seen = {number: len(of) for number, of in sorted(sights.items())}
    if options.as_json:
        rows = [asdict(row) for row in found.rows]
        print(json.dumps({"tags": seen, "right_of": shares, "rows": rows}, indent=1))
    else:
        _show(found.rows, shares, seen)
    return 0 if seen else 1


def _show(rows: list[Any], shares: dict[str, tuple[int, int]], seen: dict[int, int]) -> None:
    console = Console(highlight=False)
    shown = Table(title="Claims, by tags", title_justify="left")
    for column in ("of", "claim", "", "off [m]", "why"):
        shown.add_column(column)
    for row in rows:
        off = "" if row.off is None else f"{row.off:.2f}"
        verdict = f"[{_COLORS[row.verdict]}]{row.verdict}[/]"
        shown.add_row(row.kind, escape(row.claim), verdict, off, escape(row.why))
    console.print(shown)
    for kind, (right, decided) in shares.items():
        console.print(f"{kind}: {right} of {decided} right")
    console.print(f"tags seen: {', '.join(f'{n} ({k} times)' for n, k in seen.items()) or 'none'}")


def _presence(file: Path | None, scene: SceneGraph) -> Iterator[tuple[str, str, bool | None]]:
    """Yield object, room and answer of a file's questions whether a thing is there."""
    from coterie_bringup.team_models import named_profile
    from coterie_llm import build_decider
    from coterie_requests.presence import presence_of
    from coterie_requests.read_request import read_request
    from coterie_requests.understanding.problems import NotUnderstood
    from coterie_requests.understanding.vocabulary import Vocabulary

    if file is None:
        return
    names = Vocabulary.of(scene)
    decider = build_decider(named_profile(None), who="score", timeout_s=60.0)
    for result in _results(file):
        words, said = result.get("question"), result.get("answer")
        if not isinstance(words, str) or said not in ("yes", "no", "unknown"):
            continue  # an open question, which tags cannot answer
        try:
            asked = presence_of(asyncio.run(read_request(words, names, decider, "ask")), names)
        except NotUnderstood:
            continue
        if asked is not None:
            yield asked.object, asked.room, {"yes": True, "no": False}.get(said)


def _results(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file, which stand one after another.

    Raises:
        CommandError: It cannot be read, or holds something else.
    """
    try:
        text = file.read_text("utf-8")
        while text := text.lstrip():
            value, end = json.JSONDecoder().raw_decode(text)
            if not isinstance(value, dict):
                raise ValueError(f"expected JSON objects, got {type(value).__name__}")
            yield value
            text = text[end:]
    except (OSError, ValueError) as error:
        raise CommandError(f"{file}: {error}") from None
