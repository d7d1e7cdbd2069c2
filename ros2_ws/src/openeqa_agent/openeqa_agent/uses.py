"""Which things serve a use that is asked for: "to sit on", "to wash my clothes"."""

from __future__ import annotations

import re

from coterie_core.household import load_household
from coterie_requests.lexicon import HINDERED, load_lexicon
from openeqa_agent.labels import canonical

_PUT = re.compile(r"\b(?:put|store|keep|place|leave|set|hang|hold|stow|lay|return)\b")


def uses_of(use: str) -> list[str]:
    """Return names of the lexicon's uses that words ask for, best first.

    The use with the most telling single cue comes first: "wash my clothes" is laundry, although
    "wash my" speaks of hands.
    """
    lexicon = load_lexicon()
    told: dict[str, tuple[int, bool, int]] = {}
    continued = lexicon.continued(use)
    for name, cues in lexicon.cues_in(use).items():
        if not lexicon.uses[name].modifies and name not in continued:
            told[name] = max((len(c.split()), "*" not in c, len(c)) for c, _ in cues)
    strong = [name for name in told if not lexicon.uses[name].weak] or list(told)
    return sorted(strong, key=lambda name: (told[name], name), reverse=True)


def grades_for(use: str) -> dict[str, float]:
    """Return label -> how well such a thing serves a use (0..1); empty: nothing is known."""
    lexicon, house = load_lexicon(), load_household()
    grades: dict[str, float] = {}
    named = uses_of(use)[:3]
    for rank, name in enumerate(named):
        # What else was heard helps only where the first use finds nothing.
        for label, grade in lexicon.spread(lexicon.uses[name].things).items():
            share = 1.0 if rank == 0 else 0.45
            grades[label] = max(grades.get(label, 0.0), grade * share)
    general = not named or lexicon.uses[named[0]].weak or named[0] == "store"
    if general and not HINDERED.search(use) and _PUT.search(use):
        for _, _, name in lexicon.mentions(use)[:1]:
            category = house.category(name)
            owners = [o for on in (category.on if category else ()) for o in house.members(on)]
            for owner in owners:
                # Where such a thing is usually put beats what serves to put anything.
                label = canonical(owner)
                grades[label] = min(1.0, max(grades.get(label, 0.0), 0.8) + 0.3)
            if owners:
                grades = {k: v if v > 0.9 else 0.6 * v for k, v in grades.items()}
    return grades
