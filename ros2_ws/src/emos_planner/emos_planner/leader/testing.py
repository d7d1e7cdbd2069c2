"""A small house on two floors and robots with simple bodies, for tests of leaders and robots."""

from __future__ import annotations

import math

from coterie_core.embodiment import MobilityKind
from coterie_core.geometry import Box, Vec3
from coterie_core.resume import Manipulation, Mobility, Perception, Resume, ResumeArm, ResumeCamera
from coterie_core.scene import (
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Receptacle,
    Room,
    SceneGraph,
    SceneObject,
)
from coterie_core.scene.model import ObjectKind
from coterie_core.workspace import Workspace

UP = 3.0
"""Elevation of the upper floor [m]."""
_ROOMS = {
    # id: (name, type, floor, x from, x to)
    "kitchen": ("kitchen", "kitchen", "ground", 0.0, 4.0),
    "hall": ("hall", "hallway", "ground", 4.0, 8.0),
    "living": ("living room", "living room", "ground", 8.0, 12.0),
    "bedroom": ("bedroom", "bedroom", "upper", 0.0, 4.0),
    "landing": ("landing", "hallway", "upper", 4.0, 8.0),
}


def small_house(*, items: bool = True) -> SceneGraph:
    """Return kitchen, hall and living room, and upstairs a landing and a bedroom, each 4 x 4 m.

    With `items`: a mug on the table in the living room, one on the desk in the bedroom, keys on
    the kitchen counter, and a book on a shelf 1.75 m high in the living room. The fridge is closed.
    """
    scene = SceneGraph()
    scene.add_floor(Floor("ground", 0, 0.0))
    scene.add_floor(Floor("upper", 1, UP))
    for id, (name, kind, floor, left, right) in _ROOMS.items():
        outline = [(left, 0.0), (right, 0.0), (right, 4.0), (left, 4.0)]
        scene.add_room(Room(id, name, kind, floor, outline))
    for id, a, b, x, z in (
        ("door-1", "kitchen", "hall", 4.0, 0.0),
        ("door-2", "hall", "living", 8.0, 0.0),
        ("door-3", "landing", "bedroom", 4.0, UP),
    ):
        scene.add_connection(Connection(id, a, b, "door", (x, 2.0, z), 0.9))
    scene.add_connection(
        Connection("stairs", "hall", "landing", "stairs", (6.0, 1.0, 0.0), 1.0, 0.18)
    )
    _places(scene)
    _furniture(scene)
    if items:
        for id, label, owner, dx in (
            ("mug-1", "mug", "table-1", 0.2),
            ("mug-2", "mug", "desk-1", 0.0),
            ("keys-1", "keys", "counter-1", 0.4),
            ("books-1", "books", "shelf-1", 0.0),
        ):
            _item(scene, id, label, owner, dx)
    return scene


def body(
    robot: str,
    kind: MobilityKind = "wheels",
    *,
    arm: tuple[float, float] | None = (0.2, 1.5),
    eye: float = 1.2,
    reach: float = 0.9,
) -> Resume:
    """Return a robot's resume: arm heights (least, most) [m] or None, camera height `eye` [m]."""
    steps = {"legs": 0.25}.get(kind, 0.02)
    cell = 0.05
    arms: tuple[ResumeArm, ...] = ()
    if arm is not None:
        width = round(reach / cell) - 1
        rows = tuple(((0, width),) for _ in range(round((arm[1] - arm[0]) / cell)))
        space = Workspace(cell=cell, bottom=arm[0], rows=rows)
        arms = (
            ResumeArm(name="arm", base_link="base", tip_link="hand", joints=(), workspace=space),
        )
    camera = ResumeCamera(
        name="head",
        link="head",
        frame="head",
        mount="movable",
        channels=("rgb", "depth"),
        height=eye,
        heights=(eye, eye),
        hfov=math.radians(90),
        vfov=math.radians(70),
        pitch=0.2,
        pitches=(-0.7, 0.9),
    )
    return Resume(
        robot=robot,
        mobility=Mobility(
            kind=kind,
            radius=0.2,
            height=max(eye, 0.3),
            step_height=steps,
            climbs_stairs=kind in ("legs", "air"),
            linear_speed=0.6,
            flight_height=1.2 if kind == "air" else 0.0,
        ),
        perception=Perception(cameras=(camera,)),
        manipulation=Manipulation(arms=arms),
        summary=f"{robot} goes on {kind}" + (" and has an arm" if arm else " and has no arm"),
    )


