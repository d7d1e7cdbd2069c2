"""What was said in a discussion: turns in order, as JSON for programs and Markdown for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from coterie_core.files import write_atomically
from coterie_core.tasks import Proposal, Reflection, SubTask, Verdict
from coterie_llm import ToolUse, inline_data
from coterie_safety.why import note

TurnKind = Literal["propose", "accept", "reject", "silent", "statement", "problem"]

MOST_PROBLEMS = 200
"""Problems that are kept of one discussion, and of one task."""
MOST_TURNS = 5000
"""Turns that are kept; later ones are only counted."""
FORMAT = "coterie.discussion/1"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: who said what to whom; `data` is the typed message where there is one."""

    time: float
    round: int
    speaker: str
    kind: TurnKind
    text: str
    recipients: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Transcript:
    """The discussions of one task. `on_turn` hears of every turn, `clock` tells its time [s]."""

    task: str
    words: str
    on_turn: Callable[[Turn], object] | None = None
    clock: Callable[[], float] = float
    turns: list[Turn] = field(default_factory=list)
    left_out: int = 0

    def say(
        self,
        kind: TurnKind,
        speaker: str,
        text: str,
        *,
        round: int = 0,
        recipients: Sequence[str] = (),
        data: dict[str, Any] | None = None,
    ) -> None:
        """Add a turn."""
        turn = Turn(self.clock(), round, speaker, kind, text, tuple(recipients), data or {})
        refused = [v["sub_task"] for v in turn.data.get("verdicts", ()) if not v["feasible"]]
        body = {"turn": kind, "words": text, "to": turn.recipients, "refused": refused}
        note("turn", speaker, {**body, "round": round}, task=self.task)
        if len(self.turns) < MOST_TURNS:
            self.turns.append(turn)
        else:
            self.left_out += 1
        if self.on_turn is not None:
            self.on_turn(turn)

    def propose(self, proposal: Proposal, robots: Sequence[str]) -> None:
        """Add the leader's proposal to robots."""
        self.say(
            "propose",
            "leader",
            share_text(proposal.sub_tasks),
            round=proposal.round,
            recipients=robots,
            data=proposal.model_dump(mode="json"),
        )

    def reflect(self, reflection: Reflection) -> None:
        """Add a robot's answer."""
        self.say(
            "accept" if reflection.agrees else "reject",
            reflection.robot,
            reflection_text(reflection),
            round=reflection.round,
            recipients=("leader",),
            data=reflection.model_dump(mode="json"),
        )

    def asked(self, uses: Iterable[ToolUse]) -> None:
        """Add what the leader's model asked a person or robots, and what they answered."""
        for use in uses:
            if use.name in ("ask_person", "ask_robot"):
                whom = inline_data(use.arguments.get("robot", "the person"), limit=60)
                question = inline_data(use.arguments.get("question", ""), limit=300)
                answer = "\n".join(use.result.split("\n")[1:-1]) or use.result
                text = f"asked {whom}: {question} {inline_data(answer, limit=400)}"
                self.say("statement", "leader", text)

    def to_json(self) -> str:
        """Return all turns as JSON."""
        data = {
            "format": FORMAT,
            "task": self.task,
            "words": self.words,
            "turns": [asdict(turn) for turn in self.turns],
            "turns_left_out": self.left_out,
        }
        return json.dumps(data, indent=1)

    def to_markdown(self) -> str:
        """Return all turns for people to read."""
        lines = [f"# {inline_data(self.words, limit=200)}", ""]
        last = -1
        for turn in self.turns:
            if turn.round != last and turn.kind == "propose":
                lines += [f"## Round {turn.round + 1}", ""]
                last = turn.round
            to = f" to {', '.join(turn.recipients)}" if turn.kind == "propose" else ""
            head, *rest = turn.text.split("\n")
            mark = {"accept": " agrees", "reject": " refuses", "silent": " is silent"}
            lines.append(f"**{turn.speaker}**{mark.get(turn.kind, '')}{to}: {head}")
            lines += rest
            lines.append("")
        if self.left_out:
            lines.append(f"({self.left_out} more turns)")
        return "\n".join(lines)

    def save(self, folder: Path, name: str = "discussion") -> None:
        """Write NAME.json and NAME.md into a folder.

        Raises:
            OSError: The folder cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.json", self.to_json())
        write_atomically(folder / f"{name}.md", self.to_markdown())


def share_text(sub_tasks: Sequence[SubTask]) -> str:
    """Return who does what, one line a robot."""
    by_robot: dict[str, list[str]] = {}
    for one in sub_tasks:
        what = inline_data(one.description or f"{one.kind} {one.id}", limit=120)
        after = f" (after {', '.join(one.depends_on)})" if one.depends_on else ""
        by_robot.setdefault(one.robot or "nobody", []).append(f"{one.id}: {what}{after}")
    return "\n".join(
        ["who does what:"] + [f"- {robot}: {'; '.join(all_)}" for robot, all_ in by_robot.items()]
    )


def answer_line(reflection: Reflection) -> str:
    """Return what a robot answered, in a line for prompts of the leader and of other robots."""
    told = [_no(verdict) for verdict in reflection.verdicts if not verdict.feasible]
    yes = [inline_data(v.sub_task) for v in reflection.verdicts if v.feasible]
    if yes:
        told.append(f"yes to {', '.join(yes)}")
    said = "; ".join(told) or "yes"
    return f"round {reflection.round + 1}, {inline_data(reflection.robot)}: {said}"


def _no(verdict: Verdict) -> str:
    kind = f" [{verdict.obstacle.value}]" if verdict.obstacle else ""
    return f"no to {inline_data(verdict.sub_task)}{kind}: {inline_data(verdict.reason, limit=240)}"


def reflection_text(reflection: Reflection) -> str:
    """Return a robot's answer in words, and why no model gave it where one should have."""
    why = inline_data(reflection.without_model, limit=200)
    by = f" (by the rules, its model did not answer: {why})" if why else ""
    if reflection.agrees:
        seconds = sum(verdict.time for verdict in reflection.verdicts)
        took = f", about {seconds:.0f} s" if seconds else ""
        return f"yes to {len(reflection.verdicts)} sub-tasks{took}{by}"
    told = [by.strip()] if by else []
    for verdict in reflection.verdicts:
        if not verdict.feasible:
            told.append(_no(verdict))
        if verdict.disagreement:
            told.append(f"(against it: {inline_data(verdict.disagreement, limit=240)})")
    return "\n".join(told) or "no, without a reason"
