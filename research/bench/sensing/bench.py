"""`bench sensing`: observations from depth, grids and tf against the simulator's own."""

from __future__ import annotations

import math
import sys
import time
import typing
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from coterie_core.geometry import Pose, wrap_angle
from coterie_fixtures.sensed_house import BODY, SensedHouse
from habitat_bridge.house.generator import generate_house
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole
from research.bench.sensing.exploring import ExploringScore, Way, explore
from robot_adapters.sensing.alignment import AlignmentError, Landmark, align
from robot_adapters.sensing.places import PlaceSpacing
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.robot_map import RobotMap
from robot_adapters.sensing.seen import Sight, places_seen

app = typer.Typer(help="Sensing of real robots.", add_completion=False)
_VIEWS = 8
_RIGHT_M, _RIGHT_RAD = 0.6, 0.15


@dataclass(frozen=True, slots=True)
class PlacesScore:
    """One house: places that depth shows against those that the simulator says are in view.

    `both`, `extra` and `missed` count places over all looks; `quality_error` is the largest
    difference of their quality. `places` and `links` are those laid out over the occupancy grid,
    `simulator_places` and `simulator_links` those of the house itself; `seconds` is the time for
    laying out all floors.
    """

    house: int
    looks: int
    both: int
    extra: int
    missed: int
    quality_error: float
    places: int
    simulator_places: int
    links: int
    simulator_links: int
    regions: int
    rooms: int
    seconds: float


def score_places(seed: int, most_looks: int = 10) -> PlacesScore:
    """Look around at places of a generated house and compare what depth shows with the truth."""
    house = SensedHouse(seed)
    world, body = house.world, house.body
    places = {name: place.position for name, place in world.place_map.places.items()}
    stands = [spot for name in places if (spot := body.places.stand(name)) is not None]
    sight = Sight()
    both = extra = missed = 0
    worst = 0.0
    for spot in stands[:most_looks]:
        body.pose, body.glance = Pose(spot, 0.0), None
        world.look_around(body)
        theirs = world.observe("r")
        mine: dict[str, float] = {}
        for k in range(_VIEWS):
            body.pose = Pose(spot, k * math.tau / _VIEWS)
            shown = places_seen(house.depth_frame(), places, spot, sight)
            for name, quality in shown.items():
                mine[name] = max(quality, mine.get(name, 0.0))
        here = theirs.place
        a, b = set(mine) - {here}, set(theirs.seen) - {here}
        both, extra, missed = both + len(a & b), extra + len(a - b), missed + len(b - a)
        worst = max([worst, *(abs(mine[k] - theirs.seen[k]) for k in a & b)])
    begun = time.perf_counter()
    made = RobotMap(BODY.radius, PlaceSpacing(), "", MapPose())
    for floor in range(len(world.house.floors)):
        made.set_grid(house.grid(floor), None)
    spent = time.perf_counter() - begun
    floors = made.floors.values()
    return PlacesScore(
        seed,
        len(stands[:most_looks]),
        both,
        extra,
        missed,
        round(worst, 4),
        sum(len(f.places.spots) for f in floors),
        len(places),
        sum(len(f.places.links) for f in floors),
        len(world.place_map.links),
        len(made.scene().rooms),
        len(world.house.rooms),
        round(spent, 2),
    )


@dataclass(frozen=True, slots=True)
class AlignmentTrial:
    """One try to find a robot's map in the team's: `outcome` found, refused or false.

    `error` [m] and `angle_error` [rad] are what it is off; `said` [m] is the error it states.
    """

    house: int
    objects: int
    wrong_labels: float
    outcome: str
    error: float = math.nan
    angle_error: float = math.nan
    said: float = math.nan


def furniture(seed: int) -> list[Landmark]:
    """Furniture and fixtures of a generated house's first floor."""
    house = generate_house(seed)
    z = house.floors[0].elevation
    return [
        Landmark(thing.label.top, thing.box.center)
        for thing in house.objects
        if thing.kind != "item" and -0.1 <= thing.box.bottom - z < 2.5
    ]


