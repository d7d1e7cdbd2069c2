"""One habitat-sim, and the requests that the bridge makes of it."""

from __future__ import annotations

import mmap
import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from habitat_bridge.habitat.worker import PROTOCOL
from habitat_bridge.habitat.worker.channel import Channel

_FAR_AWAY = 1000.0  # [m] below the scene: where hidden objects are


class Camera:
    """One sensor of habitat-sim for one kind of image; moved to wherever it is needed."""

    def __init__(self, sim: Any, kind: str, spec: Dict[str, Any], index: int) -> None:
        import habitat_sim as hs
        import magnum as mn
        import numpy as np

        sensor = hs.CameraSensorSpec()
        sensor.uuid = f"{kind}-{index}"
        sensor.sensor_type = {
            "color": hs.SensorType.COLOR,
            "depth": hs.SensorType.DEPTH,
            "semantic": hs.SensorType.SEMANTIC,
        }[kind]
        rows, cols = int(spec["height"]), int(spec["width"])
        sensor.resolution = [rows, cols]
        sensor.position = [0.0, 0.0, 0.0]
        sensor.orientation = [0.0, 0.0, 0.0]
        sensor.hfov = mn.Deg(float(spec["hfov"]))
        sensor.near, sensor.far = float(spec["near"]), float(spec["far"])
        agent = sim.get_agent(0)
        agent._add_sensor(sensor)
        sensors = getattr(agent, "sensors", None) or agent._sensors
        self._sensor = sensors[sensor.uuid]
        self._sim = sim
        self._sim.renderer.bind_render_target(self._sensor)
        if kind == "color":
            self.buffer: Any = np.empty((rows, cols, 4), dtype=np.uint8)
            view, form = self.buffer.reshape(rows, -1), mn.PixelFormat.RGBA8_UNORM
        elif kind == "depth":
            self.buffer = np.empty((rows, cols), dtype=np.float32)
            view, form = self.buffer, mn.PixelFormat.R32F
        else:
            self.buffer = np.empty((rows, cols), dtype=np.uint32)
            view, form = self.buffer, mn.PixelFormat.R32UI
        self._view = mn.MutableImageView2D(form, self._sensor.framebuffer_size, view)
        target = self._sensor.render_target
        self._read = {
            "color": target.read_frame_rgba,
            "depth": target.read_frame_depth,
            "semantic": target.read_frame_object_id,
        }[kind]

    def shoot(self) -> Any:
        """Return the image, bottom row first; valid until the next call."""
        self._sim.renderer.draw(self._sensor, self._sim)
        self._read(self._view)
        return self.buffer


class Refused(Exception):
    """A request cannot be done; the text goes to the bridge."""


