"""Images of the embedded house: geometry, instance numbers and labels, robots included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.sensors import Sensors
from habitat_bridge.embedded.things import Things
from habitat_bridge.house.house import House
from habitat_bridge.render.solids import structure_surface
from habitat_bridge.render.views import Pillar, View
from habitat_bridge.simulator import Channel, Frame, FrameRequest, WorldError


class Imaging:
    """Cameras of all robots of a house.

    Instance numbers in semantic images: 0 nothing, then the structure (walls, floors, ...), then
    the things, then robots.

    Args:
        house: The house.
        threads: Threads that draw and cast rays (0: all cores).
    """

    def __init__(self, house: House, threads: int = 0) -> None:
        surface, instances, names = structure_surface(house)
        self.structure_labels: Mapping[int, str] = names
        self.contents = Things(house, max(names, default=0) + 1)
        self.sensors = Sensors(surface, instances, self.contents, threads)
        self.first_robot = self.contents.first_instance + len(self.contents.ids)
        self._labels = self.sensors.labels(self.structure_labels)

    def render(
        self, requests: Sequence[FrameRequest], bodies: Mapping[str, Body], time: float
    ) -> list[Frame]:
        """Return the images asked for; their arrays are read-only.

        Raises:
            WorldError: A robot has no such camera.
        """
        views, wanted, own = [], [], []
        order = list(bodies)
        for request in requests:
            body = bodies[request.robot]
            cameras = {camera.name: camera for camera in body.embodiment.cameras}
            if request.camera not in cameras:
                raise WorldError(
                    f"{request.robot} has no camera {request.camera!r}; its cameras: "
                    f"{', '.join(cameras) or 'none'}"
                )
            views.append(View.of(body.pose, cameras[request.camera]))
            wanted.append(cast("frozenset[Channel]", frozenset(request.channels)))
            own.append(order.index(request.robot))
        pillars = self.pillars(bodies)
        images = self.sensors.render(views, wanted, pillars, own)
        labels = dict(self._labels)
        if len(pillars) > 1:
            labels.update({pillar.number: "robot" for pillar in pillars})
        return [
            Frame(
                request.robot,
                view.camera,
                time,
                view.matrix(),
                image.color,
                image.depth,
                image.semantic,
                labels if image.semantic is not None else None,
            )
            for request, view, image in zip(requests, views, images, strict=True)
        ]

    def pillars(self, bodies: Mapping[str, Body], without: str = "") -> list[Pillar]:
        """Return robots as they show in images, without the one of that name."""
        return [
            Pillar(
                body.pose.position,
                body.embodiment.radius,
                body.embodiment.height,
                self.first_robot + k,
            )
            for k, (name, body) in enumerate(bodies.items())
            if name != without
        ]
