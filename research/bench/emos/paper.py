"""Figures that the EMOS paper reports, by method, for setting ours beside them."""

from __future__ import annotations

METHODS = ("emos", "no_numbers", "no_resume", "no_discussion")
"""The paper's methods, in the order of its tables."""

OVERALL: dict[str, tuple[float, float, float, float]] = {
    "emos": (37.82, 81.26, 80783.0, 2358.0),
    "no_numbers": (23.56, 71.04, 53201.0, 2983.0),
    "no_resume": (15.63, 65.27, 64600.0, 3125.0),
    "no_discussion": (15.23, 72.45, 36377.0, 2332.0),
}
"""Method -> success [%], sub-goals [%], tokens, steps, over all tasks (Table 1)."""

BY_TASK: dict[tuple[str, int], float] = {
    ("emos", 1): 37.37,
    ("emos", 2): 52.94,
    ("emos", 3): 28.35,
    ("emos", 4): 13.46,
    ("no_numbers", 3): 9.20,
    ("no_numbers", 4): 3.85,
    ("no_resume", 1): 14.14,
    ("no_resume", 2): 28.32,
    ("no_resume", 3): 12.99,
    ("no_discussion", 1): 22.42,
}
"""(method, task) -> success [%], as far as the text gives it."""

PREDICATES: dict[str, dict[str, float]] = {
    "emos": {"at_object": 88.27, "at_receptacle": 88.90, "placed": 57.04, "detected": 93.81},
    "no_numbers": {"at_object": 77.48, "at_receptacle": 80.63, "placed": 40.38, "detected": 97.35},
    "no_resume": {"at_object": 69.48, "at_receptacle": 76.15, "placed": 40.95, "detected": 79.57},
    "no_discussion": {
        "at_object": 80.59,
        "at_receptacle": 83.56,
        "placed": 47.70,
        "detected": 70.80,
    },
}
"""Method -> kind of sub-goal -> reached [%] (Table 3)."""

KINDS: dict[str, str] = {
    "robot_at_object": "at_object",
    "robot_at_receptacle": "at_receptacle",
    "object_at_receptacle": "placed",
    "robot_detect_object": "detected",
}
"""Predicate -> its column in PREDICATES."""

FORMATS: dict[str, float] = {"words": 30.0, "json": 70.0, "markdown": 50.0, "xml": 60.0}
"""Form of the resume -> success [%] of ten episodes (Table 4)."""

ROBOTS: dict[int, tuple[float, float]] = {
    2: (80.0, 48779.0),
    4: (60.0, 73202.0),
    6: (70.0, 93252.0),
    10: (50.0, 151952.0),
}
"""Robots -> success [%], tokens (Table 5)."""

OBJECTS: dict[int, tuple[float, float]] = {
    1: (90.0, 25778.0),
    2: (80.0, 50005.0),
    3: (80.0, 87668.0),
    5: (70.0, 197485.0),
}
"""Objects -> success [%], tokens (Table 6)."""
