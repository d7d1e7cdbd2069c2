"""Words for how things stand to one another."""

from __future__ import annotations

import re

from coterie_core.relations import RelationKind

_SIDE = r"(?:on |at |to |towards )?(?:the |my )?(?:immediate )?{}(?:[- ]hand)?(?: side)? of"
_RELATIONS: tuple[tuple[str, RelationKind], ...] = (
    (r"on (?:the )?top of|atop|upon|on the (?:surface|seat) of", "on"),
    (_SIDE.format("left"), "left of"),
    (_SIDE.format("right"), "right of"),
    (r"in front of|at the front of|across from|across|opposite(?: to| of)?|facing", "in front of"),
    (r"directly behind|behind|at the back of|in back of", "behind"),
    (r"under(?:neath)?|below|bellow|beneath", "under"),
    (r"above|over(?! there)", "above"),
    (r"between", "between"),
    (r"far (?:away )?from|not (?:near|close to)|away from|farthest from|furthest from", "far from"),
    (r"(?:next|adjacent|close|closest|nearest|attached) to|besides?|along ?side|near(?: to)?|"
     r"nearby|(?:leaning )?against|around|by|surrounding|"
     r"at the (?:foot|edge|end|side|corner) of|at(?! least| most| all)", "near"),
    (r"inside(?: of)?|within|in the (?:middle|center) of|in(?! front)|from", "in"),
    (r"on|onto", "on"),
)  # fmt: skip
RELATIONS = tuple((re.compile(rf"\b(?:{words})\b"), kind) for words, kind in _RELATIONS)
"""Patterns of the words for each relation, in the order in which they are tried."""
PREPOSITION = (
    r"(?:on|in|at|under|over|above|below|beneath|behind|beside|between|near|next to|by|inside|"
    r"against|in front of|to the (?:left|right) of|along|upstairs|downstairs)"
)
"""Pattern of the words that begin where something is."""
