"""A simulated model for object planning that errs at stated rates, served over HTTP.

It is no model: it knows the annotated answer and spoils it. What it tells of a workflow is how the
workflow deals with errors of these kinds, not how good any real model is. It sees what a model
sees, the prompt, and tells by the fenced parts what is asked; it knows nothing of the workflow.

How it errs (`Rates`), fitted to section 6 of the object-planning paper:

* A first answer is wrong at `plan` by the kind of request: descriptive requests half as often as
  the mean, negations a third more often (Table 2). What it gets wrong it gets wrong again when
  asked again (`same`), which is why an ensemble gains little there.
* A wrong answer names wrong things, leaves all out, puts a wrong thing first, or names an id that
  the map does not have (hallucination).
* Reviewing a wrong answer finds the error at `mend`; reviewing a right one finds fault where there
  is none: at `over_empty` where the answer is rightly empty (70 % of the paper's losses by
  reflection), at `over_full` elsewhere (removed, put in another order, replaced).
* Refining follows what the review says at `obey`, whoever wrote the review.
* Choosing among answers takes the most frequent at `majority`, else any.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie_fixtures.endpoint import Endpoint
from research.bench.objects.data import ObjectData, ObjectMap

PAPER_ERRORS = 0.334
"""Share of first answers that were wrong with the paper's model: 1 - 66.6 %."""
_BY_TYPE = {"descriptive": 0.18 / 0.34, "affordance": 0.38 / 0.34, "negation": 0.46 / 0.34}
"""Errors of a first answer by kind of request, in units of the mean: from the paper's Table 2."""
_KINDS = (("wrong", 0.5), ("empty", 0.3), ("not first", 0.1), ("unknown id", 0.1))
_FENCED = re.compile(r'<data label="([^"]*)">\n(.*?)\n</data>', re.DOTALL)
_CHANGE = re.compile(r"\b(leave out|add|put) (\S+?):? ")


@dataclass(frozen=True, slots=True)
class Rates:
    """How often it errs (0..1 each)."""

    plan: float = PAPER_ERRORS
    same: float = 0.85
    mend: float = 0.17
    over_empty: float = 0.047
    over_full: float = 0.01
    obey: float = 0.8
    majority: float = 0.8

    @classmethod
    def of(cls, errors: float) -> Rates:
        """Rates where first answers err so often; over-reflection grows and falls with them."""
        scale = errors / PAPER_ERRORS
        return cls(
            plan=errors,
            over_empty=min(cls().over_empty * scale, 1.0),
            over_full=min(cls().over_full * scale, 1.0),
        )


