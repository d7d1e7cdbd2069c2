"""RHP: a hierarchical planner by rules, with frontier exploration; nearest move: a floor."""

from __future__ import annotations

from research.bench.reveca.baseline_common import BaselineAgent
from reveca_agent.plans import Plan


class RuleAgent(BaselineAgent):
    """Takes the nearest until its hands are full, brings it, explores when it knows nothing.

    The rules, in order: bring what is in the hands when they are full, or when nothing else that is
    needed is known; take the nearest known thing that is needed; bring what is in the hands; go to
    the nearest place not searched, room or closed container; look again where it has not been for
    longest. It never talks.
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
        places = self.places()
        if places:
            return Plan(places[0][0].kind, places[0][0].target, (), step)
        return self.look_again()


class NearestAgent(BaselineAgent):
    """Does what is nearest of all that can be done: a floor, without any plan.

    Taking a needed thing, bringing what it holds, going to a place not searched: whichever takes
    the fewest steps from here. It never talks.
    """

    async def choose(self) -> Plan | None:
        """Return the nearest plan."""
        step = self.memory.step
        found = [
            (self.steps_to(place.spot), 0, Plan("deliver", place.id, items, step))
            for place, items in self.deliveries()
        ]
        if not self.full:
            found += [
                (self.steps_to(thing.spot), 1, Plan("fetch", thing.id, (), step))
                for thing in self.wanted()
            ]
            carrier = self.carrier()
            if carrier is not None:
                found.append((self.steps_to(carrier.spot), 1, Plan("fetch", carrier.id, (), step)))
        found += [
            (self.steps_to(task.spot) + task.extra, 2, Plan(task.kind, task.target, (), step))
            for task, _ in self.places()
        ]
        if not found:
            return self.look_again()
        return min(found, key=lambda one: (one[0], one[1], one[2].target))[2]
