"""What is kept of a session with people: every action and message, choices, answers; resumable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from coterie_core.cooperation import (
    Action,
    Close,
    GoTo,
    Grab,
    Note,
    NoteKind,
    Open,
    Put,
    Result,
    Send,
    Spot,
    Turn,
    Wait,
)
from coterie_core.files import write_atomically
from coterie_core.plain_data import schema_problems
from coterie_fixtures.fact_files import facts_from_json, facts_to_json

FORMAT = "coterie-play-1"
LARGEST = 50_000_000
"""Longest file that is read [bytes]."""
SCALE = 7
QUESTIONS: Mapping[str, str] = {
    "appropriateness": "The others responded in a way that suited what I meant to do.",
    "usefulness": "Talking with the others was of use for reaching the goal.",
    "efficiency": "With the others the goal was reached sooner than I could have alone.",
    "trust": "I felt that I could rely on the others.",
}
"""Statement by name, rated from 1 (strongly disagree) to 7 (strongly agree)."""
ABOUT_TALK = ("appropriateness", "usefulness")
"""Not asked where the others never say anything."""
SILENT = frozenset({"mhp", "rhp", "no_talk"})
MOST_COMMENT = 4000
State = Literal["playing", "aborted", "questions", "finished"]
"""Under way (or ended by force); ended by the person; over, answers are due; all is there."""
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (GoTo, Grab, Put, Open, Close, Turn, Send, Wait)
}
_SPOT = TypeAdapter(Spot)


class PlayError(Exception):
    """A session cannot be played, saved or resumed; says what is in the way and what to do."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class Row(_Part):
    """Steps in which somebody did the same, with the same result (last included)."""

    first: int = Field(ge=0)
    last: int = Field(ge=0)
    who: str
    do: dict[str, Any]
    ok: bool = True
    reason: str = ""


class Message(_Part):
    """A message that was sent; `facts` as on the wire."""

    id: str
    step: int
    sender: str
    to: list[str]
    kind: NoteKind
    text: str
    facts: str = ""


class Decision(_Part):
    """What a person chose at a step, and how long that took [s]."""

    step: int
    who: str
    choice: str
    seconds: float


