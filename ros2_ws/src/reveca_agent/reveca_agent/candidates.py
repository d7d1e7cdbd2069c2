"""What can be done next, who is likeliest to do it, and the K candidates of a decision."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from coterie_core.cooperation import Briefing, Spot, SubGoal, Thing
from reveca_agent.entries import Entry
from reveca_agent.memory import Memory
from reveca_agent.plans import Option, Plan, Task, promise
from reveca_agent.searching import INSIDE, closed_containers, search_places
from reveca_agent.skill_book import carried, carriers, room_left

STRIDE = 0.5
"""Metres per step for which the numbers of steps here are meant; others are scaled [m]."""
DWELL = 5.0
"""Steps that somebody likely spends in a room after entering it, on containers that are there."""
CARRYING = 3.0
"""A container counts as this power of the number of things to go: it saves a way for most."""
FETCHABLE = 9.0
"""How far away a container may be that is taken for carrying [m]."""
LOST = 30.0
"""Spread of where a collaborator may be beyond which planning does not count on it [m]."""
FORGET = 60
"""Steps after which a prediction of what a collaborator does next is worth nothing."""


@dataclass(slots=True)
class Worker:
    """A member of the team as planning sees it: from where and when it is free, free hands."""

    name: str
    spot: Spot
    free_at: float
    hands: int
    best: tuple[float, float, Task] | None = None


class Outlook:
    """All tasks at one decision, from memory: fetch, look, explore; and the needs behind them."""

    def __init__(self, memory: Memory, briefing: Briefing) -> None:
        self.memory, self.briefing = memory, briefing
        self.ways, self.stride = briefing.ways, briefing.stride
        self.pace = STRIDE / briefing.stride
        self.lacking = open_needs(memory, self.pace)
        self.room_left = room_left(memory, briefing)
        self.loads = briefing.turn > 0
        """Containers are carried, and rooms are seen by turning round (transport)."""
        self.tasks: list[Task] = []
        unseen = self._fetches()
        lost = {g.target for g in memory.goal.subgoals if not targets(memory, g)}
        if unseen or lost:
            self._searches(unseen, lost)
        if self.loads and not carriers(memory, briefing.carry):
            self._containers_to_carry()

    def _fetches(self) -> dict[SubGoal, int]:
        """Add known things that are needed; return how many of each need are still to be found."""
        memory = self.memory
        unseen = dict(self.lacking)
        shown = memory.shown()
        for entry in shown:
            thing = entry.thing
            if thing.kind != "item" or entry.missing or thing.relation == "held":
                continue
            if thing.id in memory.placed or self._on_its_way(thing) or memory.blocked(thing.id):
                continue
            for need in memory.goal.of_item(thing.label):
                if self.lacking.get(need, 0) <= 0:
                    continue
                owner = memory.owner(thing)
                extra = 1.0 + (owner is not None and owner.is_open is False) + self.loads
                about = f"{thing.label} {thing.relation} {thing.parent} in {thing.spot.room}"
                task = Task("fetch", thing.id, thing.spot, 1.0, extra, entry.level, about)
                self.tasks.append(task)
                unseen[need] = max(0, unseen[need] - 1)
                break
        return {need: count for need, count in unseen.items() if count > 0}

    def _on_its_way(self, thing: Thing) -> bool:
        """It lies in a container that somebody carries."""
        owner = self.memory.owner(thing)
        return owner is not None and owner.relation == "held"

    def _containers_to_carry(self) -> None:
        """Add containers in which several things can be carried, while that many are to go."""
        memory = self.memory
        togo = sum(self.lacking.values())
        if togo < 2 or self.room_left < 1:
            return
        for entry in memory.shown():
            thing = entry.thing
            if thing.kind != "container" or not thing.portable or entry.missing:
                continue
            if thing.relation == "held" or self.ways.distance(memory.spot, thing.spot) > FETCHABLE:
                continue
            about = f"{thing.label} in {thing.spot.room}, carries {self.briefing.carry} things"
            gain = float(togo) ** CARRYING
            self.tasks.append(Task("fetch", thing.id, thing.spot, gain, 1.0, entry.level, about))

    def _searches(self, unseen: dict[SubGoal, int], lost: set[str]) -> None:
        """Add places where what is still to be found may be, with the number expected there."""
        wanted = [(need.item, count) for need, count in unseen.items()]
        hidden = [INSIDE] * len(wanted) + [0.0] * len(lost)
        wanted += [(label, 1) for label in sorted(lost)]
        places = search_places(
            self.memory, self.briefing, [label for label, _ in wanted], hidden, self._containers()
        )
        total = [0.0] * len(wanted)
        for _, shares in places:
            total = [a + b for a, b in zip(total, shares, strict=True)]
        for task, shares in places:
            task.gain = sum(
                count * share / whole
                for (_, count), share, whole in zip(wanted, shares, total, strict=True)
                if whole > 0.0
            )
            if task.gain > 0.0:
                self.tasks.append(task)

    def _containers(self) -> list[Entry]:
        """Closed containers to look into; in transport worlds nothing lies in closed furniture."""
        return [] if self.loads else closed_containers(self.memory)

    # --- who does what ---------------------------------------------------------------------------

    def crew(self) -> list[Worker]:
        """Return oneself and every collaborator of whom something is known, as workers.

        Planning looks at what they do from now on; what they did since they were last known is
        for the validation to doubt.
        """
        memory, now = self.memory, self.memory.step
        crew = [Worker(memory.name, memory.spot, 0.0, self.room_left)]
        if not memory.settings.collaborators:
            return crew
        for name, mate in memory.collaborators.items():
            last = mate.last
            guess = mate.predicted(now, self.ways, self.stride)
            if last is None or guess is None or guess.spread > LOST:
                continue  # it may be anywhere by now
            held = len(last.hands)
            spot, free_at = guess.spot, 0.0
            if mate.aim is not None:
                if guess.walking:
                    free_at = self.ways.distance(spot, mate.aim) / self.stride + 1.0
                spot = mate.aim
            crew.append(Worker(name, spot, free_at, self.briefing.hands - held))
        return crew

    def steps(self, worker: Worker, task: Task) -> float:
        """Steps that a task takes a worker from where it is free."""
        return math.ceil(self.ways.distance(worker.spot, task.spot) / self.stride) + task.extra

    def share(self) -> dict[str, tuple[str, float]]:
        """Predict who takes which task: task -> (who, its steps from now), by an auction.

        Whoever promises most per step takes a task, is free again after it, and bids anew.
        """
        crew = self.crew()
        me = crew[0]
        if len(crew) == 1:
            return {}
        taken: dict[str, tuple[str, float]] = {}
        open_tasks = {task.target: task for task in self.tasks}
        for mate in crew[1:]:  # what they said they would do is theirs
            aim = self.memory.collaborators[mate.name].heading
            if aim in open_tasks:
                taken[aim] = (mate.name, mate.free_at)
                del open_tasks[aim]
        crew.sort(key=lambda worker: self.briefing.team.index(worker.name))
        begin = min(worker.free_at for worker in crew)
        mine = 0
        for _ in range(len(open_tasks)):
            best: tuple[float, float, Worker, Task] | None = None
            for worker in crew:
                if worker.best is None or worker.best[2].target not in open_tasks:
                    worker.best = self._bid(worker, open_tasks.values(), begin)
                bid = worker.best
                if bid is not None and (best is None or bid[0] > best[0]):
                    best = (bid[0], bid[1], worker, bid[2])
            if best is None:
                break
            _, finish, worker, task = best
            taken[task.target] = (worker.name, finish)
            del open_tasks[task.target]
            worker.free_at, worker.spot, worker.best = finish, task.spot, None
            if task.kind == "explore":
                worker.free_at += DWELL * self.pace
            if task.kind == "fetch":
                worker.hands -= 1
            if worker is me:
                mine += 1
                if mine >= 3:
                    break
        return taken

    def announced(self) -> dict[str, tuple[str, float]]:
        """Return only what collaborators said they make for: task -> (who, 0)."""
        memory = self.memory
        if not memory.settings.collaborators:
            return {}
        return {
            mate.heading: (name, 0.0)
            for name, mate in memory.collaborators.items()
            if mate.heading and memory.step - mate.since <= FORGET * self.pace
        }

    def _bid(
        self, worker: Worker, tasks: Iterable[Task], begin: float
    ) -> tuple[float, float, Task] | None:
        best: tuple[float, float, Task] | None = None
        for task in tasks:
            if task.kind == "fetch" and worker.hands <= 0:
                continue
            finish = worker.free_at + self.steps(worker, task)
            rate = promise(task.gain, (finish - begin) / self.pace)
            if best is None or rate > best[0]:
                best = (rate, finish, task)
        return best


def open_needs(memory: Memory, pace: float = 1.0) -> dict[SubGoal, int]:
    """Return how many things each sub-goal lacks that nobody holds either, as far as one knows.

    What is gone from where it was seen was taken by a collaborator, who will bring it: this counts
    for a while.
    """
    lacking = memory.needs()
    for thing in carried(memory):
        _cover(memory, lacking, thing)
    if memory.settings.collaborators:
        for mate in memory.collaborators.values():
            last = mate.last
            hands = last.hands if last is not None else ()
            inner = [id_ for hand in hands for id_ in memory.inside(hand)]
            # What was in a hand and is not now went into a container: it is on its way.
            taken = [
                id_
                for id_ in memory.inside(mate.name)
                if memory.step - memory.scene[id_].step <= FORGET * pace
            ]
            for id_ in dict.fromkeys((*hands, *inner, *taken)):
                entry = memory.scene.get(id_)
                if entry is not None and id_ not in memory.hands and id_ not in memory.placed:
                    _cover(memory, lacking, entry.thing)
        for id_, step in memory.gone.items():
            if memory.step - step <= FORGET * pace:
                _cover(memory, lacking, memory.scene[id_].thing)
    return {need: count for need, count in lacking.items() if count > 0}


def _cover(memory: Memory, lacking: dict[SubGoal, int], thing: Thing) -> None:
    for need in memory.goal.of_item(thing.label):
        if lacking.get(need, 0) > 0:
            lacking[need] -= 1
            return


def deliveries(memory: Memory, briefing: Briefing) -> list[Option]:
    """Return an option for each known target that what is in the hands belongs to."""
    options: dict[str, Option] = {}
    wanted: dict[SubGoal, list[str]] = {}
    for held in carried(memory):
        for goal in memory.goal.of_item(held.label):
            wanted.setdefault(goal, []).append(held.id)
    for goal, items in wanted.items():
        for thing in targets(memory, goal):
            far = briefing.ways.distance(memory.spot, thing.spot) / briefing.stride
            steps = math.ceil(far) + len(items) + (thing.is_open is False)
            option = Option(
                Plan("deliver", thing.id, tuple(items), memory.step),
                memory.settings.levels - 1,
                steps if memory.settings.spatial else None,
                float(len(items)),
                about=f"{thing.label} in {thing.spot.room}",
                size=1.0 + len(items),
            )
            before = options.setdefault(thing.id, option)
            if before is not option:
                before.plan.items = tuple(dict.fromkeys(before.plan.items + option.plan.items))
                before.gain += option.gain
    return sorted(options.values(), key=lambda o: (-o.gain, o.cost, o.plan.target))


def targets(memory: Memory, goal: SubGoal) -> list[Thing]:
    """Return the known places where a sub-goal's things belong."""
    found = memory.targets.get(goal.target, ())
    entries = [memory.scene[id_] for id_ in found if id_ in memory.scene]
    return [e.thing for e in entries if not e.missing and not memory.blocked(e.thing.id)]
