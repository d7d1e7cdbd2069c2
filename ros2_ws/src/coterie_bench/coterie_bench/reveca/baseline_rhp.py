"""RHP: a hierarchical planner by rules, with frontier exploration (ThreeDWorld Transport)."""

from __future__ import annotations

from coterie_bench.reveca.baseline_common import BaselineAgent
from reveca_agent.plans import Plan


class RuleAgent(BaselineAgent):
    """Takes the nearest until its hands are full, brings it, explores when it knows nothing.

    The rules, in order: bring what is in the hands when they are full, or when nothing else that is
    needed is known; take the nearest known thing that is needed; bring what is in the hands; go to
    the nearest room never seen; look into the nearest closed container; look again where it has not
    been for longest. It never talks.
    """

    async def choose(self) -> Plan | None:
        """Return the first rule's plan that applies."""
        step = self.memory.step
        bring = self.deliveries()
        things = sorted(self.wanted(), key=lambda t: (self.steps_to(t.spot), t.id))
        full = self.full
        carrier = self.carrier()
        if carrier is not None:
            return Plan("fetch", carrier.id, (), step)
        if bring and (full or not things):
            place, items = bring[0]
            return Plan("deliver", place.id, items, step)
        if things and not full:
            return Plan("fetch", things[0].id, (), step)
        for room in self.unseen_rooms():
            return Plan("explore", room, (), step)
        for container in self.unopened():
            return Plan("look", container.id, (), step)
        return self.look_again()
