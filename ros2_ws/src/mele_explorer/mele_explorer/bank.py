"""QuestionBank: yes/no questions about a house with their truth, made as in MELE, section 4.1."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coterie_core.questions import LabelledQuestion, Question
from coterie_world.scene import SceneGraph

Duplicates = Literal["keep", "distinct"]


@dataclass(slots=True)
class QuestionBank:
    """Questions of one house: for each (object, room) pair a YES, followed by its NO twin if any.

    `objects` and `rooms` are the vocabulary; `problems` says in words what could not be asked.
    """

    items: list[LabelledQuestion]
    objects: tuple[str, ...]
    rooms: tuple[str, ...]
    problems: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.items)

    def __iter__(self) -> Iterator[LabelledQuestion]:
        """Iterate over the questions."""
        return iter(self.items)

    @staticmethod
    def from_graph(
        scene: SceneGraph, seed: int = 0, duplicates: Duplicates = "keep"
    ) -> QuestionBank:
        """Make the bank from a scene graph: the truth of a world, or a map that was detected."""
        names = {room.id: room.name for room in scene.rooms.values()}
        things = list(scene.objects.values())
        pairs = [(o.label.top, names[o.room]) for o in things if o.room in names and o.label.top]
        lost = len(things) - len(pairs)
        return QuestionBank.from_pairs(pairs, names.values(), seed, duplicates, lost)

    @staticmethod
    def from_pairs(
        pairs: Iterable[tuple[str, str]],
        rooms: Iterable[str],
        seed: int = 0,
        duplicates: Duplicates = "keep",
        lost: int = 0,
    ) -> QuestionBank:
        """Make the bank from (object, room) pairs.

        Args:
            pairs: What is where; repetitions do not count.
            rooms: All rooms of the house, also those without objects.
            seed: For the rooms of the NO questions.
            duplicates: An object in several rooms has as many NO questions. "keep" draws each room
                on its own, as the paper does, so that two may be the same; "distinct" never draws
                a room twice for an object.
            lost: Number of things whose room is unknown, for the report.
        """
        rng = random.Random(seed)
        where: dict[str, set[str]] = defaultdict(set)
        for thing, room in pairs:
            where[thing].add(room)
        names = sorted(set(rooms) | {room for held in where.values() for room in held})
        items: list[LabelledQuestion] = []
        everywhere: list[str] = []
        used_up = 0
        for thing in sorted(where):
            free = [room for room in names if room not in where[thing]]
            if not free:
                everywhere.append(thing)
            for room in sorted(where[thing]):
                items.append(_question(len(items), thing, room, True))
                if free:
                    other = rng.choice(free)
                    if duplicates == "distinct":
                        free.remove(other)
                    items.append(_question(len(items), thing, other, False))
                elif thing not in everywhere:
                    used_up += 1
        problems = []
        if lost:
            problems.append(f"{lost} objects are in no known room: not asked for")
        if everywhere:
            some = ", ".join(everywhere[:5]) + (", ..." if len(everywhere) > 5 else "")
            problems.append(f"{len(everywhere)} objects are in every room, no NO question: {some}")
        if used_up:
            problems.append(f"{used_up} NO questions left out: no further room without the object")
        if not items:
            problems.append("no question can be asked: no object is in a known room")
        return QuestionBank(items, tuple(sorted(where)), tuple(names), problems)

    def sample(self, count: int, seed: int = 0) -> QuestionBank:
        """Return at most `count` questions, chosen at random and in random order."""
        chosen = random.Random(seed).sample(self.items, min(count, len(self.items)))
        return QuestionBank(chosen, self.objects, self.rooms, list(self.problems))

    def questions(self) -> Sequence[Question]:
        """Return the questions without their truth."""
        return [item.question for item in self.items]


def _question(index: int, thing: str, room: str, truth: bool) -> LabelledQuestion:
    text = f"{_existence(thing)} in {room if room[-1:].isdigit() else f'the {room}'}?"
    return LabelledQuestion(Question(f"q{index + 1:05d}", thing, room, text), truth, thing)


def _existence(thing: str) -> str:
    if thing.endswith("s") and not thing.endswith(("ss", "us", "is")):
        return f"Are there any {thing}"
    return f"Is there {'an' if thing[:1] in tuple('aeiou') else 'a'} {thing}"
