"""What is wrong with a model's split of a task: names, order, ends, robots, bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie_core.tasks import SubTask
from coterie_llm import inline_data
from coterie_world.sightings import kind_of
from emos_planner.allocation.checks import Trouble, check_plan
from emos_planner.leader.split_state import (
    SplitItem,
    SplitReply,
    SplitState,
    end_of,
    meant_by,
    searched_label,
    sub_tasks_of_reply,
)


def mistakes(state: SplitState, reply: SplitReply) -> list[str]:
    """Return what is wrong with a reply, each with what to do; empty if nothing is.

    Names and order first; then whether all is done that the words ask for, as far as a rule
    understood them, and nothing else; then, with its numbers, what a body cannot do.
    """
    if not reply.sub_tasks:
        return ["there are no sub-tasks; name at least one"]
    problems = [*_wrong_names(state, reply), *_wrong_order(reply)]
    if problems:
        return problems
    plan = sub_tasks_of_reply(state, reply)
    if state.basis:
        problems += [*_wrong_goals(state, reply), *_wrong_robots(state, plan)]
    return problems or _beyond_bodies(state, plan)


def _beyond_bodies(state: SplitState, plan: Sequence[SubTask]) -> list[str]:
    """Return what robots cannot do, with the reasons of the tools, and who could be named."""
    lookups = state.lookups
    problems = [
        f"{inline_data(one.sub_task)}: {inline_data(one.reason, limit=300)}"
        for one in check_plan(plan, lookups.toolbox, starts=lookups.starts)
        if one.trouble is not Trouble.FORGOTTEN
    ]
    opened = {one.object.id for one in plan if one.kind == "open" and one.object is not None}
    left = {end_of(one) for one in state.second if not one.robot}
    for one in plan:
        if one.robot or end_of(one) in left:
            continue
        found = lookups.estimates(one, state.robots, opened)
        able = [robot for robot, estimate in found.items() if estimate.feasible]
        if able:
            problems.append(f"{inline_data(one.id)}: no robot is named; {' or '.join(able)} can")
    return problems


def _wrong_robots(state: SplitState, plan: Sequence[SubTask]) -> list[str]:
    """Return what is given to another robot than the person named for it."""
    return [
        f"{inline_data(one.id)}: the person asked for {state.only[one.id]} by name"
        for one in plan
        if one.robot and state.only.get(one.id, one.robot) != one.robot
    ]


def _wrong_names(state: SplitState, reply: SplitReply) -> list[str]:
    problems = []
    seen: set[str] = set()
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        if item.id in seen:
            problems.append(f"{where} comes twice; give each its own id")
        seen.add(item.id)
        if item.robot and item.robot not in state.robots:
            problems.append(
                f"{where}: there is no robot {inline_data(item.robot)}; there are "
                f"{', '.join(state.robots)}"
            )
        if item.kind == "search":
            if not searched_label(item):
                problems.append(f"{where}: search needs the label of what is looked for")
        elif item.kind != "go_to" and item.object not in state.things:
            problems.append(
                f"{where}: the map has no thing with id {inline_data(item.object)}; what is not "
                "on it is searched for"
            )
        elif item.kind == "go_to" and not item.rooms and item.object not in state.things:
            problems.append(f"{where}: go_to needs a known thing or rooms")
        if item.kind == "place" and item.receptacle not in state.things:
            problems.append(f"{where}: no receptacle with id {inline_data(item.receptacle)}")
        problems += [
            f"{where}: no room {inline_data(room)}"
            for room in item.rooms
            if room not in state.rooms
        ]
    return problems


def _wrong_order(reply: SplitReply) -> list[str]:
    problems = []
    items = {item.id: item for item in reply.sub_tasks}
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        unknown = [i for i in (*item.depends_on, item.same_robot_as) if i and i not in items]
        if unknown:
            problems.append(f"{where}: no sub-task {inline_data(unknown[0])} to depend on")
        partner = items.get(item.same_robot_as)
        if partner is not None and partner.robot != item.robot:
            problems.append(f"{where}: must be done by {partner.robot}, who does {partner.id}")
        if item.kind == "place":
            picks = [
                other
                for other in _before(item.id, items)
                if items[other].kind == "pick"
                and items[other].object == item.object
                and items[other].robot == item.robot
            ]
            if not picks:
                problems.append(f"{where}: {item.robot} places what it has not picked before")
    for item in reply.sub_tasks:
        if item.id in _before(item.id, items):
            problems.append(f"sub-task {inline_data(item.id)} waits for itself")
            break
    return problems


def _before(start: str, items: Mapping[str, SplitItem]) -> set[str]:
    """Return all that must be done before a sub-task."""
    found: set[str] = set()
    todo = [i for i in items[start].depends_on if i in items]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [i for i in items[one].depends_on if i in items]
    return found


def _wrong_goals(state: SplitState, reply: SplitReply) -> list[str]:
    """Compare with what the words ask for: every end is reached once, nothing else is moved."""
    problems = []
    steps = _steps(state.basis)
    asked = {end_of(one): one for one in state.basis}
    given: dict[tuple[str, str, str], int] = {}
    for item in reply.sub_tasks:
        end = _end_of_item(item)
        given[end] = given.get(end, 0) + 1
    for end, one in asked.items():
        if one.kind != "search" and one.id not in steps and end not in given:
            problems.append(f"forgotten: {inline_data(one.description or one.id)}")
    moved = {one.object.id for one in state.basis if one.kind in ("pick", "place") and one.object}
    opened = {one.object.id for one in state.basis if one.kind in ("open", "close") and one.object}
    searched = {kind_of(meant_by(one)) for one in state.basis if one.kind == "search"}
    for item in reply.sub_tasks:
        if item.kind == "search" and kind_of(searched_label(item)) not in searched:
            problems.append(f"{inline_data(searched_label(item))} need not be searched for")
        if item.kind in ("pick", "place") and item.object not in moved:
            problems.append(
                f"{inline_data(item.object)} is not to be moved; the task does not say so"
            )
        if item.kind in ("open", "close") and item.object not in opened:
            problems.append(f"{inline_data(item.object)} need not be {item.kind}ed")
    for end, n in given.items():
        # One thing, one robot: a second pick is for what was put down in between.
        put = sum(1 for i in reply.sub_tasks if i.kind == "place" and i.object == end[1])
        if end[0] == "pick" and n > max(put, 1):
            problems.append(f"{inline_data(end[1])} is picked up {n} times; give it to one robot")
    problems += [
        f"{end[0]} {inline_data(end[1])} {inline_data(end[2])} comes {n} times"
        for end, n in given.items()
        if n > 1 and end[0] not in ("pick", "go_to", "search") and end in asked
    ]
    return problems


def _steps(basis: Sequence[SubTask]) -> set[str]:
    """Return sub-tasks (ids) that are no wish of the person: a look before a pick, a pick."""
    picks = [one for one in basis if one.kind == "pick"]
    looked = {id for one in picks for id in one.depends_on}
    looks = {one.id for one in basis if one.kind == "detect" and one.id in looked}
    placed = {one.object.id for one in basis if one.kind == "place" and one.object}
    return looks | {one.id for one in picks if one.object and one.object.id in placed}


def _end_of_item(item: SplitItem) -> tuple[str, str, str]:
    if item.kind == "go_to" and not item.object:
        return item.kind, "", ",".join(item.rooms)
    what = searched_label(item) if item.kind == "search" else item.object
    return item.kind, what, item.receptacle if item.kind == "place" else ""
