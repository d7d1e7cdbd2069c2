"""A task in work as the plain data that another leader goes on with, and back."""

from __future__ import annotations

from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph
from emos_planner.leader.commands import commands_of
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.progress import Progress
from emos_planner.leader.searches import Searches
from emos_planner.leader.state_file import LeaderState, StateError, WantState
from emos_planner.leader.task import TaskInWork
from emos_planner.leader.task_graph import TaskGraph, Want, wants_of, wants_of_goals
from emos_planner.leader.transcript import Transcript
from emos_planner.leader.understand import Understanding


def state_of(work: TaskInWork) -> LeaderState:
    """Return everything that another leader needs to go on with a task."""
    graph, progress = work.meant.graph, work.progress
    return LeaderState(
        task=work.id,
        words=work.words,
        request=work.request,
        robots=graph.robots,
        goals=work.goals,
        round=work.round,
        sub_tasks=progress.sub_tasks,
        only=graph.only,
        resumed=graph.resumed,
        waits=graph.waits,
        never=tuple((*pair, why) for pair, why in graph.never.items()),
        seen=tuple(sorted(graph.seen)),
        checks=tuple(sorted(graph.checks)),
        looked=graph.book.all_looked(),
        searched={
            label: {room: sorted(by) for room, by in rooms.items()}
            for label, rooms in graph.book.tried.items()
        },
        reported=progress.things.state(),
        wants=tuple(
            WantState(
                given=want.assigned,
                met=tuple(sorted(want.satisfied)),
                searches=tuple(want.searches),
                rooms=want.rooms,
                targets=want.targets,
                target_searches=tuple(want.target_searches),
                goals=want.goals,
                elsewhere=want.elsewhere,
            )
            for want in work.meant.wants
        ),
        forbidden=tuple(sorted(work.forbidden)),
        tries=progress.tries,
        given_up=progress.given_up,
        failures=progress.failures,
        dropped=tuple(sorted(progress.dropped)),
        places=progress.places,
        offers=progress.offers,
        notes=tuple(work.notes),
        problems=tuple(progress.problems),
    )


def task_of(
    state: LeaderState, scene: SceneGraph, options: LeaderOptions, transcript: Transcript
) -> TaskInWork:
    """Return the task of a state, on the map that was saved with it; what is said goes on.

    Raises:
        StateError: The state does not fit the request in it.
    """
    book = Searches(scene, options.max_expected_unseen)
    for robot, looked in state.looked.items():
        book.hear(robot, looked)
    book.tried = {k: {r: set(by) for r, by in v.items()} for k, v in state.searched.items()}
    graph = TaskGraph(
        state.robots,
        book,
        only=dict(state.only),
        resumed=state.resumed,
        seen=set(state.seen),
        never={(id, robot): why for id, robot, why in state.never},
        checks=set(state.checks),
        waits=dict(state.waits),
    )
    graph.adopt(state.sub_tasks)
    if state.request is not None:
        graph.note(f"I read: {state.request.told()}")
    meant = Understanding(state.words, _wants(state, scene), graph, scene)
    progress = Progress(
        state.task,
        meant,
        scene,
        options,
        problems=list(state.problems),
        tries=dict(state.tries),
        given_up=dict(state.given_up),
        failures={id: dict(by) for id, by in state.failures.items()},
        dropped=set(state.dropped),
        offers={id: dict(by) for id, by in state.offers.items()},
        places={thing: list(tried) for thing, tried in state.places.items()},
    )
    progress.resume(state.sub_tasks)
    progress.things.restore(state.reported)
    return TaskInWork(
        state.task,
        state.words,
        meant,
        progress,
        transcript,
        state.round,
        set(state.forbidden),
        list(state.notes),
        state.goals,
        request=state.request,
    )


def _wants(state: LeaderState, scene: SceneGraph) -> list[Want]:
    """Return the wants of a state: of the request (or goals) again, and what became of each."""
    wants: list[Want] = []
    if state.goals is not None:
        wants = wants_of_goals(state.goals)
    elif state.request is not None:
        try:
            wants = wants_of(commands_of(state.request, Vocabulary.of(scene, state.robots)))
        except NotUnderstood as error:
            raise StateError(f"{state.task}: request: {error}") from None
    if len(wants) != len(state.wants):
        raise StateError(
            f"{state.task}: {len(state.wants)} wants in the state, {len(wants)} in its request"
        )
    for want, was in zip(wants, state.wants, strict=True):
        want.assigned, want.satisfied = dict(was.given), set(was.met)
        want.searches, want.target_searches = list(was.searches), list(was.target_searches)
        want.rooms, want.targets = was.rooms, was.targets
        want.goals, want.elsewhere = dict(was.goals), dict(was.elsewhere)
    return wants
