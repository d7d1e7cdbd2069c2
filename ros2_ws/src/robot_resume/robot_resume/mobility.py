"""The mobility section: posture at rest, floor, footprint, height and the step it can take."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.limbs import Limb, is_arm
from coterie_core.kinematics.sampling import postures
from coterie_core.resume import Mobility
from coterie_core.urdf.tree import plain
from robot_resume.locomotion import CASTER, FLIPPER, MAX_LIMB_JOINTS, Drive, Scene

Array = npt.NDArray[np.float64]

FLIGHT_HEIGHT = 1.5
STAIR = 0.18
"""Riser of a house's stairs that a robot must take to be said to climb them [m]."""
# A wheel pulled against an edge of height h by its own traction mu times its load gets up when
# tan(angle of the edge seen from the axle) <= mu: h = r (1 - 1 / sqrt(1 + mu^2)). With mu = 1
# that is 0.29 r; makers state as much (TurtleBot3 Waffle: 10 mm with wheels of 33 mm radius).
WHEEL_STEP = 1.0 - 1.0 / math.sqrt(2.0)
_ROCKER = ("rocker", "bogie")
_MIN_RADIUS = 0.05
_UNKNOWN_RADIUS = 0.25


@dataclass
class Stance:
    """The robot at rest.

    Attributes:
        base: Pose (4, 4) of the root link in the base frame, whose origin is on the floor (of
            flyers: in the body).
        rest: Joint -> position at rest.
        body: The base link.
        mobility: The section.
        stands: Whether hands end at the height 0: not of flyers, nor of what is fixed to something
            whose height nobody knows.
        frozen: Joints that arms and cameras do not move with, at rest.
        arms: The limbs that are arms.
    """

    base: Array
    rest: dict[str, float]
    body: str
    mobility: Mobility
    frozen: dict[str, float]
    arms: list[Limb]
    warnings: list[str] = field(default_factory=list)
    stands: bool = True


def measure(scene: Scene, drive: Drive) -> Stance:
    """Return the robot's posture at rest and its mobility section."""
    evidence = {"kind": drive.evidence, "frame": scene.base.evidence}
    warnings = list(drive.warnings)
    rest = dict(scene.rest)
    standing: Standing | None = None
    if drive.legs:
        standing = stand(scene, drive)
        rest |= standing.rest
    poses = scene.base.poses(scene.tree, rest)
    arms = [limb for limb in drive.limbs if is_arm(scene.tree, limb)]
    parts = _Parts(scene, drive, arms, poses)
    floor, evidence["floor"] = _floor(scene, drive, parts, standing)
    radius, footprint, evidence["radius"] = _footprint(drive, parts, floor)
    top, evidence["height"] = _height(drive, parts, floor)
    step, evidence["step_height"] = _step(scene, drive, parts, floor, standing)
    speed, evidence["linear_speed"] = _speed(drive, scene, floor)
    warnings += [
        f"chain {limb.joints[0].name} to {limb.tip} left out: {len(limb.joints)} moving joints "
        f"are more than the {MAX_LIMB_JOINTS} of any arm or leg"
        for limb in scene.too_long
    ]
    if parts.unknown:
        warnings.append(
            "meshes not read, so that sizes are known from joints and the other shapes alone: "
            + _listed(parts.unknown)
            + _why_not_read(scene)
        )
    if drive.kind == "air":
        evidence["flight_height"] = f"assumed {FLIGHT_HEIGHT} m: a URDF does not say"
    pose = scene.base.pose.copy()
    pose[2, 3] -= floor
    virtual = {joint.name: 0.0 for joint in scene.base.virtual}
    return Stance(
        base=pose,
        rest=rest,
        body=scene.base.link,
        mobility=Mobility(
            kind=drive.kind,
            radius=radius,
            footprint=footprint,
            height=top,
            step_height=step,
            climbs_stairs=drive.kind == "air"
            or (drive.kind in ("legs", "tracks") and (step or 0.0) >= STAIR),
            linear_speed=speed,
            flight_height=FLIGHT_HEIGHT if drive.kind == "air" else 0.0,
            evidence=evidence,
        ),
        frozen=virtual | {joint.name: rest.get(joint.name, 0.0) for joint in drive.joints},
        arms=arms,
        warnings=warnings,
        stands=drive.kind != "air" and (drive.kind != "fixed" or floor < 0.0),
    )


