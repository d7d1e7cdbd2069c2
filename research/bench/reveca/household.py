"""The household world: agents tidy up a generated home in steps (C-WAH and Noisy-C-WAH)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import replace

from coterie_core.cooperation import (
    Action,
    Briefing,
    Close,
    Goal,
    GoTo,
    Grab,
    Note,
    Open,
    Percept,
    Put,
    Result,
    Send,
    Spot,
    Teammate,
    Thing,
    Wait,
    advance,
)
from coterie_core.cooperation.home import NoRoute
from coterie_core.cooperation.messages import MAX_MESSAGE_CHARS
from coterie_core.cooperation.world import DONE
from research.bench.reveca.activities import ACTIVITIES, Activity, arrange
from research.bench.reveca.bodies import NAMES, Body, Channel, HouseholdOptions, failed
from research.bench.reveca.environment import UNDER_WAY, Metrics
from research.bench.reveca.homes import Home, generated_home, with_boxes
from reveca_agent.settings import Prior


class HouseholdWorld:
    """Rooms, furniture and things; what is in a room is seen from within it, containers apart.

    Args:
        options: What kind of episodes.
        channel: What becomes of messages on their way; None: all arrive in the next step.
    """

    reach = 1.2

    def __init__(
        self, options: HouseholdOptions | None = None, channel: Channel | None = None
    ) -> None:
        self.options = options or HouseholdOptions()
        self.channel = channel
        if not 1 <= self.options.agents <= len(NAMES):
            raise ValueError(f"agents: expected 1 to {len(NAMES)}, got {self.options.agents}")
        self.team = NAMES[: self.options.agents]
        self.prior: Prior = "household"
        """What all methods believe beforehand of where things lie."""
        self.tokens = 0
        """Most tokens of things that reach a decision, of any method that has such; 0: no limit."""
        self._guises: dict[str, str] = {}
        self.home: Home
        self.goal: Goal
        self.things: dict[str, Thing] = {}
        self.bodies: dict[str, Body] = {}
        self.steps = 0
        self._met = False

    # --- episodes --------------------------------------------------------------------------------

    def reset(self, seed: int) -> Mapping[str, Briefing]:
        """Make the episode of a seed: house, activity, things and where agents start."""
        options = self.options
        house = (seed // len(ACTIVITIES)) % options.houses if options.houses else seed
        self.home = generated_home(house)
        if options.boxes:
            self.home = with_boxes(self.home, options.boxes, seed)
        setting = arrange(
            self.home,
            seed,
            self._activity(seed),
            dummies=options.dummies,
            bystanders=options.bystanders,
            lookalikes=options.lookalikes,
            confused=options.confused,
        )
        self._guises = setting.guises
        self._known: dict[str, set[str]] = {name: set() for name in self.team}
        self.goal = setting.goal
        self.things = dict(self.home.fixed)
        if options.known or not options.hidden:
            for id_, thing in self.things.items():
                if thing.is_open is False:
                    self.things[id_] = replace(thing, is_open=True)
        self.things |= setting.items
        self._contents: dict[str, list[str]] = {}
        self._loose: dict[str, list[str]] = {}
        for thing in self.things.values():
            self._lay(thing)
        draw = random.Random(f"starts {seed}")
        rooms = list(self.home.ways.rooms.values())
        self.bodies = {name: Body(name, draw.choice(rooms).spot) for name in self.team}
        self._begun = (self.goal, self.home, dict(self.things), dict(self._guises))
        self.steps = 0
        self._note_count = self._characters = 0
        self._failures: dict[str, int] = {}
        self._revision = dict.fromkeys(self.home.ways.rooms, 0)
        self._views: dict[str, tuple[Thing, ...]] = {}
        self._all: tuple[Thing, ...] | None = None
        self._changes = 0
        self._met = self._goal_met()
        return {
            name: Briefing(
                name,
                self.team,
                self.goal,
                self.home.ways,
                options.hands,
                options.stride,
                self.reach,
                options.horizon,
                MAX_MESSAGE_CHARS,
                seed=seed,
            )
            for name in self.team
        }

    def _activity(self, seed: int) -> Activity:
        if self.options.activity:
            from research.bench.reveca.activities import by_name

            return by_name(self.options.activity)
        return ACTIVITIES[seed % len(ACTIVITIES)]

    def fingerprint(self) -> str:
        """Return a hash of the episode as it began: house, things, goal, who started where."""
        goal, home, things, guises = self._begun
        starts = [(name, body.start) for name, body in self.bodies.items()]
        rooms = [(r.id, r.type, r.center) for r in home.ways.rooms.values()]
        whole = (goal, rooms, home.ways.gates, things, guises, starts)
        return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]

    @property
    def done(self) -> bool:
        """The goal is met, or the horizon is reached."""
        return self._met or self.steps >= self.options.horizon

    def metrics(self) -> Metrics:
        """How the episode went so far."""
        placed = sum(
            min(n, g.count) for g, n in zip(self.goal.subgoals, self.progress(), strict=True)
        )
        return Metrics(
            self._met,
            self.steps,
            sum(body.walked for body in self.bodies.values()) / len(self.bodies),
            self._note_count,
            self._characters,
            (placed, self.goal.total),
            failures=dict(self._failures),
        )

    # --- stepping --------------------------------------------------------------------------------

    def step(self, actions: Mapping[str, Action]) -> Mapping[str, Percept]:
        """Let all agents act, then all perceive; who comes first changes with every step."""
        said: list[Note] = []
        first = self.steps % len(self.team)
        for name in self.team[first:] + self.team[:first]:
            body = self.bodies[name]
            action = actions.get(name)
            result = self._act(body, action, said) if action is not None else DONE
            body.result = result
            if not result.ok:
                self._failures[result.reason] = self._failures.get(result.reason, 0) + 1
        self.steps += 1
        self._deliver(said)
        return self.percepts()

    def _deliver(self, said: list[Note]) -> None:
        if self.channel is not None:
            for name, note in self.channel(said, self.steps):
                if name in self.bodies:
                    self.bodies[name].notes.append(note)
            return
        for note in said:
            for name in self.team:
                if note.for_(name):
                    self.bodies[name].notes.append(note)

    def percepts(self) -> Mapping[str, Percept]:
        """What each agent perceives now."""
        over, everywhere = self.done, tuple(self.home.ways.rooms)
        out: dict[str, Percept] = {}
        for name, body in self.bodies.items():
            room = body.spot.room
            mates = [
                Teammate(o.name, o.spot, tuple(self._guise(body, self.things[i]) for i in o.hands))
                for o in self.bodies.values()
                if o is not body and (self.options.known or o.spot.room == room)
            ]
            out[name] = Percept(
                self.steps,
                body.spot,
                body.hands,
                self._as_seen(body, self._view(room)),
                self._view_key(body),
                everywhere if self.options.known else (room,),
                mates,
                body.notes,
                body.result,
                0,
                over,
            )
            body.notes = []
        return out

    def _view_key(self, body: Body) -> tuple[object, ...]:
        room = body.spot.room
        known = len(self._known[body.name]) if self._guises else 0
        if self.options.known:
            return ("", self._changes, known)
        return (room, self._revision[room], known)

    def _as_seen(self, body: Body, things: tuple[Thing, ...]) -> tuple[Thing, ...]:
        """Return things as an agent takes them for: from afar some look like something else.

        What it once had within reach, or in its hands, it knows from then on.
        """
        if not self._guises:
            return things
        known = self._known[body.name]
        for thing in things:
            if thing.id in self._guises and self._near(body, thing):
                known.add(thing.id)
        return tuple(self._guise(body, thing) for thing in things)

    def _guise(self, body: Body, thing: Thing) -> Thing:
        label = self._guises.get(thing.id)
        if label is None or thing.id in self._known[body.name] or thing.id in body.hands:
            return thing
        return replace(thing, label=label)

    def _view(self, room: str) -> tuple[Thing, ...]:
        if self.options.known:
            if self._all is None:
                self._all = tuple(t for r in self.home.ways.rooms for t in self._seen(r))
            return self._all
        found = self._views.get(room)
        if found is None:
            found = self._views[room] = tuple(self._seen(room))
        return found

    def _seen(self, room: str) -> list[Thing]:
        """List what can be seen in a room: all but what closed containers hide."""
        out: list[Thing] = []
        for id_ in self._loose.get(room, ()):
            thing = self.things[id_]
            out.append(thing)
            if thing.is_open is not False:
                out += (self.things[i] for i in self._contents.get(id_, ()))
        return out

    def _changed(self, room: str) -> None:
        self._views.pop(room, None)
        self._all = None
        self._changes += 1
        self._revision[room] += 1

    # --- actions ---------------------------------------------------------------------------------

    def _act(self, body: Body, action: Action, said: list[Note]) -> Result:
        if type(action) is GoTo:
            return self._walk(body, action)
        if type(action) is Wait:
            return DONE
        if type(action) is Grab:
            return self._grab(body, action.item)
        if type(action) is Put:
            return self._put(body, action)
        if type(action) is Open:
            return self._turn_door(body, action.container, True)
        if type(action) is Close:
            return self._turn_door(body, action.container, False)
        if type(action) is Send:
            return self._say(body, action.note, said)
        return failed("not_here", f"{type(action).__name__}: this world has no such action")

    def _walk(self, body: Body, action: GoTo) -> Result:
        aim = (action.target, action.spot)
        if aim != body.aim or not body.legs:
            goal = action.spot or self._spot(body, action.target)
            if goal is None or goal.room not in self.home.ways.rooms:
                return failed(
                    "unknown_target",
                    f"{action.target[:60]!r} is no room and no furniture, nor in view; "
                    "go to where it was seen",
                )
            body.aim = aim
            try:
                body.legs = self.home.ways.route(body.spot, goal)
            except NoRoute as error:
                return failed("no_way", str(error))
        body.spot, walked = advance(body.spot, body.legs, self.options.stride)
        body.walked += walked
        return UNDER_WAY if body.legs else DONE

    def _spot(self, body: Body, target: str) -> Spot | None:
        thing = self.things.get(target)
        if thing is None:
            room = self.home.ways.rooms.get(target)
            return None if room is None else room.spot
        if thing.kind == "item" and not self._in_view(body, thing):
            return None
        return thing.spot

    def _in_view(self, body: Body, thing: Thing) -> bool:
        owner = self.things.get(thing.parent)
        hidden = thing.relation == "held" or (owner is not None and owner.is_open is False)
        return not hidden and (self.options.known or thing.spot.room == body.spot.room)

    def _near(self, body: Body, thing: Thing) -> bool:
        here, there = body.spot, thing.spot
        if here.room != there.room:
            return False
        dx = here.position[0] - there.position[0]
        dy = here.position[1] - there.position[1]
        return dx * dx + dy * dy <= self.reach * self.reach

    def _grab(self, body: Body, item: str) -> Result:
        thing = self.things.get(item)
        if thing is None:
            return failed("unknown_target", f"there is no {item[:60]!r}")
        if not thing.portable:
            return failed("not_portable", f"{item} cannot be carried")
        if thing.relation == "held":
            return failed("already" if item in body.hands else "gone", f"{thing.parent} has {item}")
        if len(body.hands) >= self.options.hands:
            return failed("hands_full", f"hands full: {', '.join(body.hands)}")
        owner = self.things.get(thing.parent)
        if not self._near(body, thing):
            return failed("too_far", f"{item} is out of reach; go to it first")
        if owner is not None and owner.is_open is False:
            return failed("closed", f"{owner.id} is closed; open it first")
        self._lift(thing)
        self.things[item] = replace(thing, parent=body.name, relation="held")
        body.hands = (*body.hands, item)
        self._met = self._goal_met()
        return DONE

    def _put(self, body: Body, action: Put) -> Result:
        if action.item not in body.hands:
            return failed("not_holding", f"{action.item[:60]} is not in your hands")
        target = self.things.get(action.target)
        if target is None or target.kind == "item":
            return failed("unknown_target", f"nothing can be put at {action.target[:60]!r}")
        if not self._near(body, target):
            return failed("too_far", f"{target.id} is out of reach; go to it first")
        if target.is_open is False:
            return failed("closed", f"{target.id} is closed; open it first")
        relation = "in" if target.kind == "container" else "on"
        self.place(action.item, target.id, relation)
        body.hands = tuple(i for i in body.hands if i != action.item)
        return DONE

    def _turn_door(self, body: Body, container: str, open_: bool) -> Result:
        thing = self.things.get(container)
        if thing is None:
            return failed("unknown_target", f"there is no {container[:60]!r}")
        if thing.is_open is None:
            return failed("not_openable", f"{container} does not open or close")
        if not self._near(body, thing):
            return failed("too_far", f"{container} is out of reach; go to it first")
        if thing.is_open is open_:
            return failed("already", f"{container} is {'open' if open_ else 'closed'} already")
        self.things[container] = replace(thing, is_open=open_)
        self._changed(thing.spot.room)
        return DONE

    def _say(self, body: Body, note: Note, said: list[Note]) -> Result:
        if len(note.text) > MAX_MESSAGE_CHARS:
            return failed(
                "too_long",
                f"a message has at most {MAX_MESSAGE_CHARS} characters, not {len(note.text)}",
            )
        self._note_count += 1
        self._characters += len(note.text)
        said.append(replace(note, sender=body.name, step=self.steps))
        return DONE

    # --- state -----------------------------------------------------------------------------------

    def place(self, item: str, target: str, relation: str = "on") -> None:
        """Put a thing somewhere, whoever does it (also for people and accidents in tests)."""
        thing, owner = self.things[item], self.things[target]
        if thing.relation == "held":
            holder = self.bodies[thing.parent]
            holder.hands = tuple(i for i in holder.hands if i != item)
        else:
            self._lift(thing)
        laid = replace(thing, spot=owner.spot, parent=target, relation=relation)  # type: ignore[arg-type]
        self.things[item] = laid
        self._lay(laid)
        self._changed(owner.spot.room)
        self._met = self._goal_met()

    def _lay(self, thing: Thing) -> None:
        if thing.parent:
            self._contents.setdefault(thing.parent, []).append(thing.id)
        else:
            self._loose.setdefault(thing.spot.room, []).append(thing.id)

    def _lift(self, thing: Thing) -> None:
        where = self._contents[thing.parent] if thing.parent else self._loose[thing.spot.room]
        where.remove(thing.id)
        self._changed(thing.spot.room)

    def progress(self) -> list[int]:
        """Count what is where it belongs, by sub-goal."""
        counts = []
        for goal in self.goal.subgoals:
            count = 0
            for thing in self.things.values():
                if thing.label != goal.item or thing.relation != goal.relation:
                    continue
                owner = self.things.get(thing.parent)
                if owner is not None and goal.target in (owner.label, owner.id):
                    count += 1
            counts.append(count)
        return counts

    def _goal_met(self) -> bool:
        return all(n >= g.count for g, n in zip(self.goal.subgoals, self.progress(), strict=True))
