"""Association: the gates, the assignment, and that nothing else in the product has its own."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from coterie_core.geometry import Box
from coterie_world import association
from coterie_world.association import (
    ANSWER,
    LOOK,
    MAPS,
    MISNAMED_FURNITURE,
    VIEW,
    Gate,
    assign,
    at_rest,
)

pytestmark = pytest.mark.quick

SOURCES = Path(__file__).parents[2]
CUP = Box((0.0, 0.0, 0.8), (0.08, 0.08, 0.1))


def beside(box: Box, x: float) -> Box:
    return Box((box.center[0] + x, *box.center[1:]), box.size, box.yaw)


@pytest.mark.parametrize("seed", range(20))
def test_the_assignment_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = {
        (i, f"t{j}"): float(rng.uniform(0.1, 2.0))
        for i, j in itertools.product(range(4), range(5))
        if rng.random() < 0.5
    }
    best = max(
        sum(scores.get((i, f"t{j}"), 0.0) for i, j in enumerate(one))
        for one in itertools.permutations(range(5), 4)
    )
    pairs = assign(scores)
    assert sum(scores[pair] for pair in pairs.items()) == pytest.approx(best)
    assert len(set(pairs.values())) == len(pairs)


def test_two_cups_that_moved_together_keep_apart() -> None:
    """The nearest pair first would give the middle one to the wrong cup and leave one over."""
    known, seen = [CUP, beside(CUP, 0.3)], [beside(CUP, 0.25), beside(CUP, 0.55)]
    scores = {
        (i, j): score
        for (i, a), (j, b) in itertools.product(enumerate(seen), enumerate(known))
        if (score := VIEW.score(b, a)) > 0.0
    }
    assert assign(scores) == {0: 0, 1: 1}


def test_what_is_far_from_all_gates_is_in_no_pair() -> None:
    assert assign({}) == {}
    for gate in (LOOK, MAPS, VIEW, ANSWER, MISNAMED_FURNITURE):
        assert gate.score(CUP, CUP) > 1.0
        assert gate.score(CUP, beside(CUP, 3.0)) == 0.0


def test_gates_grow_with_large_objects_up_to_their_bound() -> None:
    sofa = Box((0.0, 0.0, 0.4), (2.4, 0.9, 0.8))
    assert LOOK.score(sofa, beside(sofa, 1.05)) > 0.0 == MAPS.score(sofa, beside(sofa, 1.05))
    assert LOOK.score(CUP, beside(CUP, 0.7)) == 0.0
    part = Box((0.9, 0.0, 0.3), (0.5, 0.8, 0.5))
    assert ANSWER.score(sofa, part) > 0.0 == ANSWER.score(CUP, beside(CUP, 0.1))


def test_the_nearest_is_in_the_gate_or_there_is_none() -> None:
    known = [("a", CUP), ("b", beside(CUP, 1.0))]
    assert Gate(0.4).nearest((0.7, 0.0, 0.8), known) == "b"
    assert Gate(0.2).nearest((0.5, 0.0, 0.8), known) is None


def test_errors_explain_gaps_up_to_two_standard_deviations() -> None:
    assert at_rest(0.3, 0.01, 0.01) and not at_rest(0.6, 0.01, 0.01)


def test_no_other_module_has_a_gate_or_an_assignment_of_its_own() -> None:
    gate = re.compile(
        r"linear_sum_assignment"
        r"|^_?(ASSOCIATION_\w+|DUPLICATE_RADIUS_M) *=(?! SIGHTING)"
        r"|^_?SAME_(M|IOU|OBJECT|THING|SPOT|PLACE|ITEM|VOLUME)\b.*=",
        re.MULTILINE,
    )
    twins = [
        f"{path.relative_to(SOURCES)}: {found.group()}"
        for path in SOURCES.glob("*/*/**/*.py")
        # The simulator is the truth: it shares no gate with what robots believe.
        if "test" not in path.parts and "habitat_bridge" not in path.parts
        if path != Path(association.__file__).resolve()
        for found in gate.finditer(path.read_text("utf-8"))
    ]
    assert not twins, "\n".join(["use coterie_world.association instead:", *twins])
