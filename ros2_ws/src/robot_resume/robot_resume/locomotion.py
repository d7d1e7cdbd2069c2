"""What carries the robot: wheels, tracks, legs, rotors or nothing; by geometry, then by names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import MobilityKind
from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.hands import limb_end
from coterie_core.kinematics.limbs import Limb, find_limbs, moving_below
from coterie_core.kinematics.sampling import postures
from coterie_core.urdf.bodies import Bodies
from coterie_core.urdf.reading import Description
from coterie_core.urdf.tree import Joint, Tree, plain
from robot_resume.frame import Base

Array = npt.NDArray[np.float64]

WHEEL = re.compile(r"wheel|(^|[_./])tyre|(^|[_./])tire|mecanum")
ROLLER = re.compile(r"roller")
TRACK = re.compile(r"(^|[_./ ])(track|tread|crawler|caterpillar|flipper)s?([_.0-9/ ]|$)")
FLIPPER = re.compile(r"flipper")
ROTOR = re.compile(r"(^|[_./])(rotor|prop|propeller|propellor)s?(?=[_.0-9/]|$)|propeller")
FLYER = re.compile(
    r"drone|(^|[_.])uav|(quad|hexa|octo|multi)_?(rotor|copter)|copter|(^|[_.])m[136]00([_.]|$)"
    r"|matrice|crazyflie|hummingbird|firefly|bebop|tello|(^|[_.])iris([_.]|$)|(^|[_./])dji"
    r"|x500|(^|[_.])cf2|flying"
)
THRUSTER = re.compile(
    r"thruster|rudder|(^|[_./ ])(boat|ship|vessel|usv|asv|auv|rov|uuv|wam_?v|catamaran|kayak"
    r"|submarine)s?([_.0-9/ ]|$)"
)
LEG = re.compile(
    r"(^|[_.])(leg|hip|knee|thigh|calf|shank|shin|foot|ankle|[ul]leg|haa|hfe|kfe|coxa|femur|tibia)"
    r"|_(leg|hip|knee|foot|haa|hfe|kfe)([_.]|$)|ankle|knee"
)
CASTER = re.compile(r"caster|castor|swivel")
ANCHOR = re.compile(r"^(world|map|odom|table|ground|pedestal|wall|mount)([_.]|$)")
MAX_LIMB_JOINTS = 64
"""Longer chains are neither arms nor legs: nothing is sampled or held against itself for them."""
SENSOR = re.compile(r"camera|optical|laser|lidar|imu|gps|sonar|scan|velodyne")


@dataclass
class Drive:
    """What the robot moves on.

    Attributes:
        kind: Of mobility.
        evidence: What was found.
        joints: Joints that belong to it, which no arm or camera depends on.
        wheels: Joints of the wheels that roll on the floor.
        legs: Its legs.
        parts: Links that touch the floor without rolling: tracks, skids, wheels without joints.
        limbs: The limbs that are not part of it.
    """

    kind: MobilityKind
    evidence: str
    joints: tuple[Joint, ...] = ()
    wheels: tuple[Joint, ...] = ()
    legs: tuple[Limb, ...] = ()
    parts: tuple[str, ...] = ()
    limbs: list[Limb] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Scene:
    """The robot at zero, as the finders below look at it."""

    def __init__(self, tree: Tree, bodies: Bodies, base: Base, description: Description) -> None:
        self.tree = tree
        self.bodies = bodies
        self.base = base
        self.description = description
        self.rest = tree.resting()
        self.poses = base.poses(tree, self.rest)
        _, limbs = find_limbs(tree, tree.body(base.link))
        self.limbs = [limb for limb in limbs if len(limb.joints) <= MAX_LIMB_JOINTS]
        self.too_long = [limb for limb in limbs if len(limb.joints) > MAX_LIMB_JOINTS]

    def axis(self, joint: Joint) -> Array:
        """Return a joint's axis (3,) in the base frame."""
        return self.poses[joint.child][:3, :3] @ joint.axis

    def end(self, limb: Limb) -> Array:
        """Return where a limb ends (3,) in its last link."""
        return limb_end(self.tree, self.bodies, limb, self.poses)

    def lowest(self, link: str) -> float:
        """Return the lowest height of a link's shapes or of its frame [m]."""
        points = self.bodies.points(link)
        pose = self.poses[link]
        if not len(points):
            return float(pose[2, 3])
        return float((points @ pose[2, :3] + pose[2, 3]).min())

    def trunk_lowest(self, without: set[str]) -> float:
        """Return the lowest height of shapes of links that are not in `without` [m]."""
        heights = [
            self.lowest(name)
            for name in self.tree.links
            if name not in without and len(self.bodies.points(name))
        ]
        return min(heights, default=np.inf)


