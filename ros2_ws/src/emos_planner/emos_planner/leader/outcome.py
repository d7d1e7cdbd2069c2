"""How a task ended, told by what was seen to be so: done, in part, or not, and what is left."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from coterie_core.tasks import Obstacle, SubTask, SubTaskState, Verdict
from coterie_core.wording import article, enumerated
from coterie_llm import inline_data
from coterie_safety.permits.gate import NO_PERMIT
from coterie_safety.why import note
from coterie_safety.why.context import current
from coterie_world.sightings import kind_of
from emos_planner.leader.searches import Searches
from emos_planner.leader.task_graph import Want

_DONE = SubTaskState.DONE
_LISTED = 6
_NONE: Mapping[str, str] = MappingProxyType({})


class TaskState(str, enum.Enum):
    """How a task stands at its end."""

    DONE = "done"  # all that was asked for was seen to be so
    PARTIAL = "partial"  # some of it was, there may be more, or nobody could tell a word ("warm")
    NOT_DONE = "not_done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended.

    `left` says for every sub-task that was not done why; `achieved` counts things (or places) for
    which the goal was seen to be reached, `wanted` those known to be asked for; `not_searched`
    names rooms and floors where there may be more; `present` answers a check (None: no check, or
    nobody can tell).
    """

    success: bool
    message: str
    left: Mapping[str, str]
    state: TaskState = TaskState.NOT_DONE
    achieved: int = 0
    wanted: int = 0
    not_searched: tuple[str, ...] = ()
    present: bool | None = None


def keep_outcome(outcome: Outcome) -> Outcome:
    """Keep how the task in work ended; return it."""
    left = dict(list(outcome.left.items())[:50])
    body = {"outcome": outcome.state.value, "message": outcome.message, "left": left}
    if current().task:
        note("outcome", "leader", body)
    return outcome


@dataclass(slots=True)
class _Told:
    """How one want ended."""

    fine: bool
    text: str
    achieved: int = 0
    wanted: int = 0
    open: list[str] = field(default_factory=list)
    present: bool | None = None
    partly: bool = False


def outcome_of(
    wants: Sequence[Want],
    sub_tasks: Sequence[SubTask],
    given_up: Mapping[str, str],
    book: Searches | None = None,
    hands: Sequence[str] = (),
) -> Outcome:
    """Return what of a task is reached, and what is left and why.

    Args:
        wants: What was asked for.
        sub_tasks: All that count, as they are now.
        given_up: Sub-task -> why nobody does it.
        book: What the searches have left unseen.
        hands: What robots have put down because nobody wanted it any more, or hold still.
    """
    left = {
        one.id: f"{one.description or one.id}: {_reason(one, given_up)}"
        for one in sub_tasks
        if one.state is not _DONE
    }
    done = sum(1 for one in sub_tasks if one.state is _DONE)
    told = [_told(want, sub_tasks, book) for want in wants]
    if not told:
        text = f"{done} of {len(sub_tasks)} sub-tasks done"
        told = [_Told(not left, text, done, len(sub_tasks))]
    unheard = dict.fromkeys(repr(word) for want in wants for word in want.unheard)
    success = all(one.fine for one in told) and not unheard
    text = "; ".join(dict.fromkeys(one.text for one in told))
    some = any(one.fine or one.achieved or one.partly for one in told)
    state = TaskState.DONE if success else TaskState.PARTIAL if some else TaskState.NOT_DONE
    if unheard and any(one.achieved for one in told):
        text += f"; whether it is {' and '.join(unheard)}, no robot can tell"
    if not success and (failed := _by_reason(sub_tasks, given_up)):
        text += ". Left: " + "; ".join(failed[:8])
    if hands:
        text += ". " + "; ".join(hands[:6])
    # "Yes" for a thing of which a word was not looked at is no answer; "none at all" is one.
    answers = [one.present for one in told if one.present is not None]
    answers = [] if unheard and True in answers else answers
    return Outcome(
        success,
        f"{text[:1].upper()}{text[1:]}",
        left,
        state,
        sum(one.achieved for one in told),
        sum(one.wanted for one in told),
        tuple(dict.fromkeys(name for one in told for name in one.open)),
        answers[0] if len(answers) == 1 and len(told) == 1 else None,
    )


def _reason(one: SubTask, given_up: Mapping[str, str]) -> str:
    return given_up.get(one.id) or one.reason or f"{one.state.name.lower()} ({one.robot})"