class Record(_Part):
    """A session.

    Attributes:
        model: What the others think with; "": the rules.
        metrics: As `bench reveca` records them: SS, TD, CS, CC, success.
        rows: Every action of everybody, oldest first.
        answers: Person -> statement -> 1 to 7; statements that were not asked are missing.
        comments: Person -> what was added in words.
    """

    format: Literal["coterie-play-1"] = "coterie-play-1"
    state: State = "playing"
    world: str
    method: str
    seed: int
    agents: int
    model: str = ""
    team: list[str] = Field(default_factory=list)
    people: list[str]
    goal: str = ""
    begun: str = ""
    ended: str = ""
    metrics: dict[str, Any] = Field(default_factory=dict)
    rows: list[Row] = Field(default_factory=list)
    messages: list[Message] = Field(default_factory=list)
    decisions: list[Decision] = Field(default_factory=list)
    answers: dict[str, dict[str, int]] = Field(default_factory=dict)
    comments: dict[str, str] = Field(default_factory=dict)

    def add(self, step: int, who: str, action: Action, result: Result | None) -> None:
        """Write down what somebody did in a step and what became of it."""
        do: dict[str, Any] = {"action": type(action).__name__}
        if isinstance(action, Send):
            note = action.note
            do["message"] = note.id
            self.messages.append(
                Message(
                    id=note.id, step=step, sender=who, to=list(note.to), kind=note.kind,
                    text=note.text, facts=facts_to_json(note.facts) if note.facts else "",
                )
            )  # fmt: skip
        else:
            for one in fields(action):
                value = getattr(action, one.name)
                if value is not None and value != "":
                    do[one.name] = (
                        [value.room, list(value.position)] if isinstance(value, Spot) else value
                    )
        ok, reason = (True, "") if result is None else (result.ok, result.reason)
        for row in reversed(self.rows[-len(self.team or [who]) :]):
            if row.who == who:
                if row.last == step - 1 and (row.do, row.ok, row.reason) == (do, ok, reason):
                    row.last = step
                    return
                break
        self.rows.append(Row(first=step, last=step, who=who, do=do, ok=ok, reason=reason))

    def actions(self, who: str) -> list[Action]:
        """Return what somebody did, step by step.

        Raises:
            PlayError: A row is no action.
        """
        notes = {note.id: note for note in self.messages if note.sender == who}
        out: list[Action] = []
        for row in self.rows:
            if row.who == who:
                out += [_action(row, notes)] * (row.last - row.first + 1)
        return out

    def asked(self) -> list[str]:
        """Return the statements that people of this session rate."""
        if self.agents == len(self.people):
            return []  # nobody but people
        silent = self.method in SILENT
        return [name for name in QUESTIONS if not (silent and name in ABOUT_TALK)]

    def answer(self, who: str, answers: Mapping[str, Any], comment: str) -> None:
        """Store a person's answers.

        Raises:
            PlayError: One is missing, not asked, or not on the scale; nothing is stored.
        """
        asked = self.asked()
        for name in answers:
            if name not in asked:
                raise PlayError(f"answers: {str(name)[:40]!r} is not asked; {', '.join(asked)} are")
        for name in asked:
            value = answers.get(name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= SCALE:
                raise PlayError(f"{name}: choose a number from 1 to {SCALE}")
        if len(comment) > MOST_COMMENT:
            raise PlayError(f"comment: at most {MOST_COMMENT} characters, not {len(comment)}")
        self.answers[who] = {name: answers[name] for name in asked}
        self.comments[who] = comment

    def save(self, file: Path) -> None:
        """Write the file as a whole.

        Raises:
            PlayError: It cannot be written.
        """
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, self.model_dump_json(indent=1) + "\n")
        except OSError as error:
            raise PlayError(f"{file}: cannot be written: {error.strerror or error}") from None


def read_record(file: Path) -> Record:
    """Read a session that was saved.

    Raises:
        PlayError: There is none, or it is damaged; names the field.
    """
    try:
        if file.stat().st_size > LARGEST:
            raise PlayError(f"{file}: larger than {LARGEST // 1_000_000} MB; not a session of ours")
        return Record.model_validate_json(file.read_bytes())
    except OSError as error:
        raise PlayError(f"{file}: cannot be read: {error.strerror or error}") from None
    except ValidationError as error:
        problem = schema_problems(error, "text")
        raise PlayError(f"{file}: not a saved session: {problem}") from None


def new_file(folder: Path, record: Record) -> Path:
    """Return a name in a folder that no session has yet."""
    stem = f"{record.world}-{record.method}-seed{record.seed}-agents{record.agents}"
    stem = re.sub(r"[^\w-]", "_", stem)
    number = 1
    while (file := folder / f"{stem}-{number}.json").exists():
        number += 1
    return file


def _action(row: Row, notes: Mapping[str, Message]) -> Action:
    values = dict(row.do)
    name = values.pop("action", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    where = f"rows: step {row.first} of {row.who}"
    if kind is None:
        raise PlayError(f"{where}: no action {str(name)[:40]!r}; one of {', '.join(_KINDS)}")
    try:
        if kind is Send:
            said = notes[values["message"]]
            return Send(
                Note(
                    said.id, said.sender, said.kind, said.text, facts_from_json(said.facts),
                    tuple(said.to),
                )
            )  # fmt: skip
        if isinstance(values.get("spot"), list):
            values["spot"] = _SPOT.validate_python(values["spot"])
        action: Action = kind(**values)
        return action
    except (KeyError, TypeError, ValueError) as error:
        raise PlayError(f"{where}: not a {name} action: {str(error)[:200]}") from None
