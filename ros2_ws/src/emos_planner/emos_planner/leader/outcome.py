"""How a task ended, told by what was asked for: done, or what is left and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coterie_core.language import inline_data
from coterie_core.tasks import SubTask, SubTaskState, Verdict
from emos_planner.leader.wants import Want

_DONE = SubTaskState.DONE


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended; `left` says for every sub-task that was not done why."""

    success: bool
    message: str
    left: Mapping[str, str]


def outcome_of(
    wants: Iterable[Want], sub_tasks: Sequence[SubTask], given_up: Mapping[str, str]
) -> Outcome:
    """Return whether what was asked for is reached, and what is left and why.

    Args:
        wants: What was asked for.
        sub_tasks: All that count, as they are now.
        given_up: Sub-task -> why nobody does it.
    """
    left = {
        one.id: f"{one.description or one.id}: "
        + (given_up.get(one.id) or one.reason or f"{one.state.name.lower()} ({one.robot})")
        for one in sub_tasks
        if one.state is not _DONE
    }
    done = sum(1 for one in sub_tasks if one.state is _DONE)
    told = [_told(want, sub_tasks) for want in wants]
    if not told:
        told = [(not left, f"{done} of {len(sub_tasks)} sub-tasks done")]
    success = all(fine for fine, _ in told)
    text = "; ".join(dict.fromkeys(text for _, text in told))
    if left and not success:
        text += ". Left: " + "; ".join(list(left.values())[:8])
    return Outcome(success, f"{text[:1].upper()}{text[1:]}", left)


def _told(want: Want, sub_tasks: Sequence[SubTask]) -> tuple[bool, str]:
    """Return whether a want is met, and how it went, in words."""
    served = [id for id in want.given if _served(id, want, sub_tasks)]
    count = len(served) + len(want.met)
    name = want.label or want.text
    looked = [one for one in sub_tasks if one.id in want.searches]
    all_looked = all(one.state is _DONE for one in looked)
    if want.kind == "check":
        if count:
            return True, f"yes, there is {_a(name)} ({', '.join([*served, *want.met])})"
        return all_looked, f"no {name} was seen" + ("" if all_looked else " yet")
    if not want.given and not want.met:
        return False, f"no {name} was found"
    wanted = want.need or len(want.given) + len(want.met)
    words = {
        "bring": "brought", "take": "picked up", "detect": "found", "go": "reached",
        "open": "opened", "close": "closed",
    }[want.kind]  # fmt: skip
    names = ", ".join([*served, *sorted(want.met)][:10])
    if count >= wanted:
        return True, f"{words}: {names}"
    return False, f"{count} of {wanted} {name or 'places'} {words}" + (
        f" ({names})" if names else ""
    )


def _served(id: str, want: Want, sub_tasks: Sequence[SubTask]) -> bool:
    """Whether all sub-tasks for a thing (or room) of a want are done."""
    ids = set(want.given[id])
    kinds = {"bring": ("pick", "place"), "take": ("pick",)}.get(want.kind, ())
    mine = [
        one
        for one in sub_tasks
        if one.id in ids or (one.kind in kinds and one.object and one.object.id == id)
    ]
    return bool(mine) and all(one.state is _DONE for one in mine)


def why_nobody(verdicts: Mapping[str, Verdict], failures: Mapping[str, str]) -> str:
    """Return why each robot does not do a sub-task, in one line; what has failed, how it failed."""
    told = [
        f"{robot}: {failures.get(robot) or _because(verdict)}"
        for robot, verdict in verdicts.items()
    ]
    return "nobody can do it (" + ("; ".join(told[:12]) or "no robot was there") + ")"


def _because(verdict: Verdict) -> str:
    why = verdict.reason or (verdict.obstacle.value if verdict.obstacle else "no")
    return inline_data(why, limit=160)


def _a(name: str) -> str:
    if name.endswith("s"):
        return name
    return f"an {name}" if name[:1] in "aeiou" else f"a {name}"