def _why_not_read(scene: Scene) -> str:
    """Return why meshes were not read, with one file for each reason."""
    reasons: dict[str, list[str]] = {}
    for file, why in scene.bodies.missing.items():
        reasons.setdefault(why, []).append(file.rsplit("/", 1)[-1])
    told = [
        files[0] + (f" (and {len(files) - 1} more) " if len(files) > 1 else " ") + why
        for why, files in reasons.items()
    ]
    return f" ({'; '.join(told[:4])})" if told else ""


class _Parts:
    """Points of the robot without its arms, in the base frame."""

    def __init__(
        self, scene: Scene, drive: Drive, arms: list[Limb], poses: dict[str, Array]
    ) -> None:
        tree, bodies = scene.tree, scene.bodies
        away = {name for limb in arms for name in tree.subtree(limb.joints[0].child)}
        self.poses = poses
        self.measured: dict[str, Array] = {}
        self.guessed: dict[str, Array] = {}
        self.unknown: list[str] = []
        self.frames: dict[str, Array] = {}
        self.arms = {name: poses[name][:3, 3] for name in tree.links if name in away}
        shapes = any(link.shapes for link in tree.links.values())
        for name, link in tree.links.items():
            if name in away:
                continue
            points = bodies.points(name)
            if len(points):
                points = points @ poses[name][:3, :3].T + poses[name][:3, 3]
                (self.measured if bodies.measured(name) else self.guessed)[name] = points
            if (link.shapes and not bodies.measured(name)) or not shapes:
                self.frames[name] = poses[name][:3, 3]
            if link.shapes and not bodies.measured(name):
                self.unknown.append(name)

    def cloud(self) -> Array:
        """Return all points (n, 3)."""
        found = [*self.measured.values(), *self.guessed.values()]
        found += [point[None] for point in self.frames.values()]
        return np.concatenate(found) if found else np.zeros((1, 3))


def _floor(
    scene: Scene, drive: Drive, parts: _Parts, standing: Standing | None
) -> tuple[float, str]:
    if drive.kind == "air":
        return 0.0, "flies: heights count from the body's frame"
    if standing is not None:
        return standing.floor, "the feet of the standing posture"
    lowest = min((float(p[:, 2].min()) for p in parts.measured.values()), default=math.inf)
    origin = float((scene.base.poses(scene.tree, scene.rest)[scene.tree.root])[2, 3])
    if drive.kind == "fixed":
        if -0.001 > lowest > -3.0:
            return lowest, "the lowest shape; fixed, so it stands on it"
        return 0.0, (
            f"the frame of {scene.base.link}: fixed there, on what is not known, so reach below it "
            "is not cut"
        )
    bottoms = {
        joint.name: float(parts.poses[joint.child][2, 3]) - radius
        for joint in drive.wheels
        if (radius := scene.bodies.radius_about(joint.child, joint.axis)) is not None
    }
    if bottoms:
        name = min(bottoms, key=lambda key: bottoms[key])
        return bottoms[name], f"the lowest point of the wheel on {name}"
    touching = [parts.measured[name] for name in drive.parts if name in parts.measured]
    if touching:
        return min(float(points[:, 2].min()) for points in touching), (
            "the lowest point of " + _listed([n for n in drive.parts if n in parts.measured])
        )
    axles = [float(parts.poses[joint.child][2, 3]) for joint in drive.wheels]
    axles += [float(parts.poses[name][2, 3]) for name in drive.parts]
    if axles and 0.005 < min(axles) - origin < 0.6 and lowest > origin - 0.01:
        return origin, (
            f"the origin of {scene.tree.root}: wheels of unknown size have their axles "
            f"{min(axles) - origin:.3f} m above it and nothing reaches below it"
        )
    if math.isfinite(lowest):
        return lowest, "the lowest shape"
    return min([origin, *axles]), "the lowest frame: no shape is known"


def _footprint(
    drive: Drive, parts: _Parts, floor: float
) -> tuple[float, tuple[tuple[float, float], ...], str]:
    from scipy.spatial import ConvexHull, QhullError

    flat = parts.cloud()[:, :2]
    radius = float(np.hypot(flat[:, 0], flat[:, 1]).max())
    try:
        corners = flat[ConvexHull(flat).vertices]
    except (QhullError, ValueError):
        corners = np.empty((0, 2))
    evidence = f"shapes of {_listed(list(parts.measured))}" if parts.measured else ""
    if parts.guessed:
        evidence += f"; boxes of the same inertia for {_listed(list(parts.guessed))}"
    if parts.frames:
        evidence += f"; joints of {_listed(list(parts.frames))}, whose shapes are not known"
    if parts.arms:
        evidence += "; arms are stowed above it"
    least = _MIN_RADIUS if parts.measured or parts.guessed else _UNKNOWN_RADIUS
    if radius < least:
        evidence += f"; at least {least} m assumed"
    footprint = tuple((round(float(x), 3), round(float(y), 3)) for x, y in corners)
    return max(round(radius, 3), least), footprint, evidence.lstrip("; ")