def find_drive(tree: Tree, bodies: Bodies, base: Base, description: Description) -> Drive:
    """Return what carries the robot."""
    scene = Scene(tree, bodies, base, description)
    wheels = find_wheels(scene)
    drive = (
        _on_tracks(scene, wheels)
        or _in_water(scene, wheels)
        or _on_wheels(scene, wheels)
        or _on_legs(scene)
        or _in_air(scene)
        or _otherwise(scene)
    )
    used = {joint.name for joint in drive.joints} | {joint.name for joint in base.virtual}
    drive.limbs = [limb for limb in scene.limbs if limb.joints[0].name not in used]
    return drive


def find_wheels(scene: Scene) -> list[Joint]:
    """Return the joints of wheels: free, about a horizontal axis, at the lowest place."""
    found = _rolling(scene)
    if not found:
        return []
    floor = min(bottom for _, bottom, _ in found)
    low = [each for each in found if each[1] - floor < 0.15]
    if not any(named for _, _, named in low):
        without = {name for joint, _, _ in low for name in scene.tree.subtree(joint.child)}
        limbs = {n for limb in scene.limbs for n in scene.tree.subtree(limb.joints[0].child)}
        lowest = scene.trunk_lowest(without | limbs)
        if len(low) < 2 or floor > lowest + 0.05:
            return []
        places = [(scene.axis(joint), scene.poses[joint.child][:3, 3]) for joint, _, _ in low]
        apart = max(abs(float(axis @ (a - b))) for axis, a in places for _, b in places)
        if apart < 0.02 and lowest > floor + 0.05:
            return []  # in one plane, and nothing else holds the robot up: propellers
    return [joint for joint, _, _ in low]


def _rolling(scene: Scene) -> list[tuple[Joint, float, bool]]:
    """Return what turns freely about a level axis, its lowest height, and if a name says wheel."""
    tree, bodies = scene.tree, scene.bodies
    found: list[tuple[Joint, float, bool]] = []
    for joint in tree.joints.values():
        names = _named(joint)
        named = bool(WHEEL.search(names))
        if not joint.turns or not (joint.free or named) or abs(scene.axis(joint)[2]) > 0.35:
            continue
        below = moving_below(tree, joint.child)
        if below and not all(each.free and not moving_below(tree, each.child) for each in below):
            continue
        # Legs turn without end too, on paper; what hangs below a wheel are many rollers.
        if not named and (LEG.search(names) or 0 < len(below) < 4):
            continue
        if (ROLLER.search(names) or ROTOR.search(names)) and not named:
            continue
        if "steering_wheel" in names:
            continue
        hinges = sum(each.turns for each in tree.chain(joint.parent))
        if not named and (hinges > 2 or not _round(bodies, joint)):
            continue
        radius = bodies.radius_about(joint.child, joint.axis)
        found.append((joint, float(scene.poses[joint.child][2, 3]) - (radius or 0.0), named))
    rollers = {each.name for joint, _, _ in found for each in moving_below(tree, joint.child)}
    return [each for each in found if each[0].name not in rollers]


def _round(bodies: Bodies, joint: Joint) -> bool:
    """Whether a link's shapes look alike from all sides of the joint's axis, if any are known."""
    points = bodies.points(joint.child)
    if not bodies.measured(joint.child):
        return True
    across = points - np.outer(points @ joint.axis, joint.axis)
    distance = np.linalg.norm(across, axis=1)
    outer = across[distance > 0.8 * distance.max()] if distance.max() > 0.003 else across
    return bool(np.linalg.norm(outer.mean(axis=0)) < 0.25 * max(distance.max(), 1e-9))


def _on_wheels(scene: Scene, wheels: list[Joint]) -> Drive | None:
    if not wheels:
        return None
    if len(wheels) == 1 and not WHEEL.search(_texts(scene.tree, wheels[0].child)):
        return None
    joints: list[Joint] = []
    for wheel in wheels:
        chain = [each for each in scene.tree.chain(wheel.child) if each.movable]
        joints += [
            each for each in [*chain, *moving_below(scene.tree, wheel.child)] if each not in joints
        ]
    names = ", ".join(joint.name for joint in wheels[:12])
    what = "joint turns" if len(wheels) == 1 else "joints turn"
    evidence = f"{len(wheels)} {what} freely about a horizontal axis at the floor: {names}"
    return Drive("wheels", evidence, tuple(joints), tuple(wheels))


