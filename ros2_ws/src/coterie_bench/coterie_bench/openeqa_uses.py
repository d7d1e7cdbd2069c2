"""What things are for and what they tell of people, as askers put it: own list, for questions only.

The agents do not read this: they know uses from coterie_core's lexicon.
"""

from __future__ import annotations

USES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("boil water for tea", ("kettle", "stove")),
    ("warm up my lunch", ("microwave", "oven", "stove")),
    ("keep the milk cold", ("refrigerator",)),
    ("bake a cake", ("oven",)),
    ("make toast", ("toaster",)),
    ("cut vegetables", ("knife",)),
    ("get the dirty plates clean", ("dishwasher", "sink", "sponge")),
    ("wash my hands", ("sink", "faucet")),
    ("take a bath", ("bathtub",)),
    ("brush my teeth", ("toothbrush",)),
    ("dry myself after a shower", ("towel",)),
    ("check how I look", ("mirror",)),
    ("wash my clothes", ("washing machine",)),
    ("get the wrinkles out of my shirt", ("iron", "ironing board")),
    ("clean the carpet", ("vacuum cleaner",)),
    ("sweep the floor", ("broom",)),
    ("get rid of some rubbish", ("trash can",)),
    ("stay dry in the rain", ("umbrella",)),
    ("put out a small fire", ("fire extinguisher",)),
    ("find out what time it is", ("clock", "alarm clock", "wristwatch")),
    ("watch a movie", ("television", "laptop", "tablet", "computer")),
    ("write an e-mail", ("laptop", "computer", "tablet", "phone")),
    ("print a document", ("printer",)),
    ("note something down", ("pen", "whiteboard")),
    ("read something before bed", ("books", "magazine", "tablet")),
    ("play some music", ("guitar", "piano", "speaker")),
    ("train my muscles", ("dumbbells", "weight machine")),
    ("go for a run without leaving the house", ("treadmill",)),
    ("lie down and sleep", ("bed", "sofa")),
    ("sit down comfortably", ("sofa", "armchair")),
    ("hang up my jacket", ("coat rack", "wardrobe")),
    ("lock away jewellery", ("safe",)),
    ("reach a high shelf", ("ladder", "stool", "chair")),
    ("drive a nail into the wall", ("hammer", "toolbox")),
    ("switch the channel", ("tv remote",)),
    ("make the room warmer", ("radiator", "fireplace")),
    ("cool down on a hot day", ("fan",)),
)
"""What people want to do, and the things that serve it."""

ACTIVITIES: dict[str, tuple[str, ...]] = {
    "kitchen": ("cooking", "to cook", "preparing food", "making meals"),
    "bedroom": ("sleeping", "to sleep", "resting"),
    "bathroom": ("washing", "bathing", "personal hygiene", "taking a shower"),
    "office": ("working", "to work", "studying", "desk work"),
    "laundry room": ("doing laundry", "washing clothes", "laundry"),
    "dining room": ("eating", "to eat", "having meals", "dining"),
    "gym": ("exercising", "working out", "exercise", "training"),
    "living room": ("relaxing", "watching television", "sitting together", "resting"),
    "playroom": ("playing", "to play", "games"),
}
"""Room type -> what people do there, in several words."""

HINTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Does anybody here play an instrument", ("guitar", "piano")),
    ("Do children live here", ("toy", "teddy bear", "toy chest")),
    ("Does somebody here work out", ("dumbbells", "treadmill", "exercise bike", "yoga mat",
                                     "weight machine", "jumprope")),
    ("Do the people here read", ("books", "magazine")),
    ("Can laundry be done here", ("washing machine",)),
    ("Could a person take a bath here", ("bathtub",)),
    ("Does anyone here play video games", ("game console",)),
    ("Is there a way to see what time it is", ("clock", "alarm clock", "wristwatch")),
)  # fmt: skip
"""Questions with yes for an answer where one of the things is there."""