def _height(drive: Drive, parts: _Parts, floor: float) -> tuple[float, str]:
    tops = {name: float(points[:, 2].max()) for name, points in parts.measured.items()}
    tops |= {name: float(points[:, 2].max()) for name, points in parts.guessed.items()}
    for name, point in parts.frames.items():
        tops[name] = max(tops.get(name, -math.inf), float(point[2]))
    if parts.arms and (drive.kind == "fixed" or not tops):
        tops |= {name: float(point[2]) for name, point in parts.arms.items()}
    if not tops:
        return 0.05, "assumed: no shape is known"
    name = max(tops, key=lambda key: tops[key])
    if drive.kind == "air":
        lows = [float(points[:, 2].min()) for points in parts.measured.values()]
        lows += [float(points[:, 2].min()) for points in parts.guessed.values()]
        floor = min([0.0, *lows])
    height = max(round(tops[name] - floor, 3), 0.02)
    return height, f"top of {name} with lifts down and joints at zero or their nearest limit"


def _step(
    scene: Scene, drive: Drive, parts: _Parts, floor: float, standing: Standing | None
) -> tuple[float | None, str]:
    if standing is not None:
        step = round(standing.used * standing.lift, 3)
        return step, (
            f"a foot can be raised {standing.lift:.2f} m from the stance on legs of "
            f"{standing.length:.2f} m; {standing.used:g} of it is counted"
        )
    if drive.kind == "tracks":
        return _track_step(scene, drive, parts, floor)
    if drive.kind != "wheels":
        return None, "does not step" if drive.kind == "fixed" else "flies over steps"
    wheels = [joint for joint in drive.wheels if not CASTER.search(plain(joint.name))]
    radii = {}
    for joint in wheels or list(drive.wheels):
        radius = scene.bodies.radius_about(joint.child, joint.axis)
        if radius is None:
            radius = float(parts.poses[joint.child][2, 3]) - floor
        if radius > 0.003:
            radii[joint.name] = radius
    if not radii:
        return None, "the wheels' size is not known"
    name = min(radii, key=lambda key: radii[key])
    radius = radii[name]
    above = [plain(joint.name) for wheel in wheels for joint in scene.tree.chain(wheel.child)]
    if len(wheels) >= 6 and any(word in each for each in above for word in _ROCKER):
        return round(2.0 * radius, 3), (
            f"rocker-bogie suspension: about the diameter of its wheels of {radius:.3f} m radius"
        )
    return round(WHEEL_STEP * radius, 3), (
        f"wheel of {name}, radius {radius:.3f} m: r (1 - 1/sqrt(1 + mu^2)) with traction mu = 1, "
        "the balance of a wheel at an edge; smaller casters may take less"
    )


def _track_step(
    scene: Scene, drive: Drive, parts: _Parts, floor: float
) -> tuple[float | None, str]:
    shapes = {**parts.measured, **parts.guessed}
    touching = [shapes[name] for name in drive.parts if name in shapes]
    arms = [name for name in drive.parts if FLIPPER.search(plain(name))]
    arms += [j.child for j in drive.joints if FLIPPER.search(plain(j.name)) and j.child not in arms]
    if not touching:
        return None, "the tracks' size is not known"
    cloud = np.concatenate(touching)
    tall = float(cloud[:, 2].max()) - floor
    length = float(np.ptp(cloud[:, 0]))
    flippers = [shapes[name] for name in arms if name in shapes]
    if not flippers:
        return round(tall / 2.0, 3), (
            f"tracks {tall:.2f} m high: their round front grips edges up to its axle"
        )
    reach = max(
        float(np.linalg.norm(points - parts.poses[name][:3, 3], axis=1).max())
        for name in arms
        if (points := shapes.get(name)) is not None
    )
    pivot = max(float(parts.poses[name][2, 3]) - floor for name in arms)
    step = min(pivot + reach * math.sin(math.pi / 4.0), length / 3.0)
    return round(max(step, tall / 2.0), 3), (
        f"flippers of {reach:.2f} m raised by 45 degrees at {pivot:.2f} m, at most a third of "
        f"the tracks' length of {length:.2f} m"
    )


