"""Who does what in which order: a greedy plan, and a seeded search that mends it."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from networkx import DiGraph

from emos_planner.allocation.problem import Problem

_TOTAL = 0.01  # weight of the time of all robots together beside the makespan
_MOVES = 100_000  # jobs looked at by the search, over all its moves
_LEAST, _MOST = 150, 4000  # moves


@dataclass(slots=True)
class Plan:
    """An order of units and a robot for each.

    Each robot does its units in this order; nobody waits longer than its dependencies say.
    """

    order: list[int]
    robot: list[int]

    def copy(self) -> Plan:
        """Return a plan that can be changed by itself."""
        return Plan(list(self.order), list(self.robot))


@dataclass(slots=True)
class Times:
    """What a plan comes to: finish of each job and robot [s], makespan and total of all [s]."""

    finish: list[float]
    robots: list[float]
    makespan: float
    total: float

    @property
    def cost(self) -> float:
        """What the search makes small: the makespan first, then everybody's time."""
        return self.makespan + _TOTAL * self.total


def play(problem: Problem, plan: Plan) -> Times:
    """Return the times of a plan; a robot sets out when what its job waits for is done.

    The order must be one that dependencies allow, else the makespan is infinite.
    """
    count = len(problem.jobs)
    finish = [math.nan] * count
    free = [0.0] * len(problem.robots.names)
    at = [count + r for r in range(len(free))]
    total = 0.0
    classes, travel, work = problem.robots.class_of, problem.travel, problem.work
    for unit in plan.order:
        robot = plan.robot[unit]
        group = classes[robot]
        ways, efforts = travel[group], work[group]
        time, here = free[robot], at[robot]
        for job in problem.units[unit]:
            for other in problem.waits[job]:
                done = finish[other]
                if done != done:  # not yet: the order is wrong
                    return Times(finish, free, math.inf, math.inf)
                if done > time:
                    time = done
            spent = ways[here][job] + efforts[job]
            time += spent
            total += spent
            finish[job] = time
            here = job
        free[robot], at[robot] = time, here
    return Times(finish, free, max(free, default=0.0), total)


def greedy(problem: Problem, units: Sequence[int]) -> Plan:
    """Return a plan that gives each unit, the most urgent first, to whoever ends it soonest.

    Urgent is what a long chain of others waits for.
    """
    count = len(problem.jobs)
    order = _order(problem, units)
    urgency = _urgency(problem, order)
    plan = Plan([], [-1] * len(problem.units))
    finish = dict.fromkeys(range(count), 0.0)
    free = [0.0] * len(problem.robots.names)
    at = [count + r for r in range(len(free))]
    left = set(units)
    rank = {u: (-urgency[u], len(problem.options[u]), u) for u in units}
    missing = {u: order.in_degree(u) for u in units}
    able = [rank[u] for u in units if not missing[u]]
    heapq.heapify(able)
    while left:
        # Where all wait for one another, the most urgent one goes first.
        unit = heapq.heappop(able)[2] if able else min(rank[u] for u in left)[2]
        if unit not in left:
            continue
        ways: list[tuple[float, float, int, list[float]]] = []
        for robot in problem.options[unit]:
            group = problem.robots.class_of[robot]
            time, here = free[robot], at[robot]
            spent = 0.0
            ends = []
            for job in problem.units[unit]:
                time = max([time, *(finish[other] for other in problem.waits[job])])
                step = problem.travel[group][here][job] + problem.work[group][job]
                time, spent, here = time + step, spent + step, job
                ends.append(time)
            ways.append((time, spent, robot, ends))
        free_at, _, robot, ends = min(ways)
        finish |= zip(problem.units[unit], ends, strict=True)
        free[robot], at[robot] = free_at, problem.units[unit][-1]
        plan.order.append(unit)
        plan.robot[unit] = robot
        left.remove(unit)
        for later in order.successors(unit):
            missing[later] -= 1
            if not missing[later] and later in left:
                heapq.heappush(able, rank[later])
    return plan


def improve(problem: Problem, plan: Plan, seed: int = 0) -> Plan:
    """Return a plan that costs no more: units change robots and places in the order.

    Simulated annealing with as many moves as the size allows, the same for the same seed. Half of
    the moves take a unit from the robot that ends last.
    """
    units = list(plan.order)
    movable = [u for u in units if len(problem.options[u]) > 1]
    if len(units) < 2 and not movable:
        return plan
    jobs = max(len(problem.jobs), 1)
    moves = max(_LEAST, min(_MOST, _MOVES // jobs))
    rng = random.Random(seed)
    order = _order(problem, units)
    best, best_times = plan.copy(), play(problem, plan)
    now, times = plan.copy(), best_times
    warmth = 0.05 * max(best_times.makespan, 1.0)
    for step in range(moves):
        heat = warmth * (1.0 - step / moves) ** 2
        trial = now.copy()
        if not _change(problem, trial, times, rng, movable, order):
            continue
        found = play(problem, trial)
        rise = found.cost - times.cost
        if rise <= 0.0 or (heat > 0.0 and rng.random() < math.exp(-rise / heat)):
            now, times = trial, found
            if found.cost < best_times.cost - 1e-9:
                best, best_times = trial.copy(), found
    return best


def _change(
    problem: Problem,
    plan: Plan,
    times: Times,
    rng: random.Random,
    movable: Sequence[int],
    needed: DiGraph,
) -> bool:
    """Change a plan at random; tell whether anything was changed."""
    order = plan.order
    if rng.random() < 0.5:
        last = max(range(len(times.robots)), key=lambda r: (times.robots[r], -r))
        own = [u for u in order if plan.robot[u] == last]
        unit = rng.choice(own or order)
    else:
        unit = rng.choice(order)
    kind = rng.random()
    if kind < 0.25 and movable:
        other = rng.choice(movable)
        a, b = plan.robot[unit], plan.robot[other]
        if other != unit and a != b and b in problem.options[unit] and a in problem.options[other]:
            plan.robot[unit], plan.robot[other] = b, a
            return True
    moved = False
    if kind < 0.8 and len(problem.options[unit]) > 1:
        robot = rng.choice(problem.options[unit])
        moved = robot != plan.robot[unit]
        plan.robot[unit] = robot
    at = order.index(unit)
    low = max((order.index(u) + 1 for u in needed.pred[unit]), default=0)
    high = min((order.index(u) for u in needed.succ[unit]), default=len(order))
    if high - low > 1:
        to = rng.randrange(low, high)
        if to != at:
            order.pop(at)
            order.insert(to, unit)
            moved = True
    return moved


def _order(problem: Problem, units: Sequence[int]) -> DiGraph:
    """Return which units must be done before which."""
    unit_of = {job: u for u in units for job in problem.units[u]}
    order = DiGraph()
    order.add_nodes_from(units)
    pairs = (
        (unit_of.get(other, u), u)
        for u in units
        for job in problem.units[u]
        for other in problem.waits[job]
    )
    order.add_edges_from((other, u) for other, u in pairs if other != u)
    return order


def _urgency(problem: Problem, order: DiGraph) -> dict[int, float]:
    """Return the least time [s] from the beginning of each unit to the end of all that wait."""
    own = {}
    for u in order:
        groups = {problem.robots.class_of[r] for r in problem.options[u]}
        own[u] = min((sum(problem.work[g][j] for j in problem.units[u]) for g in groups), default=0)
        own[u] += 5.0
    urgency = dict(own)
    for _ in own:  # no more often: units may wait for one another
        before = dict(urgency)
        for first, then in order.edges:
            urgency[first] = max(urgency[first], own[first] + urgency[then])
        if urgency == before:
            break
    return urgency
