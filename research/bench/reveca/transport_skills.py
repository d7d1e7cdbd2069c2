"""Skills of the transport world: containers are carried, and rooms are seen by turning round."""

from __future__ import annotations

from coterie_core.cooperation import Action, Briefing, GoTo, Grab, Put, Turn
from reveca_agent.agent import RevecaAgent
from reveca_agent.memory import Memory
from reveca_agent.plans import Plan
from reveca_agent.skill_book import Knowledge, Near, Skill, carried, carriers, look_inside, wait


class BenchAgent(RevecaAgent):
    """REVECA's agent, with the skills of the world that it is in."""

    def begin(self, briefing: Briefing, memory: Memory | None = None) -> None:
        """Start an episode."""
        super().begin(briefing, memory)
        if briefing.turn:
            self.memory.skills = transport_skills(briefing)


def transport_skills(briefing: Briefing) -> dict[str, Skill]:
    """Return the skill book for a briefing with turning (`Briefing.turn` > 0)."""

    def fetch(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
        entry = memory.scene.get(plan.target)
        if entry is None or entry.missing:
            return None
        thing = entry.thing
        if plan.target in memory.hands:
            if thing.kind == "item":
                for container, left in carriers(memory, briefing.carry):
                    if left > 0:
                        return Put(thing.id, container.id, "in")
            else:
                loose = [one.id for one in carried(memory) if one.id in memory.hands]
                if loose and dict(_space(memory, briefing)).get(thing.id, 0) > 0:
                    return Put(loose[0], thing.id, "in")  # frees a hand
            return None
        if thing.parent in memory.hands:
            return None  # it is in the container already
        if not near(thing.spot):
            return GoTo(thing.parent or thing.id, thing.spot)
        return Grab(thing.id)

    def deliver(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
        entry = memory.scene.get(plan.target)
        if entry is None:
            return None
        items = [thing for thing in carried(memory) if thing.label in memory.goal.items]
        if not items:
            return None
        if not near(entry.thing.spot):
            return GoTo(entry.thing.id, entry.thing.spot)
        first = items[0]
        return Put(first.id if first.id in memory.hands else first.parent, entry.thing.id, "on")

    def explore(plan: Plan, memory: Knowledge, near: Near) -> Action | None:
        if memory.rooms.get(plan.target, -1) >= plan.step:
            return None
        room = briefing.ways.rooms[plan.target]
        if memory.spot.room == room.id and near(room.spot):
            return Turn(briefing.turn)
        return GoTo(plan.target)

    return {
        "fetch": fetch,
        "deliver": deliver,
        "look": look_inside,
        "explore": explore,
        "wait": wait,
    }


def _space(memory: Knowledge, briefing: Briefing) -> list[tuple[str, int]]:
    return [(container.id, left) for container, left in carriers(memory, briefing.carry)]
