"""Cameras of habitat-sim."""

from __future__ import annotations

from typing import Any, Dict


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
