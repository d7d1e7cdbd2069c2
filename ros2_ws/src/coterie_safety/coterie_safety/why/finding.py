"""Resolves an id, a robot's name or words to what there is to explain."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from coterie_safety.ledger import Entry
from coterie_safety.why.explanation import NothingKept
from coterie_safety.why.reading import Story
from coterie_safety.why.record import Record
from coterie_safety.why.words import line, mappings

TargetKind = Literal["record", "task", "sub_task", "shares", "question", "entry"]
_SHORT = frozenset(
    (
        *("a", "an", "and", "at", "did", "do", "does", "for", "in", "into", "is", "it"),
        *("last", "not", "of", "on", "the", "to", "was", "were", "why"),
    )
)
_MAX_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be explained.

    Attributes:
        kind: Kind of the target.
        id: Its id: of the record, the task, the question; of a sub-task: its own.
        task: Id of a sub-task's task.
        robot: Robot that it is asked of, where a robot was named beside other words.
        entry: The log's entry, of kind `entry`.
        sub_tasks: Ids of the sub-tasks that words fit, of kind `shares`.
    """

    kind: TargetKind
    id: str
    task: str = ""
    robot: str = ""
    entry: Entry | None = None
    sub_tasks: tuple[str, ...] = ()


def find(what: str, story: Story) -> Target:
    """Return what is meant.

    Args:
        what: "" or `last`: what the team was asked last; the beginning of an id; a robot's name; or
            words that a task, a question, an answer, a sub-task or an action holds.
        story: Records of the run.

    Raises:
        NothingKept: Nothing fits, or an id's beginning fits several.
    """
    if not story.records and not story.entries:
        raise NothingKept("nothing is kept yet: ask the team something, or give it a task")
    asked = " ".join(what.split())
    if asked.lower() in ("", "last"):
        return _last(story)
    found = _by_id(asked, story)
    if found is not None:
        return found
    robots = names(story)
    words = telling(asked)
    robot = next((name for name in robots if name.lower() in words), "")
    words = [word for word in words if word != robot.lower()]
    if robot and not words:
        return _of_robot(robot, story)
    found = _by_words(words, robot, story) if words else None
    if found is not None:
        return found
    about = f" of {robot}" if robot else ""
    acted = ", ".join(sorted(robots_of(story))) or "none has acted"
    raise NothingKept(
        f"nothing that is kept{about} holds {line(asked)!r}; try an id (./coterie why last shows "
        f"some), the name of a robot ({acted}), or words of the task, the question or a thing"
    )


def telling(what: str) -> list[str]:
    """Return the words that tell what is meant."""
    return [word for word in re.findall(r"[\w'-]+", what.lower()) if word not in _SHORT]


def names(story: Story) -> set[str]:
    """Return the names of all who did something."""
    return ({record.who for record in story.records} | robots_of(story)) - {"", "person"}


def robots_of(story: Story) -> set[str]:
    """Return the names of the robots that acted, or were to: nobody who only decides."""
    found = {entry.robot for entry in story.entries}
    for record in story.of_kind("task"):
        found |= {str(robot) for robot in record.body.get("robots") or ()}
    for record in story.of_kind("assignment"):
        found |= {str(one.get("robot", "")) for one in mappings(record.body.get("sub_tasks"))}
    return found - {"", "person"}


def _last(story: Story) -> Target:
    for record in story.of_kind("task", "answer", "question"):
        return _of_record(record)
    if story.records:
        return Target("record", story.records[-1].id)
    return Target("entry", str(story.entries[-1].seq), entry=story.entries[-1])


def _of_record(record: Record) -> Target:
    if record.kind in ("task", "outcome", "assignment") and record.of.task:
        return Target("task", record.of.task)
    if record.kind in ("answer", "question") and record.of.question:
        return Target("question", record.of.question)
    return Target("record", record.id)


