"""Agent node: one robot of a cooperating team (REVECA) in a house.

The action `<robot>/cooperate` makes it work through its own driver, beside the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool

from coterie_core.cooperation import Note
from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_core.waiting import in_time
from coterie_llm import inline_data
from coterie_msgs.action import Cooperate
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import RobotStatus, TeamMessage
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.asking import node_asking
from coterie_ros.conversions.basics import header, point_from_msg, point_to_msg
from coterie_ros.conversions.checks import Checks, ConversionError
from coterie_ros.conversions.cooperation import goal_from_msg
from coterie_ros.conversions.notes import note_from_msg, note_to_msg
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.model import node_decider, node_meanings
from coterie_ros.names import team_name
from coterie_ros.observations import Observations
from coterie_ros.parameters import Parameters
from coterie_ros.reports import hear_messages
from coterie_ros.serving import GoalContext
from coterie_ros.skill_client import SkillClient
from coterie_ros.stopping import RobotStopped, StopWatch
from coterie_ros.team_memory import MemoryKeeper
from coterie_ros.yield_requests import hear_yield_requests
from coterie_safety import why
from coterie_world.right_of_way import MIN_YIELD_PERIOD_S, YieldRequest
from coterie_world.scene import SceneGraph
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import HouseBody
from reveca_agent.household_goal import household_goal, unfamiliar
from reveca_agent.parameters import AGENT_PARAMETERS, shape_of
from reveca_agent.saved_work import WorkFile
from reveca_agent.settings import Settings
from reveca_agent.working import Work

PATIENCE = 20.0
"""How long a goal waits for the map and the first observation [s of wall time]."""
LONGEST = 1e6
"""Most simulated time that a goal may take [s]."""
_NOT_BEGUN = (Outcome.REFUSED, Outcome.FAULT, Outcome.UNSUPPORTED)
"""How a skill ends that took no time: nothing new is seen after it."""
HEARTBEAT = 1.0
"""Longest time between two reports [s of wall time]."""


def feedback_of(work: Work) -> Cooperate.Feedback:
    """Return how far the work on a goal is."""
    placed, wanted = _progress(work)
    plan = work.agent.plan
    return Cooperate.Feedback(
        steps=work.decisions,
        placed=placed,
        wanted=wanted,
        plan=plan.text() if plan is not None else "",
        room=work.body.spot.room,
    )


def keep_result(work: Work | None, success: bool, message: str) -> Cooperate.Result:
    """Keep and return how the work on a goal ended; without work: it did not begin."""
    result = Cooperate.Result(success=success, message=message)
    if work is not None:
        result.placed, result.wanted = _progress(work)
        result.steps, result.distance = work.decisions, work.distance
        result.messages, result.characters = work.notes, work.characters
        result.duration = conversions.duration_to_msg(max(work.body.since_begin, 0.0))
        there = f"{result.placed} of {result.wanted} where they belong, as far as it knows"
        body = {"outcome": "DONE" if success else "NOT_DONE", "message": f"{message}; {there}"}
        why.note("outcome", work.body.name, body)
    return result


def _progress(work: Work) -> tuple[int, int]:
    memory = work.agent.memory
    lacking = sum(memory.needs().values())
    return memory.goal.total - lacking, memory.goal.total


class RevecaNode(AgentNode):
    """`<robot>/agent`; see docs/ros_graph.md for its topics."""

    PARAMETERS = AGENT_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Make the model, the agent, the clients, the topics."""
        namespace = self.get_namespace()
        self.robot = parameters["robot"] or namespace.rpartition("/")[2]
        if not self.robot:
            raise ValueError(
                "parameter 'robot' is empty and the node has no namespace; give one of them"
            )
        self.team = tuple(parameters["team"]) or (self.robot,)
        if self.robot not in self.team:
            raise ValueError(f"parameter 'team': {self.robot!r} is not among {list(self.team)}")
        self.decider = node_decider(self, parameters.json("model_profile"), self.robot)
        self.agent = RevecaAgent(
            self.robot,
            self.decider,
            Settings(levels=parameters["levels"], plans=parameters["plans"]),
            node_meanings(parameters.json("embedder")),
        )
        # What robots tell each other goes by their messages: only the person is asked.
        self.agent.asking = node_asking(
            self, self.decider, self.robot, (), team_name(namespace, "")
        )
        self.shape = shape_of(parameters)
        self.body: HouseBody | None = None
        self._goal: Cooperate.Goal | None = None
        self._scene: SceneGraph | None = None
        self._seen = Observations(self.robot, f"{self.get_namespace()}/observation", self.problem)
        self._came = asyncio.Event()
        self._noted = asyncio.Event()
        self._time = 0.0
        self._notes: deque[Note] = deque(maxlen=500)
        self._work: Work | None = None
        self._busy = self._answering = self._making_way = False
        self._turn = asyncio.Lock()
        directory = parameters["state_directory"]
        file = Path(directory) / f"{self.robot}_memory.json" if directory else None
        self._file = WorkFile(file, self.problem)
        self._status = self.publisher(RobotStatus, "status", "latched")
        self._messages = self.publisher(TeamMessage, "message", "messages")
        self._takes_part = self.publisher(Bool, "takes_part", "latched")
        self.keeper = MemoryKeeper(self, self.robot)
        self.keeper.announce(team_name(namespace, ""))
        self._skills = SkillClient(self)

    def on_start(self) -> None:
        """Offer the action; listen to the driver and the others."""
        namespace = self.get_namespace()
        # A process that died in the middle of a skill must not hold up the others' time.
        self._takes_part.publish(Bool(data=False))
        self.subscribe(Clock, "/clock", "sensor_data", self._on_clock)
        self._stop_watch = StopWatch(self)
        self.subscribe(
            ObservationMsg,
            "observation",
            "observations",
            self._on_observation,
            convert=conversions.observation_from_msg,
        )
        self.keeper.begin(team_name(namespace, ""), on_map=self._on_map)
        for other in self.team:
            if other == self.robot:
                continue
            self.subscribe(
                RobotStatus,
                team_name(namespace, f"{other}/status"),
                "latched",
                partial(self._on_status, other),
            )
        others, prefix = self.parameters["others"], team_name(namespace, "")
        mates = [name for name in self.team if name != self.robot]
        hear_messages(self, mates, prefix, self._on_note, _said_from_msg)
        hear_yield_requests(self, others, prefix, self._on_yield_request)
        self.serve_action(
            Cooperate, "cooperate", self._cooperate, when_busy="preempt", check=self._goal_fault
        )
        self.every(HEARTBEAT, self._tell, "status")

    # -- what comes in --------------------------------------------------------------------------

    def _on_clock(self, message: Clock) -> None:
        self._time = message.clock.sec + message.clock.nanosec * 1e-9

    def on_release(self) -> None:
        """Keep the team's memory for the next start."""
        self.keeper.save()

    def _on_map(self) -> None:
        # Known beforehand is the first map with rooms; what comes later is others' seeing.
        if self._scene is None or not (self._scene.rooms or self.body):
            self._scene = self.keeper.memory.scene()
            self._came.set()
            self._came.clear()

    def _on_observation(self, observation: Observation) -> None:
        if not self._seen.take(observation):
            return
        self._time = max(self._time, observation.time)
        if self.body is not None:
            self.body.observe(observation)
        self._came.set()
        self._came.clear()

    def _on_note(self, note: Note | YieldRequest) -> None:
        if isinstance(note, YieldRequest):
            self._on_yield_request(note)
            return
        self._notes.append(note)
        self._noted.set()
        self._noted.clear()
        if not self._busy and not self._answering:
            self.run(self._answer(), "answer")

    def _on_yield_request(self, request: YieldRequest) -> None:
        if self._stop_watch.stopped:
            return  # nobody moves it, and its release does not either
        if self._busy and self.body is not None:
            self.body.aside.hear(request, self._time)
        elif not self._busy and not self._making_way:
            self._making_way = True
            self.run(self._make_way(request, self._time), "making way")

    async def _make_way(self, request: YieldRequest, asked: float) -> None:
        """Go aside for who has asked for it at a time [s], while there is no goal in work."""
        try:
            await self._go_aside(request, asked)
        finally:
            self._making_way = False

    async def _go_aside(self, request: YieldRequest, asked: float) -> None:
        async with self._turn:
            if self._time - asked > MIN_YIELD_PERIOD_S or not self._knows_house():
                return
            body = await self._ready()
            body.aside.hear(request, self._time)
            self._takes_part.publish(Bool(data=True))
            try:
                await self._stop_watch.pursue(body.make_way(self.skill, self.ask_way, idle=True))
            except RobotStopped:
                pass  # it stays where it was stopped
            finally:
                self._takes_part.publish(Bool(data=False))
                self._tell()

    async def _answer(self) -> None:
        """Answer what is asked while there is no goal in work: one after the other."""
        self._answering = True
        try:
            while self._notes and self._work is not None and not self._busy:
                async with self._turn:
                    await self._work.answer()
        finally:
            self._answering = False

    def _on_status(self, other: str, status: RobotStatus) -> None:
        if self.body is None or status.robot != other or not status.has_position:
            return
        try:
            at = point_from_msg(status.position, Checks(f"{other}/status").at("position"))
        except ConversionError as error:
            self.problem(str(error))
            return
        self.body.time = max(self.body.time, self._time)
        self.body.teammate(other, status.room, at, status.holding)

    # -- the goal -------------------------------------------------------------------------------

    def _goal_fault(self, goal: Cooperate.Goal) -> str | None:
        try:
            goal_from_msg(goal.name, goal.goal)
            conversions.duration_from_msg(goal.max_time, Checks("cooperate"), "max_time", LONGEST)
        except ConversionError as error:
            return str(error)
        return None

    async def _cooperate(self, context: GoalContext) -> Any:
        """Work on a goal until it is met, time is up, or somebody cancels it."""
        async with self._turn:  # what this goal takes the place of has ended
            return await self._pursue(context)

    async def _pursue(self, context: GoalContext) -> Any:
        request = context.request
        self._busy = True
        goal = household_goal(goal_from_msg(request.name, request.goal))
        for warning in unfamiliar(goal):
            self.get_logger().warning(warning)
        self._takes_part.publish(Bool(data=True))
        try:
            body = await self._ready()
            limit = conversions.duration_from_msg(request.max_time) or self.parameters["max_time"]
            briefing = body.briefing(goal, self.team, max_time=limit, seed=self.parameters["seed"])
            # Only the first goal of a process may be one that another process had in work.
            memory = self._file.restored(goal, body) if self._goal is None else None
            if memory is not None:
                self.get_logger().info(f"goes on with a memory of {len(memory.scene)} things")
            self.agent.begin(briefing, memory)
            if self.agent.asking is not None:
                self.agent.asking.begin(f"{goal.name} {body.begun:.1f}")
            self._goal = request

            def changed() -> None:
                context.feedback(feedback_of(work))
                self._tell()
                self._file.keep(self.agent.memory, body)
                self.keeper.tell(list(body.events))
                body.events.clear()

            self._work = work = Work(self.agent, body, self, changed)
            end = await self._stop_watch.pursue(work.to_the_end(body.begun + limit))
            changed()
            if end == "met":
                return context.succeed(keep_result(self._work, True, "met"))
            return context.abort(keep_result(self._work, False, end))
        except asyncio.CancelledError:
            why = "a newer goal took its place" if context.preempted else "cancelled"
            return context.cancel(keep_result(self._work, False, why))
        except (_NotReady, RobotStopped) as error:
            return context.abort(keep_result(self._work, False, str(error)))
        finally:
            self._busy = False
            if self.body is not None:
                self.body.aside.asked = None  # who still wants its way asks again
            if self._work is not None:
                self._work.doing = ""
            self._takes_part.publish(Bool(data=False))
            self._tell()

    def _knows_house(self) -> bool:
        return bool(self._seen.latest and self._scene and self._scene.rooms)

    async def _ready(self) -> HouseBody:
        """Return the body once the house is known and something was perceived.

        Raises:
            _NotReady: One of them does not come; says which, and where it should come from.
        """
        try:
            await in_time(self._until(self._knows_house), PATIENCE)
        except asyncio.TimeoutError:
            if None in (self._scene, self._seen.latest):
                lacks = "semantic_map" if self._scene is None else "observation"
                raise _NotReady(
                    f"no message on {lacks} within {PATIENCE:g} s: is the bridge (or the robot's "
                    "own driver) running, with a prior_map?"
                ) from None
        assert self._scene is not None and self._seen.latest is not None
        if self.body is None:
            try:
                self.body = HouseBody(self.robot, self._scene, self.shape)
            except ValueError as error:
                raise _NotReady(str(error)) from None
            self.body.observe(self._seen.latest)
        self.body.time = max(self.body.time, self._time)
        return self.body

    # -- what the work needs: see working.Driver --------------------------------------------------

    async def skill(self, skill: Skill) -> SkillResult:
        """Have a skill carried out; return how it ended.

        Raises:
            RobotStopped: A person has stopped the robot.
        """
        return await self._stop_watch.carried_out(partial(self._do, skill))

    async def _do(self, skill: Skill) -> SkillResult:
        """Have the bridge (or the robot's driver) carry out a skill; return how it ended."""
        seen = self._seen.latest
        why = str(self._goal.name) if self._goal is not None else ""
        if self.body is not None and self.body.aside.whom:
            why = f"makes way for {inline_data(self.body.aside.whom)}"
        timeout = self.parameters["skill_timeout"]
        result = await self._skills.run(skill, why, on_way=self._on_way, timeout=timeout)
        if result.duration or result.outcome not in _NOT_BEGUN:
            if await self._seen.after(seen) is None:
                self.problem(self._seen.missing)
        elif result.outcome is Outcome.FAULT:
            self.problem(result.reason)
            await asyncio.sleep(1.0)  # a driver that is not there is not asked without pause
        if not result.ok:
            self.get_logger().info(f"{type(skill).__name__}: {result.reason}")
        return result

    def speak(self, note: Note) -> None:
        """Send a message to the others."""
        self._messages.publish(note_to_msg(note, self._time))

    def ask_way(self, request: YieldRequest) -> None:
        """Ask the others for the way."""
        self._messages.publish(conversions.yield_request_to_msg(request, self._time))

    def heard(self) -> list[Note]:
        """Return the messages that came, their stamps as steps of the goal in work."""
        assert self.body is not None
        self.body.time = max(self.body.time, self._time)
        notes = [replace(note, step=self.body.step_at(note.step)) for note in self._notes]
        self._notes.clear()
        return notes

    async def noted(self) -> None:
        """Wait until there is a message that was not heard yet."""
        while not self._notes:
            await self._noted.wait()

    def _on_way(self, at: Vec3 | None) -> None:
        if self.body is not None and at is not None:
            self.body.moved(at, self._time)

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait until what is observed makes a condition true."""
        while not condition():
            await self._came.wait()

    # -- what goes out --------------------------------------------------------------------------

    def _tell(self) -> None:
        body, doing = self.body, self._work.doing if self._work is not None else ""
        status = RobotStatus(
            header=header(self._time, "map"), robot=self.robot, waiting=not doing, skill=doing
        )
        if body is not None:
            status.has_position = True
            status.position = point_to_msg(body.spot.position)
            status.room = body.spot.room
            held = body.map.thing(body.holding)
            status.holding = held.label.top if held is not None else ""
        self._status.publish(status)


def _said_from_msg(message: TeamMessage, topic: str) -> Note | YieldRequest:
    if message.kind == TeamMessage.WAY:
        return conversions.yield_request_from_msg(message, topic)
    return note_from_msg(message, topic)


class _NotReady(Exception):
    """A goal cannot be begun: says what is missing."""


def make_nodes(options: ProcessOptions) -> list[RevecaNode]:
    """Make the nodes of one process: one per robot it serves."""
    return nodes_of_robots(options, RevecaNode, "agent", __doc__)


def main() -> None:
    """Run the agents of one process."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
