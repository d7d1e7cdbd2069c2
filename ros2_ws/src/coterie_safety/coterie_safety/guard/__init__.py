"""Guard and limits: what a robot may do, and where; refused by default."""

from coterie_safety.guard.fences import Fence, Fences
from coterie_safety.guard.guard import Guard
from coterie_safety.guard.leaving import Breach, Leaving
from coterie_safety.guard.limits import Limits, RobotLimits

__all__ = [
    "Breach",
    "Fence",
    "Fences",
    "Guard",
    "Leaving",
    "Limits",
    "RobotLimits",
]
