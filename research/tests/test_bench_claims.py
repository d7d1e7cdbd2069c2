"""The bench of claims: cases, what counts as false, and one task from its words to the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from coterie_core.geometry import Box
from coterie_fixtures.two_floor_home import small_house, small_team
from coterie_world.scene import LabelBelief, SceneObject
from research.bench.claims.cases import DETECTORS, PRIORS, TEAMS, Case, _ambiguous, cases
from research.bench.claims.run import run_case
from research.bench.claims.tables import (
    belief_table,
    can_be_done,
    can_be_known,
    claims_table,
    summary,
)
from research.bench.claims.truth import Truth, false_claim, possible
from research.bench.common.intervals import share_interval

CASE = Case(
    3, "bring_all", "furniture", "perfect", "mixed", "Bring all mugs", "mug", targets=("t",)
)


def test_cases_cover_the_matrix_and_repeat_exactly() -> None:
    chosen = list(cases(range(3), 1))
    assert chosen == list(cases(range(3), 1))
    assert {c.prior for c in chosen} == set(PRIORS)
    assert {c.detector for c in chosen} == set(DETECTORS)
    assert {c.team for c in chosen} == set(TEAMS)
    assert all((c.words and c.label) or c.kind == "clear" for c in chosen)


def test_words_of_a_task_mean_one_kind_of_thing_only() -> None:
    names = _ambiguous()
    assert {"glass", "glasses", "bottle", "food", "toy"} <= names
    assert not names & {"mug", "sponge", "water bottle", "teddy bear"}
    assert not names & {case.label for case in cases(range(5, 9), 3)}


@pytest.mark.parametrize(
    ("kind", "state", "said", "achieved", "truth", "false"),
    [
        ("bring_all", "done", None, 1, Truth(False, 2, 1), "done"),
        ("bring_all", "partial", None, 1, Truth(False, 2, 1), ""),
        ("bring_all", "done", None, 2, Truth(True, 2, 2), ""),
        ("find_all", "done", None, 1, Truth(True, 2, 2), "done"),
        ("find_all", "not_done", False, 0, Truth(True, 2, 2), "no"),
        ("find_all", "not_done", False, 0, Truth(False, 0, 0), ""),
        ("check", "done", False, 0, Truth(True, 1, 1), "no"),
        ("check", "done", True, 1, Truth(False, 0, 0), "yes"),
        ("check", "partial", None, 0, Truth(True, 1, 1), ""),
    ],
)
def test_what_is_false(kind, state, said, achieved, truth, false) -> None:
    assert false_claim(replace(CASE, kind=kind), state, said, achieved, truth) == false


def test_shares_are_over_claims_and_over_what_can_be_done() -> None:
    base = CASE.data | {"possible": True, "searchable": True, "met": True, "said_yes": None}
    records = [
        base | {"state": "done", "false": ""},
        base | {"state": "done", "false": "done", "house": 4},
        base | {"state": "partial", "false": "", "house": 5},
        base | {"state": "not_done", "false": "", "house": 6, "possible": False},
        base | {"state": "partial", "false": "", "house": 7, "searchable": False},
        CASE.data | {"state": "refused", "message": "?"},
    ]
    told = summary(records)
    assert (told["tasks"], told["refused"], told["claims"], told["false_done"]) == (6, 1, 2, 1)
    assert told["false_share"][0] == pytest.approx(50.0)
    assert told["possible"] == 4 and told["possible_done"][0] == pytest.approx(50.0)
    assert told["knowable"] == 3 and told["knowable_done"][0] == pytest.approx(200 / 3)
    assert told["false_share"][1] <= 50.0 <= told["false_share"][2]
    console = Console(width=160, record=True)
    console.print(claims_table(records))
    assert "kind bring_all" in console.export_text()


@pytest.mark.parametrize(
    ("kind", "there", "searchable", "done", "known"),
    [
        ("find_all", 2, True, True, True),
        ("find_all", 2, False, True, False),
        ("find_all", 0, True, False, False),
        ("find_one", 1, False, True, True),
        ("check", 0, True, True, True),
        ("check", 0, False, True, False),
    ],
)
def test_what_can_be_done_and_what_can_be_known(kind, there, searchable, done, known) -> None:
    record = {"kind": kind, "possible": True, "there": there, "searchable": searchable}
    assert (can_be_done(record), can_be_known(record)) == (done, known)


@pytest.mark.parametrize(
    ("room", "robots", "searchable"),
    [
        ("living", ("rover",), True),
        ("bedroom", ("rover",), False),  # upstairs
        ("kitchen", ("rover",), True),  # the fridge is opened
        ("kitchen", ("drone",), False),  # who has no arm opens nothing
    ],
)
def test_a_room_can_be_known_that_looks_from_all_over_show(room, robots, searchable) -> None:
    scene = small_house(items=False)
    team = {name: resume for name, resume in small_team().items() if name in robots}
    case = replace(CASE, kind="check", label="food", room=room, targets=())
    assert possible(case, scene, team).search is searchable


@pytest.mark.parametrize(("room", "done"), [("living", True), ("bedroom", False)])
def test_a_check_where_there_is_none_can_be_done_by_who_gets_there(room, done) -> None:
    team = {"rover": small_team()["rover"]}  # the bedroom is upstairs
    case = replace(CASE, kind="check", label="food", room=room, targets=())
    assert possible(case, small_house(items=False), team).things is done
    all_ = replace(case, kind="find_all", room="")
    assert not possible(all_, small_house(items=False), team).things  # there is nothing to find


@pytest.mark.parametrize(("count", "done"), [(1, True), (0, False)])
def test_things_that_have_no_room_together_cannot_all_be_brought(count, done) -> None:
    """Either of two large mugs fits beside what stands on the table, and not both."""
    scene = small_house(items=False)
    top = next(r for r in scene.objects["table-1"].receptacles if not r.inside).surface
    (x, y, z), (w, d, _) = top.center, top.size
    scene.extend(
        SceneObject(f"mug-{k}", LabelBelief.of("mug"), Box((at, 0.6, 0.05), (0.45, 0.55 * d, 0.1)))
        for k, at in enumerate((8.3, 9.0))
    )
    crowd = Box((x - 0.25, y, z + 0.1), (w - 0.5, d, 0.2))
    scene.add_object(SceneObject("crowd", LabelBelief.of("box"), crowd, support="table-1"))
    team = {"walker": small_team()["walker"]}
    case = replace(CASE, count=count, targets=("table-1",))
    assert possible(case, scene, team).things is done


def test_a_share_of_none_has_an_interval_and_alike_houses_widen_it() -> None:
    none = share_interval([False] * 42, list(range(42)))
    assert none == pytest.approx((0.0, 0.0, 0.0838), abs=1e-3)  # Wilson's, from tables
    hits = [True] * 8 + [False] * 2
    share, low, high = share_interval(hits)
    assert (share, low, high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-3)
    twice = [hit for hit in hits for _ in range(2)]  # each house tells the same twice
    alike = share_interval(twice, [k // 2 for k in range(20)])
    assert alike[0] == share and alike[1:] == pytest.approx((low, high), abs=0.02)
    assert share_interval(twice)[1] > low + 0.05


def test_what_is_believed_unseen_is_held_against_the_truth() -> None:
    base = CASE.data | {"searched": True}
    records = [base | {"left": 0.03, "unseen": k == 0} for k in range(10)]
    records += [base | {"left": 0.4, "unseen": 2}, CASE.data | {"state": "error"}]
    console = Console(width=120, record=True)
    table = belief_table(records)
    assert table is not None
    console.print(table)
    lines = [line.split("│")[1:-1] for line in console.export_text().splitlines() if "│" in line]
    assert [[cell.strip() for cell in line] for line in lines] == [
        ["0.02 to 0.05", "10", "0.030", "0.100 (0.003-0.557)", "10"],
        ["0.3 to 1", "1", "0.400", "2.000 (0.242-7.225)", "100"],
    ]
    assert belief_table([CASE.data]) is None


@pytest.mark.slow
async def test_a_task_is_held_against_the_truth() -> None:
    case = Case(4114, "find_one", "everything", "perfect", "wheels", "Find a plate", "plate", 1)
    record = await run_case(case)
    assert record["state"] in ("done", "not_done", "partial")
    assert record["false"] == ""
    assert record["state"] != "done" or record["there"] >= 1
