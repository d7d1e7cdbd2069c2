"""Verbs and turns of phrase of household imperatives: what they ask for, and how they look."""

from __future__ import annotations

import re
from typing import Literal

from emos_planner.leader.phrases import words_of

WishKind = Literal["bring", "take", "find", "check", "go", "look", "open", "close"]

VERBS: dict[str, WishKind] = {
    **dict.fromkeys(
        words_of("bring carry move deliver transport haul relocate transfer return take get fetch"),
        "bring",
    ),
    **dict.fromkeys(
        words_of("put place set lay drop leave store stow hang stack deposit throw toss"), "bring"
    ),
    **dict.fromkeys(["pick", "grab", "collect", "gather"], "take"),
    **dict.fromkeys(["find", "search", "locate", "seek", "spot", "look", "hunt"], "find"),
    **dict.fromkeys(words_of("check see verify tell confirm ensure report know"), "check"),
    **dict.fromkeys(words_of("go drive walk head come navigate fly travel visit run"), "go"),
    **dict.fromkeys(["inspect", "examine", "photograph", "detect", "observe", "watch"], "look"),
    **dict.fromkeys(("open", "unlock"), "open"),
    **dict.fromkeys(("close", "shut"), "close"),
}
PUT = frozenset(words_of("put place set lay drop leave store stow hang stack deposit throw toss"))
TO_GET = frozenset(["get", "fetch", "take"])
MEANT = {
    "clean": "find", "tidy": "bring", "vacuum": "go", "wash": "bring", "cook": "bring",
    "turn": "open", "switch": "open", "push": "bring", "pull": "open", "give": "bring",
    "hand": "bring", "serve": "bring", "clear": "bring", "empty": "bring", "fill": "bring",
    "count": "find", "water": "go", "follow": "go", "guide": "go", "guard": "go", "wait": "go",
}  # fmt: skip
EXAMPLE = {
    "bring": '"bring the mug to the kitchen counter"', "find": '"find the keys"',
    "go": '"go to the bathroom"', "open": '"open the fridge"',
}  # fmt: skip
LEAD = re.compile(
    r"^(?:(?:hey|hello|hi|ok|okay|so|now|then|first|second|finally|also|next|afterwards|after that|"
    r"please|kindly|just|robots?|team|everyone|someone|somebody|one of you|"
    r"(?:can|could|would|will) (?:you|one of you|someone|somebody|the robots?)|"
    r"(?:i|we) (?:want|need|would like|d like)(?: you)?(?: all)? to|i'd like you to|"
    r"you (?:should|must|have to|need to)|let's|try to|make sure to|be sure to|go and|go to and|"
    r"remember to|your task is to|help me(?: to)?|the robots? (?:should|must))[\s,]+)+"
)
SENTENCE = re.compile(r"(?<!\d)[.!?;\n]+(?=\s|$)|[!?;\n]+")
SEPARATOR = re.compile(
    r"\s*,?\s+(?:and\s+)?(?:then|after that|afterwards|finally|also)\s+|"
    r"\s*,\s*and\s+|\s+and\s+|\s*,\s*"
)
REFUSED = re.compile(
    r"\b(?:not|don't|dont|never|unless|except|without|until|instead|if there|when|while|as soon as|"
    r"every (?:day|hour|morning|evening|time)|tomorrow|tonight|at \d|in \d+ (?:minutes|hours))\b"
)
STATE = re.compile(r"\b(?:that|which|who) (?:is|are|was|were|stands?|lies?|sits?) ")
LYING = re.compile(
    r" (?:lying|standing|sitting|located|placed|kept|left|hanging) (?=in|on|at|under|near)"
)
ASKS = re.compile(
    r"^(?:(?:check|see|verify|tell me|tell us|confirm|report|find out|know|look|let me know|"
    r"make sure)(?: whether| if| that)? )?"
    r"(?:there (?:is|are)|is there|are there|(?:do|can) you see|we (?:still )?have|do we have|"
    r"you (?:can )?see) (?P<what>.+?)(?: there| or not)?$"
)
WHERE = re.compile(r"^(?:tell me )?where (?:is|are|did (?:i|we) (?:leave|put)) (?P<what>.+)$")
WHERE_LATE = re.compile(r"^(?:tell me |show me |find out )where (?P<what>.+?) (?:is|are)$")
WHETHER_AT = re.compile(
    r"^(?:check|see|verify|tell me|confirm|find out|know)(?: whether| if| that) (?P<what>.+?) "
    r"(?:is|are) (?P<where>(?:still )?(?:in|on|at|upstairs|downstairs).*)$"
)
STRONG = frozenset(("to", "into", "onto"))
WEAK = {"in": "in", "inside": "in", "within": "in", "at": "in", "on": "on", "upon": "on",
         "near": "near", "beside": "near", "by": "near", "into": "in", "onto": "on"}  # fmt: skip
FROM = frozenset(("from", "off"))
JOINED = (("on top of", "on"), ("next to", "near"), ("close to", "near"), ("out of", "from"),
           ("over to", "to"), ("back to", "to"), ("down on", "on"), ("in front of", "near"),
           ("away from", "from"), ("up to", "to"), ("as well as", "and"))  # fmt: skip

CAN_DO = (
    "robots can go somewhere, look for things, check whether something is there, bring or put "
    "things somewhere, and open or close furniture"
)


class NotUnderstood(ValueError):
    """A task in words is not understood; says which words, and what is nearest that can be done."""
