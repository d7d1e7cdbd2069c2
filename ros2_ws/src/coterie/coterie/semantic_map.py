"""A semantic map: of a team, or of a file; neither ROS nor a team is needed for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coterie.results import FoundObject, Room, TeamError, found_object, to_millimeters
from coterie_world.scene import SceneError, SceneGraph, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False)
class SemanticMap:
    """The objects and rooms of a house.

    Attributes:
        objects: The objects.
        rooms: The rooms.
        scene: The scene graph that they are of, with floors, places and doors.
    """

    objects: tuple[FoundObject, ...]
    rooms: tuple[Room, ...]
    scene: SceneGraph = field(compare=False)

    def __repr__(self) -> str:
        return f"<SemanticMap: {len(self.rooms)} rooms, {len(self.objects)} objects>"

    def __str__(self) -> str:
        kinds = Counter(one.label for one in self.objects).most_common(10)
        most = ", ".join(f"{count} {label}" for label, count in kinds) or "none"
        rooms = ", ".join(room.name for room in self.rooms) or "none"
        return f"objects: {len(self.objects)} (most: {most}); rooms: {rooms}"

    @classmethod
    def of(cls, scene: SceneGraph) -> SemanticMap:
        """Return the map of a scene graph."""
        return cls(
            tuple(found_object(id_, scene) for id_ in scene.objects),
            tuple(
                Room(room.id, room.name, room.type, tuple(map(to_millimeters, room.polygon)))
                for room in scene.rooms.values()
            ),
            scene,
        )

    @classmethod
    def read(cls, file: str | Path) -> SemanticMap:
        """Read a map from a file: Coterie's JSON, Voxeland's, or spark-dsg.

        Raises:
            TeamError: It cannot be read.
        """
        from semantic_mapper.files import load_map

        try:
            return cls.of(load_map(Path(file)))
        except SceneError as error:
            raise TeamError(str(error)) from None

    def draw(self) -> Figure:
        """Return a plan of each floor with rooms and objects: `map.draw().savefig("map.png")`."""
        from coterie.floor_plan import Plan, draw_plans

        return draw_plans(Plan(self.scene, names=True))

    def save(self, file: str | Path) -> None:
        """Write the map as JSON, which `read` and `./coterie find --map` read."""
        save(self.scene, Path(file))

    def find(self, text: str, *, limit: int = 10) -> list[FoundObject]:
        """Return the objects that a request calls for, best first, as the rules find them.

        Args:
            text: The request, such as "something to sit on".
            limit: Most objects.
        """
        from coterie_llm import ModelProfile, build_decider
        from coterie_requests.ask_back import RequestState
        from object_planner.asking_back import find_settled
        from object_planner.workflows import Options, Roles

        state = RequestState(" ".join(text.split()), "find", self.scene)
        roles = Roles(build_decider(ModelProfile(kind="rules"), who="find"))
        work = find_settled(state, roles, "grounded", Options(limit=limit))
        with ThreadPoolExecutor(1) as thread:  # a notebook has a loop of its own in this one
            found = thread.submit(asyncio.run, work).result()
        return [found_object(id_, self.scene) for id_ in found.ids]
