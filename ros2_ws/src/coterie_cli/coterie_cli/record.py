"""`./coterie record`: a robot drives through a house; what it sees becomes a recording."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import team_here
from coterie_cli.commands import command
from coterie_cli.options import Floors, Rooms, RunningTeam, TeamDomain
from coterie_core.detections import RgbdFrame
from coterie_core.embodiment import Camera, Embodiment
from coterie_core.skills import NavigateTo, Skill, SkillRefused
from coterie_recordings import RecordedFrame, RecordingError
from coterie_recordings.mcap_writer import RecordingWriter
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions
from habitat_bridge.factory import make_world
from habitat_bridge.image_detector import ImageDetector, detector_of
from habitat_bridge.simulator import FrameRequest, Simulator, Start

app = typer.Typer(add_completion=False)


CAMERA, ROBOT = "head", "scout"
_TICK = 0.1
_LONGEST = 300.0  # of one way [s]


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What is recorded: a tour through a house, or a running team."""

    out: Annotated[
        Path, typer.Option(help="Path of a new MCAP file; one without that ending gets it.")
    ] = Path("out/recording.mcap")
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated house.")] = 0
    world: Annotated[str, typer.Option(help="Kind of world: embedded or habitat.")] = "embedded"
    floors: Floors = None
    rooms: Rooms = None
    noise: Annotated[
        str, typer.Option(help="Noise of the detector: none, low, normal or high.")
    ] = "normal"
    width: Annotated[int, typer.Option(min=64, max=1920, help="Width of the images [px].")] = 640
    headings: Annotated[
        int, typer.Option(min=1, max=36, help="Number of directions looked in at every place.")
    ] = 6
    on_the_way: Annotated[
        float,
        typer.Option(
            min=0.0, help="Distance between frames on the way [m]; 0: no frames on the way."
        ),
    ] = 1.0
    most: Annotated[
        int,
        typer.Option(min=0, help="Largest number of frames; 0: as many as the whole house takes."),
    ] = 0
    detections: Annotated[bool, typer.Option(help="Record the detector's results, too.")] = True
    known_rooms: Annotated[bool, typer.Option(help="Record the house's rooms and floors, too.")] = (
        True
    )
    live: Annotated[
        bool,
        typer.Option("--live", help="Record the whole run of a running team instead, as MCAP."),
    ] = False
    robot: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a robot whose topics a live recording takes, beside those of the team; "
            "may be given again; default: all robots."
        ),
    ] = None
    images: Annotated[
        str,
        typer.Option(
            help="Images of a live recording: all, thumbnails (small ones, one a second) or none."
        ),
    ] = "all"
    topic: Annotated[
        list[str] | None,
        typer.Option(
            help="Regular expression of the topics that a live recording takes; may be given "
            "again; default: all."
        ),
    ] = None
    duration: Annotated[
        float, typer.Option(min=0.0, help="Duration of a live recording [s]; 0: until Ctrl-C.")
    ] = 0.0
    team: RunningTeam = ""
    domain: TeamDomain = None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the images [px]."""
        return self.width, self.width * 3 // 4


@command(app, "record", RecordOptions)
def record(options: RecordOptions) -> int:
    """Record a robot's drive through a generated house, or a running team, into a file."""
    out = options.out
    if out.suffix != ".mcap":
        out = out.with_name(f"{out.name}.mcap")
    if options.live:
        return _record_team(options, out)
    console = Console(highlight=False)
    if options.world not in ("embedded", "habitat"):
        raise CommandError(f"--world {options.world}: no pixels; give embedded or habitat")
    spec = {"kind": options.world, "seed": options.seed, "look_on_arrival": False}
    spec |= {"floors": options.floors, "rooms": options.rooms, "noise": options.noise}
    world = make_world(spec)
    try:
        truth = world.truth()
        known = Regions(truth).graph() if options.known_rooms else None
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with (
            RecordingWriter(out, camera=CAMERA, scene=known) as writer,
            Progress(*columns, TimeElapsedColumn(), console=console) as bars,
        ):
            tour = _Tour(world, options, truth)
            task = bars.add_task("places", total=len(tour.places))
            for frame in tour.frames():
                writer.add(frame)
                bars.update(task, completed=tour.tried)
                if options.most and len(writer) >= options.most:
                    break
            bars.update(task, completed=tour.tried, total=tour.tried)
            count = len(writer)
    except RecordingError as error:
        raise CommandError(str(error)) from None
    finally:
        world.close()
    console.print(
        f"{out}: {count} frames of house {options.seed}, {tour.visited} of "
        f"{len(tour.places)} places, {tour.walked:.0f} m; {tour.found} detections",
        soft_wrap=True,
    )
    console.print(f"  next: ./coterie map {out} --out map.json", soft_wrap=True, style="dim")
    return 0


