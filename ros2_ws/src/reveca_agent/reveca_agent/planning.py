"""The planning module: K candidate plans by relevance and proximity, then the choice of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.cooperation import Briefing
from coterie_llm import CheckFailed, Decision, Message, Tool, as_data, neutral_order
from coterie_requests.asking import Asking
from reveca_agent.candidates import Outlook, deliveries
from reveca_agent.memory import Memory
from reveca_agent.plans import Option, Plan, Task
from reveca_agent.relevance import scale_of

ON_THE_WAY = 1.5
"""Steps that a delivery may cost on the way to something else."""

DOUBTFUL = 0.25
"""What is left of the hope for a thing that somebody likely took already."""
SETTLED = 5
"""Steps that one waits after seeing a thing where it belongs, with nothing known to do: others
tell of theirs."""
SEEN_ENOUGH = 60
"""Steps after which it is no news: who stands beside it sees it again and again."""


class PlanChoice(BaseModel):
    """Which candidate to do next."""

    reason: str = Field("", max_length=600, description="first think, step by step, in short")
    plan: str = Field(description="then the candidate's plan, exactly as given")


@dataclass(frozen=True, slots=True)
class PlanState:
    """A choice between candidates, best first by the rule, with what matters for it.

    `left` is how many steps of the episode are left; None: nobody knows. `hands` are how many
    things can be held. `asking` is how the model asks the person; None: there is no way to.
    """

    options: Sequence[Option]
    memory: Memory
    left: int | None = None
    hands: int = 2
    asking: Asking | None = None

    @property
    def spatial(self) -> bool:
        """Whether distances are shown."""
        return self.memory.settings.spatial

    def chosen(self, reply: PlanChoice) -> Option | None:
        """Return the candidate that a reply names, if there is such a one."""
        return next((one for one in self.options if one.plan.text() == reply.plan), None)


def _neutral(state: PlanState) -> list[Option]:
    """Return the candidates in an order that tells nothing."""
    return neutral_order(state.options, lambda one: one.plan.text(), salt=str(state.memory.step))


class ChoosePlan(Decision[PlanState, PlanChoice]):
    """Which of the K candidate plans should the agent do next?"""

    name: ClassVar[str] = "reveca.choose_plan"
    reply_type: ClassVar[type[BaseModel]] = PlanChoice
    max_tokens: ClassVar[int] = 300

    def prompt(self, state: PlanState) -> Sequence[Message]:
        """Show goal, own state, collaborators, and the candidates with distances in numbers."""
        memory = state.memory
        rated = memory.settings.relevance
        scale = f" Relevance: {scale_of(memory.settings.levels)}." if rated else ""
        candidates = [candidate(one, state.spatial, rated) for one in _neutral(state)]
        mates = (
            [mate.text(memory.step, state.spatial) for mate in memory.collaborators.values()]
            if memory.settings.collaborators
            else []
        )
        needs = {str(goal): f"{lack} to go" for goal, lack in memory.needs().items()}
        deeds = [f"{d.step}: {d.kind} {d.target}: {d.outcome}" for d in list(memory.deeds)[-8:]]
        return (
            Message.system(
                "You are one of several robots that share a household task; each decides for "
                "itself, and what any of them brings counts for all. Choose what to do next. "
                "Every action takes a step; distances are given in steps to where the plan is "
                "carried out. A robot can hold several things at a time, and bringing many at "
                "once saves ways. Prefer what matters most for the goal and is near, and leave to "
                "others what they will reach sooner than you. Needed things that nobody has seen "
                "yet are in rooms not seen or in closed containers. Think step by step about "
                "relevance, distances, what the others said and what they are doing; then name "
                "one of the plans. The candidates are in no particular order. IN(a, b): n, or "
                f"ON, means that n of a belong there. Positions (x, y) are in meters.{scale}"
            ),
            Message.user(
                f"{as_data('goal', needs)}\n"
                f"{as_data('you', _own(memory, state.left, state.hands))}\n"
                f"{as_data('own plans before', deeds or 'none')}\n"
                f"{as_data('others', mates or 'nothing is known of them')}\n"
                f"{as_data('messages', memory.dialogue() or 'none')}\n"
                f"{as_data('candidates', candidates, limit=12_000)}\nWhich plan?"
            ),
        )

    def options(self, state: PlanState) -> Mapping[str, Sequence[str]]:
        """The candidates' plans, in the order of the prompt: the first is not the rule's."""
        return {"plan": [one.plan.text() for one in _neutral(state)]}

    def tools(self, state: PlanState) -> Sequence[Tool[Any]]:
        """Asking the person, where that is possible."""
        return state.asking.tools() if state.asking is not None else ()

    def only_reply(self, state: PlanState) -> PlanChoice | None:
        """The one candidate, where there is no other."""
        return self.rule(state) if len(state.options) == 1 else None

    def check(self, state: PlanState, reply: PlanChoice) -> None:
        """The plan is that of a candidate."""
        if state.chosen(reply) is None:
            known = "; ".join(one.plan.text() for one in state.options)
            raise CheckFailed(f"{reply.plan[:80]!r} is no candidate; choose one of: {known}")

    def rule(self, state: PlanState) -> PlanChoice:
        """The candidate that comes first in the order in which they were made."""
        first = state.options[0].plan.text()
        return PlanChoice.model_construct(reason="first of the candidates", plan=first)


def candidate(option: Option, spatial: bool, rated: bool = True) -> dict[str, object]:
    """Return what is known of a candidate: what, how relevant, how far for oneself and others.

    Without `spatial` it tells no distances, without `rated` no relevance.
    """
    told: dict[str, object] = {"plan": option.plan.text()}
    if option.about:
        told["about"] = option.about
    if rated:
        told["relevance"] = option.level
    if spatial and option.steps is not None:
        told["steps for you"] = round(option.steps)
        if option.others:
            told["steps for others"] = {name: round(steps) for name, steps in option.others}
    if option.said_by:
        told["said to make for it"] = option.said_by
    return told


def _own(memory: Memory, left: int | None, hands: int) -> str:
    x, y = memory.spot.position[:2]
    held = ", ".join(memory.hands) or "nothing"
    where = f"in {memory.spot.room}"
    if memory.settings.spatial:
        where += f" at ({x:.1f}, {y:.1f})"
    time = f"step {memory.step}" + (f", {left} steps left" if left is not None else "")
    return f"{memory.name}: {time}, {where}, holding {held} ({hands} hands)"


def candidates(memory: Memory, briefing: Briefing) -> list[Option]:
    """Return at most K candidates, best first; never none (waiting is the last resort).

    They are ordered by who is likely to do them, by relevance, and by distance; one's own hands
    decide whether a delivery comes first.
    """
    brought = deliveries(memory, briefing)
    outlook = Outlook(memory, briefing)
    full = outlook.room_left <= 0
    if brought and (full or _late(memory, briefing, brought)):
        return brought[: memory.settings.plans]
    options = _options(outlook)
    if full:
        options = [one for one in options if one.plan.kind != "fetch"]
    if brought:
        options = _with_deliveries(outlook, options, brought)
    if not options:
        options = _last_resorts(memory, briefing)
    return options[: memory.settings.plans]


def with_others(options: Sequence[Option], memory: Memory, briefing: Briefing) -> None:
    """Note in options how far they are for collaborators, and who said to make for them."""
    if not memory.settings.collaborators:
        return
    outlook = Outlook(memory, briefing)
    tasks = {task.target: task for task in outlook.tasks}
    mates = outlook.crew()[1:]
    for option in options:
        task = tasks.get(option.plan.target)
        if task is not None and memory.settings.spatial:
            option.others = tuple((m.name, m.free_at + outlook.steps(m, task)) for m in mates)
        said = [m.name for m in memory.collaborators.values() if m.heading == option.plan.target]
        option.said_by = " and ".join(said)


def _late(memory: Memory, briefing: Briefing, brought: list[Option]) -> bool:
    """Tell whether there is just time enough to bring what one has."""
    left = briefing.horizon - memory.step
    return min(option.cost for option in brought) * 1.2 + 5.0 >= left


def _options(outlook: Outlook) -> list[Option]:
    memory, settings = outlook.memory, outlook.memory.settings
    shares = outlook.share() if settings.spatial else outlook.announced()
    me = outlook.crew()[0]
    out = []
    for task in outlook.tasks:
        who, when = shares.get(task.target, (memory.name, 0.0))
        rival, doubt = ("" if who == memory.name else who), ""
        if rival and when <= 0.0:
            # Should have happened by now: nothing to leave to others, but in need of validation.
            rival, doubt = "", rival
        doubted = bool(doubt) and settings.discount
        out.append(
            Option(
                Plan(task.kind, task.target, (), memory.step, doubt=doubt),
                task.level if settings.relevance else 0,
                outlook.steps(me, task) if settings.spatial else None,
                task.gain * (DOUBTFUL if doubted else 1.0),
                rival,
                max(0.0, when) if rival and settings.spatial else None,
                task.about,
                1.0 + task.extra,
                pace=outlook.pace,
                doubted=doubted,
            )
        )
    if settings.order:
        out.sort(key=lambda o: (*o.order, o.plan.target))
    else:
        out.sort(key=lambda o: (o.left, -o.level, o.cost, o.plan.target))
    return out


def _with_deliveries(
    outlook: Outlook, options: list[Option], brought: list[Option]
) -> list[Option]:
    """Put deliveries first where they cost next to nothing, or where nothing else is one's own."""
    mine = [one for one in options if not one.left]
    if not mine or not outlook.memory.settings.spatial:
        return brought + options
    ways, stride, memory = outlook.ways, outlook.stride, outlook.memory
    tasks: dict[str, Task] = {task.target: task for task in outlook.tasks}
    best = max(mine, key=lambda o: o.rate)
    aim = tasks[best.plan.target].spot
    direct = ways.distance(memory.spot, aim)
    for delivery in brought:
        target = memory.scene[delivery.plan.target].thing.spot
        by_way = ways.distance(memory.spot, target) + ways.distance(target, aim)
        if (by_way - direct) / stride <= ON_THE_WAY * outlook.pace:
            delivery.gain = max(delivery.gain, 10.0 * best.gain + 10.0)
            return [delivery, *options]
    for delivery in brought:
        delivery.gain = 0.0
    return options + brought


def _last_resorts(memory: Memory, briefing: Briefing) -> list[Option]:
    """What is left when nothing is known to do: check what others said, look again, wait."""
    out = []
    told = {c.target for c in memory.placed.values() if c.by}
    check = [memory.scene[t].thing.spot.room for t in sorted(told) if t in memory.scene]
    met = not any(memory.needs().values())
    rooms = sorted(memory.rooms, key=lambda room: (memory.rooms[room], room))
    for room in [*check, *rooms] if met or not memory.hands else rooms:
        if room == memory.spot.room or memory.blocked(room):
            continue
        spot = briefing.ways.rooms[room].spot
        steps = briefing.ways.distance(memory.spot, spot) / briefing.stride
        out.append(
            Option(
                Plan("explore", room, (), memory.step),
                0,
                steps if memory.settings.spatial else None,
                0.1,
                about=f"{room}, seen {memory.step - memory.rooms.get(room, 0)} steps ago",
            )
        )
    out.append(Option(Plan("wait", "", (), memory.step), 0, 1.0, 0.0, about="let others finish"))
    now = memory.step
    lately = any(
        not one.by and now - one.step < SETTLED and now - one.since < SEEN_ENOUGH
        for one in memory.placed.values()
    )
    return out[-1:] if lately else out
