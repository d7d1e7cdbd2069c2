"""From a topological house to a table of answers: K robots explore it, then answer its bank."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from cam_aggregator.cam import CamDecisionTree
from coterie_core.answer_table import AnswerTable
from coterie_fixtures.aggregator_measures import draw_tree, split
from coterie_fixtures.explorations import ExplorerRun, answer_all, oracle_run, run_exploration
from coterie_requests.common_sense import CommonSense
from mele_explorer.bank import QuestionBank
from research.bench.graph_houses import WALKER, list_scans, load_graph_world


@dataclass(frozen=True, slots=True)
class Trial:
    """One seed's exploration and answers.

    `problems` are those that the reader of the files and the question bank report.
    """

    table: AnswerTable
    nodes: int
    problems: tuple[str, ...]
    runs: tuple[ExplorerRun, ...] = ()


def houses_in(directory: Path) -> list[str]:
    """Return the names of the houses in a folder.

    Raises:
        WorldError: There is none, or the folder has another layout.
    """
    return list_scans(directory)


class NoCommonSense:
    """Robots that expect nothing anywhere: they say YES only of what they saw."""

    def likelihood(self, object_label: str, room: str) -> float:
        """Return 0.1, whatever is asked."""
        return 0.1

    def alike(self, label: str, other: str) -> bool:
        """Tell whether two words are the same."""
        return label == other


def explore_house(
    directory: Path,
    scan: str,
    seed: int,
    agents: int,
    steps: int,
    sense: CommonSense | None = None,
) -> Trial:
    """Let `agents` robots walk `steps` hops each from different places and answer the bank.

    The seed sets the starts, the order of equal choices and the rooms of the NO questions. `sense`
    is what robots know of homes in general; None: all that the household data tell.

    Raises:
        WorldError: The house cannot be read, or is too small for so many robots.
        ValueError: It has no question.
    """
    world = load_graph_world(directory, scan, seed=seed)
    for k in range(agents):
        world.add_robot(f"agent_{k + 1}", WALKER)
    bank = QuestionBank.from_graph(world.truth(), seed)
    _check(bank, scan)

    async def explore() -> tuple[list[ExplorerRun], AnswerTable]:
        runs = await run_exploration(world, steps=steps, seed=seed)
        return runs, await answer_all(runs, bank, house=scan, sense=sense)

    runs, table = asyncio.run(explore())
    problems = (*world.report.problems, *bank.problems)
    return Trial(table, len(world.house.viewpoints), problems, tuple(runs))


def oracle_house(directory: Path, scan: str, seed: int, rooms: tuple[str, ...]) -> AnswerTable:
    """Return the answers of robots that know exactly one of `rooms` each (MELE, section 5)."""
    world = load_graph_world(directory, scan, seed=seed)
    bank = QuestionBank.from_graph(world.truth(), seed)
    _check(bank, scan)
    runs = [oracle_run(world.truth(), room, f"knows {room}") for room in rooms]
    return asyncio.run(answer_all(runs, bank, house=scan))


def richest_rooms(directory: Path, scan: str, count: int) -> tuple[str, ...]:
    """Return the rooms with most kinds of objects, most first."""
    truth = load_graph_world(directory, scan).truth()
    kinds = {
        room.name: len({thing.label.top for thing in truth.objects_in(room.id)})
        for room in truth.rooms.values()
    }
    return tuple(sorted(kinds, key=lambda name: (-kinds[name], name))[:count])


def _check(bank: QuestionBank, scan: str) -> None:
    if len(bank) < 10 or len({item.truth for item in bank}) < 2:
        why = "; ".join(bank.problems) or "too few objects in known rooms"
        raise ValueError(f"{scan}: {len(bank)} questions are too few to train and test on ({why})")


def tree_picture(
    directory: Path, scan: str, seed: int, agents: int, steps: int, path: Path
) -> None:
    """Draw the decision-tree CAM of one trial (MELE, Fig. 9)."""
    table = explore_house(directory, scan, seed, agents, steps).table
    train, _ = split(table, "random", seed)
    aggregator = CamDecisionTree(seed=seed, vocabulary=(table.objects, table.rooms))
    aggregator.fit(table.take(train))
    if aggregator.constant is None:
        draw_tree(aggregator, path)