def _on_tracks(scene: Scene, wheels: list[Joint]) -> Drive | None:
    tree = scene.tree
    names = [
        name
        for name in tree.links
        if TRACK.search(_texts(tree, name)) and not SENSOR.search(plain(name))
    ]
    sides = [float(scene.poses[name][1, 3]) for name in names]
    sides += [
        float(points[:, 1].mean())
        for name in names
        if len(
            points := scene.bodies.points(name) @ scene.poses[name][:3, :3].T
            + scene.poses[name][:3, 3]
        )
    ]
    evidence = ""
    if sides and min(sides) < -0.02 and max(sides) > 0.02:
        evidence = f"links on both sides named as tracks: {', '.join(names)}"
    elif any("track" in plugin for plugin in scene.description.plugins) and wheels:
        evidence = "a gazebo plugin that drives tracks"
        names = [joint.child for joint in wheels]
    elif belted := _belted(scene, wheels):
        evidence = (
            "wheels in two rows, of which some touch no floor: a belt runs about them: "
            + ", ".join(belted[:12])
        )
        names = belted
    elif _closely_spaced(scene, wheels):
        evidence = (
            f"{len(wheels)} wheels in two rows, so close to one another that a belt runs about "
            "them: " + ", ".join(joint.child for joint in wheels[:12])
        )
        names = [joint.child for joint in wheels]
    if not evidence:
        return None
    moving = [
        joint
        for name in names
        for part in tree.subtree(name)
        for joint in tree.chain(part)
        if joint.movable
    ]
    joints = {joint.name: joint for joint in [*moving, *wheels]}
    return Drive("tracks", evidence, tuple(joints.values()), tuple(wheels), parts=tuple(names))


def _belted(scene: Scene, wheels: list[Joint]) -> list[str]:
    """Return the links of two rows of wheels if in both some touch the floor and others do not."""
    names: list[str] = []
    rolling = _rolling(scene) if len(wheels) >= 2 else []
    floor = min((bottom for joint, bottom, _ in rolling if joint in wheels), default=0.0)
    for side in (-1.0, 1.0):
        row = {
            joint.child: bottom - floor
            for joint, bottom, _ in rolling
            if side * scene.poses[joint.child][1, 3] > 0.0 and abs(scene.axis(joint)[1]) > 0.9
        }
        across = [scene.poses[name][1, 3] for name in row]
        raised = sum(height > 0.03 for height in row.values())
        if not (len(row) - raised >= 2 and raised and float(np.ptp(across)) < 0.1):
            return []
        names += row
    return names


def _closely_spaced(scene: Scene, wheels: list[Joint]) -> bool:
    if len(wheels) < 8:
        return False
    for side in (-1.0, 1.0):
        row = [joint for joint in wheels if side * scene.poses[joint.child][1, 3] > 0.0]
        if len(row) < 4:
            return False
        radius = max(scene.bodies.radius_about(j.child, j.axis) or 0.0 for j in row)
        ahead = np.sort([scene.poses[joint.child][0, 3] for joint in row])
        if float(np.diff(ahead).max()) > 2.5 * radius:
            return False
    return True


def _on_legs(scene: Scene) -> Drive | None:
    tree = scene.tree
    groups: dict[int, list[tuple[Limb, float, float, bool]]] = {}
    for limb in scene.limbs:
        hinges = sum(joint.turns for joint in limb.joints)
        texts = [joint.name for joint in limb.joints] + list(tree.rigid(limb.tip))
        named = any(LEG.search(plain(text)) for text in texts)
        if limb.fingers or hinges < (2 if named else 3):
            continue
        low, length = _lowest_reach(scene, limb)
        groups.setdefault(len(limb.joints), []).append((limb, low, length, named))
    best: list[tuple[Limb, float, float, bool]] = []
    for group in groups.values():
        floor = min(low for _, low, _, _ in group)
        size = max(length for _, _, length, _ in group)
        level = [each for each in group if each[1] < floor + 0.2 * size]
        if len(level) >= 2 and (not best or floor < min(low for _, low, _, _ in best)):
            best = level
    if not best:
        return None
    named = sum(each[3] for each in best) * 2 > len(best)
    size = max(length for _, _, length, _ in best)
    floor = min(low for _, low, _, _ in best)
    limbs = {n for limb in scene.limbs for n in tree.subtree(limb.joints[0].child)}
    if not named:
        anchored = bool(ANCHOR.search(plain(tree.root))) and not scene.base.virtual
        if anchored or floor > scene.trunk_lowest(limbs) - 0.1 * size:
            return None
        if len(best) == 2 and not all(_hangs(scene, limb) for limb, _, _, _ in best):
            return None
    legs = tuple(each[0] for each in best)
    joints = tuple(joint for limb in legs for joint in limb.joints)
    evidence = (
        f"{len(legs)} chains of {len(legs[0].joints)} moving joints reach lower than the body: "
        + ", ".join(f"{limb.joints[0].name} to {limb.tip}" for limb in legs)
    )
    rolling = [joint.name for joint in joints if joint.free and WHEEL.search(_named(joint))]
    if rolling:
        evidence += f"; it also rolls, on wheels at their ends: {', '.join(rolling)}"
    return Drive("legs", evidence, joints, legs=legs)


