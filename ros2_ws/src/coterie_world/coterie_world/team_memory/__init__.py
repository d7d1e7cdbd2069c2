"""One memory over tasks: what a team did, saw and moved, with age and confidence."""

from coterie_world.team_memory.file import MemoryFault, OtherHouse, load_memory, save_memory
from coterie_world.team_memory.memory import TeamMemory

__all__ = [
    "MemoryFault",
    "OtherHouse",
    "TeamMemory",
    "load_memory",
    "save_memory",
]
