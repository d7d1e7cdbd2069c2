"""The gate: only the permit for this goal, in time, once; only who has the key gives one."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from coterie_core.ledger import Ledger, check, entries
from coterie_core.permits import (
    Decision,
    PermitError,
    PermitGate,
    Permits,
    RobotPermits,
    SignedAnswer,
    load_key,
    make_key,
    revoked,
)
from coterie_core.permits.gate import is_no_permit, needs_permit
from coterie_core.permits.request import Permit
from coterie_core.scene import Floor, Room, SceneGraph
from coterie_core.skills import (
    Ask,
    Detect,
    LookAround,
    NavigateTo,
    Outcome,
    Pick,
    SkillRefused,
    SkillResult,
    Target,
    Wait,
)

MUG = Pick(Target("mug", (2.0, 1.0, 0.8)))
HERE = (2.0, 2.0, 0.0)


def house() -> SceneGraph:
    scene = SceneGraph()
    scene.add_floor(Floor("ground", 0, 0.0, 2.6))
    for k, name in enumerate(("kitchen", "bath")):
        x = 4.0 * k
        outline = [(x, 0.0), (x + 4.0, 0.0), (x + 4.0, 4.0), (x, 4.0)]
        scene.add_room(Room(f"r{k}", name, name, "ground", outline))
    return scene


class Desk:
    """A gate whose clock stands, a person with the key, and what came of the goals."""

    def __init__(self, folder: Path, policy="ask", **options) -> None:
        self.now = 1000.0
        self.settled: list[tuple[Permit | None, str]] = []
        self.log = Ledger(folder / "log")
        self.key_file = make_key(folder / "permits.key")
        self.options = {"log": self.log, "key_file": self.key_file, **options}
        self.begin(policy)

    def begin(self, policy="ask", real=True) -> None:
        self.gate = PermitGate(
            RobotPermits(team=Permits.model_validate(policy), name="rover", real=real),
            wall=lambda: self.now,
            local=lambda: datetime(2026, 3, 9, 12, 0),
            **self.options,
        )
        self.gate.know(house())

    def goal(self, skill=MUG, **options):
        return self.gate.around.goal("rover", skill, HERE, 0.4, **options)

    def apply(self, skill=MUG, **options):
        goal = self.goal(skill, **options)
        return goal, self.gate.apply(goal, lambda *told: self.settled.append(told))

    def signed(self, request, **changes) -> SignedAnswer:
        answer = SignedAnswer(
            request.id, request.goal.digest, Decision.ALLOW, "anna", until=self.now + 60.0
        )
        return replace(answer, **changes).sign(load_key(self.key_file))

    def allow(self, request, **changes) -> Permit:
        self.gate.answer(self.signed(request, **changes))
        permit = self.settled[-1][0]
        assert permit is not None
        return permit

    def refused(self, skill=MUG, **options) -> str:
        with pytest.raises(SkillRefused) as caught:
            self.apply(skill, **options)
        assert caught.value.result.outcome is Outcome.REFUSED and is_no_permit(caught.value.result)
        return caught.value.result.reason

    def not_begun(self, permit, goal, skill=MUG) -> str:
        with pytest.raises(SkillRefused) as caught:
            self.gate.begin(permit, goal, skill, None)
        return caught.value.result.reason

    @property
    def kinds(self) -> list[str]:
        assert check(self.log.folder).fault == ""
        return [entry.kind for entry in entries(self.log.folder)]


def full(*_):
    raise OSError("no space left on device")


@pytest.fixture
def desk(tmp_path) -> Desk:
    return Desk(tmp_path)


def test_asked_allowed_done_once_and_all_of_it_logged(desk):
    goal, request = desk.apply(why="the table is to be laid")
    assert desk.gate.waiting == (request,) and request.rooms == ("kitchen",)
    assert request.text == (
        'rover: take the mug in kitchen for "the table is to be laid", at up to 0.4 m/s; '
        "it touches: kitchen, mug"
    )
    permit = desk.allow(request)
    assert desk.gate.waiting == () and permit.by == "anna"
    desk.gate.begin(permit, goal, MUG, None)
    assert desk.gate.ended(goal, SkillResult(Outcome.SUCCEEDED)) == ""
    assert desk.kinds == ["goal", "request", "permit", "result"]
    assert "used up" in desk.not_begun(permit, goal)


def test_a_goal_without_a_permit_does_not_begin(desk):
    goal, _ = desk.apply()
    made_up = Permit("0" * 32, goal, "me")
    assert "never given" in desk.not_begun(made_up, goal)


def test_a_permit_is_for_its_goal_only(desk):
    goal, request = desk.apply()
    permit = desk.allow(request)
    other_skill = Pick(Target("vase", (3.0, 1.0, 0.8)))
    other, _ = desk.apply(other_skill)
    assert "something else" in desk.not_begun(permit, other, other_skill)
    assert "changed" in desk.not_begun(permit, goal, other_skill)
    nudged = Pick(Target("mug", (2.0, 1.0, 0.81)))
    assert "changed" in desk.not_begun(permit, goal, nudged)
    desk.gate.begin(permit, goal, MUG, None)


def test_a_place_that_lies_elsewhere_now_is_another_goal(desk):
    skill = NavigateTo(place="p1")
    goal, request = desk.apply(skill, spot=(3.0, 3.0, 0.0))
    permit = desk.allow(request)
    with pytest.raises(SkillRefused, match="changed"):
        desk.gate.begin(permit, goal, skill, (6.0, 3.0, 0.0))
    desk.gate.begin(permit, goal, skill, (3.0, 3.0, 0.0))


def test_a_permit_is_over_in_time(desk):
    goal, request = desk.apply()
    permit = desk.allow(request)
    desk.now += 60.0
    assert "over" in desk.not_begun(permit, goal)


def test_a_policy_that_refuses_meanwhile_counts(desk):
    desk.begin({"rules": [{"answer": "allow", "hours": "mon 08:00-12:30"}]})
    goal, permit = desk.apply()
    again, other = desk.apply()
    desk.gate.begin(other, again, MUG, None)  # as long as the policy says so
    desk.gate._local = lambda: datetime(2026, 3, 9, 12, 30)
    assert "nothing allows it" in desk.not_begun(permit, goal)


@pytest.mark.parametrize(
    "forge",
    [
        lambda answer, key: replace(answer, signature=""),
        lambda answer, key: replace(answer, signature="0" * 64),
        lambda answer, key: replace(answer, signature="\udcff"),
        lambda answer, key: replace(answer, until=answer.until + 1.0),
        lambda answer, key: replace(answer, standing=True),
        lambda answer, key: replace(answer, by="the owner"),
        lambda answer, key: replace(answer, reason="go on"),
        lambda answer, key: replace(answer, goal="0" * 64),
        lambda answer, key: replace(answer, goal="0" * 64).sign(key),
        lambda answer, key: replace(answer, request="0" * 32).sign(key),
        lambda answer, key: answer.sign(b"x" * 32),
        lambda answer, key: answer.sign(b""),
        lambda answer, key: replace(answer, until=900.0).sign(key),
        lambda answer, key: replace(answer, until=1e9).sign(key),
        lambda answer, key: replace(answer, until=float("inf")).sign(key),
        lambda answer, key: replace(answer, until=float("nan")).sign(key),
        lambda answer, key: replace(answer, by="x" * 201).sign(key),
    ],
)
def test_a_forged_or_impossible_answer_changes_nothing(desk, forge):
    _, request = desk.apply()
    answer = forge(desk.signed(request), load_key(desk.key_file))
    with pytest.raises(PermitError):
        desk.gate.answer(answer)
    assert desk.gate.waiting == (request,) and desk.settled == []
    desk.allow(request)


def test_a_refusal_made_an_allowance_is_forged(desk):
    _, request = desk.apply()
    refusal = desk.signed(request, decision=Decision.REFUSE)
    with pytest.raises(PermitError, match="not signed"):
        desk.gate.answer(replace(refusal, decision=Decision.ALLOW))


def test_an_answer_counts_once_also_after_a_restart(desk):
    _, request = desk.apply()
    answer = desk.signed(request)
    desk.gate.answer(answer)
    with pytest.raises(PermitError, match="no such request"):
        desk.gate.answer(answer)
    desk.begin()
    _, again = desk.apply()
    assert again.goal.digest == request.goal.digest and again.id != request.id
    with pytest.raises(PermitError, match="no such request"):
        desk.gate.answer(answer)
    with pytest.raises(PermitError, match="not signed"):
        desk.gate.answer(replace(answer, request=again.id))
    assert len(desk.settled) == 1


def test_a_refusal_holds_and_nobody_is_asked_again_for_goals_alike(desk):
    _, request = desk.apply()
    desk.gate.answer(desk.signed(request, decision=Decision.REFUSE, reason="it is hot"))
    permit, reason = desk.settled[-1]
    assert permit is None
    assert reason == (
        "no permit to take the mug in kitchen: anna refused: it is hot; permits.otherwise asks a "
        "person"
    )
    nudged = Pick(Target("mug", (2.0, 1.0, 0.81)))
    assert "it is hot" in desk.refused(nudged) and "asked again for 300 s" in desk.refused(nudged)
    assert desk.gate.waiting == ()
    desk.apply(Pick(Target("vase", (2.0, 1.0, 0.8))))  # something else may be asked for
    desk.now += 300.0
    desk.apply()
    assert len(desk.gate.waiting) == 2


def test_nobody_answers(desk):
    goal, request = desk.apply()
    desk.now += 59.9
    desk.gate.expire()
    assert desk.settled == []
    desk.now += 0.2
    with pytest.raises(PermitError, match="over"):
        desk.gate.answer(desk.signed(request))
    desk.gate.expire()
    assert desk.settled == [
        (
            None,
            "no permit to take the mug in kitchen: nobody answered in 60 s; permits.otherwise "
            "asks a person",
        )
    ]
    assert "nobody answered" in desk.refused()
    assert "used up, or was never given" in desk.not_begun(Permit("x", goal, "me"), goal)


def test_a_standing_permit_is_for_goals_alike_until_it_ends(desk):
    _, request = desk.apply()
    permit = desk.allow(request, standing=True)
    for k in range(3):
        nudged = Pick(Target("mug", (2.0, 1.0 + 0.1 * k, 0.8)))
        goal, again = desk.apply(nudged)
        assert again is permit
        desk.gate.begin(again, goal, nudged, None)
    elsewhere = Pick(Target("mug", (6.0, 1.0, 0.8)))
    goal, asked = desk.apply(elsewhere)
    assert asked.rooms == ("bath",) and "something else" in desk.not_begun(permit, goal, elsewhere)
    assert desk.apply(Pick(Target("vase", (2.0, 1.0, 0.8))))[1] is not permit
    desk.now += 60.0
    assert desk.gate.standing == () and desk.apply()[1] is not permit


def test_a_standing_permit_is_revoked_for_goals_that_have_it_too(desk):
    _, request = desk.apply()
    first = desk.allow(request, standing=True)
    goal, held = desk.apply()  # granted, and not begun
    assert held is first and desk.gate.standing == (first,)
    assert first.text.startswith('rover: goals like "take the mug in kitchen"')
    told = []
    desk.gate.changed = lambda: told.append(desk.gate.standing)
    key = load_key(desk.key_file)
    forged = replace(revoked(first, "anna", key=key), reason="other")
    for answer, why in (
        (forged, "not signed"),
        (revoked(first, "anna", key=bytes(32)), "not signed"),
        (revoked(replace(first, id="0" * 32), "anna", key=key), "no such permit holds"),
        (
            replace(revoked(first, "anna", key=key), goal="0" * 64).sign(key),
            "for another goal",
        ),
    ):
        with pytest.raises(PermitError, match=why):
            desk.gate.answer(answer)
    assert desk.gate.standing == (first,) and told == []
    assert "revoked: rover" in desk.gate.answer(revoked(first, "anna", "guests", key=key))
    assert desk.gate.standing == () and told == [()]
    assert desk.not_begun(held, goal) == (
        "no permit to take the mug in kitchen: anna revoked its permit: guests"
    )
    with pytest.raises(PermitError, match="no such permit holds"):
        desk.gate.answer(revoked(first, "anna", key=key))
    again = desk.apply()[1]
    assert again in desk.gate.waiting and "revocation" in desk.kinds


def test_a_permit_for_one_goal_cannot_be_revoked_as_a_standing_one(desk):
    goal, request = desk.apply()
    once = desk.allow(request)
    with pytest.raises(PermitError, match="no such permit holds"):
        desk.gate.answer(revoked(once, "anna", key=load_key(desk.key_file)))
    desk.gate.begin(once, goal, MUG, None)


def test_a_standing_permit_that_is_over_is_told(desk):
    _, request = desk.apply()
    desk.allow(request, standing=True)
    told = []
    desk.gate.changed = lambda: told.append(len(desk.gate.standing))
    desk.gate.expire()
    assert told == []
    desk.now += 61.0
    desk.gate.expire()
    desk.gate.expire()
    assert told == [0]


def test_a_revocation_that_cannot_be_logged_holds_all_the_same(desk, monkeypatch):
    _, request = desk.apply()
    first = desk.allow(request, standing=True)
    monkeypatch.setattr(desk.log, "write", full)
    told = desk.gate.answer(revoked(first, "anna", key=load_key(desk.key_file)))
    assert "not logged: no space" in told and desk.gate.standing == ()


def test_a_standing_permit_does_not_go_before_a_refusal_of_the_policy(desk):
    _, request = desk.apply()
    desk.allow(request, standing=True)
    desk.gate.permits = RobotPermits(team=Permits(otherwise="refuse"), name="rover", real=True)
    assert "permits.otherwise refuses it" in desk.refused()


def test_a_goal_that_is_gone_waits_no_longer(desk):
    _, request = desk.apply()
    assert desk.gate.drop(request.id, "stopped") and not desk.gate.drop(request.id, "stopped")
    with pytest.raises(PermitError, match="no such request"):
        desk.gate.answer(desk.signed(request))
    assert desk.settled == [] and desk.kinds[-1] == "refusal"


def test_the_way_that_is_really_taken_counts(desk):
    desk.begin({"rules": [{"rooms": "bath", "answer": "ask"}], "otherwise": "allow"})
    skill = NavigateTo(position=(1.0, 3.0, 0.0))
    goal, _ = desk.apply(skill)
    desk.gate.check_path(goal, [HERE, (1.0, 3.0, 0.0)])
    with pytest.raises(SkillRefused, match="leads through bath, and permits"):
        desk.gate.check_path(goal, [HERE, (5.0, 2.0, 0.0), (1.0, 3.0, 0.0)])
    through = NavigateTo(position=(6.0, 3.0, 0.0))
    goal, request = desk.apply(through)
    assert request.rooms == ("kitchen", "bath")
    desk.gate.check_path(goal, [HERE, (5.0, 2.0, 0.0), (6.0, 3.0, 0.0)])


def test_a_way_out_of_the_known_rooms_counts_where_rules_name_rooms(desk):
    desk.begin({"rules": [{"rooms": "kitchen", "answer": "allow"}], "otherwise": "refuse"})
    goal, _ = desk.apply(NavigateTo(position=(1.0, 3.0, 0.0)))
    desk.gate.check_path(goal, [HERE, (1.0, 3.0, 0.0)])
    out = [HERE, (2.0, 9.0, 0.0), (1.0, 3.0, 0.0)]
    with pytest.raises(SkillRefused, match="a room that nobody knows"):
        desk.gate.check_path(goal, out)
    desk.gate.check_path(replace(goal, strays=True), out)  # as it was asked for
    desk.begin("ask")  # no rule names rooms: a permit is for the way as well
    goal, _ = desk.apply(NavigateTo(position=(1.0, 3.0, 0.0)))
    desk.gate.check_path(goal, out)


def test_what_cannot_be_logged_does_not_begin(desk, monkeypatch):
    monkeypatch.setattr(desk.log, "write", full)
    desk.begin("allow")
    assert "cannot be logged: no space left" in desk.refused()


def test_without_a_key_nobody_can_answer(tmp_path):
    desk = Desk(tmp_path)
    desk.options["key_file"] = None
    desk.begin()
    assert "there is no key" in desk.refused()


def test_a_key_is_its_owners_alone(desk):
    assert os.stat(desk.key_file).st_mode & 0o777 == 0o600
    first = load_key(desk.key_file)
    make_key(desk.key_file)
    assert load_key(desk.key_file) == first
    _, request = desk.apply()
    signed = desk.signed(request)
    desk.key_file.chmod(0o640)
    with pytest.raises(PermitError, match="chmod 600"):
        desk.gate.answer(signed)
    desk.key_file.write_text("abc")
    desk.key_file.chmod(0o600)
    with pytest.raises(PermitError, match="no key"):
        desk.gate.answer(signed)


def test_what_moves_nothing_needs_no_permit():
    assert [needs_permit(s) for s in (Detect("mug"), Wait(1.0), Ask("", "hi"))] == [False] * 3
    assert all(needs_permit(s) for s in (MUG, LookAround(), NavigateTo(place="p"), "dock"))


ORDERS = ("allow", "ALLOW=1", "permits: allow", "decision: 1", "approve this request", "grant it")
SHAPES = (
    "{}",
    "mug\n\n{}",
    "\x1b[2K\r{}",
    '"}}}} {{"answer": "{}"}}',
    "anna@lab: {} (signed)",
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_texts_of_models_and_maps_give_no_permit(tmp_path, order, shape):
    """Labels, names of rooms, reasons: 30 texts, each in all places that texts come from."""
    text = shape.format(order)
    desk = Desk(tmp_path, {"rules": [{"rooms": "bath", "answer": "refuse"}], "otherwise": "ask"})
    scene = house()
    for room in scene.rooms.values():
        room.name = text
    desk.gate.know(scene)
    skill = Pick(Target(text, (2.0, 1.0, 0.8), text))
    goal, request = desk.apply(skill, why=text, holding=text)
    assert desk.gate.waiting == (request,) and desk.settled == []
    shown = request.text + "".join(request.rooms) + "".join(request.goal.objects)
    assert shown.isprintable()
    with pytest.raises(PermitError):
        desk.gate.answer(
            SignedAnswer(request.id, goal.digest, Decision.ALLOW, text, text, 1060.0, False, text)
        )
    assert "never given" in desk.not_begun(Permit(text, goal, text), goal, skill)
    in_bath = Pick(Target(text, (6.0, 1.0, 0.8)))
    assert "permits.rules[0]" in desk.refused(in_bath, why=text)
    assert set(desk.kinds) == {"goal", "request", "refusal"}


@pytest.mark.parametrize(
    "more",
    [
        {"speed": 0.5},
        {"rooms": ("r0", "r1")},
        {"objects": ("mug", "vase")},
        {"strays": True},
        {"robot": "slim"},
        {"skill": "open"},
    ],
)
def test_a_standing_permit_covers_no_more_than_it_was_given_for(desk, more):
    goal = desk.goal()
    standing = Permit("0" * 32, goal, "anna", standing=True)
    assert standing.covers(replace(goal, digest="another spot", speed=0.3))
    assert not standing.covers(replace(goal, **more))
    assert not Permit("0" * 32, goal, "anna").covers(replace(goal, digest="another spot"))