def _by_reason(sub_tasks: Sequence[SubTask], given_up: Mapping[str, str]) -> list[str]:
    """Return what is left beside searches, and why: what has one reason, together."""
    found: dict[str, list[str]] = {}
    for one in sub_tasks:
        if one.state is not _DONE and one.kind != "search":
            found.setdefault(_reason(one, given_up), []).append(one.description or one.id)
    return [f"{', '.join(what)}: {why}" for why, what in found.items()]


def _told(want: Want, sub_tasks: Sequence[SubTask], book: Searches | None) -> _Told:
    """Return whether a want is met, and how it went, in words."""
    served = [id for id in want.assigned if _served(id, want, sub_tasks)]
    count = len(served) + len(want.satisfied)
    name = want.label or want.text
    known = len(want.assigned) + len(want.satisfied)
    enough = book is not None and book.is_enough(want.label, want.rooms)
    unlooked = [id for id in want.assigned if id not in served] if want.kind == "check" else []
    # A check is answered by looks alone: where nobody searched, nobody can say that there is none.
    complete = (enough and not unlooked) if want.kind == "check" else enough or not want.searches
    unseen: list[str] = []
    partly: list[str] = []
    if book is not None and want.rooms and not complete:
        unseen, partly = book.told(want.label, want.rooms)
    open_, where = [*unseen, *partly], _where(unseen, partly)
    names = ", ".join([*served, *sorted(want.satisfied)][:10])
    if want.kind == "check":
        if count >= max(want.need, 1):
            text = f"yes, there is {article(name)} ({names})"
            return _Told(True, text, count, count, present=True)
        seen = f"only {count} of {want.need} {name} was seen" if count else f"no {name} was seen"
        if complete:
            return _Told(True, f"{seen}, and {_covered(want, book)}", present=False)
        still = f"nobody has seen whether {enumerated(unlooked, _LISTED)} is still there"
        why = [still] * bool(unlooked) + [f"there may be one: {where}"] * bool(where)
        text = f"{seen} so far; {'; '.join(why) or 'nobody searched for it'}"
        return _Told(False, text, open=open_, partly=_any_done(want, sub_tasks))
    more = f"; there may be more: {where}" if where else ""
    if not known:
        text = f"no {name}{_stands(want)} was found{_elsewhere(want, book)}"
        text += more or f"; {_covered(want, book)}"
        if want.target is not None and want.target_searches and not want.targets:
            # What was to be brought may well have been seen.
            text = f"no {want.target.label or want.target.noun} was found to bring {name} to"
        return _Told(False, text, 0, want.need, open_)
    words = {
        "bring": "brought", "take": "picked up", "find": "found", "look": "found", "go": "reached",
        "open": "opened", "close": "closed", "use": f"{want.skill} done",
    }[want.kind]  # fmt: skip
    wanted = want.need or known
    other = [f"{id} on {want.elsewhere[id]}" for id in served if id in want.elsewhere]
    unseen_put = sorted(want.unseen.intersection(want.assigned).difference(served))
    if other:
        text = f"{words}: {names}, but {', '.join(other[:6])}"
        return _Told(False, text, count - len(other), wanted, open_, partly=True)
    if want.kind == "use" and count:
        more = f", as the robot says; nobody looked at what came of it{more}"
        text = f"{words}: {names}{more}"
        return _Told(False, text, count, wanted, open_, partly=True)
    if count >= wanted and (want.need or complete):
        return _Told(True, _did_or_found_so(words, want, served, sub_tasks), count, wanted)
    if count >= wanted:
        text = f"{count} {name} {words} ({names}){more}"
    else:
        text = f"{count} of {wanted} {name or 'places'} {words}" + f" ({names})" * bool(names)
        if unseen_put:
            more = f"; put there, and not seen since: {', '.join(unseen_put[:10])}"
        elif known < wanted and not more:
            more = f"; no more were seen, and {_covered(want, book)}"
        text += more
    return _Told(False, text, count, wanted, open_, partly=count < wanted and bool(unseen_put))


