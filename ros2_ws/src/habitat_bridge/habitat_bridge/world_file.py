"""How a world stands, kept on disk: a bridge that begins anew goes on with the house as it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from coterie_core.embodiment import Embodiment
from coterie_core.files import write_atomically
from coterie_core.geometry import Box, Pose
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.things import Things
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.simulator import Simulator, Start, WorldError

PERIOD = 2.0
"""Least time between two writings [s of wall time]: what a killed process loses."""
_Triple = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class KeptRobot(_Strict):
    """Where a robot stands in the house's frame [m, rad], its nearest place, what it holds."""

    position: _Triple
    yaw: FiniteFloat
    place: str = ""
    holding: str = ""


class KeptThing(_Strict):
    """A thing that is not as the house was made: its box in the house's frame [m, rad]."""

    center: _Triple
    size: _Triple
    yaw: FiniteFloat
    room: str = ""
    support: str = ""
    container: str = ""
    receptacle: str = ""
    is_open: bool | None = None


class KeptWorld(_Strict):
    """A world's state; `world` names the house that it is of."""

    format: int = 1
    world: str
    robots: dict[str, KeptRobot]
    things: dict[str, KeptThing]


class WorldFile:
    """Keeps where robots and moved things are; for the world's thread.

    Args:
        folder: Where the file is kept; None: nothing is kept, nothing goes on.
        world: The world, without robots; things are put where the file says at once.
        warn: Hears what cannot be read, restored or written.
    """

    def __init__(self, folder: Path | None, world: Simulator, warn: Callable[[str], None]) -> None:
        self._file = None if folder is None else folder / "world.json"
        self._world, self._warn = world, warn
        self._contents = world.contents if isinstance(world, EmbeddedWorld) else None
        self._made = {} if self._contents is None else {t.id: _kept(t) for t in self._contents}
        self._moved: tuple[int, dict[str, KeptThing]] = (-1, {})
        self._due, self._text = 0.0, ""
        self._writing: Future[None] | None = None
        self._disk = ThreadPoolExecutor(1, "world file")
        self._before = self._read()
        if self._before is not None and self._contents is not None:
            _restore(self._contents, self._before)

    def add_robot(self, name: str, body: Embodiment, start: Start) -> Pose:
        """Put a robot into the world where it stood, else where it is to start; return its pose.

        Raises:
            WorldError: It cannot stand at its start.
        """
        kept = None if self._before is None else self._before.robots.get(name)
        state = None
        if kept is not None:
            pose = Pose(kept.position, kept.yaw)
            was = (
                Start(pose=pose)
                if self._world.capabilities.continuous
                else Start(kept.place or None)
            )
            try:
                state = self._world.add_robot(name, body, was)
            except WorldError as error:
                self._warn(f"{name} does not go on where it stood: {error}")
        if state is None:
            state = self._world.add_robot(name, body, start)
        if kept is not None and kept.holding and isinstance(self._world, EmbeddedWorld):
            put_into_hand(self._world, name, kept.holding)
        return state.pose

    def keep(self, *, at_once: bool = False) -> None:
        """Write how the world stands, where that changed; not more often than `PERIOD`."""
        now = time.monotonic()
        if self._file is None or (now < self._due and not at_once):
            return
        if self._writing is not None and not self._writing.done() and not at_once:
            return
        self._due = now + PERIOD
        text = self._state().model_dump_json(exclude_defaults=True)
        if text != self._text:
            self._text = text
            self._writing = self._disk.submit(self._write, self._file, text)

    def close(self) -> None:
        """Wait until everything is written."""
        self._disk.shutdown()

    def _state(self) -> KeptWorld:
        robots = {}
        for name in self._world.robots:
            state = self._world.state(name)
            position, yaw = state.pose.position, state.pose.yaw
            robots[name] = KeptRobot(
                position=position, yaw=yaw, place=state.place, holding=state.holding
            )
        if self._contents is not None and self._moved[0] != self._contents.revision:
            things = {t.id: _kept(t) for t in self._contents}
            moved = {id_: thing for id_, thing in things.items() if thing != self._made[id_]}
            self._moved = (self._contents.revision, moved)
        return KeptWorld(world=self._world.name, robots=robots, things=self._moved[1])

    def _write(self, file: Path, text: str) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, text)
        except OSError as error:
            self._text = ""  # again at the next change or period
            self._warn(f"the state of the world is not kept: {error}")

    def _read(self) -> KeptWorld | None:
        if self._file is None:
            return None
        try:
            kept = KeptWorld.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            self._warn(f"{self._file}: cannot be read, so the house begins anew: {error}")
            return None
        if (kept.format, kept.world) != (1, self._world.name):
            self._warn(
                f"{self._file}: is of {kept.world} (format {kept.format}), not of "
                f"{self._world.name} (format 1); the house begins anew"
            )
            return None
        return kept


def put_into_hand(world: EmbeddedWorld, robot: str, thing: str) -> None:
    """Let a robot hold a thing, wherever that was; nothing where it is held or unknown."""
    if thing in world.contents.things and thing not in world.contents.held:
        world.contents.take(thing, robot)
        world.body(robot).holding = thing


def _kept(thing: SceneObject) -> KeptThing:
    box = thing.box
    return KeptThing(
        center=box.center,
        size=box.size,
        yaw=box.yaw,
        room=thing.room,
        support=thing.support,
        container=thing.container,
        receptacle=str(thing.properties.get("receptacle", "")),
        is_open=thing.is_open,
    )


def _restore(contents: Things, kept: KeptWorld) -> None:
    """Put things where they were: what carries others first, since those go along."""
    things = {id_: thing for id_, thing in kept.things.items() if id_ in contents.things}

    def depth(id_: str, seen: frozenset[str] = frozenset()) -> int:
        owner = things[id_].container or things[id_].support
        return 0 if owner not in things or id_ in seen else 1 + depth(owner, seen | {id_})

    for id_ in sorted(things, key=depth):
        was = things[id_]
        contents.put(id_, Box(was.center, was.size, was.yaw), was.room, was.support, was.container)
        thing = contents.things[id_]
        thing.properties.pop("receptacle", None)
        if was.receptacle:
            thing.properties["receptacle"] = was.receptacle
        if thing.is_open is not None and was.is_open is not None:
            contents.set_open(id_, was.is_open)
