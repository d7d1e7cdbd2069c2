"""Read a URDF safely: bytes to a checked, plain document that every URDF parser understands.

URDFs come from anywhere, so this is the gate: no entities (XML bombs), limits on size, depth and
counts, no reading of other files. Out comes a document with names, numbers, axes and limits that
are sound, or a UrdfError that names the element and the remedy; what could be mended is in the
warnings.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.gazebo import Sensor, read_gazebo
from coterie_core.urdf.values import joined, number, three, vector
from coterie_core.urdf.xacro import expand, needs_expansion, refuse_arguments, unify

MAX_BYTES = 32 * 2**20
MAX_ELEMENTS = 400_000
MAX_DEPTH = 60
MAX_LINKS = 5_000
MAX_MOVING = 500
"""Joints that move: more than any robot has, mecanum rollers and hands included."""
MAX_METERS = 200.0
"""Sizes, places and slides beyond this are no robot's [m]."""

MOVABLE = ("revolute", "continuous", "prismatic", "planar", "floating")
TYPES = (*MOVABLE, "fixed")
_SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}


@dataclass
class Description:
    """A checked URDF.

    Attributes:
        name: Name of the robot.
        file: File it came from, "" for text.
        folder: Where its meshes may lie; None for text.
        root: The plain document: `robot` with links (collision, visual, inertial) and joints.
        sensors: What gazebo elements say of sensors.
        plugins: File names of gazebo plugins, lower case.
        warnings: What was odd and how it was taken.
    """

    name: str
    file: str
    folder: Path | None
    root: ET.Element
    sensors: list[Sensor] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def xml(self) -> str:
        """Return the links and joints of the document as text."""
        bare = ET.Element("robot", name=self.name)
        for child in self.root:
            bare.append(ET.Element("link", child.attrib) if child.tag == "link" else child)
        return ET.tostring(bare, encoding="unicode")


def read_description(
    urdf: str | Path | bytes,
    packages: Sequence[Path] = (),
    arguments: Mapping[str, str] | None = None,
) -> Description:
    """Read and check a URDF; one that is written for xacro is expanded.

    Args:
        urdf: Path of the file, or the document itself: bytes, or a str that begins with "<".
        packages: Folders of packages that xacro may read beside the file's own.
        arguments: Name -> value of arguments of xacro.

    Raises:
        UrdfError: Not a file, not XML, or not a URDF; the message says what to do.
    """
    data, file, folder = _load(urdf)
    try:
        root = parse(data)
        unify(root)
        odd: list[str] = []
        if needs_expansion(root):
            path = folder / file if folder is not None else None
            text, odd = expand(root, path, packages, arguments)
            root = parse(text)
        else:
            refuse_arguments(arguments or ())
        return _describe(root, file, folder, odd)
    except UrdfError as error:
        raise (error if error.file or not file else error.within(file)) from error.__cause__


def _load(urdf: str | Path | bytes) -> tuple[bytes, str, Path | None]:
    if isinstance(urdf, bytes):
        data, file, folder = urdf, "", None
    elif isinstance(urdf, str) and urdf.lstrip("\ufeff \t\r\n").startswith("<"):
        data, file, folder = urdf.encode(), "", None
    else:
        path = Path(urdf)
        file, folder = path.name or str(path), path.parent
        try:
            if path.is_file() and path.stat().st_size > MAX_BYTES:
                raise UrdfError(
                    f"larger than {MAX_BYTES // 2**20} MiB", remedy="is it a URDF?", file=file
                )
            data = path.read_bytes()
        except UrdfError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UrdfError(
                f"cannot be read ({reason})", remedy="give the path of a URDF file", file=file
            ) from error
    if len(data) > MAX_BYTES:
        raise UrdfError(f"larger than {MAX_BYTES // 2**20} MiB", remedy="is it a URDF?", file=file)
    if not data.strip():
        raise UrdfError("the document is empty", remedy="give a URDF", file=file)
    return data, file, folder


