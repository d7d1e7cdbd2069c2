"""What the gazebo elements of a URDF say of sensors and plugins."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.values import vector


@dataclass
class Sensor:
    """A gazebo `<sensor>`: the link it sits on, its type and, for cameras, its image.

    Attributes:
        hfov: Horizontal field of view [rad], None where it does not say.
        size: Columns and rows of the image [px].
        clip: Nearest and farthest depth [m].
    """

    link: str
    name: str
    type: str
    hfov: float | None = None
    size: tuple[int, int] | None = None
    clip: tuple[float, float] | None = None


def read_gazebo(
    root: ET.Element, links: set[str], warnings: list[str]
) -> tuple[list[Sensor], list[str]]:
    """Return the sensors on known links, and file and name of every plugin in lower case."""
    sensors: list[Sensor] = []
    plugins: list[str] = []
    for gazebo in root.findall("gazebo"):
        reference = gazebo.get("reference", "").strip()
        for plugin in gazebo.iter("plugin"):
            words = f"{plugin.get('filename', '')} {plugin.get('name', '')}"
            plugins.append(words.strip().lower())
        for sensor in gazebo.iter("sensor"):
            if reference not in links:
                warnings.append(
                    f"gazebo sensor {sensor.get('name', '')!r} on unknown link {reference!r}"
                )
                continue
            try:
                sensors.append(_sensor(sensor, reference))
            except UrdfError as error:
                warnings.append(f"{error.element} ignored: {error.problem}")
    return sensors, plugins


def _sensor(sensor: ET.Element, link: str) -> Sensor:
    name = sensor.get("name", "")
    where = f'gazebo sensor "{name}"'
    found = Sensor(link, name, sensor.get("type", "").strip().lower())
    fov = sensor.find(".//horizontal_fov")
    if fov is not None:
        found.hfov = vector(fov.text or "", 1, where)[0]
        if not 0.0 < found.hfov < 2.0 * math.pi:
            raise UrdfError(f"field of view of {found.hfov:g} rad", element=where)
    width, height = sensor.find(".//image/width"), sensor.find(".//image/height")
    if width is not None and height is not None:
        columns = int(vector(width.text or "", 1, where)[0])
        rows = int(vector(height.text or "", 1, where)[0])
        if columns > 0 and rows > 0:
            found.size = columns, rows
    near, far = sensor.find(".//clip/near"), sensor.find(".//clip/far")
    if near is not None and far is not None:
        clip = vector(near.text or "", 1, where)[0], vector(far.text or "", 1, where)[0]
        if 0.0 <= clip[0] < clip[1]:
            found.clip = clip
    return found
