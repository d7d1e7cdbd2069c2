"""What a person would answer who tidies up with others and sees only parts of the home."""

from __future__ import annotations

import re
from typing import Any

from coterie_bench.oracle.request import Question

_GOAL = re.compile(r"\b(?:ON|IN)\(([^,()]+), ([^()]+)\)(?:: (\d+))?")
_HANDS = re.compile(r"holding (.*?) \((\d+) hands\)")
_PIECE = re.compile(r"^([^:]+): (.*)$", re.DOTALL)
_LABEL = re.compile(r"^(.+?) \(([^()]+)\)")
_SPARE = re.compile(r"it had (\d+) steps to spare")
_AT = re.compile(r"step (\d+) (\S+)(?: \([^)]*\))?, (seen|by its word|on its way|predicted)")
_LIKELY_IN = {
    "refrigerator": ("milk", "cheese", "yogurt", "juice", "butter", "egg", "apple", "cupcake"),
    "cabinet": ("plate", "bowl", "cup", "mug", "glass", "pan", "pot", "bread", "wine"),
    "dishwasher": ("plate", "fork", "knife", "spoon", "bowl", "mug", "glass"),
    "wardrobe": ("shirt", "jacket", "towel", "bag", "shoes"),
    "washing machine": ("shirt", "towel"),
    "drawer": ("phone", "remote", "book", "pen"),
}
"""What people keep where."""


def choose_plan(question: Question) -> dict[str, Any]:
    """Do what brings most for the steps, and leave to others what they reach sooner."""
    candidates = question.data["candidates"]
    held = _HANDS.search(question.data["you"])
    holding = [] if held is None or held[1] == "nothing" else held[1].split(", ")
    free = (int(held[2]) if held is not None else 2) - len(holding)
    left = re.search(r"(\d+) steps left", question.data["you"])
    budget = int(left[1]) if left is not None else 1000

    def worth(one: dict[str, Any]) -> float:
        return _rate(one, holding, free, budget)

    best = max(candidates, key=lambda one: (worth(one), one["plan"]))
    return {"reason": "most for the steps that it takes", "plan": best["plan"]}


def _rate(one: dict[str, Any], holding: list[str], free: int, budget: int) -> float:
    """Return needed things per step that a plan brings nearer."""
    plan, steps = one["plan"], float(one.get("steps for you", 10.0))
    kind = plan.partition(" ")[0]
    if kind == "wait":
        return 0.0
    if kind == "bring":
        count = 1 + plan.count(" and ")
        if free <= 0 or budget < steps + 40:
            return 100.0
        return count * 1.6 / (steps + 1.0 + count) + (2.0 if steps <= 2 else 0.0)
    level = one.get("relevance", 1)
    hope = {"fetch": 1.0, "explore": 0.9, "look": 0.22 + 0.12 * (level >= 2)}.get(kind, 0.1)
    if kind == "fetch" and free <= 0:
        return 0.0
    others = list(one.get("steps for others", {}).values())
    ahead = sum(other < steps - 1.0 for other in others)
    hope *= 0.45**ahead
    if one.get("said to make for it"):
        hope *= 0.15
    if kind == "explore" and "steps ago" in one.get("about", ""):
        hope = 0.05  # seen before: nothing better is left
    return hope / (steps + 2.0)


def rate_relevance(question: Question) -> dict[str, Any]:
    """Rate what the goal names highest, then what may hide it, then what others tell."""
    goal = _GOAL.findall(str(question.data["goal"]))
    items = {item.strip() for item, _, _ in goal}
    targets = {target.strip() for _, target, _ in goal}
    levels = question.choices("ratings[].level")
    ratings = []
    for line in question.data["new information"]:
        found = _PIECE.match(line)
        if found is None:
            continue
        share = _matters(found[2], items, targets)
        ratings.append({"id": found[1], "level": levels[round(share * (len(levels) - 1))]})
    return {"reason": f"the goal calls for {', '.join(sorted(items))}", "ratings": ratings}


def _matters(text: str, items: set[str], targets: set[str]) -> float:
    """Return how much a piece matters, 0 to 1."""
    if " says: " in text:
        return 1.0 if any(word in text for word in ("Done", "?", *items)) else 0.67
    found = _LABEL.match(text)
    label, id_ = (found[1], found[2]) if found is not None else (text, "")
    if label in items or label in targets or id_ in targets:
        return 1.0
    if text.endswith(", closed") or label in _LIKELY_IN:
        return 0.67
    return 0.3 if label.endswith(("table", "counter", "desk", "shelf")) else 0.0


def judge_scenario(question: Question) -> dict[str, Any]:
    """Name somebody only who had ample time, was there, and had use for it or said so."""
    best, who = 0.5, "nobody"
    for scenario in question.data["scenarios"]:
        if scenario["who"] == "nobody":
            continue
        chance = _chance(scenario["what"])
        if chance > best:
            best, who = chance, scenario["who"]
    return {"reason": "by time, place and what was said", "who": who}


def _chance(what: str) -> float:
    """Return how likely a scenario is."""
    spare = _SPARE.search(what)
    steps = int(spare[1]) if spare is not None else 10
    if "said it would" in what:
        return 0.85
    chance = 0.2
    if "hands full" in what:
        chance *= 0.3
    if "made for" in what:
        chance *= 2.5
    elif "was seen or heard from" in what:
        chance *= 2.0 + min(1.0, steps / 60.0)
    return min(chance, 0.2 + 0.05 * steps)


ANSWERS = {
    "PlanChoice": choose_plan,
    "Ratings": rate_relevance,
    "ScenarioChoice": judge_scenario,
}
