"""A node's copy of the team's memory: maps, observations and object events, kept in a file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from coterie_core.observation import Observation
from coterie_msgs.msg import ObjectEvent as ObjectEventMsg
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import SemanticMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.parameters import ParameterSpec
from coterie_world.coverage import PlacesSeen
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import SceneGraph
from coterie_world.team_memory import (
    MemoryFault,
    OtherHouse,
    TeamMemory,
    load_memory,
    save_memory,
)

TOPIC = "object_events"
SAVE_PERIOD_S = 5.0
"""Time between two savings of a memory that has changed [s of wall time]."""
MAX_OWN_EVENTS = 1000
"""Number of events that a robot sends again after a restart: as many as the topic keeps."""

MEMORY_PARAMETERS = (
    ParameterSpec(
        "memory_directory",
        "",
        "Folder of the node's copy of the team's memory; empty: no copy is kept.",
    ),
    ParameterSpec(
        "house",
        "",
        "Name of the house; a memory of another house is refused; empty: a house without a name.",
    ),
)


class MemoryKeeper:
    """A node's own copy of the team's memory.

    It is made in `on_setup` and begun in `on_start`. All nodes that hear the same come to the same;
    each keeps its copy in a file of its own, so that one that is started again goes on with it.

    Args:
        node: The node; its parameters are those of MEMORY_PARAMETERS, too.
        name: Name of the file.
        on_change: Called in the loop when an event has changed what is known.

    Raises:
        OtherHouse: The memory in the file is one of another house.
    """

    def __init__(
        self, node: AgentNode, name: str, on_change: Callable[[ObjectEvent], object] | None = None
    ) -> None:
        self._node = node
        self.lock = threading.Lock()  # for nodes that also use it in another thread
        self._on_change = on_change
        house, directory = node.parameters["house"], node.parameters["memory_directory"]
        self._file = Path(directory) / f"{name}.json" if directory else None
        self.memory, self._own = TeamMemory(house), list[ObjectEvent]()
        self.seen = PlacesSeen()  # since this start: what robots looked at before is not kept
        if self._file is not None and self._file.is_file():
            try:
                self.memory, self._own = load_memory(self._file, house)
            except OtherHouse:
                raise
            except MemoryFault as error:
                aside = self._file.with_suffix(".broken")
                self._file.replace(aside)
                node.problem(f"{error}; set aside as {aside.name}, beginning with nothing")
            else:
                count = len(self.memory.graph.objects)
                node.get_logger().info(f"remembers {count} things of the team ({self._file})")
        self._saved = self._stamp()
        self._count = 0

    def begin(
        self,
        prefix: str = "",
        *,
        map_topic: str = "semantic_map",
        observers: Sequence[str] = (),
        on_map: Callable[[], object] | None = None,
    ) -> None:
        """Listen, in `on_start`.

        Args:
            prefix: Put before the team's names, where the node is in a robot's namespace.
            map_topic: Topic of the map; empty: the node hands it to `memory.adopt` itself.
            observers: Robots whose observations count. Where a mapper makes the map, none: it has
                seen what they see.
            on_map: Called when a map has come.
        """
        node = self._node
        node.subscribe(
            ObjectEventMsg,
            f"{prefix}{TOPIC}",
            "object_events",
            self._on_event,
            convert=conversions.object_event_from_msg,
        )
        if map_topic:

            def take(scene: SceneGraph) -> None:
                self.memory.adopt(scene)
                if on_map is not None:
                    on_map()

            node.subscribe(
                SemanticMap,
                f"{prefix}{map_topic}",
                "latched",
                take,
                convert=partial(conversions.scene_from_msg, topic=map_topic),
            )
        for robot in observers:
            node.subscribe(
                ObservationMsg,
                f"{prefix}{robot}/observation",
                "observations",
                partial(self._on_observation, robot),
                convert=partial(conversions.observation_from_msg, topic=f"{robot}/observation"),
            )
        if self._file is not None:
            node.every(SAVE_PERIOD_S, self.save, "save the team's memory")

    def announce(self, prefix: str) -> None:
        """Make the publisher of this robot's own events; tell those of before again."""
        self._outlet = self._node.publisher(ObjectEventMsg, f"{prefix}{TOPIC}", "object_events")
        self._run = os.urandom(3).hex()  # ids of two lives of a robot differ
        for event in self._own:
            self._outlet.publish(conversions.object_event_to_msg(event))

    def tell(self, events: Sequence[ObjectEvent]) -> None:
        """Publish what this robot did, and remember it."""
        for event in events:
            self._count += 1
            event = event.model_copy(update={"id": f"{event.robot}-{self._run}-{self._count}"})
            self._own = [*self._own, event][-MAX_OWN_EVENTS:]
            self.memory.note(event)
            self._outlet.publish(conversions.object_event_to_msg(event))

    def save(self) -> None:
        """Write the file if there is something new; a problem is told and worked around."""
        stamp = self._stamp()
        if self._file is None or stamp == self._saved:
            return
        try:
            with self.lock:
                save_memory(self.memory, self._file, self._own)
            self._saved = stamp
        except OSError as error:
            self._node.problem(f"the team's memory was not saved: {error}")

    def _stamp(self) -> tuple[int, float]:
        return self.memory.version, self.memory.time

    def _on_event(self, event: ObjectEvent) -> None:
        with self.lock:
            new = self.memory.note(event)
        if new and self._on_change is not None:
            self._on_change(event)

    def _on_observation(self, robot: str, observation: Observation) -> None:
        if observation.robot != robot:
            self._node.problem(
                f"{robot}/observation: in the name of {observation.robot!r}: dropped"
            )
            return
        self.memory.observe(observation)
        self.seen.observe(observation)
