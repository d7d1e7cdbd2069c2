"""Methods of the REVECA bench: name -> the team of agents that plays an episode."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coterie_core.cooperation import Agent
from coterie_llm import Decider
from research.bench.reveca.baseline_coela import SEEN, TextAgent
from research.bench.reveca.baseline_common import BASE
from research.bench.reveca.baseline_mhp import TreeAgent
from research.bench.reveca.baseline_rhp import NearestAgent, RuleAgent
from research.bench.reveca.bodies import HouseholdOptions
from research.bench.reveca.floors import Guesser
from research.bench.reveca.household import HouseholdWorld
from research.bench.reveca.oracle import oracle_team
from research.bench.reveca.transport import AS_ORIGINAL, TransportOptions, TransportWorld
from research.bench.reveca.transport_skills import BenchAgent
from reveca_agent.settings import Prior, Settings

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
        settings = _limited(replace(Settings(), **changes), world)
        return {name: BenchAgent(name, decider, settings) for name in world.team}

    return make


def baseline(kind: Callable[[str, Settings], Agent]) -> Maker:
    """Return a maker of a team of baseline agents that need no model."""

    def make(world: World, decider: Decider | None) -> Team:
        settings = replace(_limited(BASE, world), tokens=0)  # these read no prompt
        return {name: kind(name, settings) for name in world.team}

    return make


def coela(world: World, decider: Decider | None) -> Team:
    """Make a team of CoELA-like agents."""
    settings = _limited(SEEN, world)
    return {name: TextAgent(name, decider, settings) for name in world.team}


def guessing(kind: Callable[..., Agent], usual: Settings) -> Maker:
    """Return a maker of agents whose every question is answered at random."""

    def make(world: World, decider: Decider | None) -> Team:
        settings = _limited(usual, world)
        return {name: kind(name, Guesser(name), settings) for name in world.team}

    return make


def _limited(settings: Settings, world: World) -> Settings:
    """Return settings with what holds for all methods of a bench: beliefs and token budget."""
    return replace(
        settings,
        prior=getattr(world, "prior", settings.prior),
        tokens=getattr(world, "tokens", settings.tokens),
    )


def plugged_in(name: str) -> Method:
    """Return the method of `module:factory`, where `factory(name)` makes an agent.

    Raises:
        ValueError: It cannot be imported, or is no function; says what is missing.
    """
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module of the user's, from where the bench is run
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"--method {name}: {error}") from None
    if not callable(factory):
        raise ValueError(f"--method {name}: expected a function or class, got {factory!r}")
    return Method(
        name,
        f"agents of {name}",
        lambda world, decider: {one: factory(one) for one in world.team},
        asks=False,
    )


def method(name: str) -> Method:
    """Return a method by its name, or of `module:factory`.

    Raises:
        ValueError: There is none; says which there are.
    """
    if ":" in name:
        return plugged_in(name)
    if name not in METHODS:
        raise ValueError(
            f"--method: {name!r}; one of {', '.join(METHODS)}, or module:factory of your own"
        )
    return METHODS[name]


METHODS: dict[str, Method] = {
    one.name: one
    for one in (
        Method("reveca", "REVECA", reveca()),
        Method("oracle", "sees everything, divides the work by search", oracle_team, asks=False),
        Method("single", "one REVECA agent alone", reveca(), agents=1),
        Method(
            "mhp",
            "tree search over sub-goals in a symbolic model",
            baseline(TreeAgent),
            asks=False,
        ),
        Method("rhp", "rules and frontier exploration", baseline(RuleAgent), asks=False),
        Method("coela", "CoELA-like: all as text, act or speak", coela),
        Method(
            "nearest",
            "floor: whatever is nearest of all that can be done",
            baseline(NearestAgent),
            asks=False,
        ),
        Method(
            "random",
            "floor: REVECA with every question answered at random",
            guessing(BenchAgent, Settings()),
            asks=False,
        ),
        Method(
            "coela_random",
            "the CoELA-like agent with every question answered at random",
            guessing(TextAgent, SEEN),
            asks=False,
        ),
        Method("no_spatial", "REVECA without spatial information", reveca(spatial=False)),
        Method(
            "no_relevance",
            "REVECA without ratings; decisions see all that is known",
            reveca(relevance=False, shown=5000),
        ),
        Method(
            "no_relevance_40",
            "REVECA without ratings; decisions see the 40 newest things",
            reveca(relevance=False),
        ),
        Method("no_order", "REVECA without the order by what is promised", reveca(order=False)),
        Method("no_questions", "REVECA that never asks; the discount stays", reveca(ask="never")),
        Method(
            "no_discount", "REVECA without the discount; questions stay", reveca(discount=False)
        ),
        Method(
            "no_validation",
            "REVECA without questions and discount",
            reveca(ask="never", discount=False),
        ),
        Method("always_ask", "REVECA that asks before every plan", reveca(ask="always")),
        Method(
            "no_collaborators",
            "REVECA without collaborator information",
            reveca(collaborators=False),
        ),
        Method("no_talk", "REVECA that never speaks", reveca(talk=False)),
        *(Method(f"k{k}", f"REVECA with K = {k}", reveca(plans=k)) for k in (1, 2, 5)),
        *(Method(f"r{r}", f"REVECA with R = {r}", reveca(levels=r)) for r in (2, 3, 5, 6)),
    )
}


def _noisy(tokens: int = 0, **noise: Any) -> Callable[[int], World]:
    def make(agents: int) -> World:
        world = HouseholdWorld(HouseholdOptions(agents=agents, **noise))
        world.tokens = tokens
        return world

    return make


REFERENCES = ("random", "nearest", "oracle")
"""Floors and ceiling: what every table shows beside what was asked for."""

WORLDS: dict[str, Callable[[int], World]] = {
    "household": lambda n: HouseholdWorld(HouseholdOptions(agents=n)),
    "noisy10": lambda n: HouseholdWorld(HouseholdOptions(agents=n, dummies=10)),
    "noisy20": lambda n: HouseholdWorld(HouseholdOptions(agents=n, dummies=20)),
    **{f"alike{k}": _noisy(lookalikes=k) for k in (2, 4, 8)},
    **{f"confused{k}": _noisy(confused=k / 100.0) for k in (5, 10, 20)},
    **{f"boxes{k}": _noisy(boxes=k) for k in (5, 10, 20)},
    **{f"tokens{k}": _noisy(tokens=k, dummies=20) for k in (50, 100, 200, 400)},
    "open": lambda n: HouseholdWorld(HouseholdOptions(agents=n, hidden=False)),
    "known": lambda n: HouseholdWorld(HouseholdOptions(agents=n, known=True)),
    "transport": lambda n: TransportWorld(TransportOptions(agents=n)),
}
"""World -> its maker, for a number of agents. `open`: all containers are open; `known`:
everything is seen at all times; `alike`, `confused`, `boxes`, `tokens`: noise in doses."""

LAYOUTS = "tdw:"
"""Worlds of this prefix are transport layouts of ThreeDWorld, from the folder that follows it."""


def make_world(name: str, agents: int, prior: Prior = "household") -> World:
    """Return a world by its name, with what all agents believe beforehand.

    Raises:
        KeyError: No such world.
        ValueError: A folder of layouts that holds none.
    """
    if name.startswith(LAYOUTS):
        folder = Path(name[len(LAYOUTS) :])
        options = replace(AS_ORIGINAL, agents=agents, folder=folder)
        world: World = TransportWorld(options)
    else:
        world = WORLDS[name](agents)
    world.prior = prior
    return world
