"""Modes of decisions (rule, model, model with advice), and limits of attempts and look-ups."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

Mode = Literal["rule", "model", "advised"]
"""`rule`: no model is asked. `model`: it decides within what the checks allow, and no solver's
answer or verdict stands in its prompt. `advised`: the same with the rule's answer shown to it."""

DECISIONS = (
    "adapter.check_outcome",
    "coela.act_or_speak",
    "coela.word_message",
    "emos.choose_skill",
    "emos.describe_body",
    "emos.reassign",
    "emos.reflect_on_share",
    "emos.split_task",
    "mapper.name_thing",
    "mele.answer",
    "mele.choose_place",
    "mele.debate",
    "objects.choose",
    "objects.plan",
    "objects.refine",
    "objects.reflect",
    "openeqa.answer_blind",
    "openeqa.answer_from_captions",
    "openeqa.answer_from_frames",
    "openeqa.answer_from_map",
    "openeqa.answer_with_tools",
    "openeqa.caption_frame",
    "openeqa.judge_abstaining",
    "openeqa.judge_answer",
    "perception.detect_things",
    "reveca.choose_plan",
    "reveca.judge_scenario",
    "reveca.rate_relevance",
    "team.read_request",
)
"""Names of all decisions of the stack, so that settings that name one can be checked here."""

ItemT = TypeVar("ItemT")


def known_decision(name: str) -> str:
    """Return the name of a decision of the stack.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in DECISIONS:
        near = difflib.get_close_matches(name, DECISIONS, 1)
        hint = f"; did you mean {near[0]}?" if near else f": {', '.join(DECISIONS)}"
        raise ValueError(f"there is no decision {name!r}{hint}")
    return name


@dataclass(frozen=True)
class Policy:
    """How decisions are put to a model.

    Attributes:
        mode: The mode of every decision that `modes` does not name.
        modes: Decision -> its mode.
        attempts: Most replies that one model may give to one decision.
        tool_turns: Most turns with tools before the reply is due.
        context: Tokens of prompt and reply together; None: no limit is known.
        short: Tokens above which prompts are made shorter; None: they are not.
        join: Most questions in one request.
        gather: Whether questions that are put at the same time are joined; else only those that
            code puts as a list. What comes at the same time differs from run to run.
        ask_always: Whether a model is asked also where just one reply is valid.
        own: Decisions of the user's own; see `own_decisions`.
    """

    mode: Mode = "model"
    modes: Mapping[str, Mode] = field(default_factory=dict)
    attempts: int = 2
    tool_turns: int = 6
    context: int | None = None
    short: int | None = None
    join: int = 1
    gather: bool = False
    ask_always: bool = False
    own: Mapping[str, tuple[str, Any]] = field(default_factory=dict)

    def of(self, decision: str) -> Mode:
        """Return the mode of a decision."""
        return self.modes.get(decision, self.mode)


def neutral_order(
    items: Iterable[ItemT], name: Callable[[ItemT], str] = repr, salt: str = ""
) -> list[ItemT]:
    """Return items in an order that tells a model nothing of what a rule would take.

    The order depends on the items alone (by digest of their names), so that the same state gives
    the same prompt.

    Args:
        items: Items that are offered.
        name: Function that returns a name that tells an item from the others.
        salt: Text that tells this question from the last one, so that no item always comes first.
    """

    def key(item: ItemT) -> tuple[bytes, str]:
        text = name(item)
        return hashlib.blake2b(f"{salt}\n{text}".encode(), digest_size=8).digest(), text

    return sorted(items, key=key)
