"""A proposed task begins only with a person's permit; without the gate these checks fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")
pytest.importorskip("mcp")

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import key_file, own_state
from coterie_cli.team_tools.proposals import Proposals
from coterie_cli.team_tools.results import answered as told_answer
from coterie_cli.team_tools.results import fenced
from coterie_cli.team_tools.server import make_server
from coterie_core.questions import OpenAnswer
from coterie_requests.ask_back import Judgement
from coterie_safety.permits import (
    Decision,
    PermitError,
    PermitGate,
    RobotPermits,
    SignedAnswer,
    TeamTask,
    answered,
    load_key,
    make_key,
)
from coterie_safety.permits.policy import Verdict

WORDS = "Bring the mug to the counter"


class Desk:
    """Proposals whose allowed tasks are noted instead of done, and a clock."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COTERIE_STATE", str(folder))
        self.key = load_key(make_key(key_file()))
        self.begun: list[str] = []
        self.now = 1000.0

        async def note(_, one, gate, permit, state) -> None:
            self.begun.append(one.task.words)

        monkeypatch.setattr(Proposals, "_do", note)
        self.proposals = Proposals(wait=60.0)
        self.proposals.of_team(own_state("tiny", 1, folder, log=folder / "log"))
        self.gate = self.proposals._gate
        self.gate._wall = lambda: self.now

    def request(self, words: str = WORDS):
        told = self.proposals.propose(words, "", 0.0)
        assert told.state == "waiting"
        (request,) = [one for one in self.gate.waiting if one.id == told.id]
        return request

    def answer(self, asked, decision=Decision.ALLOW, **changes) -> str:
        """Answer, with a right signature or a changed answer; return what is said."""
        signed = answered(asked, decision, "anna", now=self.now, key=self.key)
        try:
            return self.gate.answer(replace(signed, **changes))
        except PermitError as error:
            return str(error)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def nothing_unpermitted_begins(desk: Desk) -> None:
    """Try every way past the gate that takes no key."""
    try:
        request = desk.request()
    except CommandError:
        request = None
    await settle()
    assert desk.begun == [] and request is not None
    # An answer that somebody else signed, for other words, or with another decision.
    other = Ed25519PrivateKey.generate()
    forged = answered(request, Decision.ALLOW, "anna", now=desk.now, key=other)
    desk.answer(request, signature=forged.signature)
    desk.answer(request, decision=Decision.REFUSE, signature="0" * 64)
    other = desk.request("Open the front door")
    desk.answer(request, request=other.id)
    await settle()
    assert desk.begun == []
    # Refused, and refused by silence.
    desk.answer(other, Decision.REFUSE)
    desk.now += 61.0
    desk.answer(request)
    desk.gate.expire()
    await settle()
    assert desk.begun == []
    # Words that are changed once a person has allowed others.
    third = desk.request("Wipe the table")
    kept = desk.proposals._kept[third.id]
    desk.answer(third)
    kept.task = TeamTask("Open the gas tap")
    await settle()
    assert desk.begun == []


def test_what_a_person_allows_begins_once(tmp_path, monkeypatch):
    async def work():
        desk = Desk(tmp_path, monkeypatch)
        await nothing_unpermitted_begins(desk)
        desk.now += 1000.0  # the refusals are over
        request = desk.request()
        assert "allowed" in desk.answer(request)
        assert "no such request" in desk.answer(request)
        await settle()
        assert desk.begun == [WORDS]
        assert desk.proposals._told(request.id).state == "running"
        again = desk.request()  # a refusal holds for these words, an allowance for nothing more
        desk.answer(again, Decision.REFUSE)
        with pytest.raises(CommandError, match=r"anna refused; .*nobody is asked again"):
            desk.request()
        assert desk.request("Wipe the floor").goal.what.endswith('"Wipe the floor"')
        await desk.proposals.close()
        assert desk.gate.waiting == ()

    asyncio.run(work())


def unchecked(gate: PermitGate, answer: SignedAnswer):
    """A mutant that asks for no more than that the request is known."""
    if answer.request not in gate._waiting:
        raise PermitError("unknown")
    return gate._waiting[answer.request]


MUTANTS = {
    "the policy allows": (RobotPermits, "decide", lambda *_: Verdict("allow", "a mutant")),
    "signatures are not checked": (SignedAnswer, "signed_with", lambda *_: True),
    "answers are not checked": (
        PermitGate,
        "_checked",
        lambda gate, answer: unchecked(gate, answer),
    ),
    "nothing is looked at when it begins": (PermitGate, "begin", lambda *_: None),
    "refusals permit": (Proposals, "_settled", lambda self, id_, permit, _: settled(self, id_)),
}


def settled(proposals: Proposals, id_: str) -> None:
    """A mutant that does not ask what the gate said."""
    one = proposals._kept[id_]
    proposals._running.add(asyncio.ensure_future(proposals._do(one, None, None, None)))


@pytest.mark.parametrize("name", MUTANTS)
def test_without_the_gate_the_checks_fail(name, tmp_path, monkeypatch):
    async def work():
        desk = Desk(tmp_path, monkeypatch)
        with pytest.raises(AssertionError):
            await nothing_unpermitted_begins(desk)

    monkeypatch.setattr(*MUTANTS[name])
    asyncio.run(work())


def test_who_may_only_read_has_no_such_tool():
    server = make_server(None)  # type: ignore[arg-type]
    names = {tool.name for tool in asyncio.run(server.list_tools())}
    assert names == {"ask", "find", "where_is", "why"}


@pytest.mark.parametrize("words", ["", "x" * 301, "two\nlines", "hidden\u202e", 'a "quote"'])
def test_a_person_sees_all_that_is_done(words):
    with pytest.raises(ValueError, match="one line of 1 to 300"):
        TeamTask(words).goal("assistant_1")


def test_what_is_not_clear_is_told():
    said = OpenAnswer("q", "which one?")
    doubt = Judgement("ambiguous", "there are two <b>mugs</b>", "Which mug?")
    told = fenced(told_answer("Where is the mug?", said, None, doubt)).structured_content
    assert told["unclear"].endswith("Which mug?") and "<b>" not in told["unclear"]
    assert told_answer("Where is the mug?", said, None).unclear == ""
