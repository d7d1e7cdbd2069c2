"""How often EMOS's tools are right: what they say against what the embedded world then does.

Run: python -m research.bench.emos.tool_agreement [--seeds 20-29] [--each 30]
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.resume import Resume
from coterie_core.skills import NavigateTo, Open, Pick, Place, Skill, SkillResult, Target
from coterie_core.tasks import Obstacle, SubTask, SubTaskKind, Thing
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.standpoints import turn_to
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.body import Body, SkillFailed
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import run_skill

KINDS: tuple[SubTaskKind, ...] = ("pick", "place", "detect", "go_to")
_STEP = 0.1  # [m] between spots tried when the tools say that there is none
_LOOKS = 60  # spots looked from when the tools say that a thing is seen from none


@dataclass(slots=True)
class Tally:
    """Counts by (kind, robot): answers, mistakes; and the mistakes in words."""

    yes: Counter[tuple[str, str]] = field(default_factory=Counter)
    no: Counter[tuple[str, str]] = field(default_factory=Counter)
    false_yes: Counter[tuple[str, str]] = field(default_factory=Counter)
    false_no: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def share(self, kind: str = "", robot: str = "") -> float:
        """Return the share of right answers (0..1), of one kind and robot or all."""

        def count(table: Counter[tuple[str, str]]) -> int:
            return sum(n for (k, r), n in table.items() if kind in ("", k) and robot in ("", r))

        asked = count(self.yes) + count(self.no)
        return 1.0 - (count(self.false_yes) + count(self.false_no)) / max(asked, 1)


class Trial:
    """One house in which the tools' answers are tried out.

    Args:
        seed: Of the house and of what is asked.
        robots: Name -> body.
    """

    def __init__(self, seed: int, robots: dict[str, Embodiment]) -> None:
        self.seed = seed
        self.world = EmbeddedWorld(
            generate_house(seed),
            seed=seed,
            noise=DetectorNoise.none(),
            look_on_arrival=False,
            track_ids=True,
            threads=1,
        )
        self.scene = self.world.truth()
        self.resumes = {name: Resume.of_embodiment(body) for name, body in robots.items()}
        self.tools = Toolbox(self.scene, self.resumes)
        self.random = random.Random(seed)

    def run(self, each: int, kinds: Sequence[SubTaskKind], tally: Tally) -> None:
        """Ask about `each` things per robot and kind, and try the answers out."""
        items = [t for t in self.scene.objects.values() if t.kind == "item"]
        receptacles = [t for t in self.scene.objects.values() if t.kind != "item" and t.receptacles]
        for name, resume in self.resumes.items():
            self.world.add_robot(name, resume.embodiment())
            body = next(b for b in self.world.bodies if b.name == name)
            home = body.pose
            for kind in kinds:
                if kind in ("pick", "place") and body.embodiment.arm is None:
                    continue
                for thing in self.random.sample(items, min(each, len(items))):
                    where = self.random.choice(receptacles)
                    self._ask(body, home, kind, thing, where, tally)
            self.world.remove_robot(name)

    def _ask(
        self,
        body: Body,
        home: Pose,
        kind: SubTaskKind,
        thing: SceneObject,
        where: SceneObject,
        tally: Tally,
    ) -> None:
        task = SubTask(
            id="asked",
            kind=kind,
            object=Thing(label=thing.label.top, id=thing.id),
            receptacle=Thing(label=where.label.top, id=where.id) if kind == "place" else None,
        )
        answer = self.tools.estimate(body.name, task, home.position)
        key = (kind, body.name)
        body.pose = home
        real = self.world.contents.things[thing.id]
        before = (real.box, real.room, real.support, real.container)
        if answer.feasible:
            tally.yes[key] += 1
            trouble = self._do(body, kind, thing, where, answer)
            if trouble:
                tally.false_yes[key] += 1
                tally.notes.append(f"house {self.seed}, {body.name}, {kind} {thing.id}: {trouble}")
        elif kind != "place":  # where things can be put is not searched through
            tally.no[key] += 1
            spot = self._possible(body, kind, thing, answer)
            if spot is not None:
                tally.false_no[key] += 1
                tally.notes.append(
                    f"house {self.seed}, {body.name}, {kind} {thing.id}: {answer.reason}; but it "
                    f"can from ({spot[0]:.2f}, {spot[1]:.2f})"
                )
        if body.holding or kind == "place":
            body.holding = ""
            self.world.contents.put(thing.id, *before)
        for container in self.scene.objects.values():
            if container.is_open is False and self.world.contents.things[container.id].is_open:
                self.world.contents.set_open(container.id, False)
        body.pose = home

    def _do(
        self,
        body: Body,
        kind: SubTaskKind,
        thing: SceneObject,
        where: SceneObject,
        answer: Estimate,
    ) -> str:
        """Do as the tools say; return "" if it works, else why not."""
        world, name = self.world, body.name
        assert answer.spot is not None
        if kind == "place":
            world.contents.take(thing.id, name)
            body.holding = thing.id
        if answer.opens:
            shut = self.scene.objects[answer.opens]
            there = self.tools.estimate(
                name,
                SubTask(id="o", kind="open", object=Thing(label=shut.label.top, id=shut.id)),
                body.pose.position,
            )
            assert there.spot is not None
            result = run_skill(world, name, NavigateTo.near(there.spot))
            if result.ok:
                opens = Open(Target(shut.label.top, shut.box.center, shut.id))
                result = _with_hand(world, name, opens)
            if not result.ok:
                return f"open: {result.reason}"
        yaw = None
        if kind == "detect":
            dx, dy = (thing.box.center[k] - answer.spot[k] for k in range(2))
            yaw = math.atan2(dy, dx)
        result = run_skill(world, name, NavigateTo.near(answer.spot, yaw=yaw))
        if not result.ok:
            return f"go: {result.reason}"
        if kind == "pick":
            assert answer.target is not None
            result = _with_hand(world, name, Pick(Target(thing.label.top, answer.target, thing.id)))
            return "" if result.ok else f"pick: {result.reason}"
        if kind == "place":
            assert answer.target is not None
            put = Place(Target(where.label.top, answer.target, where.id))
            result = _with_hand(world, name, put)
            # A surface that other things fill is no matter of the body.
            full = "fit" in result.reason or "free spot" in result.reason
            return "" if result.ok or full else f"place: {result.reason}"
        if kind == "detect":
            seen = {d.instance for d in world.observe(name).detections}
            return "" if thing.id in seen else "detect: not in view"
        return ""

    def _possible(
        self, body: Body, kind: SubTaskKind, thing: SceneObject, answer: Estimate
    ) -> Vec3 | None:
        """Return a spot from which it can be done all the same, None if there is none."""
        if answer.obstacle in (Obstacle.TOO_HEAVY, Obstacle.CLOSED):
            return None
        shut = self.tools.catalog.closed_around(thing)
        if shut is not None:
            self.world.contents.set_open(shut.id, True)
        home, space = body.pose, body.places.space
        floor = space.occupancy.floor_index(thing.box.bottom)
        x, y, _ = thing.box.center
        arm = body.embodiment.arm
        reach = (arm.reach if arm is not None else 0.0) + max(thing.box.size)
        reach = {"pick": reach, "go_to": 1.5, "detect": 4.0}[kind]
        count = int(reach / _STEP) + 1
        spots = [
            (x + i * _STEP, y + j * _STEP, space.height(floor))
            for i in range(-count, count + 1)
            for j in range(-count, count + 1)
        ]
        spots = [s for s in spots if space.is_free(s) and space.connected(home.position, s)]
        if kind == "detect":
            spots = spots[:: max(1, len(spots) // _LOOKS)]
        try:
            for spot in spots:
                body.pose = Pose(spot, math.atan2(y - spot[1], x - spot[0]))
                if self._works(body, kind, thing):
                    return spot
        finally:
            body.pose = home
        return None

    def _works(self, body: Body, kind: SubTaskKind, thing: SceneObject) -> bool:
        if kind == "go_to":
            rooms = [
                self.world.occupancy.room_id(p) for p in (body.pose.position, thing.box.center)
            ]
            away = math.dist(body.pose.position[:2], thing.box.center[:2])
            return away <= 1.5 and rooms[0] == rooms[1]
        if kind == "detect":
            body.glance = None
            found, _ = self.world._in_view(body)
            return any(s.id == thing.id and s.fraction > 0.3 for s in found)
        hands = self.world._hands
        try:
            hands._in_reach(body, thing.box, thing.box.center[2], "")
            hands._in_sight(body, thing, "")
        except SkillFailed:
            return False
        return True


def agreement(
    seeds: Iterable[int],
    each: int,
    *,
    kinds: Sequence[SubTaskKind] = KINDS,
    robots: Sequence[str] = tuple(EMBODIMENTS),
) -> Tally:
    """Return how often the tools are right in the houses of some seeds."""
    tally = Tally()
    bodies = {name: EMBODIMENTS[name] for name in robots}
    for seed in seeds:
        Trial(seed, {k: replace_name(b, k) for k, b in bodies.items()}).run(each, kinds, tally)
    return tally


def replace_name(body: Embodiment, name: str) -> Embodiment:
    """Return a body under another name."""
    return body.model_copy(update={"name": name})


def table(tally: Tally) -> str:
    """Return the counts as a Markdown table."""
    lines = [
        "| sub-task | robot | yes | wrong | no | wrong | right |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for key in sorted({*tally.yes, *tally.no}, key=lambda k: (KINDS.index(k[0]), k[1])):
        kind, robot = key
        lines.append(
            f"| {kind} | {robot} | {tally.yes[key]} | {tally.false_yes[key]} | {tally.no[key]} "
            f"| {tally.false_no[key]} | {100.0 * tally.share(kind, robot):.1f} % |"
        )
    lines.append(
        f"| all | all | {sum(tally.yes.values())} | {sum(tally.false_yes.values())} "
        f"| {sum(tally.no.values())} | {sum(tally.false_no.values())} "
        f"| {100.0 * tally.share():.1f} % |"
    )
    return "\n".join(lines)


def _with_hand(world: EmbeddedWorld, name: str, skill: Skill) -> SkillResult:
    """Do a skill, facing what the hand does."""
    pose = world.state(name).pose
    if (turn := turn_to(skill, pose.position, pose.yaw)) is not None:
        run_skill(world, name, turn)
    return run_skill(world, name, skill)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="20-29", help="first-last")
    parser.add_argument("--each", type=int, default=30, help="things per robot and kind")
    parser.add_argument("--notes", action="store_true", help="print every mistake")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    tally = agreement(range(int(first), int(last or first) + 1), options.each)
    print(table(tally))
    if options.notes:
        print("\n".join(tally.notes))


if __name__ == "__main__":
    main()