def try_alignment(
    seed: int, most: int, wrong: float, *, other_house: bool = False, noise: float = 0.1
) -> AlignmentTrial:
    """Match a part of a house, seen with errors and from a map of its own, with the whole.

    Args:
        seed: Of the house and of all errors.
        most: Objects that the robot has seen, those nearest to one of them.
        wrong: Fraction of them that have another label.
        other_house: The team's map is that of another house: each match is false.
        noise: Standard deviation of places in either map [m].
    """
    rng = np.random.default_rng([seed, most, round(100 * wrong)])
    things = furniture(seed)
    labels = sorted({thing.label for thing in things})
    x, y, turn = rng.uniform((-20.0, -20.0, -math.pi), (20.0, 20.0, math.pi)).tolist()
    pose = MapPose(x, y, turn)

    def shaken(point: Sequence[float]) -> tuple[float, float, float]:
        x, y, z = (np.array(point) + rng.normal(0.0, noise, 3)).tolist()
        return (x, y, z)

    source = furniture(seed + 5000) if other_house else things
    # The team's map lacks some of what there is, too.
    team = [Landmark(t.label, shaken(t.at)) for t in source if rng.random() < 0.85]
    start = np.array(things[int(rng.integers(len(things)))].at)
    near = sorted(things, key=lambda t: float(np.linalg.norm(np.array(t.at) - start)))[:most]
    own = []
    for thing in near:
        mistaken = rng.random() < wrong
        label = labels[int(rng.integers(len(labels)))] if mistaken else thing.label
        own.append(Landmark(label, pose.to_robot(shaken(thing.at))))
    try:
        found = align(own, team)
    except AlignmentError:
        return AlignmentTrial(seed, len(own), wrong, "refused")
    off = max(math.dist(pose.to_team(t.at)[:2], found.pose.to_team(t.at)[:2]) for t in own)
    turned = abs(wrap_angle(found.pose.yaw - pose.yaw))
    right = not other_house and off < _RIGHT_M and turned < _RIGHT_RAD
    return AlignmentTrial(
        seed, len(own), wrong, "found" if right else "false", off, turned, found.error
    )


@app.command()
def bench_sensing(
    houses: Annotated[int, typer.Option(min=1, help="Number of generated houses.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 0,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of alignments for each row of the second table.")
    ] = 20,
    explored: Annotated[
        int, typer.Option(min=0, help="Number of houses that are explored, in three ways each.")
    ] = 3,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results.json and CSV; default: none are written."),
    ] = None,
) -> None:
    """Compare what depth images show with the simulator's own word, and align maps."""
    console = Console()
    scores = [score_places(seed + k) for k in range(houses)]
    _print_places(console, scores)
    rows = [(most, wrong, False) for most in (8, 15, 25, 50) for wrong in (0.15, 0.4)]
    rows += [(most, 0.0, True) for most in (8, 15, 25, 50)]
    results: list[AlignmentTrial] = []
    table = Table(title="Robot's map found in the team's")
    for name in ("objects", "wrong labels", "found", "refused", "false", "off [m]", "said [m]"):
        table.add_column(name, justify="right")
    for most, wrong, other in rows:
        tried = [try_alignment(seed + k, most, wrong, other_house=other) for k in range(trials)]
        counts = Counter(t.outcome for t in tried)
        good = [t for t in tried if t.outcome == "found"]
        table.add_row(
            str(most),
            "another house" if other else f"{wrong:.0%}",
            *(str(counts[name]) for name in ("found", "refused", "false")),
            f"{np.median([t.error for t in good]):.2f}" if good else "",
            f"{np.median([t.said for t in good]):.2f}" if good else "",
        )
        results += tried
    print_whole(table, console)
    explorations = [explore(seed + k, by) for k in range(explored) for by in typing.get_args(Way)]
    if explorations:
        _print_explorations(console, explorations)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        records = {
            "places": [asdict(score) for score in scores],
            "alignment": [asdict(trial) for trial in results],
            "exploring": [asdict(score) for score in explorations],
        }
        write_json(out / "results.json", records)
        for name, items in records.items():
            write_csv(out / f"{name}.csv", items)


def _print_places(console: Console, scores: Sequence[PlacesScore]) -> None:
    table = Table(title="Places in view by depth, and by the simulator")
    heads = (
        "house", "looks", "both", "extra", "missed", "quality error", "places", "simulator's",
        "links", "simulator's", "regions", "rooms", "s",
    )  # fmt: skip
    for name in heads:
        table.add_column(name, justify="right")
    for score in scores:
        table.add_row(*(str(value) for value in asdict(score).values()))
    both, extra, missed = (sum(getattr(s, k) for s in scores) for k in ("both", "extra", "missed"))
    table.add_section()
    table.add_row("all", str(sum(s.looks for s in scores)), str(both), str(extra), str(missed))
    print_whole(table, console)


def _print_explorations(console: Console, scores: Sequence[ExploringScore]) -> None:
    table = Table(title="Exploring by rules until nothing is left")
    for name in ("house", "observations of", "hops", "rooms", "labels", "stopped"):
        table.add_column(name, justify="right")
    for s in scores:
        told = (str(s.house), s.by, str(s.hops), f"{s.rooms:.2f}", f"{s.labels:.2f}", s.stopped)
        table.add_row(*told)
    print_whole(table, console)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    from coterie_cli.commands import run

    return run(app, "bench sensing", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