class Worker:
    """One habitat-sim and what the bridge may ask of it: every public `op_*` is a request."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.hs: Any = None
        self.np: Any = None
        self.mn: Any = None
        self.sim: Any = None
        self.node: Any = None
        self._memory: Optional[mmap.mmap] = None
        self._cameras: Dict[Any, Camera] = {}
        self._objects: Dict[str, Any] = {}
        self._homes: Dict[str, Any] = {}
        self._poses: Dict[str, Any] = {}
        self._finders: Dict[str, Any] = {}

    def serve(self) -> None:
        """Answer until the bridge hangs up."""
        operations: Dict[str, Callable[..., Any]] = {
            name[3:]: getattr(self, name) for name in dir(self) if name.startswith("op_")
        }
        while True:
            request = self._channel.receive()
            if request is None:
                return
            number, op = request.pop("id", 0), request.pop("op", "")
            start = time.perf_counter()
            reply: Dict[str, Any]
            try:
                if op == "quit":
                    self._channel.send({"id": number, "ok": True})
                    return
                if op not in operations:
                    raise Refused(f"unknown request {op!r}")
                if self.sim is None and op not in ("hello", "open", "memory", "sleep"):
                    raise Refused(f"{op}: no scene is open")
                reply = {"id": number, "ok": True, **(operations[op](**request) or {})}
            except Refused as refused:
                reply = {"id": number, "ok": False, "error": str(refused)}
            except Exception as error:
                reply = {"id": number, "ok": False, "error": f"{type(error).__name__}: {error}"}
            reply["seconds"] = time.perf_counter() - start
            self._channel.send(reply)

    # -- requests ------------------------------------------------------------------------------

    def op_hello(self) -> Dict[str, Any]:
        """Import habitat-sim; tell who answers."""
        try:
            import habitat_sim
            import magnum
            import numpy
        except ImportError as error:
            raise Refused(
                f"this Python ({sys.executable}, {sys.version.split()[0]}) has no working "
                f"habitat-sim: {error}"
            ) from None
        self.hs, self.np, self.mn = habitat_sim, numpy, magnum
        return {
            "protocol": PROTOCOL,
            "habitat": str(habitat_sim.__version__),
            "python": sys.version.split()[0],
            "pid": os.getpid(),
            "capabilities": sorted(
                ["color", "depth", "semantic", "navmesh"]
                + (["rays"] if getattr(habitat_sim, "built_with_bullet", False) else [])
            ),
        }

    def op_memory(self, size: int) -> None:
        """Map the shared memory whose descriptor came along."""
        if not self._channel.descriptors:
            raise Refused("memory: no descriptor came with the message")
        descriptor = self._channel.descriptors.pop()
        self._memory = mmap.mmap(descriptor, size)
        os.close(descriptor)

    def op_open(
        self, scene: str, dataset: str = "", seed: int = 0, gpu: int = -1
    ) -> Dict[str, Any]:
        """Open a scene; return its objects and the stage's extent."""
        hs = self.hs
        self.op_shut()
        config = hs.SimulatorConfiguration()
        if dataset:
            if not os.path.isfile(dataset):
                raise Refused(f"open: there is no scene data set config {dataset}")
            config.scene_dataset_config_file = dataset
        config.scene_id = scene
        config.gpu_device_id = gpu
        config.random_seed = seed
        config.load_semantic_mesh = True
        config.enable_physics = bool(getattr(hs, "built_with_bullet", False))
        agent = hs.agent.AgentConfiguration()
        agent.sensor_specifications = [self._tiny(kind) for kind in ("COLOR", "DEPTH", "SEMANTIC")]
        self.sim = hs.Simulator(hs.Configuration(config, [agent]))
        self.node = self.sim.get_agent(0).scene_node
        for manager in self._managers():
            for handle, thing in manager.get_objects_by_handle_substring("").items():
                self._adopt(handle, thing)
        return {"objects": [self._told(name) for name in self._objects], "bounds": self._bounds()}

    def op_shut(self) -> None:
        """Close the scene."""
        self._cameras.clear()
        self._finders.clear()
        self._objects.clear()
        self._homes.clear()
        self._poses.clear()
        self.node = None
        if self.sim is not None:
            self.sim.close()
            self.sim = None

    def op_spawn(self, name: str, config: str, semantic: int) -> Dict[str, Any]:
        """Add an object of a template file, out of sight until it is placed."""
        if name in self._objects:
            raise Refused(f"spawn: there is an object {name!r} already")
        templates = self.sim.get_object_template_manager()
        numbers = templates.load_configs(config)
        if not numbers:
            raise Refused(f"spawn: {config} is no object template")
        thing = self.sim.get_rigid_object_manager().add_object_by_template_id(numbers[0])
        thing.motion_type = self.hs.physics.MotionType.KINEMATIC
        self._adopt(name, thing)
        self._homes[name] = ([0.0, -_FAR_AWAY, 0.0], [0.0, 0.0, 0.0, 1.0])
        self._put(name, *self._homes[name])
        thing.semantic_id = semantic
        return {}

    def op_remove(self, name: str) -> Dict[str, Any]:
        """Take a spawned object away."""
        thing = self._known(name)
        self.sim.get_rigid_object_manager().remove_object_by_id(thing.object_id)
        for table in (self._objects, self._homes, self._poses):
            table.pop(name, None)
        return {}

    def op_label(self, numbers: Dict[str, int]) -> Dict[str, Any]:
        """Give objects the numbers they have in semantic images."""
        for name, number in numbers.items():
            thing = self._known(name)
            nodes = []
            if hasattr(thing, "get_link_visual_nodes"):
                for link in [-1, *thing.get_link_ids()]:
                    nodes += thing.get_link_visual_nodes(link)
            else:
                nodes += thing.visual_scene_nodes
            for node in nodes:
                node.semantic_id = number
        return {}

    def op_place(self, poses: Dict[str, Any]) -> Dict[str, Any]:
        """Put objects at (position, rotation); None hides one."""
        for name, pose in poses.items():
            self._known(name)
            if pose is None:
                self._put(name, [0.0, -_FAR_AWAY, 0.0], [0.0, 0.0, 0.0, 1.0])
            else:
                self._put(name, pose[0], pose[1])
        return {}

    def op_joints(self, name: str, positions: List[float]) -> Dict[str, Any]:
        """Set the joints of an articulated object; an empty list only tells them."""
        thing = self._known(name)
        if not hasattr(thing, "joint_positions"):
            raise Refused(f"joints: {name!r} has no joints")
        if positions:
            thing.motion_type = self.hs.physics.MotionType.KINEMATIC  # static ones stay as they are
            thing.joint_positions = positions
        low, high = thing.joint_position_limits
        return {
            "positions": [float(p) for p in thing.joint_positions],
            "low": [float(p) for p in low],
            "high": [float(p) for p in high],
        }

    def op_navmesh(
        self, key: str, radius: float, height: float, climb: float, cell: float, rise: float
    ) -> Dict[str, Any]:
        """Compute the navmesh of a body, with all that stood in the scene when it was opened."""
        settings = self.hs.NavMeshSettings()
        settings.set_defaults()
        settings.agent_radius, settings.agent_height = radius, height
        settings.agent_max_climb = climb
        settings.cell_size, settings.cell_height = cell, rise
        settings.region_min_size = 1.0
        finder = self.hs.PathFinder()
        now = dict(self._poses)
        for name in now:
            self._put(name, *self._homes[name])
        try:
            if hasattr(settings, "include_static_objects"):
                settings.include_static_objects = True
                done = self.sim.recompute_navmesh(finder, settings)
            else:
                done = self.sim.recompute_navmesh(finder, settings, True)
        finally:
            for name, pose in now.items():
                self._put(name, *pose)
        if not done or not finder.is_loaded:
            raise Refused(f"navmesh: none can be made for radius {radius} m and height {height} m")
        self._finders[key] = finder
        low, high = finder.get_bounds()
        return {"area": float(finder.navigable_area), "bounds": [_list(low), _list(high)]}

    def op_triangles(self, key: str) -> dict[str, Any]:
        """Return the triangles of a navmesh: corners as float32 (N, 3), indices as int32."""
        np, finder = self.np, self._finder(key)
        corners = np.array([_list(v) for v in finder.build_navmesh_vertices()], dtype=np.float32)
        indices = np.array(list(finder.build_navmesh_vertex_indices()), dtype=np.int32)
        return {"corners": corners.tobytes(), "indices": indices.tobytes()}

    def op_navigable(self, key: str, points: bytes, tolerance: float) -> Dict[str, Any]:
        """Tell for points (N, 3) float32 whether the navmesh is within `tolerance` above or below.

        Returns one byte each, and the navmesh's height there as float32.
        """
        np, finder = self.np, self._finder(key)
        spots = np.frombuffer(points, dtype=np.float32).reshape(-1, 3)
        out = np.zeros(len(spots), dtype=np.uint8)
        for k, spot in enumerate(spots):
            out[k] = finder.is_navigable(spot, tolerance)
        return {"data": out.tobytes()}

    def op_snap(self, key: str, points: bytes) -> Dict[str, Any]:
        """Return for points (N, 3) float32 the nearest ones on the navmesh, NaN where none is."""
        np, finder = self.np, self._finder(key)
        spots = np.frombuffer(points, dtype=np.float32).reshape(-1, 3)
        out = np.array([np.asarray(finder.snap_point(spot)) for spot in spots], dtype=np.float32)
        return {"data": out.tobytes()}

    def op_paths(self, key: str, pairs: List[Any]) -> Dict[str, Any]:
        """Return the shortest way of each (start, goal): its corners, or None."""
        np, finder = self.np, self._finder(key)
        out: List[Any] = []
        for start, goal in pairs:
            path = self.hs.ShortestPath()
            path.requested_start = np.array(start, dtype=np.float32)
            path.requested_end = np.array(goal, dtype=np.float32)
            found = finder.find_path(path)
            out.append([_list(p) for p in path.points] if found else None)
        return {"paths": out}

    def op_rays(self, rays: bytes, limit: float) -> Dict[str, Any]:
        """Return all hits of rays (N, 6) float32: counts per ray, distances in units of the ray.

        Needs Bullet.
        """
        np, hs, mn = self.np, self.hs, self.mn
        table = np.frombuffer(rays, dtype=np.float32).reshape(-1, 6)
        counts = np.zeros(len(table), dtype=np.int32)
        hits: List[float] = []
        for k, row in enumerate(table):
            ray = hs.geo.Ray(mn.Vector3(*map(float, row[:3])), mn.Vector3(*map(float, row[3:])))
            found = self.sim.cast_ray(ray, limit)
            if found.has_hits():
                counts[k] = len(found.hits)
                hits += [hit.ray_distance for hit in found.hits]
        return {"counts": counts.tobytes(), "hits": np.array(hits, dtype=np.float32).tobytes()}

    def op_render(self, views: List[Dict[str, Any]]) -> Dict[str, Any]:
        """Render into the shared memory, one image after another, bottom rows first."""
        memory, at = self._memory, 0
        if memory is None:
            raise Refused("render: there is no shared memory")
        for view in views:
            hidden = {name: self._poses[name] for name in view.get("hide", ()) if self._known(name)}
            for name in hidden:
                self._put(name, [0.0, -_FAR_AWAY, 0.0], [0.0, 0.0, 0.0, 1.0])
            self.node.translation = self.mn.Vector3(*view["eye"])
            self.node.rotation = self._quaternion(view["rotation"])
            for kind in view["channels"]:
                image = self._camera(kind, view["camera"]).shoot()
                size = image.nbytes
                if at + size > len(memory):
                    raise Refused(f"render: the shared memory ({len(memory)} B) is too small")
                memory[at : at + size] = memoryview(image).cast("B")
                at += size
            for name, pose in hidden.items():
                self._put(name, *pose)
        return {"bytes": at}

    def op_usage(self) -> Dict[str, Any]:
        """Tell how much memory this process holds [B]."""
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return {"resident": pages * os.sysconf("SC_PAGE_SIZE"), "cameras": len(self._cameras)}

    def op_sleep(self, seconds: float) -> Dict[str, Any]:
        """Do nothing; for tests of time-outs."""
        time.sleep(seconds)
        return {}

    # -- helpers -------------------------------------------------------------------------------

    def _managers(self) -> List[Any]:
        found = [self.sim.get_rigid_object_manager()]
        if hasattr(self.sim, "get_articulated_object_manager"):
            found.append(self.sim.get_articulated_object_manager())
        return found

    def _tiny(self, kind: str) -> Any:
        """A sensor that is only there so that habitat-sim loads what this kind of image needs."""
        spec = self.hs.CameraSensorSpec()
        spec.uuid = f"tiny-{kind}"
        spec.sensor_type = getattr(self.hs.SensorType, kind)
        spec.resolution = [8, 8]
        return spec

    def _adopt(self, name: str, thing: Any) -> None:
        self._objects[name] = thing
        pose = (_list(thing.translation), self._xyzw(thing.rotation))
        self._homes[name] = self._poses[name] = pose

    def _told(self, name: str) -> Dict[str, Any]:
        thing = self._objects[name]
        articulated = hasattr(thing, "joint_positions")
        position, rotation = self._poses[name]
        told: Dict[str, Any] = {
            "name": name,
            "position": position,
            "rotation": rotation,
            "articulated": articulated,
            "motion": str(thing.motion_type).split(".")[-1],
        }
        if not articulated:
            told["semantic"] = int(thing.semantic_id)
            box = thing.root_scene_node.cumulative_bb
            told["box"] = [_list(box.min), _list(box.max)]
        return told

    def _bounds(self) -> List[List[float]]:
        box = self.sim.get_active_scene_graph().get_root_node().cumulative_bb
        return [_list(box.min), _list(box.max)]

    def _known(self, name: str) -> Any:
        if name not in self._objects:
            raise Refused(f"there is no object {name!r} in the scene")
        return self._objects[name]

    def _put(self, name: str, position: Any, rotation: Any) -> None:
        """Move what is seen of an object; physics does not run here."""
        thing = self._objects[name]
        self._poses[name] = (list(position), list(rotation))
        node = thing.root_scene_node
        node.translation = self.mn.Vector3(*position)
        node.rotation = self._quaternion(rotation)

    def _quaternion(self, xyzw: Any) -> Any:
        x, y, z, w = (float(v) for v in xyzw)
        return self.mn.Quaternion(self.mn.Vector3(x, y, z), w)

    def _xyzw(self, quaternion: Any) -> List[float]:
        return [*_list(quaternion.vector), float(quaternion.scalar)]

    def _finder(self, key: str) -> Any:
        if key not in self._finders:
            raise Refused(f"there is no navmesh {key!r}")
        return self._finders[key]

    def _camera(self, kind: str, spec: Dict[str, Any]) -> Camera:
        key = (kind, *(spec[k] for k in ("width", "height", "hfov", "near", "far")))
        if key not in self._cameras:
            self._cameras[key] = Camera(self.sim, kind, spec, len(self._cameras))
        return self._cameras[key]


def _list(values: Any) -> List[float]:
    return [float(v) for v in values]
