"""Conductor: lets robots' goals run in a world, one at a time per robot, in a repeatable order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillRefused, SkillResult
from coterie_safety.guard import Guard, Leaving
from coterie_safety.permits import PermitGate, PermitGoal, PermitRequest, RobotPermits
from coterie_safety.permits.gate import needs_permit
from coterie_safety.permits.request import Permit
from habitat_bridge.lockstep_barrier import LockstepBarrier
from habitat_bridge.simulator import RobotState, Simulator

_NOWHERE = Pose((0.0, 0.0, 0.0))


@dataclass(slots=True)
class Goal:
    """A skill that somebody wants a robot to do.

    `on_end` is called exactly once, with the result and where the robot stands then; `on_wait` now
    and then while it waits for something, with what for. `why` is what it is for, in words.
    """

    id: str
    robot: str
    skill: Skill
    on_end: Callable[[SkillResult, RobotState], object]
    on_progress: Callable[[RobotState], object] = lambda state: None
    on_wait: Callable[[str], object] = lambda what: None
    why: str = ""
    running: bool = False
    leaving: Leaving = field(default_factory=Leaving)
    asked: PermitRequest | None = None
    permit: Permit | None = None
    permitted: PermitGoal | None = None


@dataclass(slots=True)
class Step:
    """What one tick brought: the time [s], states of all robots, how many skills ended."""

    time: float
    states: dict[str, RobotState]
    ended: int = 0


class GoalScheduler:
    """Runs goals in a world. Not thread-safe: one thread owns it and the world.

    In lockstep, goals that came while time stood still are started together, in the order of the
    robots, when the barrier opens: the same goals give the same world, whoever was first to send.

    After every goal, however it ended, its robot perceives once, and then the goal is told.

    Args:
        world: The world, with all robots in it.
        bodies: Their embodiments.
        guards: Each robot's guard, which checks every goal before it may run, and its path.
        barrier: Makes it lockstep; None: goals start at once, and time never waits.
        perceived: Gets every observation.
        gates: Each robot's gate of permits, which every physical goal has to pass.
        post: Has something done by whoever owns this, from any thread.
        warn: Called with a sentence where something could not be logged.
    """

    def __init__(
        self,
        world: Simulator,
        bodies: Mapping[str, Embodiment],
        guards: Mapping[str, Guard],
        barrier: LockstepBarrier | None = None,
        perceived: Callable[[Observation], object] = lambda observation: None,
        *,
        gates: Mapping[str, PermitGate] | None = None,
        post: Callable[[Callable[[], object]], object] = lambda work: work(),
        warn: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.world = world
        self._perceived = perceived
        self._bodies = bodies
        self._guards = guards
        self._gates = gates or {robot: PermitGate(RobotPermits(name=robot)) for robot in bodies}
        self._post, self._warn = post, warn
        self._barrier = barrier
        self._goals: dict[str, Goal] = {}
        self._looks: dict[str, int] = {}
        self._ended: list[tuple[Goal, SkillResult]] = []
        self._out: set[str] = set()
        self._halted: dict[str, str] = {}
        for robot, guard in guards.items():
            world.fence(robot, guard)

    @property
    def busy(self) -> int:
        """Number of robots that have a goal."""
        return len(self._goals)

    def perceive(self, robot: str) -> Observation:
        """Let a robot perceive; `step` is its own count of observations."""
        step = self._looks.get(robot, 0)
        self._looks[robot] = step + 1
        observation = replace(self.world.observe(robot), step=step)
        self._perceived(observation)
        return observation

    def submit(self, goal: Goal, now: float) -> None:
        """Take a goal; one that the robot already has is ended as CANCELLED.

        A goal that the guard or the policy of permits refuses ends at once with the reason, and
        leaves the older one alone. One that a person is asked for waits, and nobody else does.

        Args:
            goal: The goal.
            now: Wall clock [s].
        """
        body = self._bodies.get(goal.robot)
        if body is None:
            known = ", ".join(self._bodies) or "none"
            reason = f"no robot {goal.robot!r}; robots here: {known}"
            goal.on_end(SkillResult(Outcome.REFUSED, reason), RobotState(goal.robot, _NOWHERE))
            return
        try:
            if goal.robot in self._halted:
                raise SkillRefused(Outcome.REFUSED, self._halted[goal.robot])
            self._guards[goal.robot].check(goal.skill, body)
            self._apply(goal, body)
        except SkillRefused as refused:
            self._end(goal, refused.result)
            return
        older = self._goals.pop(goal.robot, None)
        if older is not None:
            self._stop(older, "a newer goal took its place")
        self._goals[goal.robot] = goal
        if self._barrier is not None:
            self._barrier.joins(goal.robot, now)
        elif goal.asked is None:
            self._start(goal)
        self.remind()

    def remind(self) -> None:
        """Tell the goals that wait for a person that they do."""
        for goal in list(self._goals.values()):
            if goal.asked is not None:
                goal.on_wait(f"{goal.asked.rule} asks a person (./coterie permits)")

    def cancel(self, goal_id: str, reason: str = "cancelled") -> bool:
        """End a goal as CANCELLED; False where there is no such goal, for example any more."""
        goal = next((goal for goal in self._goals.values() if goal.id == goal_id), None)
        if goal is None:
            return False
        del self._goals[goal.robot]
        self._left(goal.robot)
        self._stop(goal, reason)
        return True

    def halt(self, reasons: Mapping[str, str]) -> None:
        """Hold robots where they stand until `release`: their goals end, new ones are refused.

        All of them stand before the first goal is told, which wakes threads that the last robot
        would wait for. Let the robots perceive once the goals have been told.

        Args:
            reasons: Robot -> what its goals are told.
        """
        held = [robot for robot in reasons if robot in self._bodies]
        for robot in held:
            self._halted[robot] = reasons[robot]
            self.world.halt(robot, True)
        for robot in held:
            if self._barrier is not None:
                self._barrier.leaves_out(robot)
            goal = self._goals.pop(robot, None)
            if goal is not None:
                result = SkillResult(Outcome.CANCELLED, reasons[robot])
                self._tell(goal, result, self.world.state(robot))

    def release(self, robot: str) -> None:
        """Let a robot that was held go on; its next goal may run."""
        if self._halted.pop(robot, None) is not None:
            self.world.halt(robot, False)
            self.perceive(robot)

    def takes_part(self, robot: str, value: bool, now: float) -> None:
        """Hear from a robot whether time has to wait for it."""
        if self._barrier is None or robot not in self._bodies:
            return
        if value and robot in self._halted:
            self._out.discard(robot)
        elif value:
            self._out.discard(robot)
            self._barrier.joins(robot, now)
        else:
            self._out.add(robot)
            if robot not in self._goals:  # a goal of somebody else, as of `robot try`, still runs
                self._barrier.leaves(robot)

    def ready(self, now: float) -> bool:
        """Tell whether time may move on; starts the goals that waited for that.

        Goals that the world refuses end here, which may close the barrier again.
        """
        if self._barrier is None:
            return True
        if not self._barrier.open(self._goals, now):
            return False
        waiting = [
            self._goals[robot]
            for robot in self.world.robots
            if robot in self._goals and not self._goals[robot].running
        ]
        for goal in waiting:
            if goal.asked is None:
                self._start(goal)
        # Where all of them wait for a person time stands still; otherwise nobody waits for these.
        anybody = any(goal.running for goal in self._goals.values())
        return self._barrier.open(self._goals, now) and anybody

    def step(self, dt: float) -> Step:
        """Advance the world by `dt` [s]; call `conclude` next."""
        results = self.world.tick(dt)
        states = {robot: self.world.state(robot) for robot in self.world.robots}
        ended: list[tuple[Goal, SkillResult]] = []
        for robot, state in states.items():
            goal = self._goals.get(robot)
            if goal is None or not goal.running:
                continue
            result = results.get(robot)
            if result is None and not (result := self._strayed(goal, state)):
                goal.on_progress(state)
                continue
            del self._goals[robot]
            self._left(robot)
            ended.append((goal, result))
        self._ended = ended
        return Step(self.world.time, states, len(ended))

    def conclude(self) -> None:
        """Let the robots perceive whose goals ended in the last step; then tell the goals."""
        ended, self._ended = self._ended, []
        for goal, _ in ended:
            self.perceive(goal.robot)
        for goal, result in ended:
            self._tell(goal, result, self.world.state(goal.robot))

    def close(self, reason: str, outcome: Outcome = Outcome.FAULT) -> None:
        """End all goals, for example because the world failed."""
        goals, self._goals = list(self._goals.values()), {}
        for goal in goals:
            result = SkillResult(outcome, reason)
            self._log(goal, result)
            goal.on_end(result, RobotState(goal.robot, _NOWHERE))

    def _apply(self, goal: Goal, body: Embodiment) -> None:
        """Get the permit that a goal needs, or ask for it.

        Raises:
            SkillRefused: There is none.
        """
        if not needs_permit(goal.skill):
            return
        gate, state = self._gates[goal.robot], self.world.state(goal.robot)
        goal.permitted = gate.around.goal(
            goal.robot,
            goal.skill,
            state.pose.position,
            body.linear_speed,
            spot=self._spot(goal),
            holding=state.holding,
            why=goal.why,
            action=goal.id,
        )

        def settled(permit: Permit | None, reason: str) -> None:
            self._post(lambda: self._settled(goal, permit, reason))

        answer = gate.apply(goal.permitted, settled)
        if isinstance(answer, PermitRequest):
            goal.asked = answer
        else:
            goal.permit = answer

    def _spot(self, goal: Goal) -> Vec3 | None:
        place = goal.skill.place if isinstance(goal.skill, NavigateTo) else ""
        return self._guards[goal.robot].places.get(place) if place else None

    def _settled(self, goal: Goal, permit: Permit | None, reason: str) -> None:
        """Go on with a goal that a person was asked for."""
        if self._goals.get(goal.robot) is not goal:
            return
        goal.asked, goal.permit = None, permit
        if permit is None:
            del self._goals[goal.robot]
            self._left(goal.robot)
            self._end(goal, SkillResult(Outcome.REFUSED, reason))
        elif self._barrier is None:
            self._start(goal)

    def _tell(self, goal: Goal, result: SkillResult, state: RobotState) -> None:
        """Tell how a goal ended; it is logged next, so that a stop of many robots need not wait."""
        self._post(lambda: self._log(goal, result))
        goal.on_end(result, state)

    def _log(self, goal: Goal, result: SkillResult) -> None:
        if goal.permitted is None:
            return
        gate = self._gates[goal.robot]
        if goal.asked is not None:
            gate.drop(goal.asked.id, result.reason)
        if trouble := gate.ended(goal.permitted, result):
            self._warn(trouble)

    def _left(self, robot: str) -> None:
        """Let time not wait for a robot whose goal was still on its way when it said so."""
        if self._barrier is not None and robot in self._out:
            self._barrier.leaves(robot)

    def _start(self, goal: Goal) -> None:
        gate = self._gates[goal.robot]
        try:
            if goal.permitted is not None:
                assert goal.permit is not None  # else it waits for one
                gate.begin(goal.permit, goal.permitted, goal.skill, self._spot(goal))
            self.world.start_skill(goal.robot, goal.skill)
        except SkillRefused as refused:
            del self._goals[goal.robot]
            self._end(goal, refused.result)
            return
        try:
            path = self.world.path(goal.robot)
            if path:  # else it takes none
                self._guards[goal.robot].check_path(path, self._position(goal.robot))
            if goal.permitted is not None:
                gate.check_path(goal.permitted, path)
        except SkillRefused as refused:
            self.world.cancel_skill(goal.robot)
            del self._goals[goal.robot]
            self._end(goal, refused.result)
            return
        goal.running = True
        self._trouble(goal, self._position(goal.robot))

    def _position(self, robot: str) -> Vec3:
        return self.world.state(robot).pose.position

    def _trouble(self, goal: Goal, here: Vec3) -> str:
        return goal.leaving.trouble(here, self._guards[goal.robot].breaches(here))

    def _strayed(self, goal: Goal, state: RobotState) -> SkillResult | None:
        """End a goal whose robot comes to where it must not be, on a path planned anew."""
        trouble = self._trouble(goal, state.pose.position)
        if not trouble:
            return None
        self.world.cancel_skill(goal.robot)
        return SkillResult(Outcome.REFUSED, f"stopped on its way: {trouble}")

    def _stop(self, goal: Goal, reason: str) -> None:
        if goal.running:
            self.world.cancel_skill(goal.robot)
        self._end(goal, SkillResult(Outcome.CANCELLED, reason))

    def _end(self, goal: Goal, result: SkillResult) -> None:
        self.perceive(goal.robot)
        self._tell(goal, result, self.world.state(goal.robot))
