"""A team for programs with a loop of asyncio; `coterie.team` is the same without."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from coterie.results import (
    Answer,
    Event,
    FoundObject,
    Progress,
    TaskResult,
    TeamError,
    answer_of,
    found_object,
    task_result,
)
from coterie_bringup.abilities import Ability, silent
from coterie_bringup.errors import CommandError, PlanError
from coterie_bringup.rundir import (
    DomainError,
    RunState,
    choose_team,
    running_teams,
    team_here,
    team_name,
)

if TYPE_CHECKING:
    from coterie.node import TeamNode
    from coterie.semantic_map import SemanticMap
    from coterie_bringup.running_team import TeamRun
    from coterie_safety.why import Explanation

T = TypeVar("T")

READY = 180.0
"""How long a team that is started may take until it can be spoken to [s]."""
LEADER, MAP = 5.0, 10.0
"""How long the leader, and the map, of a running team may take to be found [s]."""


class AsyncTeam:
    """A team of robots that runs; `open`, `join` and `start` make one, `async with` leaves it.

    Attributes:
        name: Name of the team; "": it runs on another machine.
        robots: Names of its robots.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.name = state.team
        self.robots = tuple(state.robots)
        # Nodes here are told the domain: another team of this program may be in another one.
        environment = {k: v for k, v in state.environment.items() if k != "ROS_DOMAIN_ID"}
        self._reach = {**state.reach, "environment": environment}
        self._loop = asyncio.get_running_loop()
        self._stack = contextlib.AsyncExitStack()
        self._node: TeamNode | None = None
        self._run: TeamRun | None = None
        self._listeners: list[tuple[type, Callable[[Any], object]]] = []

    def __repr__(self) -> str:
        name, domain = self.name or "elsewhere", self._state.domain
        return f"<{type(self).__name__} {name}: {', '.join(self.robots)}; ROS domain {domain}>"

    # -- begin and end --------------------------------------------------------------------------

    @classmethod
    async def open(cls, team: str | Path, *, trust: bool = False) -> AsyncTeam:
        """Join the team of a name or team file if it runs on this machine; start it if not.

        Args:
            team: Its name or team file.
            trust: Agree, from now on, to what its file runs, sends, reads and writes.

        Raises:
            TeamError: It neither runs nor can be started.
        """
        with _told():
            name = _name(team)
            if any(state.team == name for state in running_teams()):
                return await cls.join(name)
        return await cls.start(team, trust=trust)

    @classmethod
    async def join(
        cls, team: str | Path = "", *, domain: int | None = None, namespace: str | None = None
    ) -> AsyncTeam:
        """Join a team that runs.

        Args:
            team: Its name or team file; "": the one that runs on this machine.
            domain: Its ROS domain, where it runs on another machine.
            namespace: Its ROS namespace, where it runs on another machine.

        Raises:
            TeamError: No such team runs, or several do.
        """
        with _told():
            if str(team):
                named = [state for state in running_teams() if state.team == _name(team)]
                state = choose_team(named, domain, "", namespace)
            else:
                state = team_here(domain, namespace)
            joined = cls(state)
            async with joined._closed_on_error():
                await joined._connect()
        return joined

    @classmethod
    async def start(
        cls,
        team: str | Path,
        *,
        domain: int | None = None,
        timeout: float = READY,
        trust: bool = False,
    ) -> AsyncTeam:
        """Start the processes of a team; they end when this team is closed.

        Args:
            team: A team file, or the name of a team that comes with Coterie.
            domain: ROS domain; None: the team file's, or a free one.
            timeout: How long it may take until it can be spoken to [s].
            trust: Agree, from now on, to what the team file runs, sends, reads and writes.

        Raises:
            TeamError: The team file is wrong or not agreed to, or the team does not come up.
        """
        from coterie_bringup.resources import team_file
        from coterie_bringup.running_team import prepared
        from coterie_bringup.supervisor import Event as ProcessEvent
        from coterie_bringup.team import load_team
        from coterie_bringup.trust import require_trust

        started: AsyncTeam | None = None

        def on_event(event: ProcessEvent) -> None:
            if started is not None:
                started._tell(Event("process", event.program, event.text))

        async with contextlib.AsyncExitStack() as stack:
            with _told():
                read = load_team(team_file(str(team)))
                require_trust(read, trust=trust or None, how="trust=True")
                run = stack.enter_context(prepared(read, domain=domain, on_event=on_event))
                started = cls(run.state)
                started._run = run
                await stack.enter_async_context(run.supervisor.running())
                started._stack = stack.pop_all()
                async with started._closed_on_error():
                    await run.unless_it_fails(started._come_up(timeout))
        return started

    async def _connect(self) -> TeamNode:
        """Put a node into the team."""
        from coterie.node import TeamNode
        from coterie_bringup.spinning import spinning

        context = spinning(
            lambda context: TeamNode(self._state, self._from_node, context=context),
            domain=self._state.domain,
            environment=self._reach["environment"],
        )
        self._node = await asyncio.to_thread(context.__enter__)
        self._node.on_behalf_of = f"team.explore() of {Path(sys.argv[0]).name or 'a program'}"
        self._stack.push_async_callback(asyncio.to_thread, context.__exit__, None, None, None)
        return self._node

    async def _come_up(self, timeout: float) -> None:
        """Wait until a team that was started can be spoken to."""
        assert self._run is not None
        node, team = await self._connect(), self._run.team
        names = [robot.name for robot in team.explorers]
        wait = node.wait_for_team(timeout, explorers=names, leader=team.leader is not None)
        if missing := await self._in_node(wait):
            raise TeamError(f"not there after {timeout:g} s: {', '.join(missing)}")

    @contextlib.asynccontextmanager
    async def _closed_on_error(self) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Leave the team; if this program started it, its processes end."""
        self._node = None
        self._listeners.clear()  # that its processes end now is no news
        await self._stack.aclose()

    async def __aenter__(self) -> AsyncTeam:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # -- requests -------------------------------------------------------------------------------

    async def ask(self, text: str, *, timeout: float = 300.0, explore: bool = True) -> Answer:
        """Ask the team a question.

        Cancelling takes the question back.

        Args:
            text: The question.
            timeout: How long the answer may take [s].
            explore: Whether a robot may go and look for the answer.

        Raises:
            TeamError: The team does not answer.
        """
        from coterie_core.questions import OpenAnswer, Question

        words, node = _line(text), self._able("ask")
        question = Question(f"ask-{uuid.uuid4().hex[:12]}", "", "", words)
        node.remember(question)
        told = await self._in_node(node.ask(question, timeout, explore=explore))
        if isinstance(told, str):
            raise TeamError(f"the team could not answer: {told}")
        judgement = node.judgements.pop(question.id, None)
        if not isinstance(told, OpenAnswer):  # it is heard on a topic, too, whoever asked
            seen = await self._in_node(node.seen(told))
            return answer_of(words, told, *seen, judgement=judgement)
        scene = await self._in_node(node.map(3.0)) if told.objects else None
        answer = answer_of(words, told, scene, judgement=judgement)
        self._tell(answer)
        return answer

    async def find(self, text: str, *, limit: int = 10, timeout: float = 60.0) -> list[FoundObject]:
        """Return the objects of the team's map that a request calls for, best first.

        Args:
            text: The request, such as "something to sit on".
            limit: Most objects.
            timeout: How long it may take [s].

        Raises:
            TeamError: The team has no object planner or no map.
        """
        words, node = _line(text), self._able("find")
        told = await self._in_node(node.find(words, limit, timeout))
        if isinstance(told, str):
            raise TeamError(f"the team could not answer: {told}")
        scene = await self._in_node(node.map(3.0))
        return [found_object(id_, scene) for id_ in told.ids]

    async def do(
        self,
        text: str,
        *,
        on_feedback: Callable[[Progress], object] = lambda progress: None,
        max_time: float = 0.0,
    ) -> TaskResult:
        """Have the team do a task, and wait for its end.

        Cancelling takes the task back, and waits for the robots to stand.

        Args:
            text: The task.
            on_feedback: Called with how far it is, whenever that changes.
            max_time: Simulated time that it may take [s]; 0: the leader's own limit.

        Raises:
            TeamError: The team has no leader, or it does not take the task.
        """
        from coterie_bringup.spinning import in_loop
        from coterie_bringup.task_record import TaskRecord
        from coterie_bringup.task_watcher import given, watching
        from coterie_core.tasks import SubTaskState

        record = TaskRecord(_line(text), team=self.name)
        self._able("do")

        def news(line: str) -> None:  # in the watcher's thread
            if line:
                done = sum(one.state == SubTaskState.DONE for one in record.sub_tasks)
                told = Progress(line, watcher.stage, done, len(record.sub_tasks))
                self._loop.call_soon_threadsafe(on_feedback, told)

        with _told():
            context = watching(self.robots, record, **self._reach)
            watcher = await asyncio.to_thread(context.__enter__)
            try:
                await in_loop(watcher, watcher.require_leader(self._state.who, LEADER))
                watcher.on_news = news
                await given(watcher, max_time)
            finally:
                await asyncio.to_thread(context.__exit__, None, None, None)
        return task_result(record)

    async def explore(self) -> None:
        """Let all explorers explore to the limits of the team file; only of a team started here.

        Raises:
            TeamError: Another program started the team, or a robot does not explore.
        """
        from coterie_bringup.team_client import exploration_goal

        if self._run is None:
            raise TeamError(
                "another program started this team, and its file says how far robots explore: "
                "start it with Team.start, or with ./coterie up TEAM --explore"
            )
        goal, node = exploration_goal(self._run.team.exploration), self._able("explore")
        robots = [robot.name for robot in self._run.team.explorers]
        await asyncio.gather(
            *(self._in_node(node.explore(name, goal, lambda feedback: None)) for name in robots)
        )

    async def map(self) -> SemanticMap:
        """Return the team's map as it is now.

        Raises:
            TeamError: The team has none.
        """
        from coterie.semantic_map import SemanticMap

        scene = await self._in_node(self._able("map").map(MAP))
        if scene is None:
            raise TeamError(f"no map within {MAP:g} s: {silent('map', self._state.who)}")
        return SemanticMap.of(scene)

    async def why(self, what: str = "") -> Explanation:
        """Return why the team answered or did something, as `./coterie why` tells it.

        Args:
            what: An id or its beginning, a robot's name, or words of a question, a task or a thing;
                "": what the team was asked last.

        Raises:
            TeamError: Nothing that is kept fits, or it is kept on another machine.
        """
        from coterie_bringup.kept_runs import run_of

        run = run_of(self._state)
        if run is None:
            raise TeamError("decisions are kept where the team runs, and that is not here")
        with _told():
            return await asyncio.to_thread(run.explain, what)

    async def stop(self, reason: str = "", *robots: str) -> dict[str, str]:
        """Stop robots at once; nothing of them moves until they are released.

        Args:
            reason: Why, for the log and for who is refused meanwhile.
            robots: Who; none: all.

        Returns:
            robot -> what it says.

        Raises:
            TeamError: A robot did not say that it stands.
        """
        return await self._halt("stop", robots, reason)

    async def release(self, *robots: str, reason: str = "") -> dict[str, str]:
        """Let stopped robots go on; without names all of them.

        Returns:
            robot -> what it says.

        Raises:
            TeamError: A robot did not say that it goes on.
        """
        return await self._halt("release", robots, reason)

    async def _halt(self, what: str, robots: tuple[str, ...], reason: str) -> dict[str, str]:
        # A program of its own: a stop must not go by what this process set up for DDS.
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "coterie_bringup.stop_robots",
            what,
            f"--domain={self._state.domain}",
            f"--namespace=/{self._state.namespace}",
            f"--reason={reason}",
            "--",
            *robots,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, trouble = await program.communicate()
        if program.returncode != 0:
            raise TeamError(trouble.decode(errors="replace").strip())
        lines = (line.partition(": ") for line in out.decode(errors="replace").splitlines())
        return {robot: text for robot, _, text in lines}

    # -- what is heard --------------------------------------------------------------------------

    def on_answer(self, callback: Callable[[Answer], object]) -> None:
        """Call a function with each answer of the team, whoever asked a yes-or-no question.

        Answers that were given before this program joined may come first.
        """
        self._listeners.append((Answer, callback))

    def on_event(self, callback: Callable[[Event], object]) -> None:
        """Call a function with each event of the team."""
        self._listeners.append((Event, callback))

    def answers(self) -> AsyncIterator[Answer]:
        """Return the answers of the team as they come; see `on_answer`."""
        return self._heard(Answer)

    def events(self) -> AsyncIterator[Event]:
        """Return the events of the team from now on, as they come."""
        return self._heard(Event)

    def _heard(self, kind: type[T]) -> AsyncIterator[T]:
        queue: asyncio.Queue[T] = asyncio.Queue()
        listener = (kind, queue.put_nowait)
        self._listeners.append(listener)

        async def each() -> AsyncIterator[T]:
            try:
                while True:
                    yield await queue.get()
            finally:
                self._listeners.remove(listener)

        return each()

    def _tell(self, told: Answer | Event) -> None:
        for kind, callback in list(self._listeners):
            if isinstance(told, kind):
                callback(told)

    def _from_node(self, told: Answer | Event) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._tell, told)

    # -- inside ---------------------------------------------------------------------------------

    @property
    def _there(self) -> TeamNode:
        if self._node is None:
            raise TeamError("this team was closed; open or join it again")
        return self._node

    def _able(self, ability: Ability) -> TeamNode:
        """Return the node, where the team can be asked for that.

        Raises:
            TeamError: It lacks what that takes.
        """
        with _told():
            self._state.require(ability)
        return self._there

    async def _in_node(self, work: Coroutine[Any, Any, T]) -> T:
        from coterie_bringup.spinning import in_loop

        with _told():
            return await in_loop(self._there, work)


def _name(team: str | Path) -> str:
    """Return the name of a team by that, its file, or the name of one that comes with Coterie."""
    from coterie_bringup.resources import team_file

    with contextlib.suppress(CommandError):
        return team_name(str(team_file(str(team))))
    return team_name(str(team))


def _line(text: str) -> str:
    """Return words as one line.

    Raises:
        TeamError: There are none.
    """
    words = " ".join(text.split())
    if not words:
        raise TeamError("the request is empty; say in words what you want")
    return words


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn the errors of what is used here into TeamError."""
    from coterie_core.yaml_marks import FileProblem
    from coterie_ros.clients import GoalRejected, NoAnswer

    try:
        yield
    except (CommandError, PlanError, DomainError, FileProblem, NoAnswer, GoalRejected) as error:
        raise TeamError(str(error)) from None
