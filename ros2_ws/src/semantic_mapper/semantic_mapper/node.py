"""Semantic mapper node: depth images, detections and tf of a team to one published map."""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from coterie_core.transforms import TransformBuffer
from coterie_msgs.msg import SemanticMap
from coterie_msgs.srv import SaveMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.detections import Detection2DArray, Detection3DArray
from coterie_ros.main import ProcessOptions, run_nodes
from coterie_ros.model import node_decider, node_meanings
from coterie_ros.parameters import Parameters
from coterie_ros.pictures import PictureServer, Wanted
from coterie_ros.safe_publisher import SafePublisher
from coterie_ros.team_memory import MemoryKeeper
from coterie_world.object_events import ObjectEvent
from coterie_world.perception.frame_join import JoinedFrame
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.scene import SceneError, SceneGraph, merge
from coterie_world.scene.corrections import Corrections, write_corrections
from semantic_mapper.builder import (
    BuilderOptions,
    FrameMismatch,
    MapBuilder,
    TeamMaps,
    check_frame,
    save_scene,
)
from semantic_mapper.camera_subscriber import CameraSubscriber
from semantic_mapper.files import color_of, load_map
from semantic_mapper.grid import GridOptions
from semantic_mapper.instances import meant
from semantic_mapper.naming import Namer, NameThing, Pictured, ThingNamed
from semantic_mapper.options import MapperOptions
from semantic_mapper.parameters import MAPPER_PARAMETERS
from semantic_mapper.state import StateError
from semantic_mapper.worker import Worker
from tf2_msgs.msg import TFMessage

T = TypeVar("T")
_NAME_PERIOD = 2.0
"""Time between looks for a thing that a model may name [s]."""
_RETRY = 0.05
"""How often frames whose transform is missing are tried again [s]."""
_CORRECTIONS = "corrections.json"
_LONGEST = 20_000
_PARTS = 10.0
"""Publishing takes at most one part in so many of the mapping thread's time."""


