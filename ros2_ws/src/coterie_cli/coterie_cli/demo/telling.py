"""What the terminal shows of a demonstration: the house, ways, things, answers, votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from coterie_cli.ask import plain, way_length
from coterie_cli.demo.questions import Asked
from coterie_cli.demo.record import DemoRecord
from coterie_cli.figures.terminal_plan import floor_plans
from coterie_core.colors import robot_colors
from coterie_core.household import plural
from coterie_core.questions import percent
from coterie_core.wording import enumerated
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions

_SHOWN = 5
"""Most things that are named for one answer."""
_KINDS = 7
"""Most kinds of things that are named for one room."""


def show_house(truth: SceneGraph, console: Console) -> None:
    """Show the house before the robots see it."""
    rooms = enumerated(plain(room.name) for room in truth.rooms.values())
    count = len(truth.floors)
    floors = f"{count} floors" if count > 1 else "one floor"
    _head(console, f"The house: {floors}; {rooms}")
    _show_plans(console, truth)


def show_ways(record: DemoRecord, scene: SceneGraph, console: Console) -> None:
    """Show where the robots went, by the names of rooms."""
    _head(console, "Where the robots went")
    _show_plans(console, scene, record)
    regions, table = Regions(scene), _table()
    colors = robot_colors(record.ways)
    for track in record.tracks:
        names = [scene.rooms[id_].name for p in track.way if (id_ := regions.room_at(p))]
        track.rooms = list(dict.fromkeys(names))
        rooms = plain(enumerated(track.rooms)) or "nowhere"
        robot = Text.assemble(
            (track.robot, f"bold {colors[track.robot]}"), f" ({track.embodiment})"
        )
        table.add_row(robot, Text(rooms), Text(f"{track.distance:.0f} m"))
    _show(console, table, 2)


def show_things(scene: SceneGraph, console: Console) -> None:
    """Show what they found, by rooms; large things first."""
    _head(console, f"What they found: {len(scene.objects)} things")
    table = _table()
    for room in scene.rooms.values():
        things = sorted(scene.objects_in(room.id), key=lambda thing: -thing.box.volume)
        counts = Counter(plain(thing.label.top) for thing in things)
        kinds = [f"{n} {plural(name)}" if n > 1 else name for name, n in counts.items()]
        left = sum(list(counts.values())[_KINDS:])
        named = [*kinds[:_KINDS], f"{left} more"] if left else kinds
        table.add_row(Text(plain(room.name), "bold"), Text(enumerated(named) or "nothing"))
    _show(console, table, 2)


def show_answers(record: DemoRecord, scene: SceneGraph, console: Console) -> None:
    """Show questions, answers and what these rest on."""
    _head(console, "What they answered")
    for number, asked in enumerate(record.asked, 1):
        style = "red" if asked.kind == "none" else "yellow" if asked.guessed else "green"
        answer = Text(plain(_answer(asked, scene)), f"bold {style}")
        if asked.guessed:
            answer.append(", a guess", "not bold")
        elif asked.sure is not None:
            answer.append(f", {percent(asked.sure)} sure", "not bold dim")
        if asked.truth:
            answer.append(f"  (true: {plain(asked.truth)})", "not bold dim")
        console.print(Text.assemble(f"  {number}. ", plain(asked.text)))
        _show(console, answer, 5)
        if because := _because(asked, scene):
            _show(console, Text(because, "dim"), 5)


def show_voting(record: DemoRecord, console: Console) -> None:
    """Show how often each way of voting was right."""
    count = len(record.questions)
    _head(console, f"Ways of voting: {count} questions, after {record.trained_on} to learn from")
    table = _table()
    for score in record.scores:
        live = " (this team's)" if score.method == record.method else ""
        share = score.note if score.accuracy is None else f"{score.accuracy:.0%} right"
        table.add_row(Text(f"{score.title}{live}", "bold" if live else ""), Text(share))
    _show(console, table, 2)


def marked(record: DemoRecord) -> dict[str, str]:
    """Return the things that answers rest on -> numbers of the questions."""
    numbers: dict[str, str] = {}
    for number, asked in enumerate(record.asked, 1):
        for id_ in asked.objects[:_SHOWN]:
            numbers[id_] = f"{numbers[id_]},{number}" if id_ in numbers else str(number)
    return numbers


def named(ids: Iterable[str], scene: SceneGraph) -> list[str]:
    """Return things as people name them: "the mug in the kitchen"; ids that are gone are not."""
    things = [scene.objects[id_] for id_ in ids if id_ in scene.objects]
    counts = Counter((plain(thing.label.top), thing.room) for thing in things)
    told = []
    for (label, id_), count in counts.items():
        room = scene.rooms.get(id_)
        what = f"the {label}" if count == 1 else f"{count} {plural(label)}"
        told.append(what + (f" in the {plain(room.name)}" if room else ""))
    return told


def _answer(asked: Asked, scene: SceneGraph) -> str:
    things = named(asked.objects, scene)
    return enumerated(things, most=_SHOWN) if asked.find and things else asked.answer


def _because(asked: Asked, scene: SceneGraph) -> str:
    lines = []
    if not asked.find and (things := named(asked.objects, scene)):
        lines.append(f"on the map: {enumerated(things, most=_SHOWN)}")
    if asked.path:
        lines.append(f"a robot went {way_length(asked.path):.1f} m to look")
    if asked.frames:
        images = len(asked.frames)
        lines.append(f"seen in {images} image{'s' if images > 1 else ''}")
    if asked.because and (asked.kind == "presence" or not lines):
        lines.append(plain(asked.because))
    return "" if asked.find else "; ".join(lines)


def _head(console: Console, text: str) -> None:
    console.print()
    console.print(Text(plain(text), "bold"))


def _show(console: Console, what: RenderableType, indent: int) -> None:
    console.print(Padding(what, (0, 0, 0, indent), expand=False))


def _table() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _show_plans(console: Console, scene: SceneGraph, record: DemoRecord | None = None) -> None:
    for drawing in floor_plans(scene, record.ways if record is not None else None):
        _show(console, drawing, 2)
