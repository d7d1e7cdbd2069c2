"""Steps of an explanation: records and entries of the log turned into sentences, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from coterie_core.questions import percent
from coterie_core.wording import spoken
from coterie_safety.ledger import Entry
from coterie_safety.why.explanation import Explanation, Step
from coterie_safety.why.reading import Story
from coterie_safety.why.record import Record
from coterie_safety.why.words import decision_details, entry_words, line, mappings, sentence

_TITLE_CHARS = 140
_REFLECTS = "emos.reflect_on_share"


class Steps:
    """Collects the steps of one explanation, and what is missing in it.

    Args:
        story: Records of the run.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.steps: dict[str, Step] = {}
        self.gaps: dict[str, None] = {}
        self.raw: dict[str, Mapping[str, Any]] = {}

    def told(self, title: str) -> Explanation:
        """Return the explanation."""
        story = self.story
        words = ("task", "question")
        steps = sorted(self.steps.values(), key=lambda step: (step.kind not in words, step.at))
        if story.lost:
            self.gap(f"{story.lost} records could not be written (full disk?)")
        if story.damaged:
            self.gap(f"{story.damaged} lines are damaged and were left out")
        if story.log_fault:
            self.gap(f"the log of goals is not as it was written: {line(story.log_fault)}")
        told = tuple(_spoken(step, {one.who for one in steps}) for step in steps)
        return Explanation(line(title, _TITLE_CHARS), told, tuple(self.gaps), self.raw)

    def gap(self, words: str) -> None:
        """Say what is not known."""
        self.gaps[words] = None

    def missing(self, what: str) -> None:
        """Say that a link is not kept, and whether it may have been removed."""
        gone = self.story.gone
        why = ""
        if gone.records:
            why = f": {gone.records} older records were removed to stay within the limit, the last "
            why += f"of {line(gone.until[:19].replace('T', ' '))} UTC"
        self.gap(f"{what} is not kept{' any more' if why else ''}{why}")

    def add(
        self, record: Record, details: Iterable[str] = (), *, text: str = "", asked: bool = False
    ) -> None:
        """Add a record as a step, once."""
        told = list(details)
        links: list[str] = []
        if record.kind == "decision":
            told += decision_details(record.body)
        if record.body.get("tree"):
            told.append(f"by its tree: {line(record.body['tree'])}")
        if record.kind == "answer":
            told += self._votes(record)
        self.raw[record.id] = record.body
        known = self.steps.get(record.id)
        if known is not None and not asked:
            return
        self.steps[record.id] = Step(
            record.id,
            record.at,
            record.who,
            record.kind,
            text or sentence(record),
            tuple(told),
            tuple(links),
            asked,
        )

    def add_entry(self, entry: Entry, *, asked: bool = False) -> None:
        """Add an entry of the log as a step."""
        id_ = f"#{entry.seq}"
        self.raw[id_] = entry.body
        text = entry_words(entry)
        self.steps.setdefault(
            id_, Step(id_, entry.at, entry.robot, f"log {entry.kind}", text, asked_for=asked)
        )

    def parts(self, record: Record) -> list[Mapping[str, Any]]:
        """Return the sub-tasks of an assignment."""
        return mappings(record.body.get("sub_tasks"))

    def assignment(
        self, record: Record, sub_task: str, robot: str, changed: Mapping[str, str] | None = None
    ) -> None:
        """Add an assignment: of one sub-task with why no other robot, or all that changed."""
        details: list[str] = []
        against = record.body.get("why_not")
        against = against if isinstance(against, Mapping) else {}
        for one in self.parts(record):
            id_, who = str(one.get("id", "")), str(one.get("robot", ""))
            if sub_task and id_ != sub_task:
                continue
            if not sub_task and changed is not None and changed.get(id_) == who:
                continue
            details.append(given_to(one))
            reasons = against.get(id_)
            if isinstance(reasons, Mapping) and (sub_task or not who):
                told = [f"not {line(name, 60)}: {line(why)}" for name, why in reasons.items()]
                details += [f"  {text}" for text in told if not robot or robot in text or not who]
            if sub_task:
                details += self._evidence(record, one, who)
        for note in record.body.get("notes") or ():
            if not sub_task:
                details.append(line(note))
        self.add(record, details)

    def _evidence(self, record: Record, part: Mapping[str, Any], who: str) -> list[str]:
        """Return what speaks for a sub-task: what its robot said of it, what was done before it."""
        told, task = [], record.of.task
        for one in self.story.of_kind("decision"):
            reply = one.body.get("reply")
            if (one.body.get("name"), one.who, one.of.task) != (_REFLECTS, who, task):
                continue
            verdicts = mappings(reply.get("verdicts")) if isinstance(reply, Mapping) else []
            if one.at <= record.at and (mine := _of_part(verdicts, part.get("id"))):
                told.append(f"  {line(who, 60)} said of it: {line(mine['reason'], 400)}")
                break
        after = part.get("after")
        for id_ in after if isinstance(after, list) else ():
            for one in self.story.of_kind("action"):
                same = (one.of.task, one.of.sub_task) == (task, id_)
                if same and one.body.get("effect") == "done":
                    did = line(one.body.get("words", ""))
                    told.append(f"  before it, {line(one.who, 60)} did {line(id_, 60)}: {did}")
                    break
        return told

    def _votes(self, record: Record) -> list[str]:
        told = []
        for vote in mappings(record.body.get("votes")):
            word = "yes" if vote.get("yes") else "no"
            sure, weight = vote.get("confidence", 0.0), vote.get("weight", 0.0)
            why = line(vote.get("explanation", ""))
            some = isinstance(weight, (int, float)) and weight >= 0.01  # less counts for nothing
            counted = f", weight {weight:.2f}" if some else ""
            sure_of = percent(sure) if isinstance(sure, (int, float)) else "?"
            told.append(
                f"{line(vote.get('robot', ''), 60)}: {word}, {sure_of} sure{counted}: {why}"
            )
        for name in ("method", "explanation"):
            if record.body.get(name):
                told.append(f"{name}: {line(record.body[name], 400)}")
        return told


def _of_part(verdicts: list[Mapping[str, Any]], id_: object) -> Mapping[str, Any] | None:
    """Return the verdict on a sub-task that gives a reason."""
    return next((one for one in verdicts if one.get("sub_task") == id_ and one.get("reason")), None)


def given_to(one: Mapping[str, Any]) -> str:
    """Return who got a sub-task, in a line."""
    who = line(one.get("robot", ""), 60) or "nobody"
    return f"{line(one.get('id', ''), 60)} ({line(one.get('what', ''))}): {who}"


def _spoken(step: Step, robots: set[str]) -> Step:
    details = tuple(spoken(detail, robots) for detail in step.details)
    return replace(step, text=spoken(step.text, robots), details=details)