def parse(data: bytes) -> ET.Element:
    """Return the elements of an XML document; tags keep their prefix (`xacro:property`).

    Raises:
        UrdfError: Not XML, entities, or beyond the limits of size and depth.
    """
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    state = {"depth": 0, "count": 0}

    def start(tag: str, attributes: dict[str, str]) -> None:
        state["depth"] += 1
        state["count"] += 1
        if state["depth"] > MAX_DEPTH or state["count"] > MAX_ELEMENTS:
            raise UrdfError(
                f"more than {MAX_ELEMENTS} elements, or nested deeper than {MAX_DEPTH}",
                element=f"line {parser.CurrentLineNumber}",
                remedy="a URDF is flat: is it one?",
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        state["depth"] -= 1
        builder.end(tag)

    def refuse(*_: object) -> int:
        raise UrdfError(
            "entity declarations are not read: they can blow up or read other files",
            element=f"line {parser.CurrentLineNumber}",
            remedy="remove the DOCTYPE with its entities",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(data, True)
        return builder.close()
    except expat.ExpatError as error:
        raise UrdfError(
            f"not well-formed XML ({error})", remedy="check it with: check_urdf FILE"
        ) from error
    except (LookupError, ValueError) as error:
        if isinstance(error, UrdfError):
            raise
        raise UrdfError(f"cannot be decoded ({error})", remedy="save it as UTF-8") from error


def _describe(root: ET.Element, file: str, folder: Path | None, warnings: list[str]) -> Description:
    if root.tag != "robot":
        hint = "an SDF: convert it to URDF" if root.tag == "sdf" else "give a URDF"
        if root.tag == "mujoco":
            hint = "a MuJoCo model: convert it to URDF"
        raise UrdfError(
            f"the root element is <{root.tag}>, expected <robot>", element="document", remedy=hint
        )
    name = root.get("name", "").strip()
    if not name:
        name = Path(file).stem or "robot"
        warnings.append(f"the robot has no name: called {name!r}")
    plain = ET.Element("robot", name=name)
    links = _links(root, plain, warnings)
    _joints(root, plain, links, warnings)
    sensors, plugins = read_gazebo(root, links, warnings)
    return Description(name, file, folder, plain, sensors, plugins, warnings)


def _links(root: ET.Element, plain: ET.Element, warnings: list[str]) -> set[str]:
    names: set[str] = set()
    for link in root.findall("link"):
        name = link.get("name", "").strip()
        if not name:
            raise UrdfError("a link without a name", element="link", remedy="name it")
        if name in names:
            raise UrdfError("defined twice", element=f'link "{name}"', remedy="rename one of them")
        names.add(name)
        if len(names) > MAX_LINKS:
            raise UrdfError(f"more than {MAX_LINKS} links", remedy="is it one robot?")
        out = ET.SubElement(plain, "link", name=name)
        _inertial(link, out, warnings)
        for kind in ("collision", "visual"):
            for shape in link.findall(kind):
                _shape(shape, out, name, warnings)
    if not names:
        raise UrdfError(
            "no link: this describes no robot",
            element="robot",
            remedy="give the main file, expanded if it is xacro: xacro FILE > robot.urdf",
        )
    return names


def _inertial(link: ET.Element, out: ET.Element, warnings: list[str]) -> None:
    inertial = link.find("inertial")
    if inertial is None:
        return
    where = f'link "{out.get("name")}": inertial'
    try:
        plain = ET.Element("inertial")
        _origin(inertial, plain, where)
        mass = inertial.find("mass")
        plain.set("mass", repr(number(mass, "value", where, 0.0)))
        inertia = inertial.find("inertia")
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
            plain.set(key, repr(number(inertia, key, where, 0.0)))
        out.append(plain)
    except UrdfError as error:
        warnings.append(f"{where} ignored: {error.problem}")


def _shape(shape: ET.Element, out: ET.Element, link: str, warnings: list[str]) -> None:
    where = f'link "{link}": {shape.tag}'
    geometry = shape.find("geometry")
    found = (
        next((each for each in geometry if isinstance(each.tag, str)), None)
        if (geometry is not None)
        else None
    )
    if found is None:
        warnings.append(f"{where} without a geometry ignored")
        return
    plain = ET.Element(shape.tag)
    try:
        _origin(shape, plain, where)
        kept = ET.SubElement(ET.SubElement(plain, "geometry"), found.tag)
        if found.tag == "mesh":
            kept.set("filename", found.get("filename", "").strip())
            if found.get("scale"):
                kept.set("scale", joined(vector(found.get("scale", ""), 3, where)))
        elif found.tag in _SHAPES:
            for key in _SHAPES[found.tag]:
                count = 3 if key == "size" else 1
                values = vector(found.get(key, ""), count, f"{where} {found.tag} {key}")
                if min(values) < 0.0 or max(values) > MAX_METERS:
                    raise UrdfError(
                        f"not within 0 to {MAX_METERS:g} m", element=f"{where} {found.tag} {key}"
                    )
                kept.set(key, joined(values))
        else:
            raise UrdfError("is not a box, cylinder, sphere or mesh", element=f"<{found.tag}>")
    except UrdfError as error:
        warnings.append(f"{where} ignored: {error.element} {error.problem}".replace("  ", " "))
        return
    out.append(plain)


def _joints(root: ET.Element, plain: ET.Element, links: set[str], warnings: list[str]) -> None:
    names: set[str] = set()
    mimics: list[tuple[str, str, ET.Element]] = []
    moving = 0
    for joint in root.findall("joint"):
        name = joint.get("name", "").strip()
        where = f'joint "{name}"'
        if not name:
            raise UrdfError("a joint without a name", element="joint", remedy="name it")
        if name in names:
            raise UrdfError("defined twice", element=where, remedy="rename one of them")
        names.add(name)
        kind = joint.get("type", "").strip()
        if kind not in TYPES:
            raise UrdfError(
                f"type {kind!r}, expected one of {', '.join(TYPES)}",
                element=where,
                remedy="correct the type",
            )
        ends = {}
        for end in ("parent", "child"):
            element = joint.find(end)
            ends[end] = element.get("link", "").strip() if element is not None else ""
            if ends[end] not in links:
                raise UrdfError(
                    f"{end} link {ends[end]!r} does not exist",
                    element=where,
                    remedy=f'add <link name="{ends[end]}"/> or correct the {end}',
                )
        moving += kind != "fixed"
        if moving > MAX_MOVING:
            raise UrdfError(f"more than {MAX_MOVING} joints that move", remedy="is it one robot?")
        out = ET.SubElement(plain, "joint", name=name, type=kind)
        _origin(joint, out, where)
        ET.SubElement(out, "parent", link=ends["parent"])
        ET.SubElement(out, "child", link=ends["child"])
        if kind in ("revolute", "continuous", "prismatic", "planar"):
            _axis(joint, out, where, warnings)
        if kind in ("revolute", "continuous", "prismatic"):
            _limit(joint, out, where, warnings)
            mimic = joint.find("mimic")
            if mimic is not None:
                mimics.append((name, mimic.get("joint", "").strip(), mimic))
    followed = {name: source for name, source, _ in mimics}
    for name, source, mimic in mimics:
        where = f'joint "{name}": mimic'
        if source not in names or source == name:
            warnings.append(f"{where} of unknown joint {source!r} ignored: it moves by itself")
            continue
        seen = {name}
        while source in followed and source not in seen:
            seen.add(source)
            source = followed[source]
        if source in seen:
            warnings.append(f"{where} follows itself in a circle: ignored")
            continue
        element = next(each for each in plain if each.get("name") == name and each.tag == "joint")
        ET.SubElement(
            element,
            "mimic",
            joint=followed[name],
            multiplier=repr(number(mimic, "multiplier", where, 1.0)),
            offset=repr(number(mimic, "offset", where, 0.0)),
        )


def _axis(joint: ET.Element, out: ET.Element, where: str, warnings: list[str]) -> None:
    axis = joint.find("axis")
    values = (1.0, 0.0, 0.0)
    if axis is not None and axis.get("xyz"):
        values = three(vector(axis.get("xyz", ""), 3, f"{where}: axis"))
    length = math.sqrt(sum(value * value for value in values))
    if length < 1e-6:
        raise UrdfError(
            "the axis is 0 0 0", element=where, remedy="give the direction that it moves about"
        )
    if abs(length - 1.0) > 1e-3:
        warnings.append(f"{where}: axis of length {length:.3g} made a unit vector")
    ET.SubElement(out, "axis", xyz=joined([value / length for value in values]))


def _limit(joint: ET.Element, out: ET.Element, where: str, warnings: list[str]) -> None:
    limit = joint.find("limit")
    kind = out.get("type")
    effort = number(limit, "effort", f"{where}: limit", 0.0)
    velocity = number(limit, "velocity", f"{where}: limit", 0.0)
    given = {"effort": repr(abs(effort)), "velocity": repr(abs(velocity))}
    if kind == "continuous":
        ET.SubElement(out, "limit", given)
        return
    if limit is None or (limit.get("lower") is None and limit.get("upper") is None):
        if kind == "prismatic":
            raise UrdfError(
                "a prismatic joint without limits: its reach cannot be told",
                element=where,
                remedy='add <limit lower="..." upper="..." effort="..." velocity="..."/>',
            )
        warnings.append(f"{where}: no limits, taken as turning freely (-pi to pi)")
        lower, upper = -math.pi, math.pi
    else:
        lower = number(limit, "lower", f"{where}: limit", 0.0)
        upper = number(limit, "upper", f"{where}: limit", 0.0)
    if lower > upper:
        raise UrdfError(
            f"limits reversed: lower {lower:g} is above upper {upper:g}",
            element=where,
            remedy="swap them",
        )
    if kind == "prismatic" and max(abs(lower), abs(upper)) > MAX_METERS:
        # As joints have that only place a robot in its world; `builder` refuses it of any other.
        warnings.append(f"{where}: slides from {lower:g} to {upper:g} m: taken as unbounded")
        lower, upper = -MAX_METERS, MAX_METERS
    ET.SubElement(out, "limit", {"lower": repr(lower), "upper": repr(upper), **given})


def _origin(element: ET.Element, out: ET.Element, where: str) -> None:
    origin = element.find("origin")
    xyz, rpy = "0 0 0", "0 0 0"
    if origin is not None:
        if origin.get("xyz"):
            values = vector(origin.get("xyz", ""), 3, f"{where}: origin xyz")
            if max(abs(value) for value in values) > MAX_METERS:
                raise UrdfError(
                    f"farther than {MAX_METERS:g} m",
                    element=f"{where}: origin xyz",
                    remedy="correct it: URDFs count in meters",
                )
            xyz = joined(values)
        if origin.get("rpy"):
            rpy = joined(vector(origin.get("rpy", ""), 3, f"{where}: origin rpy"))
    ET.SubElement(out, "origin", xyz=xyz, rpy=rpy)
