"""Gate: lets a robot's physical goals begin only with a permit; sits in front of its motors."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from coterie_core.geometry import Vec3
from coterie_core.skill_registry import spec_of
from coterie_core.skills import Outcome, Skill, SkillRefused, SkillResult
from coterie_safety.permits.answer import Decision, KeyProblem, SignedAnswer, load_public_key
from coterie_safety.permits.entries import (
    Log,
    asks,
    by_policy,
    goal_entry,
    goal_key,
    permit_entry,
    refuses,
)
from coterie_safety.permits.goal_scope import (
    TASK,
    PermitGoal,
    Surroundings,
    TeamTask,
    dense,
    digest_of,
)
from coterie_safety.permits.policy import RobotPermits, Verdict
from coterie_safety.permits.request import Permit, PermitRequest, Waiting, alike
from coterie_safety.stop import one_line
from coterie_world.scene import SceneGraph

NO_PERMIT = "no permit to "
"""Beginning of a refusal's reason where there is no permit."""
_MAX_WAITING = 50
"""Most goals of one robot that wait for a person; more are refused."""
_MAX_PERMITS = 1000


class PermitError(ValueError):
    """An answer is not accepted; says why."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    until: float


class PermitGate:
    """Decides about one robot's goals by its policy, and by what a person answers.

    No text of a goal, a map or a model takes part in a decision, but as the data that rules
    compare. A permit of a person takes the private key. Safe to call from several threads; what
    writes to the log may wait for it, and holds no lock of the gate meanwhile.

    Args:
        permits: The robot's policy.
        log: Log of goals, requests, permits, refusals and results; None: none is kept. A goal that
            cannot be logged does not begin.
        key_file: Public key that answers are checked with; None: nobody can answer.
        changed: Called when other requests wait than before.
        wall: Returns the wall time [s].
        local: Returns the local time.
        clock: Returns a time that nobody sets back [s]: no permit lasts longer by it than was said.
    """

    def __init__(
        self,
        permits: RobotPermits,
        log: Log | None = None,
        key_file: Path | None = None,
        *,
        changed: Callable[[], object] = lambda: None,
        wall: Callable[[], float] = time.time,
        local: Callable[[], datetime] = datetime.now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.permits = permits
        self.changed = changed
        self._log, self._key_file = log, key_file
        self._wall, self._local, self._clock = wall, local, clock
        self._lock = threading.RLock()
        self._scene: SceneGraph | None = None
        self._around: Surroundings | None = None
        self._waiting: dict[str, Waiting] = {}
        self._permits: dict[str, Permit] = {}
        self._ends: dict[str, float] = {}  # of permits, by the clock
        self._refused: dict[tuple[object, ...], _Refusal] = {}
        self._revoked: dict[str, str] = {}
        self._held: frozenset[str] = frozenset()

    def know(self, scene: SceneGraph | None) -> None:
        """Take in a newer map, of which the names of rooms and things are."""
        with self._lock:
            self._scene, self._around = scene, None

    @property
    def around(self) -> Surroundings:
        """What is known of the robot's surroundings; nothing where no rule could ask for it."""
        with self._lock:
            if self._around is None:
                said = self.permits.team, self.permits.robot
                matters = self.permits.asks or any(one.rules for one in said)
                self._around = Surroundings(self._scene if matters else None)
            return self._around

    @property
    def waiting(self) -> tuple[PermitRequest, ...]:
        """The requests that wait for a person, oldest first."""
        with self._lock:
            return tuple(one.request for one in self._waiting.values())

    @property
    def standing(self) -> tuple[Permit, ...]:
        """The standing permits that hold now."""
        with self._lock:
            self._forget()
            return tuple(permit for permit in self._permits.values() if permit.standing)

    def names(self, goal: PermitGoal) -> tuple[str, ...]:
        """Return the names of the rooms that a goal touches."""
        with self._lock:
            return tuple(one_line(self.around.name(room)) for room in goal.rooms)

    # -- goals ---------------------------------------------------------------------------------

    def apply(
        self, goal: PermitGoal, settled: Callable[[Permit | None, str], object]
    ) -> Permit | PermitRequest:
        """Return a permit for a goal, or the request that now waits for a person.

        Args:
            goal: The goal.
            settled: Called once where a person is asked, from any thread: with the permit, or with
                None and why there is none. Not called for a request that is dropped.

        Raises:
            SkillRefused: REFUSED, and why.
        """
        self._write("goal", goal, goal_entry(goal), {"rooms": list(self.names(goal))})
        with self._lock:
            verdict = self.permits.decide(goal, self.around, self._local())
            standing = next((p for p in self.standing if p.covers(goal)), None)
        if verdict.answer == "refuse":
            self._refuse(goal, refuses(verdict))
        if verdict.answer == "allow":
            by = by_policy(verdict.where)
            return self._permit(Permit(_new_id(), goal, by, by_policy=True))
        if standing is not None:
            self._write("permit", goal, permit_entry(standing))
            return standing
        request = self._request(goal, verdict)
        with self._lock:
            ends = self._clock() + self.permits.wait
            self._waiting[request.id] = Waiting(request, settled, ends)
        self.changed()
        return request

    def begin(
        self, permit: Permit, goal: PermitGoal, skill: Skill | TeamTask | str, spot: Vec3 | None
    ) -> None:
        """Let a goal begin; the last thing before the motor. A permit for one goal is used up.

        Args:
            permit: Permit that `apply` gave.
            goal: The goal that it was given for.
            skill: Skill or task that is going to be done.
            spot: Position [m] of the place that a NavigateTo names, as it is gone to.

        Raises:
            SkillRefused: REFUSED: no such permit, for something else, used up, or over.
        """
        with self._lock:
            known = self._permits.get(permit.id)
            why = ""
            if known is not permit:
                over = "its permit is used up, or was never given"
                why = self._revoked.get(permit.id, over)
            elif digest_of(goal.robot, skill, spot, goal.speed) != goal.digest:
                why = "the goal was changed after the permit was given"
            elif not known.covers(goal):
                why = "its permit is for something else"
            elif self._over(known):
                self._take(known)
                why = "its permit is over"
            elif known.by_policy:
                verdict = self.permits.decide(goal, self.around, self._local())
                why = "" if verdict.answer == "allow" else refuses(verdict)
            if not why and not permit.standing:
                self._take(permit)
        if why:
            self._refuse(goal, why)

    def check_path(self, goal: PermitGoal, points: Sequence[Vec3]) -> None:
        """Let the path [m] pass that a goal really takes.

        Raises:
            SkillRefused: REFUSED: it leads through rooms that the permit is not for, and that the
                policy does not allow.
        """
        if not self.permits.by_room or not points:
            return
        with self._lock:
            rooms, strays = self.around.rooms_of(dense(points))
            more = [room for room in rooms if room not in goal.rooms]
            if not more and (goal.strays or not strays):
                return
            wider = replace(goal, rooms=(*more, *goal.rooms), strays=goal.strays or strays)
            before = self.permits.decide(goal, self.around, self._local())
            verdict = self.permits.decide(wider, self.around, self._local())
            if verdict.answer == "allow" or (not more and verdict == before):
                return
            names = ", ".join(one_line(self.around.name(room)) for room in more)
        through = names or "a room that nobody knows"
        self._refuse(goal, f"the path leads through {through}, and {refuses(verdict)}")

    def ended(self, goal: PermitGoal, result: SkillResult) -> str:
        """Write how a goal ended, whose permit, if it did not begin, is worth nothing any more.

        Returns:
            Description of what went wrong with the log ("": nothing).
        """
        with self._lock:
            unused = [p for p in self._permits.values() if p.goal is goal and not p.standing]
            for permit in unused:
                self._take(permit)
        body: dict[str, object] = {
            **goal_key(goal),
            "outcome": result.outcome.name,
            "reason": one_line(result.reason),
            "duration": round(result.duration, 3),
            "distance": round(result.distance, 3),
        }
        return self.note("result", body)

    def note(self, kind: str, body: Mapping[str, object]) -> str:
        """Write what else happened to the robot; return what went wrong with that."""
        try:
            if self._log is not None:
                self._log.write(kind, self.permits.name, body)
        except OSError as error:
            return f"{kind} not logged: {error}"
        return ""

    # -- what a person decides -----------------------------------------------------------------

    def answer(self, answer: SignedAnswer) -> str:
        """Take a person's answer; return what was done.

        Raises:
            PermitError: It is not accepted, and nothing changes.
        """
        self._authentic(answer)
        if answer.decision is Decision.REVOKE:
            return self._revoke(answer)
        with self._lock:
            waiting = self._checked(answer)
            request, now = waiting.request, self._wall()
            del self._waiting[request.id]  # nobody else answers it meanwhile
        by, why = one_line(answer.by) or "somebody", one_line(answer.reason)
        permit: Permit | None = None
        if answer.decision is Decision.ALLOW:
            until, rooms = answer.until, request.rooms
            given = Permit(_new_id(), request.goal, by, until, answer.standing, rooms=rooms)
            try:
                permit = self._permit(given)
            except SkillRefused as refused:
                with self._lock:
                    self._waiting[request.id] = waiting
                raise PermitError(refused.result.reason) from None
            reason = ""
            told = f"allowed: {request.text}"
            if answer.standing:
                told += f"; goals alike for {answer.until - now:.0f} s, too"
        else:
            reason = f"{by} refused" + (f": {why}" if why else "")
            reason = self._turned_down(request, reason, by)
            told = f"refused: {request.text}"
        with self._lock:
            self._held = self._standing_ids()
        self.changed()
        waiting.settled(permit, reason)
        return told

    def _revoke(self, answer: SignedAnswer) -> str:
        """End a standing permit, for goals that have it and have not begun, too."""
        with self._lock:
            permit = next((one for one in self.standing if one.id == answer.request), None)
            if permit is None:
                raise PermitError("no such permit holds: it was revoked, or is over")
            _same(answer, permit, "permit")
            by, why = one_line(answer.by) or "somebody", one_line(answer.reason)
            self._take(permit)
            self._held = self._standing_ids()
            reason = f"{by} revoked its permit" + (f": {why}" if why else "")
            self._revoked[permit.id] = reason
            while len(self._revoked) > _MAX_PERMITS:
                self._revoked.pop(next(iter(self._revoked)))
        # What cannot be logged is revoked all the same: that takes away, and gives nothing.
        body = {"permit": permit.id, **goal_key(permit.goal), "by": by, "reason": why}
        trouble = self.note("revocation", body)
        self.changed()
        told = f"revoked: {permit.text}; a goal that has begun goes on unless it is stopped"
        return f"{told}; {trouble}" if trouble else told

    def expire(self) -> None:
        """Refuse the goals that a person was waited for too long; call it a few times a second.

        Standing permits that are over are told, too.
        """
        with self._lock:
            held, self._held = self._held, self._standing_ids()
            late = [one for one in self._waiting.values() if self._late(one)]
            for one in late:
                del self._waiting[one.request.id]
            others = held != self._held
        for one in late:
            request = one.request
            waited = f"nobody answered in {round(request.until - request.asked, 1):g} s"
            one.settled(None, self._turned_down(request, waited, ""))
        if late or others:
            self.changed()

    def drop(self, request: str, reason: str) -> bool:
        """Take back a request whose goal is gone; return whether it still waited."""
        with self._lock:
            waiting = self._waiting.pop(request, None)
        if waiting is not None:
            body = {"request": request, **goal_key(waiting.request.goal), "by": ""}
            self.note("refusal", {**body, "reason": one_line(reason)})
            self.changed()
        return waiting is not None

    # -- inside --------------------------------------------------------------------------------

    def _standing_ids(self) -> frozenset[str]:
        return frozenset(permit.id for permit in self.standing)

    def _authentic(self, answer: SignedAnswer) -> None:
        """Let an answer pass that somebody with the key has signed.

        Raises:
            PermitError: Nobody has, or it cannot be one.
        """
        try:
            key = load_public_key(self._key_file) if self._key_file is not None else None
        except KeyProblem as problem:
            raise PermitError(str(problem)) from None
        if key is None or not answer.signed_with(key):
            self.note("refusal", {"request": answer.request[:64], "by": "", "reason": "forged"})
            raise PermitError(
                f"not signed with the key of this team, of which {self._key_file} is the public "
                "half; answer with ./coterie permits, as the user who has the private one"
            )
        if answer.decision not in tuple(Decision) or answer.too_long():
            raise PermitError(
                "an answer is ALLOW, REFUSE or REVOKE, with texts of at most 200 characters"
            )

    def _checked(self, answer: SignedAnswer) -> Waiting:
        waiting = self._waiting.get(answer.request)
        now = self._wall()
        if waiting is None or self._late(waiting):
            raise PermitError("no such request waits: it was answered, taken back, or is over")
        _same(answer, waiting.request, "request")
        if answer.standing and waiting.request.goal.skill == TASK:
            raise PermitError("a task is allowed once: there are no tasks alike")
        if answer.decision is Decision.ALLOW:
            most = self.permits.longest
            if not now < answer.until <= now + most + 1.0:
                raise PermitError(
                    f"a permit ends after now, and in at most {most:g} s (permits.longest)"
                )
        return waiting

    def _request(self, goal: PermitGoal, verdict: Verdict) -> PermitRequest:
        with self._lock:
            self._forget()
            before = self._refused.get(alike(goal))
        now = round(self._wall(), 3)
        if before is not None:
            held = f"{before.reason}; nobody is asked again for {before.until - now:.0f} s"
            self._refuse(goal, held, ready=True)
        if self._key_file is None:
            self._refuse(goal, f"{asks(verdict.where)}, and nobody can answer: there is no key")
        if len(self._waiting) >= _MAX_WAITING:
            self._refuse(goal, f"{_MAX_WAITING} goals of this robot wait for a person already")
        names = self.names(goal)
        until = round(now + self.permits.wait, 3)
        request = PermitRequest(_new_id(), goal, names, verdict.where, now, until)
        body = {"request": request.id, "rule": request.rule, "until": round(until, 3)}
        self._write("request", goal, body)
        return request

    def _permit(self, permit: Permit) -> Permit:
        self._write("permit", permit.goal, permit_entry(permit))
        with self._lock:
            self._permits[permit.id] = permit
            self._ends[permit.id] = self._clock() + permit.until - self._wall()
            self._forget()
        return permit

    def _take(self, permit: Permit) -> None:
        del self._permits[permit.id], self._ends[permit.id]

    def _over(self, permit: Permit) -> bool:
        """Whether a permit is over by the wall time, or by the clock, had that been set back."""
        return self._wall() >= permit.until or self._clock() >= self._ends[permit.id]

    def _late(self, waiting: Waiting) -> bool:
        return self._wall() >= waiting.request.until or self._clock() >= waiting.ends

    def _turned_down(self, request: PermitRequest, why: str, by: str) -> str:
        """Remember that a goal is not permitted; return the reason."""
        reason = f"{NO_PERMIT}{request.goal.what}: {why}; {asks(request.rule)}"
        until = self._wall() + self.permits.ask_again
        with self._lock:
            self._refused[alike(request.goal)] = _Refusal(reason, until)
        self.note(
            "refusal",
            {"request": request.id, **goal_key(request.goal), "by": by, "reason": reason},
        )
        return reason

    def _forget(self) -> None:
        """Forget what is over; where there is too much, what a person gave goes last."""
        for permit in [one for one in self._permits.values() if self._over(one)]:
            self._take(permit)
        while len(self._permits) > _MAX_PERMITS:
            self._take(min(self._permits.values(), key=lambda p: (p.standing, not p.by_policy)))
        now = self._wall()
        self._refused = {key: one for key, one in self._refused.items() if now < one.until}
        while len(self._refused) > _MAX_PERMITS:
            self._refused.pop(next(iter(self._refused)))

    def _refuse(self, goal: PermitGoal, why: str, *, ready: bool = False) -> NoReturn:
        reason = why if ready else f"{NO_PERMIT}{goal.what}: {why}"
        self.note("refusal", {**goal_key(goal), "by": by_policy(), "reason": reason})
        raise SkillRefused(Outcome.REFUSED, reason)

    def _write(self, kind: str, goal: PermitGoal, *parts: Mapping[str, object]) -> None:
        body: dict[str, object] = goal_key(goal)
        for part in parts:
            body |= part
        try:
            if self._log is not None:
                self._log.write(kind, goal.robot, body)
        except OSError as error:
            raise SkillRefused(
                Outcome.REFUSED, f"{NO_PERMIT}{goal.what}: it cannot be logged: {error}"
            ) from None


def _same(answer: SignedAnswer, asked: PermitRequest | Permit, what: str) -> None:
    """Let an answer pass that is for what this gate asks, in the words of this gate.

    Raises:
        PermitError: It is for another goal, or the person was shown something else.
    """
    if answer.goal != asked.goal.digest:
        raise PermitError(f"the answer is for another goal than the {what}")
    if answer.shown != asked.shown:
        raise PermitError(
            f"the person was shown other words than those of this {what}, which are: "
            f"{asked.text}; somebody else publishes on its topic"
        )


def needs_permit(skill: Skill | str) -> bool:
    """Whether a skill moves something.

    Raises:
        SkillRefused: It is not in the table of skills, or has no words there.
    """
    return spec_of(skill).moves


def is_no_permit(result: SkillResult) -> bool:
    """Whether a skill was refused because there is no permit for it."""
    return result.outcome is Outcome.REFUSED and result.reason.startswith(NO_PERMIT)


def _new_id() -> str:
    return secrets.token_hex(16)