def _by_id(asked: str, story: Story) -> Target | None:
    begin = asked.lower()
    numbered = re.fullmatch(r"#(\d+)", begin)
    if numbered is not None:
        for entry in story.entries:
            if entry.seq == int(numbered[1]):
                return Target("entry", str(entry.seq), entry=entry)
        raise NothingKept(f"the log has no entry {asked}")
    fits: dict[tuple[str, str, str], Target] = {}
    if re.fullmatch(r"[0-9a-f]{4,64}", begin):
        for record in story.records:
            if record.id.startswith(begin):
                fits["record", record.id, ""] = Target("record", record.id)
        for entry in story.entries:
            ids = (entry.body.get(name) for name in ("action", "request", "permit", "goal"))
            if any(isinstance(one, str) and one.startswith(begin) for one in ids):
                action = str(entry.body.get("action") or entry.seq)
                known = story.get(action)
                if known is None:
                    fits["entry", action, ""] = Target("entry", action, entry=entry)
                else:
                    fits["record", action, ""] = Target("record", action)
    for record in story.records:
        of = record.of
        if of.task and of.task.lower() == begin:
            fits["task", of.task, ""] = Target("task", of.task)
        if of.question and of.question.lower() == begin:
            fits["question", of.question, ""] = Target("question", of.question)
        if of.sub_task and begin in (of.sub_task.lower(), f"{of.task}/{of.sub_task}".lower()):
            fits["sub_task", of.sub_task, ""] = Target("sub_task", of.sub_task, of.task)
        if record.kind == "assignment":
            for one in mappings(record.body.get("sub_tasks")):
                id_ = str(one.get("id", ""))
                if begin in (id_.lower(), f"{of.task}/{id_}".lower()):
                    fits["sub_task", id_, ""] = Target("sub_task", id_, of.task)
    if len(fits) > 1 and len({kind for kind, _, _ in fits}) == 1:
        some = ", ".join(sorted(id_[:14] for _, id_, _ in fits)[:8])
        raise NothingKept(
            f"{line(asked)!r} is the beginning of {len(fits)} ids: {some}; give more of one"
        )
    return next(iter(fits.values()), None)


def _of_robot(robot: str, story: Story) -> Target:
    for kind in ("action", "sent", "decision", "turn"):
        for record in story.of_kind(kind):
            if record.who == robot:
                return Target("record", record.id)
    for entry in reversed(story.entries):
        if entry.robot == robot:
            return Target("entry", str(entry.seq), entry=entry)
    raise NothingKept(f"nothing is kept of {line(robot)}")


def _by_words(words: list[str], robot: str, story: Story) -> Target | None:
    """Return the latest that holds all words: what a person gave or got, before what robots did."""
    fits = functools.partial(holds, words)
    shares = _shares(story, robot, fits) if robot else None
    if shares is not None:
        return shares
    for targets in (_given(story, robot), _done(story, robot)):
        for number, (text, target) in enumerate(targets):
            if number > _MAX_SEARCHED:
                break
            if fits(text):
                return target
    return None


def holds(words: list[str], text: str) -> bool:
    """Return whether a text has all words, or beginnings with them."""
    low = text.lower()
    return all(re.search(rf"\b{re.escape(_stem(word))}", low) for word in words)


def _shares(story: Story, robot: str, fits: Callable[[str], bool]) -> Target | None:
    """Return the sub-tasks of the latest task that words fit, and that a robot got or did not."""
    found: dict[str, None] = {}
    task = ""
    for record in story.of_kind("assignment"):
        if task and record.of.task != task:
            break
        for one in mappings(record.body.get("sub_tasks")):
            if fits(str(one.get("what", ""))):
                found[str(one.get("id", ""))] = None
                task = record.of.task
    if len(found) == 1:
        return Target("sub_task", next(iter(found)), task, robot)
    return Target("shares", task, task, robot, sub_tasks=tuple(found)) if found else None


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _given(story: Story, robot: str) -> Iterator[tuple[str, Target]]:
    """Yield what a person gave or got, and what nobody got."""
    for record in story.of_kind("assignment", "task", "question", "answer", "outcome"):
        if record.kind != "assignment":
            if not robot:
                yield str(record.body.get("words", "")), _of_record(record)
            continue
        for one in mappings(record.body.get("sub_tasks")):
            if not robot and not one.get("robot"):
                text = str(one.get("what", ""))
                yield text, Target("sub_task", str(one.get("id", "")), record.of.task)


def _done(story: Story, robot: str) -> Iterator[tuple[str, Target]]:
    for record in story.of_kind("action", "turn", "assignment"):
        if record.kind == "assignment":
            for one in mappings(record.body.get("sub_tasks")):
                target = Target("sub_task", str(one.get("id", "")), record.of.task, robot)
                yield str(one.get("what", "")), target
        elif not robot or record.who == robot:
            yield str(record.body.get("words", "")), Target("record", record.id)
    for entry in reversed(story.entries):
        if entry.kind in ("goal", "refusal") and (not robot or entry.robot == robot):
            body = entry.body
            text = " ".join(
                str(body.get(name, "")) for name in ("what", "rooms", "objects", "reason")
            )
            yield text, Target("entry", str(entry.seq), entry=entry)
