"""Sentences for the bench of asking back, written before the rules that judge them.

`{x}` is a thing, `{xs}` several of it, `{t}` furniture that is once in the house, `{room}` a room.
Those of the development houses and those of the test houses are different sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Command = Literal["ask", "find", "do"]
Part = Literal["development", "test"]

# Which kind of request -> command -> sentences.
_DEVELOPMENT: Mapping[str, Mapping[Command, tuple[str, ...]]] = {
    "ambiguous": {
        "ask": (
            "What color is the {x}?",
            "Which room is the {x} in?",
            "What is next to the {x}?",
        ),
        "find": ("the {x}", "find the {x}"),
        "do": (
            "Bring the {x} to the {t}",
            "Take the {x} to the {room}",
            "Put the {x} on the {t}",
        ),
    },
    "absent": {
        "ask": ("What color is the {x}?", "Where is the {x}?", "What is under the {x}?"),
        "find": ("the {x}", "find my {x}"),
        "do": ("Bring the {x} to the {t}", "Go to the {x}"),
    },
    "absent_here": {
        "ask": ("What color is the {x} in the {room}?",),
        "find": ("the {x} in the {room}",),
        "do": ("Bring the {x} from the {room} to the {t}",),
    },
    "no_such_room": {
        "ask": ("How many chairs are there in the {noroom}?",),
        "find": ("a chair in the {noroom}",),
        "do": ("Go to the {noroom}",),
    },
    "not_seen_yet": {
        "ask": ("Where is the {x}?", "What color is the {x}?", "Which room is the {x} in?"),
        "find": ("the {x}", "find the {x}"),
    },
    "subjective": {
        "ask": (
            "Which room is the coziest?",
            "Do you like the {x}?",
            "Is the {x} beautiful?",
            "What is the nicest thing in the {room}?",
        ),
        "find": ("the prettiest {x}", "something that looks elegant"),
        "do": ("Bring the nicest {x} to the {t}", "Take the ugly {x} to the {room}"),
    },
    "underspecified": {
        "ask": ("What color is it?", "Where is it?", "Is that one open?"),
        "find": ("it", "the other one"),
        "do": ("Bring it to the {t}", "Put the {x} on", "Move the {x}"),
    },
    "clear": {
        "ask": (
            "What color is the {u}?",
            "Where is the {u}?",
            "Is there a {x} in the {room}?",
            "How many {xs} are there?",
        ),
        "find": ("a {x}", "the {u}", "all {xs}", "something to sit on"),
        "do": (
            "Bring a {x} to the {t}",
            "Bring the {u} to the {t}",
            "Bring all {xs} to the {t}",
            "Go to the {room}",
        ),
    },
}
_TEST: Mapping[str, Mapping[Command, tuple[str, ...]]] = {
    "ambiguous": {
        "ask": (
            "Tell me the color of the {x}.",
            "Can you tell me where the {x} is?",
            "What is the {x} standing on?",
            "Is the {x} near a window?",
        ),
        "find": ("show me the {x}", "where did I leave my {x}"),
        "do": (
            "Carry the {x} over to the {t}",
            "Could you move the {x} to the {room}?",
            "Please place the {x} on the {t}",
        ),
    },
    "absent": {
        "ask": ("In which room is the {x}?", "What is lying on the {x}?", "How large is the {x}?"),
        "find": ("show me the {x}", "I am looking for the {x}"),
        "do": ("Carry the {x} over to the {t}", "Please drive to the {x}"),
    },
    "absent_here": {
        "ask": ("What is next to the {x} in the {room}?",),
        "find": ("show me the {x} in the {room}",),
        "do": ("Take the {x} in the {room} to the {t}",),
    },
    "no_such_room": {
        "ask": ("What is there in the {noroom}?",),
        "find": ("show me a lamp in the {noroom}",),
        "do": ("Have a look around the {noroom}",),
    },
    "not_seen_yet": {
        "ask": ("In which room is the {x}?", "Tell me the color of the {x}."),
        "find": ("show me the {x}", "I am looking for the {x}"),
    },
    "subjective": {
        "ask": (
            "Which of the rooms is the loveliest?",
            "Would you say that the {x} is tasteful?",
            "What is the most charming thing in the {room}?",
            "Is the {x} too old-fashioned?",
        ),
        "find": ("the most attractive {x}", "a really gorgeous {x}"),
        "do": ("Carry the best-looking {x} over to the {t}", "Put the boring {x} on the {t}"),
    },
    "underspecified": {
        "ask": ("How many are there?", "Which room is that in?", "What is on top of it?"),
        "find": ("show me that", "one of those"),
        "do": ("Take that to the {room}", "Carry the {x}", "Put it down over there"),
    },
    "clear": {
        "ask": (
            "Tell me the color of the {u}.",
            "In which room is the {u}?",
            "Are there any {xs} in the {room}?",
            "How many {xs} can you count?",
        ),
        "find": ("show me the {u}", "any {x}", "every {x}", "somewhere to lie down"),
        "do": (
            "Carry one {x} over to the {t}",
            "Please place the {u} on the {t}",
            "Take all of the {xs} to the {room}",
            "Please drive to the {room}",
        ),
    },
}
SENTENCES: Mapping[Part, Mapping[str, Mapping[Command, tuple[str, ...]]]] = {
    "development": {**_DEVELOPMENT, "missed": _DEVELOPMENT["absent"]},
    "test": {**_TEST, "missed": _TEST["absent"]},
}
NO_ROOMS = ("sauna", "wine cellar", "ballroom", "conservatory")
"""Rooms that no generated house has."""
KIND_OF: Mapping[str, str] = {
    "absent": "false_premise", "absent_here": "false_premise", "no_such_room": "false_premise",
}  # fmt: skip
"""Which of the five kinds templates of another name are of."""
