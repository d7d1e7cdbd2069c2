"""Open questions: kinds, things and categories, on questions of our own and on real ones."""

import pytest

from openeqa_agent.question import parse_open


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("What color is the sofa?", "color", "sofa"),
        ("where is my backpack?", "where", "backpack"),
        ("How many chairs are there in the kitchen?", "how_many", "chair"),
        ("Is there a fridge?", "is_there", "refrigerator"),
        ("Which room is the bed in?", "which_room", "bed"),
        ("Is the fridge open or closed?", "state", "refrigerator"),
    ],
)
def test_kinds(text, kind, name):
    question = parse_open(text)
    assert (question.kind, question.target.name) == (kind, name)