def _record_team(options: RecordOptions, out: Path) -> int:
    from coterie_cli.record_live import Images, LiveOptions, record_live

    if options.images not in get_args(Images):
        raise CommandError(f"--images {options.images}: one of {', '.join(get_args(Images))}")
    robots, topics = tuple(options.robot or ()), tuple(options.topic or ())
    live = LiveOptions(out, options.images, robots, topics, options.duration)  # type: ignore[arg-type]
    record_live(live, team_here(options.domain, team=options.team))
    return 0


class _Tour:
    """Drives a robot from place to place, always to the nearest one not seen yet.

    Attributes:
        places: All places of the house.
        tried: How many of them the robot set out for.
        visited: How many of them it stood at.
        walked: How far it drove [m].
        found: Detections so far.
    """

    def __init__(self, world: Simulator, options: RecordOptions, truth: SceneGraph) -> None:
        columns, rows = options.size
        camera = Camera(
            name=CAMERA,
            width=columns,
            height=rows,
            hfov=math.radians(80.0),
            mount_height=1.2,
            pitch=0.35,
        )
        # On legs, so that stairs are no obstacle.
        body = Embodiment(
            name=ROBOT,
            mobility="legs",
            step_height=0.2,
            radius=0.2,
            height=1.3,
            cameras=(camera,),
        )
        world.add_robot(ROBOT, body, Start())
        self.places = truth.places
        self.tried = self.visited = self.found = 0
        self.walked = 0.0
        self._world = world
        self._options = options
        self._camera = camera
        self._detector: ImageDetector | None = detector_of(world) if options.detections else None
        self._count = 0

    def frames(self) -> Iterator[RecordedFrame]:
        """Yield the frames of the tour."""
        options, robot = self._options, ROBOT
        left = dict(self.places)
        while left:
            here = self._world.state(robot).pose.position
            place = min(left.values(), key=lambda p: (math.dist(p.position, here), p.id))
            del left[place.id]
            self.tried += 1
            for k in range(options.headings):
                yaw = math.remainder(k * math.tau / options.headings, math.tau)
                if not (yield from self._drive(NavigateTo(place=place.id, yaw=yaw))):
                    break
                self.visited += k == 0
                yield self._frame()
            self.walked = self._world.state(robot).travelled

    def _drive(self, skill: Skill) -> Generator[RecordedFrame, None, bool]:
        """Go somewhere; yield frames on the way, return whether it got there."""
        world, robot = self._world, ROBOT
        try:
            world.start_skill(robot, skill)
        except SkillRefused:
            return False
        last, end = world.state(robot).travelled, world.time + _LONGEST
        while world.time < end:
            result = world.tick(_TICK).get(robot)
            if result is not None:
                return result.ok
            state = world.state(robot)
            if 0.0 < self._options.on_the_way <= state.travelled - last:
                last = state.travelled
                yield self._frame()
        world.cancel_skill(robot)
        return False

    def _frame(self) -> RecordedFrame:
        robot, camera = ROBOT, self._camera
        (frame,) = self._world.render([FrameRequest(robot, CAMERA)])
        assert frame.depth is not None and frame.color is not None
        found = None
        if self._detector is not None:
            found = tuple(self._detector.detect(frame))
            self.found += len(found)
        rgbd = RgbdFrame(
            frame.depth.copy(),
            (camera.focal, camera.focal, camera.width / 2, camera.height / 2),
            frame.camera_to_map,
            frame.color.copy(),
            frame.time,
            robot,
        )
        name = f"{self._count:06d}"
        self._count += 1
        return RecordedFrame(name, rgbd, found)
