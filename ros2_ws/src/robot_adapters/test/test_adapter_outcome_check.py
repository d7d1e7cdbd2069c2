"""What was seen of a skill overrules motors only where it is sure."""

from __future__ import annotations

import pytest

from coterie_core.skills import Close, Detect, Open, Outcome, Pick, Place, SkillResult, Target
from coterie_llm import Image, decide_by_rule, messages_for
from robot_adapters.outcome_check import CheckOutcome, OutcomeSeen, Outlook, judged, task_of

MUG, SHELF = Target("mug", (1.0, 2.0, 0.8)), Target("shelf", (1.0, 2.0, 1.2))
DONE = SkillResult(Outcome.SUCCEEDED, put_at=(1.0, 2.0, 1.1))


def test_the_task_is_told_in_words_and_what_cannot_be_seen_is_not_looked_at():
    assert task_of(Pick(MUG)) == "take the mug into its hand"
    assert task_of(Place(SHELF), "mug") == "put the mug down on the shelf"
    assert task_of(Open(SHELF)) == "open the shelf" and task_of(Close(SHELF)) == "close the shelf"
    assert task_of(Detect("mug")) == ""


@pytest.mark.parametrize(("seen", "says"), [(True, "yes"), (False, "no"), (None, "cannot_tell")])
def test_the_rule_says_what_detectors_show(seen, says):
    reply = decide_by_rule(CheckOutcome(), Outlook("open the shelf", seen)).reply
    assert reply.came_about == says and reply.reason


def test_a_model_is_shown_pictures_and_not_told_what_detectors_say():
    image = Image(b"\xff\xd8\xff" + bytes(20), "image/jpeg")
    messages = messages_for(CheckOutcome(), Outlook("open the ``` shelf", True, (image,)))
    assert messages[-1].images == (image,)
    assert not any("detectors" in message.text for message in messages)


@pytest.mark.parametrize(
    ("skill", "outcome"),
    [(Pick(MUG), Outcome.HAND_FULL), (Place(SHELF), Outcome.HAND_EMPTY),
     (Open(SHELF), Outcome.BLOCKED)],
)  # fmt: skip
def test_a_sure_no_is_a_failure_with_its_reason_and_anything_else_is_not(skill, outcome):
    no = OutcomeSeen(reason="it lies on the floor", came_about="no", confidence=0.9)
    ended = judged(skill, DONE, no)
    assert ended.outcome is outcome and "it lies on the floor" in ended.reason
    for other in (
        no.model_copy(update={"confidence": 0.6}),
        OutcomeSeen(came_about="yes", confidence=1.0),
        OutcomeSeen(came_about="cannot_tell", confidence=1.0),
    ):
        assert judged(skill, DONE, other) is DONE
