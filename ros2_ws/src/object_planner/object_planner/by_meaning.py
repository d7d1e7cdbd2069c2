"""Requests for things that no table lists: the map's labels that are nearest to them by meaning."""

from __future__ import annotations

import re

from coterie_core.wording import enumerated
from coterie_requests.understanding.english import is_english
from coterie_requests.understanding.text import shown
from coterie_world.meaning import EmbedderError, Meanings, Near
from object_planner.plan import MOST, Plan, PlanState, explained
from object_planner.request import parse
from object_planner.wish import Request

LIKELY, POSSIBLE = 0.3, 0.1
"""Least probability that a word means a label for its things to be shown, as a guess; and for the
label to be told."""


def by_meaning(state: PlanState, meanings: Meanings) -> Plan | None:
    """Answer a request for a thing of unknown name by the labels nearest to it.

    The rest of the request (place, relations, colors) holds for what is shown. It is a guess, and
    said to be one with its probability; where none is likely enough, the explanation names the
    nearest labels and no object is shown.

    Args:
        state: The request and its map.
        meanings: Compares words.

    Returns:
        None where the request has no thing of unknown name.
    """
    request = parse(state.words)
    word = _unknown_thing(request)
    if not word:
        return None
    labels = sorted({thing.label.top for thing in state.scene.objects.values() if thing.label.top})
    try:
        near = meanings.nearest(word, labels, scene=state.scene)
    except EmbedderError as error:
        return _told(state, word, f"nearness by meaning is not known: {error}")
    for one in near:
        if one.probability >= LIKELY:
            plan = _with_label(state, word, one)
            if plan is not None:
                return plan
    told = [f"{n.label} ({n.probability:.0%})" for n in near if n.probability >= POSSIBLE]
    if not told:
        return _told(state, word, "nothing in this map is near to it by meaning either")
    return _told(state, word, f"by meaning it may be, with little probability: {enumerated(told)}")


def _unknown_thing(request: Request) -> str:
    """Return the thing's name that no table lists; empty where there is none, or it is no word."""
    if request.refusal:
        return ""
    word = request.head or ("" if request.wants else " ".join(request.unknown[:2]))
    return word if word and all(is_english(part) for part in word.split()) else ""


def _with_label(state: PlanState, word: str, near: Near) -> Plan | None:
    words = re.sub(rf"\b{re.escape(word)}\b", near.label, state.words, flags=re.IGNORECASE)
    if words == state.words:
        return None
    findings = state.grounder.find(parse(words, (near.label,)))
    if not findings.found:
        return None
    ids = findings.ids[:MOST]
    guess = (
        f"perhaps: {shown(word)} stands in no table; by meaning it is nearest to {near.label}, and "
        f"{near.probability:.0%} of words that near are"
    )
    return Plan(
        inferred_query=words[:300],
        achievable=True,
        relevant_objects=ids,
        reason=f"{guess}; {explained(findings, ids)}"[:800],
    )


def _told(state: PlanState, word: str, why: str) -> Plan:
    return Plan(
        inferred_query=state.words[:300],
        achievable=False,
        reason=f"not understood: {shown(word)}; {why}"[:800],
    )