def small_team() -> dict[str, Resume]:
    """Return rover (wheels, high arm), walker (legs, arm up to 1.2 m) and drone (no arm)."""
    return {
        "rover": body("rover", "wheels", arm=(0.3, 1.9), eye=1.3),
        "walker": body("walker", "legs", arm=(0.0, 1.2), eye=1.0),
        "drone": body("drone", "air", arm=None, eye=0.1),
    }


STARTS: dict[str, Vec3 | None] = {
    "rover": (6.0, 2.0, 0.0),
    "walker": (5.0, 2.0, 0.0),
    "drone": (10.0, 2.0, 0.0),
}
"""Where the robots of `small_team` stand [m]."""


def _places(scene: SceneGraph) -> None:
    for id, (_, _, floor, left, _) in _ROOMS.items():
        z = UP if floor == "upper" else 0.0
        for k in range(4):
            spot = (left + 0.5 + k, 2.0, z)
            scene.add_place(Place(f"{id}-{k}", spot, id, floor))
            if k:
                scene.add_link(PlaceLink(f"{id}-{k - 1}", f"{id}-{k}", 1.0))
    for a, b in (("kitchen-3", "hall-0"), ("hall-3", "living-0"), ("bedroom-3", "landing-0")):
        scene.add_link(PlaceLink(a, b, 1.0, 0.9))
    scene.add_link(PlaceLink("hall-1", "landing-1", 5.0, 1.0, 0.18))


def _furniture(scene: SceneGraph) -> None:
    for id, label, room, x, y, size, tops in (
        ("counter-1", "counter", "kitchen", 1.5, 3.7, (2.0, 0.6, 0.9), (0.9,)),
        ("refrigerator-1", "refrigerator", "kitchen", 3.3, 3.7, (0.7, 0.6, 1.7), ()),
        ("table-1", "table", "living", 10.0, 3.5, (1.2, 0.8, 0.75), (0.75,)),
        ("shelf-1", "shelf", "living", 11.2, 0.2, (1.0, 0.3, 1.75), (1.75,)),
        ("bed-1", "bed", "bedroom", 1.0, 3.4, (1.6, 1.0, 0.5), (0.5,)),
        ("desk-1", "desk", "bedroom", 3.0, 0.3, (1.2, 0.6, 0.75), (0.75,)),
    ):
        z = UP if room == "bedroom" else 0.0
        box = Box((x, y, z + size[2] / 2.0), size)
        kind: ObjectKind = "furniture"
        scene.add_object(
            SceneObject(
                id,
                LabelBelief.of(label),
                box,
                room,
                kind,
                is_open=False if label == "refrigerator" else None,
                receptacles=[
                    Receptacle(f"{id}/top", Box((x, y, z + top), (size[0], size[1], 0.0)))
                    for top in tops
                ]
                or [Receptacle(f"{id}/inside", Box((x, y, z + 0.8), (0.5, 0.4, 0.0)), inside=True)],
            )
        )


def _item(scene: SceneGraph, id: str, label: str, owner: str, dx: float) -> None:
    place = scene.objects[owner]
    x, y, z = place.receptacles[0].surface.center
    size = (0.08, 0.08, 0.1)
    scene.add_object(
        SceneObject(
            id,
            LabelBelief.of(label),
            Box((x + dx, y, z + size[2] / 2.0), size),
            place.room,
            support=owner,
        )
    )
