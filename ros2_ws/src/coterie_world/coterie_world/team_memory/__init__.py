"""One memory over tasks: what a team did, saw and moved, with age and confidence."""

from coterie_world.team_memory.file import MemoryFault, OtherHouse, load_memory, save_memory
from coterie_world.team_memory.memory import TeamMemory
from coterie_world.team_memory.store import Belief, Bounds, Trace

__all__ = [
    "Belief",
    "Bounds",
    "MemoryFault",
    "OtherHouse",
    "TeamMemory",
    "Trace",
    "load_memory",
    "save_memory",
]
