"""Writes URDFs link by link: plain shapes, joints with limits, cameras with optical frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

Numbers = Sequence[float]
ORIGIN = (0.0, 0.0, 0.0)
_OPTICAL = (-math.pi / 2.0, 0.0, -math.pi / 2.0)


class Writer:
    """A URDF in the making.

    Args:
        name: Of the robot.
        about: Comment at the top: where the numbers come from.
        colour: Red, green, blue of the shapes (0..1).
        scale: Factor of all lengths.
    """

    def __init__(
        self, name: str, about: str, colour: tuple[float, float, float], scale: float = 1.0
    ) -> None:
        self.root = Xml.Element("robot", name=name)
        self.about = about
        self.scale = scale
        material = Xml.SubElement(self.root, "material", name="body")
        Xml.SubElement(material, "color", rgba=_text((*colour, 1.0)))

    def link(self, name: str, mass: float = 0.0) -> Writer:
        """Add a link; with a mass [kg], as a ball of the density of plastic with parts."""
        link = Xml.SubElement(self.root, "link", name=name)
        if mass > 0.0:
            inertial = Xml.SubElement(link, "inertial")
            Xml.SubElement(inertial, "mass", value=f"{mass:g}")
            moment = f"{0.4 * mass * (0.05 * mass ** (1 / 3)) ** 2:.6g}"
            diagonal = dict.fromkeys(("ixx", "iyy", "izz"), moment)
            Xml.SubElement(
                inertial, "inertia", diagonal | dict.fromkeys(("ixy", "ixz", "iyz"), "0")
            )
        return self

    def shape(
        self, link: str, kind: str, size: Numbers, at: Numbers = ORIGIN, rpy: Numbers = ORIGIN
    ) -> Writer:
        """Add a box (x, y, z), cylinder (radius, length) or sphere (radius) to a link [m]."""
        parent = next(each for each in self.root.iter("link") if each.get("name") == link)
        for part in ("visual", "collision"):
            element = Xml.SubElement(parent, part)
            Xml.SubElement(element, "origin", xyz=self._length(at), rpy=_text(rpy))
            geometry = Xml.SubElement(element, "geometry")
            if kind == "box":
                Xml.SubElement(geometry, "box", size=self._length(size))
            elif kind == "cylinder":
                radius, length = (self._length((value,)) for value in size)
                Xml.SubElement(geometry, "cylinder", radius=radius, length=length)
            else:
                Xml.SubElement(geometry, "sphere", radius=self._length(size))
            if part == "visual":
                Xml.SubElement(element, "material", name="body")
        return self

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        at: Numbers = ORIGIN,
        *,
        rpy: Numbers = ORIGIN,
        axis: Numbers = (0.0, 0.0, 1.0),
        limit: tuple[float, float] | None = None,
        velocity: float = 1.0,
        effort: float = 100.0,
        mimic: str = "",
    ) -> Writer:
        """Add a joint; limits [rad] or [m], velocity [rad/s] or [m/s]."""
        joint = Xml.SubElement(self.root, "joint", name=name, type=kind)
        Xml.SubElement(joint, "origin", xyz=self._length(at), rpy=_text(rpy))
        Xml.SubElement(joint, "parent", link=parent)
        Xml.SubElement(joint, "child", link=child)
        if kind != "fixed":
            Xml.SubElement(joint, "axis", xyz=_text(axis))
            bounds = {"effort": f"{effort:g}", "velocity": f"{velocity:g}"}
            if limit is not None:
                factor = self.scale if kind == "prismatic" else 1.0
                ends = {"lower": limit[0] * factor, "upper": limit[1] * factor}
                bounds |= {key: f"{value:.6g}" for key, value in ends.items()}
            Xml.SubElement(joint, "limit", bounds)
        if mimic:
            Xml.SubElement(joint, "mimic", joint=mimic, multiplier="1", offset="0")
        return self

    def body(
        self,
        name: str,
        parent: str,
        at: Numbers = ORIGIN,
        *,
        shape: tuple[str, Numbers, Numbers] | None = None,
        kind: str = "fixed",
        rpy: Numbers = ORIGIN,
        axis: Numbers = (0.0, 0.0, 1.0),
        limit: tuple[float, float] | None = None,
        velocity: float = 1.0,
        mass: float = 0.0,
        turned: Numbers = ORIGIN,
        mimic: str = "",
    ) -> Writer:
        """Add link `<name>_link` with a joint `<name>_joint` to its parent and a shape."""
        link = f"{name}_link"
        self.link(link, mass)
        if shape is not None:
            self.shape(link, shape[0], shape[1], shape[2], turned)
        return self.joint(
            f"{name}_joint",
            kind,
            parent,
            link,
            at,
            rpy=rpy,
            axis=axis,
            limit=limit,
            velocity=velocity,
            mimic=mimic,
        )

    def camera(
        self,
        name: str,
        parent: str,
        at: Numbers,
        rpy: Numbers = ORIGIN,
        *,
        hfov: float,
        size: tuple[int, int],
        clip: tuple[float, float],
        kind: str = "rgbd_camera",
    ) -> Writer:
        """Add `<name>_link`, `<name>_optical_frame` and a gazebo camera on the latter.

        Args:
            name: Of the camera.
            parent: Link that carries it.
            at: Where [m].
            rpy: Of the link, which looks along its x.
            hfov: Horizontal field of view [deg].
            size: Columns and rows [px].
            clip: Nearest and farthest depth [m].
            kind: Sensor type.
        """
        link, optical = f"{name}_link", f"{name}_optical_frame"
        self.link(link).shape(link, "box", (0.02, 0.08, 0.02))
        self.joint(f"{name}_joint", "fixed", parent, link, at, rpy=rpy)
        self.link(optical).joint(f"{name}_optical_joint", "fixed", link, optical, rpy=_OPTICAL)
        gazebo = Xml.SubElement(self.root, "gazebo", reference=link)
        sensor = Xml.SubElement(gazebo, "sensor", name=name, type=kind)
        camera = Xml.SubElement(sensor, "camera")
        Xml.SubElement(camera, "horizontal_fov").text = f"{math.radians(hfov):.6g}"
        image = Xml.SubElement(camera, "image")
        Xml.SubElement(image, "width").text = str(size[0])
        Xml.SubElement(image, "height").text = str(size[1])
        limits = Xml.SubElement(camera, "clip")
        Xml.SubElement(limits, "near").text = f"{clip[0]:g}"
        Xml.SubElement(limits, "far").text = f"{clip[1]:g}"
        return self

    def text(self) -> str:
        """Return the document."""
        Xml.indent(self.root)
        body = Xml.tostring(self.root, encoding="unicode")
        note = "\n".join(f"  {line}".rstrip() for line in self.about.strip().splitlines())
        return f'<?xml version="1.0"?>\n<!--\n{note}\n-->\n{body}\n'

    def _length(self, values: Numbers) -> str:
        return _text([value * self.scale for value in values])


def _text(values: Numbers) -> str:
    return " ".join(f"{round(float(value), 6):g}" for value in values)