class MapperNode(AgentNode):
    """`mapper`: see docs/mapping.md for its topics, frames and parameters."""

    PARAMETERS = MAPPER_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the map, take up what was kept; make publishers and the service."""
        self.robots: list[str] = list(parameters["robots"])
        if not self.robots:
            raise ValueError("parameter 'robots' is empty; list the robots to be mapped")
        if parameters["detections_type"] == "vision_msgs" and Detection2DArray is None:
            raise ValueError(
                "parameter 'detections_type': vision_msgs is not installed; install "
                "ros-jazzy-vision-msgs, or have the detector send coterie_msgs/ImageDetections"
            )
        if parameters["boxes_topic"] and Detection3DArray is None:
            raise ValueError(
                "parameter 'boxes_topic': vision_msgs is not installed; run ./coterie setup --with "
                "robots, or install ros-jazzy-vision-msgs"
            )
        profile = parameters.json("model_profile")
        self._sees = node_decider(self, profile, "mapper") if profile else None
        self._namer = Namer()
        labels = parameters.json("class_labels") or {}
        if not isinstance(labels, dict):
            raise ValueError("parameter 'class_labels': expected a JSON object of id: label")
        self.class_labels = {str(id_): str(label) for id_, label in labels.items()}
        self.options = _options(parameters)
        self.frame = self.options.frame
        self.transforms = TransformBuffer()
        self.team: TeamMaps | None = TeamMaps(self.frame) if parameters["merge"] else None
        self.builder = MapBuilder(self.options)
        self._state: Path | None = None
        directory = parameters["state_directory"]
        self._folder = Path(directory) if directory else None
        if self._folder is not None and self.team is None:
            self._state = self._folder / f"{_file_name(parameters['output'] or 'mapper')}.npz"
            self._resume(self._state)
        if parameters["prior_file"]:
            self._take_file(Path(parameters["prior_file"]))
        # The team's map tells what robots moved; one robot's own map only what it saw.
        self.keeper = None if parameters["output"] else MemoryKeeper(self, "mapper", self._on_event)
        self._moves = 0
        kept = self._folder / _CORRECTIONS if self._folder and self.keeper else None
        self.corrections = Corrections(kept)
        self._make_outlets(f"{parameters['output']}/" if parameters["output"] else "")

    def _make_outlets(self, prefix: str) -> None:
        self._map_topic = topic = f"{prefix}semantic_map"
        self._map_out = self.publisher(SemanticMap, topic, "latched")
        self._markers_out = self.publisher(MarkerArray, f"{topic}/markers", "latched")
        self._rooms_out = self.publisher(MarkerArray, f"{topic}/rooms", "latched")
        self._points_out: SafePublisher | None = None
        if self.team is None:
            self._points_out = self.publisher(PointCloud2, f"{topic}/points", "latched")
        self.serve(SaveMap, f"{prefix}save_map", self._on_save, timeout=120.0)
        if self.keeper is not None:  # people correct the team's map
            self._corrections_out = self.publisher(String, "map_corrections", "latched")
            self._tell_corrections()

    def on_start(self) -> None:
        """Start the mapping thread; listen to cameras, transforms and maps."""
        parameters = self.parameters
        self.worker: Worker[JoinedFrame] = Worker(
            self._map,
            self._publish,
            lambda what, error: self.report_failure(f"mapping ({what})", error),
            parameters["queue"],
        )
        self._grids_out: dict[str, SafePublisher] = {}
        self._inlets: list[CameraSubscriber] = []
        self._published = self._pictured = self._kept = 0
        self._publish_due = self._picture_due = self._keep_due = 0.0
        self._prior_due = time.monotonic() + parameters["prior_patience"]
        self.worker.start()
        if self.keeper is not None:
            self.keeper.begin(map_topic="")
            self.subscribe(String, "correct_map", "messages", self._on_correction)
        self.diagnostics.add_source("map", self._figures)
        self._priors: dict[str, SceneGraph] = {}
        if parameters["prior_map"]:
            named = (parameters["prior_map"].replace("{robot}", robot) for robot in self.robots)
            for topic in dict.fromkeys(named):
                use = partial(self._take_prior, topic)
                self._hear_map(topic, partial(self._take, use, topic))
        if self.team is not None:
            for robot in self.robots:
                topic = f"{robot}/semantic_map"
                self._hear_map(topic, partial(self._take, partial(self.team.set, robot), topic))
            return
        self._inlets = [
            CameraSubscriber(
                self,
                robot,
                camera,
                transforms=self.transforms,
                labels=self.class_labels,
                offer=self.worker.offer,
                note=self.note,
            )
            for robot in self.robots
            for camera in _cameras(robot, parameters["cameras"])
        ]
        for topic, qos, fixed in (("/tf", "tf", False), ("/tf_static", "tf_static", True)):
            self.subscribe(
                TFMessage,
                topic,
                qos,
                partial(self._on_transforms, fixed),
                convert=partial(conversions.transforms_from_msg, topic=topic),
            )
        self.every(_RETRY, self._retry, "frames that wait")
        if self.parameters["color"]:
            self._pictures = PictureServer(self, self._on_wanted)
            if self._sees is not None:
                self._naming = False
                self.every(_NAME_PERIOD, self._name, "names")

    def on_stop(self) -> None:
        """End the mapping thread; keep the state."""
        if not self.worker.stop():
            self.problem("the mapping thread did not end within 3 s; its state was not kept")
            return
        self._keep()
        if self.keeper is not None:
            self.keeper.save()

    # -- what comes in, in the loop's thread ---------------------------------------------------

    def _hear_map(self, topic: str, callback: Callable[[SceneGraph], None]) -> None:
        convert = partial(conversions.scene_from_msg, topic=topic)
        self.subscribe(SemanticMap, topic, "latched", callback, convert=convert)

    def _take(self, use: Callable[[SceneGraph], None], topic: str, scene: SceneGraph) -> None:
        def work() -> None:
            try:
                use(scene)
            except FrameMismatch as error:
                self.note(f"{topic}.other_frame", f"{topic}: map dropped: {error}")

        self.worker.call(work)

    def _take_prior(self, topic: str, scene: SceneGraph) -> None:
        """Take what is known beforehand from one topic, beside what others tell."""
        check_frame(scene, self.frame, topic)
        self._priors[topic] = scene
        known = SceneGraph(frame=self.frame)
        for name in sorted(self._priors):
            known = merge(known, self._priors[name])[0]
        self.builder.set_prior(known)

    def _on_transforms(
        self, fixed: bool, transforms: list[tuple[str, str, Any, Any, float]]
    ) -> None:
        for parent, child, position, rotation, stamp in transforms:
            try:
                self.transforms.add(parent, child, position, rotation, stamp, fixed=fixed)
            except ValueError as error:
                self.note("transforms_invalid", str(error))

    def _retry(self) -> None:
        for inlet in self._inlets:
            inlet.retry()

    def note(self, counter: str, text: str) -> None:
        """Count a problem that comes again and again, and report it ever more seldom."""
        count = self.diagnostics.count(counter)
        if count == 10 ** (len(str(count)) - 1):
            self.problem(f"{text} ({count} so far)")

    # -- what goes out, in the mapping thread --------------------------------------------------

    def _map(self, joined: JoinedFrame) -> None:
        if joined.boxes:
            self.builder.add_boxes(joined.frame, joined.boxes)
        elif joined.detections is not None:
            self.builder.add(joined.frame, joined.detections)

    def _publish(self) -> None:
        """Publish what has changed, if it is time; keep the state now and then."""
        now = time.monotonic()
        version = self.builder.version if self.team is None else self.team.version
        version += self._moves
        if now < self._prior_due and not self.builder.has_prior:
            return
        if now >= self._publish_due and version != self._published:
            self._published = version
            scene = self._scene()
            self._map_out.publish(conversions.scene_to_msg(scene, time=_latest(scene)))
            self._markers_out.publish(conversions.objects_to_markers(scene, color_of))
            self._rooms_out.publish(conversions.rooms_to_markers(scene, color_of))
            self._publish_due = self._next(now, self.parameters["publish_period"])
        if self.team is None and now >= self._picture_due and version != self._pictured:
            self._pictured = version
            begun = time.monotonic()
            self._publish_pictures()
            self._picture_due = self._next(begun, self.parameters["points_period"])
        if now >= self._keep_due and version != self._kept:
            self._keep_due = now + self.parameters["save_period"]
            self._kept = version
            self._keep()

    @staticmethod
    def _next(begun: float, period: float) -> float:
        """When to publish again: large maps not so often that no time is left for mapping."""
        now = time.monotonic()
        return begun + max(period, _PARTS * (now - begun))

    def _on_event(self, event: ObjectEvent) -> None:
        self._moves += 1
        self.worker.call(lambda: None)  # wakes it: what was moved is told at once

    def _on_correction(self, message: String) -> None:
        """Take up what a person corrected; every newer map is corrected, too."""
        try:
            self.corrections.change(json.loads(str(message.data)[:_LONGEST]))
        except (ValueError, RecursionError) as error:
            self.problem(f"correct_map: not corrected: {error}")
        except OSError as error:
            self.problem(f"correct_map: not corrected, it cannot be kept: {error}")
        self._tell_corrections()
        self._moves += 1
        self.worker.call(lambda: None)

    def _on_wanted(self, wanted: Wanted) -> None:
        """Let whoever asks see pictures of things."""
        self.worker.call(partial(self._show_pictures, wanted))

    async def _name(self) -> None:
        """Let a model that sees name one thing that detectors do not know, if there is one."""
        if self._naming or self._sees is None:
            return
        self._naming = True
        try:
            things = self.builder.mapper
            chosen = await self._in_worker(lambda: self._namer.next(things.instances))
            if chosen is not None:
                id_, image = chosen
                named = (await self._sees.decide(NameThing(), Pictured(image))).reply
                await self._in_worker(partial(self._take_name, id_, named))
        finally:
            self._naming = False

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self.worker.call(work))

    def _take_name(self, id_: str, named: ThingNamed) -> None:
        self._moves += self._namer.take(id_, named)

    def _tell_corrections(self) -> None:
        self._corrections_out.publish(String(data=write_corrections(self.corrections.all)))

    def _scene(self) -> SceneGraph:
        built = self.builder.scene() if self.team is None else self.team.scene()
        scene = self._namer.name(built)
        if self.keeper is None:
            return scene
        with self.keeper.lock:
            self.keeper.memory.adopt(scene)
            return self.corrections.apply(self.keeper.memory.scene())

    def _publish_pictures(self) -> None:
        head = conversions.header(self.builder.time, self.frame)
        if self._points_out is not None:
            self._points_out.publish(conversions.instances_to_cloud(*self.builder.clouds(), head))
        if not self.parameters["grid"]:
            return
        grids = self.builder.grids
        for id_, grid in grids.grids.items():
            values = grid.values()
            if not values.size:
                continue
            origin = (*grid.origin, grids.floors[id_].elevation)
            message = conversions.grid_to_msg(values, grid.options.cell, origin, head)
            # A floor's first grid makes a publisher: that is for the executor's thread.
            self.post(partial(self._publish_grid, id_, message))

    def _show_pictures(self, wanted: Wanted) -> None:
        """Show the best picture of things that are asked for, where the map has them."""
        things = [one for one in self.builder.mapper.instances if one.crop is not None]
        for k, one in enumerate(wanted.things):
            found = meant(things, one.label, one.at)
            if found is not None and found.crop is not None:
                self._pictures.show(wanted, "thing", k, found.crop, found.robot)

    def _publish_grid(self, floor: str, message: OccupancyGrid) -> None:
        if not self.active:
            return
        if floor not in self._grids_out:
            topic = f"{self._map_topic}/grid/{_topic_part(floor)}"
            self._grids_out[floor] = self.publisher(OccupancyGrid, topic, "latched")
        self._grids_out[floor].publish(message)

    def _figures(self) -> dict[str, object]:
        worker, builder = self.worker, self.builder
        figures: dict[str, object] = {
            "frames": worker.done,
            "frames_waiting": worker.waiting,
            "frames_dropped_busy": worker.dropped,
            "frames_per_second": f"{worker.done / worker.spent:.1f}" if worker.spent else "0",
            "things": len(builder.mapper),
        }
        if self.team is not None:
            figures["maps"] = ", ".join(self.team.robots)
        for inlet in self._inlets:
            figures.update({f"{inlet.name}.{k}": v for k, v in inlet.figures().items()})
        return figures

    # -- state and files -----------------------------------------------------------------------

    def _resume(self, path: Path) -> None:
        """Take up what was kept; a broken file is set aside, one of another frame is refused."""
        if not path.exists():
            return
        try:
            self.builder.resume(path)
        except StateError as error:
            aside = path.with_suffix(".broken")
            path.replace(aside)
            self.builder = MapBuilder(self.options)
            self.problem(f"{error}; set aside as {aside.name}, beginning with an empty map")
            return
        self.get_logger().info(f"a map of {len(self.builder.mapper)} things restored")

    def _keep(self) -> None:
        if self._state is None or not self.builder.frames:
            return
        try:
            self.builder.keep(self._state)
        except OSError as error:
            self.note("not_kept", f"the state could not be kept in {self._state}: {error.strerror}")

    def _take_file(self, path: Path) -> None:
        try:
            self.builder.set_prior(load_map(path))
        except SceneError as error:
            raise ValueError(f"parameter 'prior_file': {error}") from None

    async def _on_save(self, request: SaveMap.Request) -> SaveMap.Response:
        if self._folder is None:
            return SaveMap.Response(
                message="parameter 'state_directory' is empty, so there is no folder to save "
                "maps in; set it"
            )
        folder, name = self._folder / "maps", str(request.name)
        mapped = self.builder.scene if self.team is None else self.team.scene

        def save() -> Path:
            things = self.builder.mapper.instances if self.team is None else ()
            corrected = partial(self.corrections.apply, copy.deepcopy(mapped()))
            return save_scene(corrected, folder, name, things)

        try:
            path = await asyncio.wrap_future(self.worker.call(save))
        except (ValueError, OSError) as error:
            return SaveMap.Response(message=f"not saved: {error}")
        return SaveMap.Response(success=True, message=str(path))


def _options(p: Parameters) -> BuilderOptions:
    if p["near"] >= p["far"]:
        raise ValueError(f"parameter 'near' ({p['near']:g} m) must be less than 'far'")
    return BuilderOptions(
        frame=p["map_frame"],
        mapper=MapperOptions(
            lift=LiftOptions(near=p["near"], far=p["far"]),
            publish=p["min_observations"],
            least_share=p["least_share"],
            least_share_large=p["least_share_large"],
            most_instances=p["max_objects"],
            most_points=p["most_points"],
        ),
        grid=GridOptions(cell=p["grid_cell"], near=p["near"], far=p["far"]),
        ignore=frozenset(p["ignore"]),
        keep_prior=p["keep_prior"],
        meanings=node_meanings(p.json("embedder")),
    )


def _cameras(robot: str, cameras: Sequence[str]) -> list[str]:
    """Cameras of a robot: those named for all, and those named robot/camera."""
    names = [name.rpartition("/") for name in cameras]
    return list(dict.fromkeys(camera for who, _, camera in names if who in ("", robot)))


def _latest(scene: SceneGraph) -> float:
    seen = [t.last_seen.time for t in scene.objects.values() if t.last_seen is not None]
    return min(max(seen, default=0.0), 2.0**31 - 1)


def _topic_part(name: str) -> str:
    """A floor's id as part of a topic."""
    part = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    return part if part and not part[0].isdigit() else f"floor_{part}"


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "mapper"


def make_nodes(options: ProcessOptions) -> list[MapperNode]:
    """Return the mapper of a team; `--name NAME` calls it otherwise, where there are several."""
    parser = argparse.ArgumentParser(prog="mapper_node")
    parser.add_argument("--name", default="mapper", help="name of the node")
    name = parser.parse_args(options.arguments).name
    return [MapperNode(name, namespace=options.namespace, context=options.context)]


def main() -> None:
    """Run the mapper."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