def _named(joint: Joint) -> str:
    return f"{plain(joint.name)} {plain(joint.child)}"


def _lowest_reach(scene: Scene, limb: Limb) -> tuple[float, float]:
    """Return how low a limb gets in the base frame and how long it is [m]."""
    chain = Chain(scene.tree, limb.tip, scene.base.pose, scene.end(limb))
    own = {joint.name for joint in limb.joints}
    values = postures(chain.lower, chain.upper, 512, 0)
    for column, joint in enumerate(chain.joints):
        if joint.name not in own:
            values[:, column] = scene.rest[joint.name]
    points = chain.points(values)
    mount = scene.poses[limb.joints[0].child][:3, 3]
    return float(points[:, 2].min()), float(np.linalg.norm(points - mount, axis=1).max())


def _hangs(scene: Scene, limb: Limb) -> bool:
    """Whether a limb at zero ends well below where it starts."""
    start = scene.poses[limb.joints[0].child][:3, 3]
    end = (scene.poses[limb.tip] @ np.append(scene.end(limb), 1.0))[:3]
    drop = float(start[2] - end[2])
    return drop > 0.6 * _lowest_reach(scene, limb)[1]


def _spinning(scene: Scene) -> list[Joint]:
    """Return three or more joints side by side that spin about upright axes, if there are."""
    tree = scene.tree
    spinning = [
        joint
        for joint in tree.joints.values()
        if joint.free
        and not moving_below(tree, joint.child)
        and abs(scene.axis(joint)[2]) > 0.9
        and not SENSOR.search(plain(joint.child))
        and sum(each.movable for each in tree.chain(joint.parent)) <= 1 + len(scene.base.virtual)
    ]
    if len(spinning) < 3:
        return []
    centres = np.array([scene.poses[joint.child][:2, 3] for joint in spinning])
    apart = np.linalg.norm(centres - centres.mean(axis=0), axis=1).min() > 0.01
    return spinning if apart else []


def _stands_on(scene: Scene, spinning: list[Joint]) -> bool:
    """Whether all else of a robot is above what spins."""
    turning = {name for joint in spinning for name in scene.tree.subtree(joint.child)}
    others = [n for n, link in scene.tree.links.items() if link.shapes and n not in turning]
    lowest = min(map(scene.lowest, others), default=0.0)
    return max(scene.lowest(joint.child) for joint in spinning) < lowest - 0.02


def _in_air(scene: Scene) -> Drive | None:
    tree = scene.tree
    spinning = _spinning(scene)
    if spinning and not _stands_on(scene, spinning):
        names = ", ".join(joint.name for joint in spinning)
        evidence = f"{len(spinning)} joints side by side spin about upright axes: {names}"
        return Drive("air", evidence, tuple(spinning))
    rotors = [name for name in tree.links if ROTOR.search(plain(name))]
    if len(rotors) >= 2:
        joints = tuple(
            tree.above[name] for name in rotors if name in tree.above and tree.above[name].free
        )
        return Drive("air", f"links named as rotors: {', '.join(rotors)}", joints)
    arms = any(limb.fingers or len(limb.joints) > 3 for limb in scene.limbs)
    if arms and not FLYER.search(plain(tree.name)):
        return None
    meshes = [shape.file for link in tree.links.values() for shape in link.shapes if shape.file]
    texts = [tree.name, *tree.links, *scene.description.plugins, *meshes]
    named = next((text for text in texts if FLYER.search(plain(text))), None)
    if named is None:
        return None
    return Drive("air", f"named as a flying robot ({named!r}) and without wheels, tracks or legs")


