"""Decisions of the user's own: a class or a rule in the place of the stack's, checked as it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel

from coterie_llm import CheckFailed, Decision, Message, ModelProfile, build_decider
from coterie_llm.own import ENVIRONMENT, own_decisions
from coterie_llm.tracing import listen

pytestmark = pytest.mark.quick

NAME = "test.choose_drawer"
MODULE = """
import test_language_own as theirs

class Last(theirs.ChooseDrawer):
    def rule(self, state): return theirs.Drawer(drawer=state[-1])

class Other(theirs.Decision): pass

def last(state: list) -> theirs.Drawer: return theirs.Drawer(drawer=state[-1])
def gone(state: list) -> theirs.Drawer: return theirs.Drawer(drawer="attic")
def word(state: list) -> theirs.Drawer: return state[-1]
def stuck(state: list) -> theirs.Drawer: raise KeyError("handle")
def untyped(state): return theirs.Drawer(drawer=state[-1])
def of_two(state: list, more: int) -> theirs.Drawer: ...
"""


class Drawer(BaseModel):
    drawer: str


class ChooseDrawer(Decision[list[str], Drawer]):
    name = NAME
    reply_type = Drawer

    def prompt(self, state: list[str]) -> Sequence[Message]:
        return (Message.user("which?"),)

    def check(self, state: list[str], reply: Drawer) -> None:
        if reply.drawer not in state:
            raise CheckFailed(f"no drawer {reply.drawer}")

    def rule(self, state: list[str]) -> Drawer:
        return Drawer(drawer=state[0])


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_drawers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "test_language_own", sys.modules[__name__])
    monkeypatch.delitem(sys.modules, "own_drawers", raising=False)


async def decided(own: str) -> list[tuple[str, str]]:
    """Return what is chosen in each way to ask, and the name that is kept with it."""
    decider = build_decider(ModelProfile(), own=own_decisions({NAME: own}))
    kept: list[str] = []
    listen(lambda trace: kept.append(trace.own) or "")  # type: ignore[func-returns-value]
    try:
        states = [["top", "bottom"]]
        made = [
            await decider.decide(ChooseDrawer(), states[0]),
            decider.decide_by_rule(ChooseDrawer(), states[0]),
            *await decider.decide_all(ChooseDrawer(), states),
            await decider.sampled(0.5, 1).decide(ChooseDrawer(), states[0]),
        ]
    finally:
        listen(None)
    return [(one.reply.drawer, name) for one, name in zip(made, kept, strict=True)]


@pytest.mark.parametrize("own", ["own_drawers:Last", "own_drawers:last"])
async def test_it_decides_in_the_place_of_ours_and_its_name_is_kept(own: str) -> None:
    assert await decided(own) == [("bottom", own)] * 4


@pytest.mark.parametrize(
    ("own", "why"),
    [("gone", "CheckFailed: no drawer attic"), ("word", "TypeError: expected Drawer, got str"),
     ("stuck", "KeyError: 'handle'")],
)  # fmt: skip
async def test_where_it_fails_ours_decides_and_the_reason_is_kept(own: str, why: str) -> None:
    told = f"own_drawers:{own} failed ({why}): Coterie's rule"
    assert await decided(f"own_drawers:{own}") == [("top", told)] * 4


@pytest.mark.parametrize("own", ["Other", "untyped", "of_two", "Drawer"])
def test_what_cannot_decide_it_is_refused_with_what_is_expected(own: str) -> None:
    expected = f"a class derived from {__name__}.ChooseDrawer, or a function of its state whose "
    with pytest.raises(ValueError, match=rf"decisions\.{NAME}: own_drawers:{own}: .*{expected}"):
        own_decisions({NAME: f"own_drawers:{own}"})


def test_a_process_loads_what_it_decides_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {NAME: "own_drawers:last", "another.process": "nowhere:at_all"}
    monkeypatch.setenv(ENVIRONMENT, json.dumps(given))
    assert list(own_decisions()) == [NAME]
    monkeypatch.delenv(ENVIRONMENT)
    assert own_decisions() == {}