def _speed(drive: Drive, scene: Scene, floor: float) -> tuple[float, str]:
    speeds = {
        joint.name: joint.velocity * radius
        for joint in drive.wheels
        if joint.velocity > 0.0
        and (radius := scene.bodies.radius_about(joint.child, joint.axis)) is not None
    }
    if speeds:
        name = min(speeds, key=lambda key: speeds[key])
        if 0.05 <= speeds[name] <= 3.0:
            return round(speeds[name], 3), f"velocity limit of {name} times the wheel's radius"
    default = float(Mobility.model_fields["linear_speed"].default)
    return default, f"assumed {default:g} m/s: the URDF does not say"


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Share of the straight leg that the hip stands above the foot: quadrupeds walk on bent legs (Spot
# stands at about 0.52 m on legs of 0.69 m, A1 at 0.30 on 0.40), bipeds nearly straight.
CROUCH = {2: 0.95}
BENT = 0.75
# Share of what the leg could lift its foot that is left for a step, when the body must stay up and
# balanced; gives about what makers state for quadrupeds (Spot 0.30 m, ANYmal 0.25 m, Go2 0.16 m)
# and what humanoids have shown (stairs for Atlas, a few centimetres for NAO).
USED_LIFT = {2: 0.25}
USED_LIFT_MANY = 0.5
_SAMPLES = 4096


@dataclass(frozen=True)
class Standing:
    """Posture of the legs.

    Attributes:
        rest: Joint -> position [rad or m].
        floor: Height of the feet in the base frame [m].
        length: Of a straight leg, hip to foot [m].
        lift: How far a foot can be raised from the stance [m].
        used: Share of the lift that counts for steps.
    """

    rest: dict[str, float]
    floor: float
    length: float
    lift: float
    used: float


def stand(scene: Scene, drive: Drive) -> Standing:
    """Return how the robot stands with its feet below its hips."""
    rest: dict[str, float] = {}
    share = CROUCH.get(len(drive.legs), BENT)
    hips, lengths, clouds = [], [], []
    chains = [_chain(scene, leg) for leg in drive.legs]
    for leg, chain in zip(drive.legs, chains, strict=True):
        values = postures(chain.lower, chain.upper, _SAMPLES, 0)
        points = chain.points(values)
        hip = _hip(scene, leg)
        hips.append(hip)
        clouds.append((values, points))
        lengths.append(float(np.linalg.norm(points - hip, axis=1).max()))
    length = float(np.mean(lengths))
    level = float(np.mean([hip[2] for hip in hips])) - share * length
    feet = []
    for leg, chain, hip, (values, points) in zip(drive.legs, chains, hips, clouds, strict=True):
        goal = np.array([hip[0], hip[1], level])
        nearest = np.argsort(((points - goal) ** 2).sum(axis=1), kind="stable")[:8]
        found = solve(chain, Target.point(goal), values[nearest])
        best = int(np.argmin(found.errors))
        posture = found.positions[best]
        own = {joint.name for joint in leg.joints}
        rest |= {
            joint.name: float(value)
            for joint, value in zip(chain.joints, posture, strict=True)
            if joint.name in own
        }
        feet.append(float(chain.points(posture[None])[0, 2]))
    floor = float(np.mean(feet))
    lifts = []
    for hip, (_, points) in zip(hips, clouds, strict=True):
        near = np.hypot(points[:, 0] - hip[0], points[:, 1] - hip[1]) < 0.3 * length
        if near.any():
            lifts.append(float(points[near, 2].max()) - floor)
    top = min(float(np.mean([hip[2] for hip in hips])) - floor, max(min(lifts, default=0.0), 0.0))
    used = USED_LIFT.get(len(drive.legs), USED_LIFT_MANY)
    return Standing(rest, floor, length, top, used)


def _chain(scene: Scene, leg: Limb) -> Chain:
    own = {joint.name for joint in leg.joints}
    frozen = {
        joint.name: scene.rest[joint.name]
        for joint in scene.tree.joints.values()
        if joint.name in scene.rest and joint.name not in own
    }
    return Chain(scene.tree, leg.tip, scene.base.pose, scene.end(leg), frozen)


def _hip(scene: Scene, leg: Limb) -> Array:
    """Return where the leg's swinging starts: its first hinge about a horizontal, lateral axis."""
    for joint in leg.joints:
        if joint.turns and abs(scene.axis(joint)[1]) > 0.7:
            return scene.poses[joint.child][:3, 3]
    return scene.poses[leg.joints[0].child][:3, 3]
