"""Methods of the REVECA bench: name -> the team of agents that plays an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coterie_bench.reveca.baseline_coela import TextAgent
from coterie_bench.reveca.baseline_mhp import TreeAgent
from coterie_bench.reveca.baseline_rhp import RuleAgent
from coterie_bench.reveca.household import HouseholdOptions, HouseholdWorld
from coterie_bench.reveca.oracle import oracle_team
from coterie_bench.reveca.transport import TransportOptions, TransportWorld
from coterie_core.cooperation import Agent
from coterie_core.language import Decider
from reveca_agent.agent import RevecaAgent
from reveca_agent.settings import Settings

Team = Mapping[str, Agent]
World = Any
"""An Environment; the oracle also reads its truth (`HouseholdWorld.things`)."""
Maker = Callable[[World, Decider | None], Team]


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it is and who plays it.

    `agents` is for how many (0: as many as the world has), `asks` whether it makes decisions that
    a model can make.
    """

    name: str
    text: str
    make: Maker
    agents: int = 0
    asks: bool = True


def reveca(**changes: Any) -> Maker:
    """Return a maker of REVECA agents with some settings changed."""

    def make(world: World, decider: Decider | None) -> Team:
        settings = replace(Settings(), **changes)
        return {name: RevecaAgent(name, decider, settings) for name in world.team}

    return make


def baseline(kind: Callable[[str], Agent]) -> Maker:
    """Return a maker of a team of baseline agents that need no model."""
    return lambda world, decider: {name: kind(name) for name in world.team}


def coela(world: World, decider: Decider | None) -> Team:
    """Make a team of CoELA-like agents."""
    return {name: TextAgent(name, decider) for name in world.team}


METHODS: dict[str, Method] = {
    one.name: one
    for one in (
        Method("reveca", "REVECA", reveca()),
        Method("oracle", "sees everything, divides the work by search", oracle_team, asks=False),
        Method("single", "one REVECA agent alone", reveca(), agents=1),
        Method(
            "mhp",
            "tree search over sub-goals, regression planning",
            baseline(TreeAgent),
            asks=False,
        ),
        Method("rhp", "rules and frontier exploration", baseline(RuleAgent), asks=False),
        Method("coela", "CoELA-like: all as text, talk or act", coela),
        Method("no_spatial", "REVECA without spatial information", reveca(spatial=False)),
        Method("no_relevance", "REVECA without relevance", reveca(relevance=False)),
        Method("no_validation", "REVECA without validation", reveca(ask="never")),
        Method("always_ask", "REVECA that asks before every plan", reveca(ask="always")),
        Method(
            "no_collaborators",
            "REVECA without collaborator information",
            reveca(collaborators=False),
        ),
        Method("no_talk", "REVECA that never speaks", reveca(talk=False)),
        *(Method(f"k{k}", f"REVECA with K = {k}", reveca(plans=k)) for k in (1, 2, 4, 5)),
        *(Method(f"r{r}", f"REVECA with R = {r}", reveca(levels=r)) for r in (2, 3, 5, 6)),
    )
}

WORLDS: dict[str, Callable[[int], World]] = {
    "household": lambda n: HouseholdWorld(HouseholdOptions(agents=n)),
    "noisy10": lambda n: HouseholdWorld(HouseholdOptions(agents=n, dummies=10)),
    "noisy20": lambda n: HouseholdWorld(HouseholdOptions(agents=n, dummies=20)),
    "open": lambda n: HouseholdWorld(HouseholdOptions(agents=n, hidden=False)),
    "known": lambda n: HouseholdWorld(HouseholdOptions(agents=n, known=True)),
    "transport": lambda n: TransportWorld(TransportOptions(agents=n)),
}
"""World -> its maker, for a number of agents. `open`: all containers are open; `known`:
everything is seen at all times."""

LAYOUTS = "tdw:"
"""Worlds of this prefix are transport layouts of ThreeDWorld, from the folder that follows it."""


def make_world(name: str, agents: int) -> World:
    """Return a world by its name.

    Raises:
        KeyError: No such world.
        ValueError: A folder of layouts that holds none.
    """
    if name.startswith(LAYOUTS):
        folder = Path(name[len(LAYOUTS) :])
        return TransportWorld(TransportOptions(agents=agents, folder=folder))
    return WORLDS[name](agents)
