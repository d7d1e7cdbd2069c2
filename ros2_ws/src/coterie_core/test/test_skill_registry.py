"""The table of skills: what is not in it, or cannot be told to a person, is refused everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest

from coterie_core import skills
from coterie_core.embodiment import Arm, Embodiment
from coterie_core.skill_registry import ON_TARGET, OWN_SKILLS, SKILLS, SkillError, add_rows
from coterie_core.skills import SkillRefused, SkillSpec, Target
from coterie_safety.guard import Guard
from coterie_safety.guard.area import AllowedArea
from coterie_safety.permits import Surroundings
from coterie_safety.permits.gate import needs_permit

pytestmark = pytest.mark.quick

HERE, BODY = (1.0, 1.0, 0.0), Embodiment(name="body", arm=Arm())


@dataclass(frozen=True)
class Wipe:
    """A skill that somebody adds."""

    surface: Target


WIPE = Wipe(Target("table", (1.5, 1.0, 0.7)))


def everywhere():
    """Yield what asks for a skill's row: guard, gate, and what a person reads."""
    guard = Guard(AllowedArea((-9.0, -9.0, -9.0), (9.0, 9.0, 9.0)), {})
    yield lambda: guard.check(WIPE, BODY)
    yield lambda: needs_permit(WIPE)
    yield lambda: Surroundings().goal("rover", WIPE, HERE, 0.5)


def test_every_skill_has_a_row_and_what_moves_has_words():
    assert {spec.kind for spec in SKILLS.values()} == {*skills.Skill.__args__, None}
    for name, spec in SKILLS.items():
        assert spec.name == name and bool(spec.words) is spec.moves


@pytest.mark.parametrize("k", range(3))
def test_a_skill_that_is_not_in_the_table_is_refused(k):
    with pytest.raises(SkillRefused, match="Wipe is not in the table of skills"):
        list(everywhere())[k]()


@pytest.mark.parametrize("k", range(3))
def test_a_skill_that_no_person_could_read_is_refused(monkeypatch, k):
    monkeypatch.setitem(SKILLS, "wipe", SkillSpec("wipe", Wipe, thing="surface"))
    with pytest.raises(SkillRefused, match="Wipe has no words"):
        list(everywhere())[k]()


def test_a_row_is_all_that_guard_and_permits_need(monkeypatch):
    spec = SkillSpec("wipe", Wipe, "wipe {thing}", thing="surface", arm=True)
    monkeypatch.setitem(SKILLS, "wipe", spec)
    assert needs_permit(WIPE)
    goal = Surroundings().goal("rover", WIPE, HERE, 0.5)
    assert (goal.skill, goal.what, goal.objects) == ("wipe", "wipe the table", ("table",))
    for check in list(everywhere())[:1]:
        check()
    far = Guard(AllowedArea((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)), {})
    with pytest.raises(SkillRefused, match="target 'table'"):
        far.check(WIPE, BODY)


def test_a_package_adds_rows_that_permits_read(own_skills):
    assert ON_TARGET["wipe"] is own_skills.Wipe
    skill = own_skills.Wipe(Target("table", (1.5, 1.0, 0.7)))
    goal = Surroundings().goal("rover", skill, HERE, 0.5)
    assert needs_permit(skill) and (goal.skill, goal.what) == ("wipe", "wipe the table")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("my_skills:NOTHING", "my_skills:NOTHING cannot be loaded: .*NOTHING"),
        ("no_such_module:WIPE", "cannot be loaded: No module named 'no_such_module'"),
        ("coterie_core.skills:Pick", "expected a SkillSpec with `kind`, .*Pick"),
        ("my_skills:PRESS", "its row is called 'press'; call both the same"),
        ("my_skills:WIPE", "there is a skill of that name"),
    ],
)
def test_a_row_that_cannot_be_one_names_its_package(own_skills, value, why):
    with pytest.raises(SkillError, match=rf"skill 'wipe' of {value}: .*{why}|{why}"):
        add_rows([EntryPoint("wipe", value, OWN_SKILLS)])
