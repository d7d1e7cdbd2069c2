"""Verbs of household imperatives: what they ask for, their forms, and what robots cannot do."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from coterie_requests.understanding import words_of

CommandKind = Literal["bring", "take", "find", "check", "go", "look", "open", "close"]

_CARRY = "bring carry move deliver transport haul relocate transfer return take get fetch give hand"
_PUT = "put place set lay drop leave store stow hang stack deposit throw toss stick pop pass slide"
VERBS: dict[str, CommandKind] = {
    **dict.fromkeys(words_of(f"{_CARRY} {_PUT} serve push drag shift"), "bring"),
    **dict.fromkeys(("pick", "grab", "collect", "gather", "remove"), "take"),
    **dict.fromkeys(words_of("find search locate seek spot look hunt"), "find"),
    **dict.fromkeys(words_of("check see verify tell confirm ensure report know"), "check"),
    **dict.fromkeys(
        words_of("go drive walk head come navigate fly travel visit run enter"),
        "go",
    ),
    **dict.fromkeys(["inspect", "examine", "photograph", "detect", "observe", "watch"], "look"),
    **dict.fromkeys(("open", "unlock"), "open"),
    **dict.fromkeys(("close", "shut"), "close"),
}
PUT = frozenset(_PUT.split())
GATHER = frozenset(("collect", "gather"))
"""Verbs after which a place is where things are, or where they are to go."""
TO_GET = frozenset(("get", "fetch", "take", "remove"))
MEANT = {
    "clean": "find", "tidy": "bring", "vacuum": "go", "wash": "bring", "cook": "bring",
    "turn": "open", "switch": "open", "pull": "open", "clear": "bring", "empty": "bring",
    "fill": "bring", "count": "find", "water": "go", "follow": "go", "guide": "go", "guard": "go",
    "wait": "go", "make": "bring", "dry": "bring", "iron": "bring", "fold": "bring",
    "swap": "bring", "arrange": "bring", "sort": "bring", "organize": "bring", "declutter": "bring",
}  # fmt: skip
CANNOT = frozenset(
    words_of(
        "boil heat warm cool stir mix cut chop pour light play sing dance call text email read "
        "write "
        "paint repair fix build wipe sweep mop scrub dust polish feed charge print order buy teach "
        "wake stop cancel lift hold shake cover wrap pack unpack load unload attach plug unplug "
        "plant mow rearrange weigh measure record film draw answer remind rinse soak bake fry "
        "roast "
        "grill toast brew peel slice dispose ring knock press click install connect sew knit "
        "massage "
        "hug kiss babysit change replace lock sleep rest exercise jump climb swim eat drink pet "
        "bathe "
        "shower assemble inflate rotate flip tilt break smash destroy burn kill attack hide dim "
        "adjust"
    )
)
"""Other verbs of what people do at home, and robots here cannot."""
EXAMPLE = {
    "bring": '"bring the mug to the kitchen counter"', "find": '"find the keys"',
    "go": '"go to the bathroom"', "open": '"open the fridge"',
}  # fmt: skip
STATE = re.compile(r"\b(?:that|which|who) (?:is|are|was|were|stands?|lies?|sits?) ")
LYING = re.compile(
    r" (?:lying|standing|sitting|located|placed|kept|left|hanging) (?=in|on|at|under|near)"
)
ASKS = re.compile(
    r"^(?:(?:check|see|verify|tell me|tell us|confirm|report|find out|know|look|let me know|"
    r"make sure)(?: whether| if| that)? )?"
    r"(?:there (?:is|are)|(?:is|are)(?: not)? there|"
    r"(?:do|can) you see|we (?:still )?have|do we have|"
    r"you (?:can )?see) (?P<what>.+?)(?: there| or not| left)?$"
)
WHERE = re.compile(
    r"^(?:tell me |show me |find out )?where (?:is|are|did (?:i|we) (?:leave|put)|have (?:i|we) "
    r"(?:left|put)) (?P<what>.+)$"
)
WHERE_LATE = re.compile(
    r"^(?:tell me |show me |find out |check |see )?where (?P<what>.+?) (?:is|are)$"
)
YES_NO = re.compile(
    r"^(?:is|are|was|were) (?!there\b)(?P<what>.+?) (?P<where>(?:still )?(?:in|on|at|under|near|"
    r"upstairs|"
    r"downstairs)\b.*)$"
)
WHETHER_AT = re.compile(
    r"^(?:check|see|verify|tell me|confirm|find out|know)(?: whether| if| that)? (?P<what>.+?) "
    r"(?:is|are) (?P<where>(?:still )?(?:in|on|at|under|near|upstairs|downstairs)\b.*)$"
)
STRONG = frozenset(("to", "into", "onto"))
WEAK = {"in": "in", "inside": "in", "within": "in", "at": "in", "on": "on", "upon": "on",
        "near": "near", "beside": "near", "by": "near", "into": "in", "onto": "on"}  # fmt: skip
SIDES = {"under": "under", "underneath": "under", "below": "under", "beneath": "under",
         "above": "above", "over": "above", "behind": "behind", "between": "between"}  # fmt: skip
"""Words for where something is that say nothing about what it is on or in."""
FROM = frozenset(("from", "off"))
JOINED = (("on top of", "on"), ("next to", "near"), ("close to", "near"), ("out of", "from"),
          ("over to", "to"), ("back to", "to"), ("down on", "on"), ("in front of", "near"),
          ("away from", "from"), ("up to the", "to the"), ("down to", "to"), ("as well as", "and"),
          ("back in", "in"), ("back on", "on"), ("back into", "into"), ("off of", "from"),
          ("inside of", "in"), ("inside the", "in the"), ("down in", "in"), ("away in", "in"),
          ("along with", "and"), ("together with", "and"), ("over on", "on"), ("up on", "on"),
          ("adjacent to", "near"),
          ("closest to", "near"), ("nearest to", "near"), ("near to", "near"),
          ("from under", "under"), ("from underneath", "under"), ("from behind", "behind"),
          ("from inside", "from"), ("from on", "from"), ("from in", "from"), ("from near", "near"),
          ("from above", "above"), ("from between", "between"),
          ("in between", "between"))  # fmt: skip

CAN_DO = (
    "robots can go somewhere, look for things, check whether something is there, bring or put "
    "things somewhere, and open or close furniture"
)
_IRREGULAR = {
    "found": "find", "brought": "bring", "put": "put", "taken": "take", "took": "take",
    "got": "get", "gotten": "get", "gone": "go", "went": "go", "been": "go", "come": "come",
    "came": "come", "left": "leave", "laid": "lay", "hung": "hang", "thrown": "throw",
    "shut": "shut", "seen": "see", "driven": "drive", "set": "set", "given": "give",
}  # fmt: skip


@lru_cache(maxsize=1)
def _forms() -> dict[str, str]:
    forms = dict(_IRREGULAR)
    for verb in VERBS:
        stem = verb.removesuffix("e")
        double = verb + verb[-1] if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb) else verb
        for form in (f"{verb}ing", f"{stem}ing", f"{double}ing", f"{stem}ed", f"{double}ed",
                     f"{verb}s", f"{verb}es"):  # fmt: skip
            forms.setdefault(form, verb)
    return forms


def base_verb(word: str) -> str:
    """Return the base form of a verb that robots know ("bringing", "found"), or ""."""
    return word if word in VERBS else _forms().get(word, "")