def _in_water(scene: Scene, wheels: list[Joint]) -> Drive | None:
    """What has propellers about level axes, or says that it swims: none of the kinds."""
    tree = scene.tree
    if any(WHEEL.search(_named(joint)) for joint in wheels):
        return None
    level = [
        joint.name
        for joint in tree.joints.values()
        if joint.free and ROTOR.search(_named(joint)) and abs(scene.axis(joint)[2]) < 0.5
    ]
    texts = [tree.name, *tree.links, *tree.joints, *scene.description.plugins]
    named = [text for text in texts if THRUSTER.search(plain(text))]
    if not (level or named):
        return None
    return _none_of_the_kinds(
        "propellers about level axes: " + ", ".join(level[:12])
        if level
        else f"named as a boat or a submarine ({named[0]!r})"
    )


def _none_of_the_kinds(evidence: str) -> Drive:
    warning = (
        f"{evidence}: none of the kinds that are known, so it is taken as fixed in its place; "
        "if it drives, state mobility.kind in a file of overrides"
    )
    return Drive("fixed", evidence, warnings=[warning])


def _otherwise(scene: Scene) -> Drive:
    tree = scene.tree
    wheels = tuple(
        name
        for name in tree.links
        if WHEEL.search(_texts(tree, name)) and "steering_wheel" not in plain(name)
    )
    if len(wheels) >= 2:
        return Drive(
            "wheels", f"links named as wheels, without joints: {', '.join(wheels)}", parts=wheels
        )
    if steering := _spinning(scene):
        names = ", ".join(joint.name for joint in steering)
        warning = (
            f"the robot stands on parts that turn about upright axes ({names}): assumed to be "
            "steered wheels, whose axles the URDF leaves out; else state mobility.kind in a file "
            "of overrides"
        )
        below = tuple(joint.child for joint in steering)
        return Drive("wheels", warning, tuple(steering), parts=below, warnings=[warning])
    kinds = {joint.kind for joint in scene.base.virtual}
    names = ", ".join(joint.name for joint in scene.base.virtual)
    if "floating" in kinds and not scene.limbs:
        evidence = f"assumed to fly: floats freely ({names}) and has nothing to stand on"
        return Drive("air", evidence)
    if scene.base.virtual:
        warning = f"no wheels, tracks or legs found; moves by {names}: assumed to be on wheels"
        return Drive("wheels", f"assumed: {warning}", warnings=[warning])
    skids = _side_bodies(scene)
    if skids:
        return Drive(
            "tracks",
            "assumed: two long bodies on the floor, left and right, carry the robot: "
            + ", ".join(skids),
            parts=skids,
        )
    evidence = "no wheels, tracks, legs or rotors, and nothing that says it moves"
    if ANCHOR.search(plain(tree.root)):
        return Drive("fixed", evidence)
    warning = (
        "nothing was found that moves this robot, so it is taken as fixed in its place; if it "
        "drives, state mobility.kind in a file of overrides"
    )
    return Drive("fixed", evidence, warnings=[warning])


def _side_bodies(scene: Scene) -> tuple[str, ...]:
    """Return two long, narrow, mirrored links that touch the floor."""
    boxes = {}
    for name in scene.tree.links:
        if scene.bodies.measured(name):
            pose = scene.poses[name]
            points = scene.bodies.points(name) @ pose[:3, :3].T + pose[:3, 3]
            boxes[name] = points.min(axis=0), points.max(axis=0)
    if len(boxes) < 3:
        return ()
    floor = min(low[2] for low, _ in boxes.values())
    front = max(high[0] for _, high in boxes.values())
    back = min(low[0] for low, _ in boxes.values())
    long = {
        name: (low, high)
        for name, (low, high) in boxes.items()
        if high[0] - low[0] > 0.6 * (front - back)
        and high[1] - low[1] < 0.4 * (high[0] - low[0])
        and low[2] < floor + 0.02
    }
    for left, (low, high) in long.items():
        for right, (low_r, high_r) in long.items():
            if (
                left != right
                and low[1] > 0.0
                and np.allclose(
                    [low[1], high[1], low[0], high[2]],
                    [-high_r[1], -low_r[1], low_r[0], high_r[2]],
                    atol=0.02,
                )
            ):
                return left, right
    return ()


def _texts(tree: Tree, link: str) -> str:
    joint = tree.above.get(link)
    return f"{plain(link)} {plain(joint.name) if joint else ''}"
