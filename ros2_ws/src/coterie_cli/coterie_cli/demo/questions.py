"""What a demonstration asks: questions with their truth, and the answers as people say them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from coterie_bringup.team_client import FoundObjects, TeamAnswer
from coterie_cli.ask import evidence_text
from coterie_cli.demo.referee import bank_of_house
from coterie_core.colors import are_alike, color_name
from coterie_core.geometry import Vec3
from coterie_core.household import plural
from coterie_core.questions import Answer, OpenAnswer
from coterie_core.wording import enumerated
from coterie_world.scene import SceneGraph, SceneObject
from habitat_bridge.render.mesh import shown_colors

FIND = "something to sit on that is not a chair"
_LEAST = 0.1
"""Smallest volume of a thing that is asked about [m^3]: it is seen from anywhere in its room."""
_PLAIN = 0.85
"""Least share of the surface of what is asked for its color that has this color, or one like it."""
_WORDS = {True: "yes", False: "no", None: "cannot tell"}


@dataclass(slots=True)
class Asked:
    """One question or request, and what came back.

    Attributes:
        text: As it is put.
        find: Whether it is a request for things.
        truth: What the house's truth says; empty where that was not looked up.
        kind: Who answered; "none" where nobody did.
        answer: In words; where nobody answered, why.
        sure: Confidence 0..1; None where there is none.
        guessed: Neither the map nor an image says so.
        objects: Ids of the map that it rests on, or that were found.
        frames: Names of images that it rests on.
        path: Where a robot went for it [m].
        because: Why, in words.
        seconds: How long the answer took.
    """

    text: str
    find: bool = False
    truth: str = ""
    kind: Literal["presence", "open", "find", "none"] = "none"
    answer: str = ""
    sure: float | None = None
    guessed: bool = False
    objects: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    path: tuple[Vec3, ...] = ()
    because: str = ""
    seconds: float = 0.0

    def take(self, told: TeamAnswer | OpenAnswer | FoundObjects | str) -> None:
        """Write down what came back; a text says why nothing did."""
        if isinstance(told, str):
            self.answer = told
        elif isinstance(told, FoundObjects):
            self.kind, self.objects, self.because = "find", told.ids, told.explanation
            self.answer = f"{len(told.ids)} found" if told.ids else "nothing fits"
        elif isinstance(told, OpenAnswer):
            self.kind, self.answer, self.sure = "open", told.text, told.confidence
            self.guessed, self.because = told.guessed, told.explanation
            self.objects, self.frames, self.path = told.objects, told.frames, told.path
        else:
            final = told.final
            self.kind, self.answer, self.sure = "presence", _WORDS[final.yes], final.confidence
            self.guessed = told.guessed
            self.because = told_by(told.answers, final.missing)


_TOLD = {
    ("seen", True): "saw one",
    ("not_there", False): "looked there in vain",
    ("prior_only", True): "never got there and guess",
    ("prior_only", False): "never got there and guess",
}


def told_by(answers: Iterable[Answer], missing: Iterable[str] = ()) -> str:
    """Return who says what of a question in words: "rover and walker saw one"."""
    said: dict[str, list[str]] = {}
    for answer in sorted(answers, key=lambda one: one.robot):
        words = _TOLD.get((answer.evidence.kind, answer.yes))
        if words is None:
            words = f"said {_WORDS[answer.yes]}: {answer.explanation or evidence_text(answer)}"
        said.setdefault(words, []).append(answer.robot)
    for robot in missing:
        said.setdefault("gave no answer", []).append(robot)
    return "; ".join(f"{enumerated(robots)} {words}" for words, robots in said.items())


def questions_of_house(truth: SceneGraph, seed: int, *, mapped: bool = True) -> list[Asked]:
    """Choose what to ask: two presence questions, three open ones, a request; with their truth.

    Open questions that people may understand in two ways are left out: the color of what shows
    several, such as a bed with white linen, and cabinets where wall cabinets are, too.

    Args:
        truth: The truth of the world.
        seed: Chooses the things.
        mapped: Whether the team makes a map; without one only presence is asked for.
    """
    rng = random.Random(seed)
    asked = []
    bank = bank_of_house(truth, seed)
    # Of things that stand about: what lies in a drawer nobody can have seen.
    stands = {t.label.top for t in truth.objects.values() if t.kind == "furniture"}
    for yes in (True, False):
        items = [item for item in bank if item.truth is yes and item.question.object in stands]
        if items:
            asked.append(Asked(rng.choice(items).question.text, truth=_WORDS[yes]))
    if not mapped:
        return asked
    labels = Counter(thing.label.top for thing in truth.objects.values())
    count = {
        label: number
        for label, number in labels.items()
        if not any(other.endswith(f" {label}") for other in labels)
    }
    rooms = {room.id: room.name for room in truth.rooms.values()}
    large = [
        thing
        for thing in sorted(truth.objects.values(), key=lambda t: t.id)
        if thing.kind == "furniture"
        and count.get(thing.label.top) == 1
        and thing.box.volume >= _LEAST
        and thing.room in rooms
    ]
    rng.shuffle(large)
    if large:
        thing = large.pop()
        asked.append(Asked(f"Where is the {thing.label.top}?", truth=rooms[thing.room]))
    painted = [thing for thing in large if _is_plain(thing)]
    if painted:
        thing = painted.pop()
        color = color_name(thing.properties["color"])
        asked.append(Asked(f"What color is the {thing.label.top}?", truth=color))
    several = sorted(
        {t.label.top for t in truth.objects.values() if t.kind == "furniture"}
        & {label for label, n in count.items() if 2 <= n <= 5}
    )
    if several:
        label = rng.choice(several)
        asked.append(Asked(f"How many {plural(label)} are there?", truth=str(count[label])))
    return [*asked, Asked(FIND, find=True)]


def _is_plain(thing: SceneObject) -> bool:
    """Tell whether the color of a thing's paint is that of what one sees of it."""
    paint = color_name(thing.properties.get("color", ""))
    alike = (
        share
        for name, share in shown_colors(thing).items()
        if name == paint or are_alike(name, paint)
    )
    return bool(paint) and sum(alike) >= _PLAIN