def _did_or_found_so(
    words: str, want: Want, served: Sequence[str], sub_tasks: Sequence[SubTask]
) -> str:
    """Return what robots did, apart from what only was seen to be so."""
    found = [*served, *sorted(want.satisfied)]
    kinds = {"bring": "place", "open": "open", "close": "close"}
    did = [id for id in found if want.kind not in kinds or _has(kinds[want.kind], id, sub_tasks)]
    so = [id for id in found if id not in did]
    parts = [f"{words}: {', '.join(did[:10])}"] * bool(did)
    return "; ".join([*parts, *[f"so already: {', '.join(so[:10])}"] * bool(so)])


def _has(kind: str, id: str, sub_tasks: Sequence[SubTask]) -> bool:
    """Tell whether there is a sub-task of a kind with a thing."""
    return any(
        one.kind == kind and one.object is not None and one.object.id == id for one in sub_tasks
    )


def _stands(want: Want) -> str:
    """Return where the things of a want were said to be: " in the kitchen sink"."""
    return "".join(f" {place.relation} {place.phrase.said}" for place in want.phrase.places)


def _elsewhere(want: Want, book: Searches | None) -> str:
    """Return which such things the map shows somewhere else than they were said to be."""
    if book is None or not _stands(want) or not want.label:
        return ""
    kind = kind_of(want.label)
    there = [one for one in book.scene.objects.values() if kind_of(one.label.top) == kind]
    told = [
        f"{one.id} ({one.support or one.container or one.room or 'place unknown'})"
        for one in there[:_LISTED]
    ]
    return f", but {enumerated(told)} {'was' if len(told) == 1 else 'were'} seen" if told else ""


def _any_done(want: Want, sub_tasks: Sequence[SubTask]) -> bool:
    return any(one.id in want.searches and one.state is _DONE for one in sub_tasks)


def _where(unseen: Sequence[str], partly: Sequence[str]) -> str:
    """Return where nobody has looked, or not enough, as the end of a sentence."""
    return " and ".join(
        f"{enumerated(names, _LISTED)} {'was' if len(names) == 1 else 'were'} {how}"
        for names, how in ((unseen, "not searched"), (partly, "searched in part only"))
        if names
    )


def _covered(want: Want, book: Searches | None) -> str:
    """Return what "none was seen" rests on."""
    if book is None or not want.rooms:
        return "nobody searched for it"
    left = book.left(want.label, want.rooms)
    rooms = (
        f"all {len(want.rooms)} rooms were"
        if len(want.rooms) > 1
        else f"all of {book.scene.rooms[want.rooms[0]].name} was"
    )
    return f"{rooms} looked over (unseen ones expected: {left:.2f})"


def _served(id: str, want: Want, sub_tasks: Sequence[SubTask]) -> bool:
    """Whether all sub-tasks for a thing (or room) of a want are done, and what came of it seen."""
    ids = set(want.assigned[id])
    kinds = {"bring": ("pick", "place"), "take": ("pick",)}.get(want.kind, ())
    mine = [
        one
        for one in sub_tasks
        if one.id in ids or (one.kind in kinds and one.object and one.object.id == id)
    ]
    return bool(mine) and all(one.state is _DONE for one in mine)


def why_nobody(one: SubTask, verdicts: Mapping[str, Verdict], failures: Mapping[str, str]) -> str:
    """Return why each robot does not do a sub-task, in one line; what has failed, how it failed."""
    refused = next((why for why in failures.values() if NO_PERMIT in why), "")
    if refused:
        return f"it was not permitted ({refused[refused.index(NO_PERMIT) :]})"
    it = "all of it" if len(one.rooms) > 1 else "it"  # rooms are searched one by one then
    return f"nobody can do {it} ({reasons(verdicts, failures) or 'no robot was there'})"


def reasons(verdicts: Mapping[str, Verdict], failures: Mapping[str, str] = _NONE) -> str:
    """Return why each robot does not do a sub-task, or how it failed at it, in one line."""
    told = [
        f"{robot}: {failures.get(robot) or inline_data(_because(verdict), limit=300)}"
        for robot, verdict in verdicts.items()
    ]
    return "; ".join(told[:12])


def _because(verdict: Verdict) -> str:
    return verdict.reason or (verdict.obstacle.value if verdict.obstacle else "no")


def is_full(verdicts: Iterable[Verdict]) -> bool:
    """Whether a robot says that there is no room left, and for what else the others cannot.

    Those say nothing of the surface: they cannot take the thing, or do not get there.
    """
    told = tuple(verdicts)
    return any(v.obstacle is Obstacle.NO_ROOM for v in told) and not any(v.feasible for v in told)