class SimulatedPlanner:
    """Answers prompts about one map at a time; see the module for how.

    Args:
        data: Requests and annotated answers.
        rates: How it errs.
        seed: Of every draw; the same prompts in the same order get the same answers.
    """

    def __init__(self, data: ObjectData, rates: Rates | None = None, seed: int = 0) -> None:
        self.rates = rates or Rates()
        self.seed = seed
        self._types = {" ".join(q.words.split()): (q.id, q.type) for q in data.queries}
        self._map: ObjectMap = data.maps[0]
        self._asked: Counter[tuple[str, str, str]] = Counter()
        self.endpoint = Endpoint(self._respond, model="simulated")

    def begin(self, one: ObjectMap) -> None:
        """Go over to a map: a model would know it from the prompt."""
        self._map = one
        self._asked.clear()

    def _respond(self, body: Mapping[str, Any]) -> dict[str, Any]:
        messages = [str(message.get("content")) for message in body["messages"]]
        # Complaints about a reply come as further messages; the question stays the one before.
        asked = next(text for text in reversed(messages) if '<data label="request">' in text)
        parts = dict(_FENCED.findall(asked))
        words = " ".join(parts["request"].split())
        numbered = sorted(name for name in parts if name.startswith("answer "))
        answers = [parts[name] for name in numbered]
        step = next(
            (name for name in ("review", "answer") if name in parts),
            "choose" if answers else "plan",
        )
        # Another prompt, another draw: roles are told otherwise than tasks.
        key = (words, step, messages[0])
        turn = self._asked[key]
        self._asked[key] += 1
        rng = random.Random(f"{self.seed}|{self._map.name}|{'|'.join(key)}|{turn}")
        id_, kind = self._types[words]
        truth = [i for i in self._map.truth[id_] if i in self._map.scene.objects]
        if step == "choose":
            reply: dict[str, Any] = self._choose(rng, answers)
        elif step == "plan":
            reply = _plan(self._first(rng, words, kind, truth))
        else:
            before = list(json.loads(parts["answer"])["relevant_objects"])
            if step == "answer":
                reply = self._review(rng, before, truth)
            else:
                reply = _plan(self._refined(rng, before, json.loads(parts["review"])))
        self.endpoint.usage = (sum(map(len, messages)) // 4, len(json.dumps(reply)) // 4)
        return reply

    # -- what it does --------------------------------------------------------------------------

    def _first(
        self, rng: random.Random, words: str, kind: str, truth: Sequence[str]
    ) -> Sequence[str]:
        # A misconception of the request on this map, which comes back each time it is asked.
        own = random.Random(f"{self.seed}|{self._map.name}|{words}|misconception")
        draw = own if rng.random() < self.rates.same else rng
        if draw.random() >= min(self.rates.plan * _BY_TYPE[kind], 0.95):
            return truth
        others = self._others(words, kind, truth, draw)
        how = draw.choices([name for name, _ in _KINDS], [share for _, share in _KINDS])[0]
        if how == "unknown id" and rng.random() < 0.5:  # half of them when told so as well
            return [f"obj{draw.randint(1000, 9999)}"]
        if (how == "empty" and truth) or not others:
            return []
        wrong = others[: draw.randint(1, 3)]
        return [wrong[0], *truth] if how == "not first" else wrong

    def _others(
        self, words: str, kind: str, truth: Sequence[str], draw: random.Random
    ) -> list[str]:
        """Wrong objects, likeliest first: those that the words name ("not a chair": a chair)."""
        things = [t for t in self._map.scene.objects.values() if t.id not in truth]
        draw.shuffle(things)
        named = [t.id for t in things if t.label.top.lower() in words.lower()]
        if kind == "negation" and named and draw.random() < 0.5:
            return named
        return [thing.id for thing in things]

    def _review(
        self, rng: random.Random, before: Sequence[str], truth: Sequence[str]
    ) -> dict[str, Any]:
        right = (before[0] in truth) if before else not truth
        says: list[str] = []
        others = sorted(set(self._map.scene.objects) - set(truth) - set(before))
        if not right and rng.random() < self.rates.mend:
            says = [f"leave out {i}: it does not serve" for i in before if i not in truth]
            says += [f"add {i}: it serves" for i in truth if i not in before]
        elif right and not before and others and rng.random() < self.rates.over_empty:
            says = [f"add {rng.choice(others)}: it might do indirectly"]
        elif right and before and rng.random() < self.rates.over_full:
            wrong = [f"put {rng.choice(others)} first: it may be better"] if others else []
            says = rng.choice([[f"leave out {i}: not needed" for i in before], wrong])
        return {
            "correctness": "as far as can be told",
            "relevance": "see the suggestions" if says else "good",
            "clarity": "plain",
            "suggestions": says[:10],
            "acceptable": not says,
        }

    def _refined(
        self, rng: random.Random, before: list[str], review: Mapping[str, Any]
    ) -> list[str]:
        ids = list(before)
        if rng.random() >= self.rates.obey:
            return ids
        for what, id_ in (m for text in review["suggestions"] for m in _CHANGE.findall(text)):
            if what == "leave out":
                ids = [i for i in ids if i != id_]
            elif id_ not in ids:
                ids = [*ids, id_] if what == "add" else [id_, *ids]
            elif what == "put":
                ids = [id_, *(i for i in ids if i != id_)]
        return ids

    def _choose(self, rng: random.Random, answers: Sequence[str]) -> dict[str, Any]:
        lists = [tuple(json.loads(answer)["relevant_objects"]) for answer in answers]
        kinds = sorted(set(lists))
        chosen = rng.choice(kinds)
        if rng.random() < self.rates.majority:
            chosen = max(kinds, key=lambda ids: (lists.count(ids), ids))
        return {"reason": "the best of them", "number": lists.index(chosen) + 1}


def _plan(ids: Sequence[str]) -> dict[str, Any]:
    return {
        "reason": "these serve" if ids else "nothing serves",
        "inferred_query": "as asked",
        "achievable": bool(ids),
        "relevant_objects": list(ids)[:50],
    }
