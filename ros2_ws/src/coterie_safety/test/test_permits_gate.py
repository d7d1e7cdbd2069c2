"""The gate: only the permit for this goal, in time, once; only who has the key gives one."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
from coterie_safety.ledger import Ledger, check, entries
from coterie_safety.permits import (
    Decision,
    PermitError,
    PermitGate,
    Permits,
    RobotPermits,
    SignedAnswer,
    load_key,
    make_key,
    public_half,
    revoked,
)
from coterie_safety.permits.answer import load_public_key
from coterie_safety.permits.gate import is_no_permit, needs_permit
from coterie_safety.permits.goal_scope import TeamTask
from coterie_safety.permits.request import Permit
from coterie_world.scene import Floor, Room, SceneGraph

pytestmark = pytest.mark.quick

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
        self.public = public_half(self.key_file)
        self.options = {"log": self.log, "key_file": self.public, **options}
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
            request.id, request.goal.digest, request.shown, Decision.ALLOW, "anna",
            until=self.now + 60.0,
        )  # fmt: skip
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
        lambda answer, key: replace(answer, signature="0" * 128),
        lambda answer, key: replace(answer, shown="0" * 64),
        lambda answer, key: replace(answer, shown="0" * 64).sign(key),
        lambda answer, key: replace(answer, signature="\udcff"),
        lambda answer, key: replace(answer, until=answer.until + 1.0),
        lambda answer, key: replace(answer, standing=True),
        lambda answer, key: replace(answer, by="the owner"),
        lambda answer, key: replace(answer, reason="go on"),
        lambda answer, key: replace(answer, goal="0" * 64),
        lambda answer, key: replace(answer, goal="0" * 64).sign(key),
        lambda answer, key: replace(answer, request="0" * 32).sign(key),
        lambda answer, key: answer.sign(Ed25519PrivateKey.generate()),
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
        (revoked(first, "anna", key=Ed25519PrivateKey.generate()), "not signed"),
        (revoked(replace(first, id="0" * 32), "anna", key=key), "no such permit holds"),
        (
            replace(revoked(first, "anna", key=key), goal="0" * 64).sign(key),
            "for another goal",
        ),
        (revoked(replace(first, by="ben"), "anna", key=key), "shown other words"),
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


def test_a_private_key_is_its_owners_alone_and_robots_go_by_the_other_half(desk):
    assert stat.S_IMODE(os.stat(desk.key_file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(desk.public).st_mode) == 0o644
    before = desk.key_file.read_bytes(), desk.public.read_bytes()
    assert load_key(desk.key_file).public_key() == load_public_key(desk.public)
    make_key(desk.key_file)
    assert (desk.key_file.read_bytes(), desk.public.read_bytes()) == before
    assert b"PRIVATE" not in desk.public.read_bytes()
    with pytest.raises(ValueError, match="expected the private half"):
        load_key_of(desk.public, desk.key_file.with_name("a robot's"))
    _, request = desk.apply()
    signed = desk.signed(request)
    desk.key_file.unlink()  # a robot has none, and takes answers all the same
    desk.public.chmod(0o666)
    with pytest.raises(PermitError, match="chmod 644"):
        desk.gate.answer(signed)
    desk.public.write_text("abc")
    desk.public.chmod(0o644)
    with pytest.raises(PermitError, match="no key: expected the public half"):
        desk.gate.answer(signed)
    make_key(desk.key_file)  # a computer with only that is one of a robot
    with pytest.raises(ValueError, match="where deploy was run"):
        load_key(desk.key_file)
    desk.public.unlink()
    make_key(desk.key_file)
    with pytest.raises(PermitError, match="not signed"):
        desk.gate.answer(signed)
    desk.key_file.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        load_key(desk.key_file)


def load_key_of(source: Path, target: Path):
    target.write_bytes(source.read_bytes())
    target.chmod(0o600)
    return load_key(target)


def test_a_lost_public_half_is_made_of_the_private_one(desk):
    before = desk.public.read_bytes()
    desk.public.unlink()
    make_key(desk.key_file)
    assert desk.public.read_bytes() == before


@pytest.mark.parametrize("left", [b"", b"\n"])
def test_an_empty_key_that_a_crash_left_is_made_anew(tmp_path, left):
    file = tmp_path / "permits.key"
    file.write_bytes(left)
    file.chmod(0o600)
    desk = Desk(tmp_path)
    _, request = desk.apply()
    assert desk.allow(request)


def test_a_crash_in_make_key_leaves_no_key_rather_than_half_of_one(tmp_path, monkeypatch):
    with monkeypatch.context() as crash:
        crash.setattr(os, "replace", full)
        with pytest.raises(OSError, match="no space"):
            make_key(tmp_path / "permits.key")
    assert not list(tmp_path.iterdir())
    Desk(tmp_path)


def test_the_shared_secret_of_before_is_renewed_and_told(tmp_path):
    file = tmp_path / "permits.key"
    file.write_text(secrets.token_hex(32) + "\n")
    file.chmod(0o600)
    with pytest.raises(ValueError, match=r"of an older version; `./coterie up`"):
        load_key(file)
    said: list[str] = []
    make_key(file, said.append)
    assert load_key(file).public_key() == load_public_key(public_half(file))
    (told,) = said
    assert str(public_half(file)) in told and "copy it to each robot's computer" in told
    file.write_text(secrets.token_hex(32))  # on a robot, which has its half already
    make_key(file, said.append)
    assert not file.exists() and len(said) == 2


SHOWN = {
    "what": "turn and look around",
    "why": "tea",
    "objects": (),
    "strays": True,
    "speed": 0.1,
    "skill": "look_around",
    "robot": "slim",
}


@pytest.mark.parametrize("name", [*SHOWN, "rooms", "rule", "asked", "until"])
def test_what_a_person_reads_is_what_they_sign(desk, name):
    """Somebody tells the person other words for the request that waits; the digest is its own."""
    goal, request = desk.apply()
    other = {"rooms": ("bath",), "rule": "permits.rules[9]", "asked": 1.0, "until": 2e9}
    if name in SHOWN:
        told = replace(request, goal=replace(goal, **{name: SHOWN[name]}))
    else:
        told = replace(request, **{name: other[name]})
    with pytest.raises(PermitError, match=r"shown other words .*take the mug in kitchen"):
        desk.gate.answer(desk.signed(told))
    assert desk.gate.waiting == (request,) and desk.settled == []
    desk.allow(request)


def test_a_clock_that_is_set_back_prolongs_no_wait_for_an_answer(desk):
    clock = [0.0]
    desk.options["clock"] = lambda: clock[0]
    desk.begin({"otherwise": "ask", "wait": 60.0})
    _, request = desk.apply()
    answer = desk.signed(request)
    desk.now, clock[0] = desk.now - 3600.0, 61.0
    with pytest.raises(PermitError, match="no such request waits"):
        desk.gate.answer(answer)
    desk.gate.expire()
    assert desk.gate.waiting == () and desk.settled[0][0] is None


def test_a_clock_that_is_set_back_prolongs_no_permit(desk):
    clock = [0.0]
    desk.options["clock"] = lambda: clock[0]
    desk.begin()
    goal, request = desk.apply()
    permit = desk.allow(request, standing=True)
    desk.now -= 3600.0
    clock[0] = 59.0
    desk.gate.begin(permit, goal, MUG, None)
    clock[0] = 61.0
    assert "over" in desk.not_begun(permit, goal) and desk.gate.standing == ()


def test_a_persons_permit_outlasts_any_number_of_goals_that_the_policy_allows(desk):
    rules = [{"skills": "look_around", "answer": "allow"}]
    desk.begin({"rules": rules, "otherwise": "ask"})
    _, request = desk.apply()
    standing = desk.allow(request, standing=True)
    goal, once = desk.apply(Pick(Target("vase", (2.0, 1.0, 0.8))))
    once = desk.allow(once)
    for _ in range(1010):
        desk.apply(LookAround())  # and none of them begins
    assert desk.gate.standing == (standing,) and desk.apply()[1] is standing
    desk.gate.begin(once, goal, Pick(Target("vase", (2.0, 1.0, 0.8))), None)


def test_a_permit_of_a_goal_that_ended_before_it_began_is_gone(desk):
    desk.begin("allow")
    goal, permit = desk.apply()
    desk.gate.ended(goal, SkillResult(Outcome.CANCELLED, "cancelled"))
    assert "used up, or was never given" in desk.not_begun(permit, goal)


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
            SignedAnswer(
                request.id,
                goal.digest,
                request.shown,
                Decision.ALLOW,
                text,
                text,
                1060.0,
                False,
                text,
            )
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


@pytest.mark.parametrize("label", [
    "spoon \u202eefink", "kni\u200bfe", "\ufefftoy", "\u2066toy\u2069", "to\u00ady",
    "toy\U000e0041",
])  # fmt: skip
def test_what_a_person_reads_has_no_characters_that_nobody_sees(desk, label):
    request = desk.apply(Pick(Target(label, (2.0, 1.0, 0.8))), why=label)[1]
    assert request.text.isprintable() and request.text.isascii()


def test_words_of_others_do_not_end_the_part_of_the_line_that_is_theirs(desk):
    lie = 'toy", at up to 0.01 m/s; it touches: toy'
    request = desk.apply(Pick(Target(lie, (2.0, 1.0, 0.8))), why=lie)[1]
    assert request.text.count('"') == 2 and request.text.count(";") == 1


def test_a_permit_for_one_goal_is_used_up_when_that_begins_and_not_only_when_it_ends(desk):
    goal, request = desk.apply()
    permit = desk.allow(request)
    desk.gate.begin(permit, goal, MUG, None)
    assert "used up" in desk.not_begun(permit, goal)


def test_a_task_is_allowed_once(desk):
    goal = TeamTask("Tidy up").goal("assistant")
    request = desk.gate.apply(goal, lambda *told: desk.settled.append(told))
    with pytest.raises(PermitError, match="a task is allowed once"):
        desk.gate.answer(desk.signed(request, standing=True))
