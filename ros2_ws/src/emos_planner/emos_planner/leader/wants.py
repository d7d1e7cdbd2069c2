"""Wants: what a task asks for, and what has become of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from coterie_core.tasks import Predicate, Thing
from coterie_requests.understanding.phrases import Phrase
from coterie_world.sightings import kind_of
from emos_planner.leader.commands import Wish

_TELL_NOTHING = frozenset(("own", "whole", "nice", "same", "favorite", "favourite"))
"""Words before a noun after which no other thing is meant."""
WantKind = Literal["bring", "take", "detect", "check", "go", "open", "close"]


@dataclass(slots=True)
class Want:
    """One thing asked for.

    Either `phrase` (and `target`) say what is meant, in words, or `thing` (and `receptacle`) do.
    `need` is how many things (0: all). `given` maps the id of a thing (or room) to the sub-tasks
    that serve it; `met` are things that fit already; `searches` the sub-tasks that look for more,
    in `rooms` (ids); `targets` are the furniture that the words mean as the place (ids),
    `target_searches` look for it; `goals` maps the id of a thing to what holds when it is done,
    `elsewhere` to the place that it went to instead. `lost` are things given that nobody can see
    to: where any others would do, they do not count. `unseen` are those that were put where nobody
    can look. `then`: it is begun when the wants before it are over.
    """

    kind: WantKind
    phrase: Phrase | None = None
    target: Phrase | None = None
    relation: str = ""
    thing: Thing | None = None
    receptacle: Thing | None = None
    need: int = 1
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    given: dict[str, tuple[str, ...]] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    searches: list[str] = field(default_factory=list)
    rooms: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_searches: list[str] = field(default_factory=list)
    goals: dict[str, Predicate] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """What detectors call the thing."""
        if self.thing is not None:
            return self.thing.label
        return self.phrase.label or self.phrase.noun if self.phrase is not None else ""

    @property
    def unheard(self) -> tuple[str, ...]:
        """Words that say which things are meant, and that no robot can tell ("warm")."""
        said = [phrase for phrase in (self.phrase, self.target) if phrase is not None]
        every = [inner for whole in said for inner in whole.mentioned()]
        words = dict.fromkeys(word for phrase in every for word in phrase.ignored)
        return tuple(word for word in words if word not in _TELL_NOTHING)

    @property
    def enough(self) -> bool:
        """Whether as many things are being seen to as were asked for (never, if all were)."""
        return bool(self.need) and self.count >= self.need

    @property
    def count(self) -> int:
        """How many things are seen to, or there already."""
        return len(self.given) - len(self.lost) + len(self.met)

    @property
    def any_will_do(self) -> bool:
        """Whether so many of a kind were asked for ("a mug", "two mugs"), and none by name."""
        return self.need > 0 and self.phrase is not None and not self.phrase.definite

    def is_about(self, kind: str) -> bool:
        """Whether things of a kind (a label as the household has it) matter for this."""
        if self.phrase is not None and self.phrase.anything:
            return True
        target = self.target.label if self.target else ""
        place = self.receptacle.label if self.receptacle else ""
        return kind in {kind_of(name) for name in (self.label, target, place) if name}


_KINDS: dict[str, WantKind] = {"find": "detect", "look": "detect"}


def wants_of(wishes: Iterable[Wish]) -> list[Want]:
    """Return the wants of wishes in words."""
    wants = []
    for wish in wishes:
        phrase = wish.object
        kind: WantKind = _KINDS.get(wish.kind, wish.kind)  # type: ignore[arg-type]
        wants.append(
            Want(
                kind,
                phrase,
                wish.target,
                wish.relation,
                need=0 if phrase.number == "all" else max(phrase.count, 1),
                robot=wish.robot,
                everybody=wish.everybody,
                text=wish.text,
                then=wish.then,
            )
        )
    return wants


def wants_of_goals(goals: Iterable[Predicate]) -> list[Want]:
    """Return the wants of goals in predicates; things to bring that must be detected, are once."""
    wants = []
    for goal in goals:
        thing = goal.object
        kind: WantKind = "go"
        if goal.name == "object_at_receptacle":
            kind = "bring"
        elif goal.name == "robot_detect_object":
            kind = "detect"
        elif goal.name == "robot_at_receptacle":
            thing = goal.receptacle
        wants.append(Want(kind, thing=thing, receptacle=goal.receptacle, robot=goal.robot))
    # What is to be detected anyway comes first: picking then waits for it.
    return sorted(wants, key=lambda want: want.kind != "detect")
