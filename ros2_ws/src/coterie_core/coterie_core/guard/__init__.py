"""Guard and limits: what a robot may do, and where; refused by default."""

from coterie_core.guard.area import AllowedArea
from coterie_core.guard.fences import Fence, Fences
from coterie_core.guard.guard import Guard
from coterie_core.guard.leaving import Breach, Leaving
from coterie_core.guard.limits import Limits, RobotLimits
from coterie_core.guard.windows import TimeWindow

__all__ = [
    "AllowedArea",
    "Breach",
    "Fence",
    "Fences",
    "Guard",
    "Leaving",
    "Limits",
    "RobotLimits",
    "TimeWindow",
]
