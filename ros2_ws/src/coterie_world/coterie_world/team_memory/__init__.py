"""One memory over tasks: what a team did, saw and moved, with age and confidence."""

from coterie_world.team_memory.file import MemoryFault as MemoryFault
from coterie_world.team_memory.file import OtherHouse as OtherHouse
from coterie_world.team_memory.file import load_memory as load_memory
from coterie_world.team_memory.file import save_memory as save_memory
from coterie_world.team_memory.memory import TeamMemory as TeamMemory
