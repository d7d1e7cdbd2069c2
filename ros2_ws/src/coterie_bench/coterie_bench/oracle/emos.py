"""What a person would answer who leads a team of robots, or steers one of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coterie_bench.oracle.request import Question

_CALLS = 8  # look-ups in one turn
_LINE = re.compile(r"^(?P<id>[^:]+): (?P<label>[^;]+)(?P<rest>;.*)?$")
_CLAUSE = re.compile(r",? and (?=(?:go to|look at|put) )", re.IGNORECASE)
_NAMED = re.compile(
    r"^the (?:(?P<words>.+?)) in the (?P<room>[^,]+)$|^(?P<alone>.+)$", re.IGNORECASE
)


@dataclass(frozen=True)
class _Thing:
    """A thing as a line of the prompt tells it."""

    id: str
    label: str
    room: str = ""
    holder: str = ""
    color: str = ""
    top: bool = False


@dataclass
class _Goal:
    """What one clause asks for, and what was looked up about it.

    `thing` and `onto` are ids; of what is to be found they are its name and a room. `able` does all
    of it in so many seconds; `takes` and `puts` do their half. `via` is where one that takes and
    one that puts hand the thing over: its id, and both robots.
    """

    verb: str
    thing: str
    onto: str = ""
    able: dict[str, float] = field(default_factory=dict)
    takes: dict[str, float] = field(default_factory=dict)
    puts: dict[str, float] = field(default_factory=dict)
    via: tuple[str, str, str] | None = None


# -- splitting a task ------------------------------------------------------------------------------


def split(question: Question) -> dict[str, Any]:
    """Read the words, find the things, ask who gets there, and give each to whom it takes least."""
    robots = [label[6:] for label in question.data if label.startswith("robot ")]
    things, rooms = _things(question), _rooms(question)
    goals = [
        goal
        for clause in _CLAUSE.split(str(question.data["task"]).rstrip("."))
        if (goal := _goal(clause, things, rooms)) is not None
    ]
    asked = [call for goal in goals for robot in robots for call in _calls(goal, robot)]
    open_ = [call for call in asked if question.used(call[0], **call[1]) is None]
    if open_ and question.tools:
        return question.calls(*open_[:_CALLS])
    for goal in goals:
        _take_in(question, goal, robots)
    halves = [goal for goal in goals if goal.takes and goal.puts and not goal.able]
    asked = [call for goal in halves for spot in _spots(goal, things) for call in _over(goal, spot)]
    open_ = [call for call in asked if question.used(call[0], **call[1]) is None]
    if open_ and question.tools:
        return question.calls(*open_[:_CALLS])
    for goal in halves:
        spots = (spot for spot in _spots(goal, things) if _both(question, goal, spot))
        spot = next(spots, "")
        goal.via = (spot, _soonest(goal.takes), _soonest(goal.puts)) if spot else None
    return {
        "reason": "each goes to whom it takes least among those that can",
        "order": str(question.data["task"])[:400],
        "sub_tasks": list(_plan(goals, _shares(goals))),
    }


def _things(question: Question) -> dict[str, _Thing]:
    """Return all things that the prompt tells of, those with facts first."""
    found: dict[str, _Thing] = {}
    for line in str(question.data.get("things of the task", "")).splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        parts = [part.strip() for part in (match["rest"] or "").split(";")]
        told = {word: rest for part in parts for word, _, rest in [part.partition(" ")]}
        holder = told.get("on") or told.get("inside") or ""
        found[match["id"]] = _Thing(
            match["id"],
            match["label"],
            told.get("room", ""),
            holder,
            told.get("color", ""),
            "surfaces" in told,
        )
    for line in str(question.data.get("other things", "")).splitlines():
        place = re.match(r"^in (.+?): (.*)$", line)
        for part in place[2].split(", ") if place is not None else ():
            match = re.match(r"^(.+?)(?: \(([^)]*)\))?(?: \(closed\))?$", part)
            if match is not None and place is not None:
                label = (
                    match[2]
                    if match[2] not in (None, "closed")
                    else match[1].rstrip("0123456789-_")
                )
                found.setdefault(match[1], _Thing(match[1], label, place[1]))
    return found


def _rooms(question: Question) -> dict[str, str]:
    """Return name of a room -> its id."""
    lines = re.findall(r"^room ([^:]+): (.+), floor ", str(question.data["rooms and ways"]), re.M)
    return {name.lower(): id for id, name in lines}


def _goal(clause: str, things: Mapping[str, _Thing], rooms: Mapping[str, str]) -> _Goal | None:
    words = clause.strip().lower()
    for verb in ("go to", "look at"):
        if words.startswith(verb):
            said = words[len(verb) :].strip()
            found = _meant(said, things, rooms)
            return _Goal(verb, found) if found else _sought(said, rooms)
    if words.startswith("put "):
        # "the cup on the desk in the office on the shelf in the hall": where does the place begin?
        for cut in re.finditer(r" on (?=the )", words):
            thing = _meant(words[4 : cut.start()].strip(), things, rooms)
            onto = _meant(words[cut.end() :].strip(), things, rooms)
            if thing and onto:
                return _Goal("put", thing, onto)
            if onto:
                return _sought(words[4 : cut.start()].strip(), rooms)
    return None


def _sought(said: str, rooms: Mapping[str, str]) -> _Goal | None:
    """What is not on the map is looked for in the room that is named."""
    match = _NAMED.match(said)
    room = rooms.get(match["room"], "") if match is not None and match["room"] else ""
    if match is None or not room:
        return None
    return _Goal("find", re.split(" on the | in the ", match["words"])[0], room)


def _meant(said: str, things: Mapping[str, _Thing], rooms: Mapping[str, str]) -> str:
    """Return the thing (id) that a description fits best ("": none)."""
    match = _NAMED.match(said)
    room = rooms.get(match["room"], "") if match is not None and match["room"] else ""
    if match is None or not room:
        return ""
    rest, holder = match["words"], ""
    for word in (" on the ", " in the "):
        if word in rest:
            rest, _, holder = rest.partition(word)
    fits = []
    for thing in things.values():
        label = thing.label.lower()
        if thing.room != room or not (rest == label or rest.endswith(f" {label}")):
            continue
        color = rest[: -len(label)].strip()
        under = things.get(thing.holder)
        if color and thing.color and thing.color != color:
            continue
        if holder and (under is None or not under.label.lower().endswith(holder.split()[-1])):
            continue
        fits.append((-len(label), color != thing.color, thing.id))
    return min(fits)[2] if fits else ""


def _calls(goal: _Goal, robot: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if goal.verb in ("go to", "find"):
        yield "path", {"to": goal.onto or goal.thing, "robot": robot}
    elif goal.verb == "look at":
        yield "sight", {"thing": goal.thing, "robot": robot}
    else:
        yield "reach", {"thing": goal.thing, "robot": robot, "onto": ""}
        yield "reach", {"thing": goal.thing, "robot": robot, "onto": goal.onto}


def _take_in(question: Question, goal: _Goal, robots: Sequence[str]) -> None:
    for robot in robots:
        told = [question.used(name, **arguments) for name, arguments in _calls(goal, robot)]
        times = [
            float(use.value.get("time [s]", 0.0))
            if use is not None and isinstance(use.value, dict) and use.value.get("possible")
            else None
            for use in told
        ]
        if all(time is not None for time in times):
            goal.able[robot] = sum(time for time in times if time is not None)
        if goal.verb == "put":
            for half, time in zip((goal.takes, goal.puts), times, strict=True):
                if time is not None:
                    half[robot] = time


_SURFACES = ("table", "desk", "counter", "nightstand", "bench", "sofa", "dresser", "bed")
_MOST_SPOTS = 4


def _spots(goal: _Goal, things: Mapping[str, _Thing]) -> list[str]:
    """Return where a thing may be handed over: usual surfaces, those near to it first."""
    here = things[goal.thing].room
    there = things[goal.onto].room
    usual = [
        thing
        for thing in things.values()
        if thing.label.lower().split()[-1] in _SURFACES
        and thing.id not in (goal.onto, things[goal.thing].holder)
    ]
    usual.sort(key=lambda thing: (thing.room != here, thing.room != there, thing.id))
    return [thing.id for thing in usual[:_MOST_SPOTS]]


def _over(goal: _Goal, spot: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Can the one put it there, and the other reach there?"""
    for robot in (_soonest(goal.takes), _soonest(goal.puts)):
        yield "reach", {"thing": goal.thing, "robot": robot, "onto": spot}


def _both(question: Question, goal: _Goal, spot: str) -> bool:
    told = [question.used(name, **arguments) for name, arguments in _over(goal, spot)]
    return all(
        one is not None and isinstance(one.value, dict) and bool(one.value.get("possible"))
        for one in told
    )


def _soonest(half: Mapping[str, float]) -> str:
    return min(half, key=lambda robot: (half[robot], robot))


def _shares(goals: Sequence[_Goal]) -> tuple[str, ...]:
    """Return a robot for each goal ("": nobody can) so that the last one is done soonest."""
    choices = [sorted(goal.able) or [""] for goal in goals]
    best: tuple[float, float, tuple[str, ...]] | None = None
    for who in itertools.islice(itertools.product(*choices), 5000):
        busy: dict[str, float] = {}
        for goal, robot in zip(goals, who, strict=True):
            busy[robot] = busy.get(robot, 0.0) + goal.able.get(robot, 0.0)
        rated = (max(busy.values(), default=0.0), sum(busy.values()), who)
        best = rated if best is None or rated < best else best
    return best[2] if best is not None else ()


def _plan(goals: Sequence[_Goal], who: Sequence[str]) -> Iterator[dict[str, Any]]:
    for k, (goal, able) in enumerate(zip(goals, who, strict=True), start=1):
        robot = goal.via[1] if goal.via is not None else able
        if goal.verb == "go to":
            yield {"id": f"go-{k}", "kind": "go_to", "object": goal.thing, "robot": robot}
            continue
        if goal.verb == "find":
            look = {"id": f"find-{k}", "kind": "search", "label": goal.thing, "robot": robot}
            yield {**look, "rooms": [goal.onto]}
            continue
        see = {"id": f"see-{k}", "kind": "detect", "object": goal.thing, "robot": robot}
        yield see
        if goal.verb == "look at":
            continue
        thing = goal.thing
        yield _pick(f"take-{k}", thing, robot, f"see-{k}")
        if goal.via is None:
            yield _place(f"put-{k}", thing, goal.onto, robot, f"take-{k}")
            continue
        spot, _, other = goal.via
        yield _place(f"over-{k}", thing, spot, robot, f"take-{k}")
        yield _pick(f"again-{k}", thing, other, f"over-{k}")
        yield _place(f"put-{k}", thing, goal.onto, other, f"again-{k}")


def _pick(id: str, thing: str, robot: str, after: str) -> dict[str, Any]:
    return {"id": id, "kind": "pick", "object": thing, "robot": robot, "depends_on": [after]}


def _place(id: str, thing: str, onto: str, robot: str, pick: str) -> dict[str, Any]:
    by = {"robot": robot, "depends_on": [pick], "same_robot_as": pick}
    return {"id": id, "kind": "place", "object": thing, "receptacle": onto, **by}


# -- reflecting, reassigning -----------------------------------------------------------------------


def reflect(question: Question) -> dict[str, Any]:
    """Hold the numbers of each sub-task against those of the body."""
    body = question.data["your body"]
    verdicts = []
    for one in question.data["your share"]:
        against = _against(body, one) if isinstance(body, dict) else ("", "")
        obstacle, why = against
        verdicts.append(
            {
                "sub_task": one["id"],
                "reason": why or "the numbers of the way, the height and the distance fit my body",
                "feasible": not obstacle,
                "obstacle": obstacle or None,
            }
        )
    return {"reason": "compared number by number", "verdicts": verdicts}


def _against(body: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, str]:
    """Return what in a body is against a sub-task, as obstacle and sentence; two empty: nothing."""
    moves = body.get("mobility", {})
    way = str(one.get("way there", ""))
    if "stairs" in way and not moves.get("climbs stairs") and moves.get("kind") != "air":
        return "no_path", f"the way leads over stairs, and I move on {moves.get('kind')}"
    width = 2.0 * float(moves.get("radius [m]", 0.0))
    for wide in re.findall(r"door, ([\d.]+) m wide", way):
        if float(wide) < width:
            return "no_path", f"a door is {wide} m wide, and I am {width:.2f} m wide"
    arms = body.get("manipulation", {}).get("arms", [])
    if one["what"] in ("pick", "place", "open", "close"):
        if not arms:
            return "no_arm", "I have no arm to take anything with"
        far = one.get("your hand's farthest reach from your middle, by height [m]", {})
        if far and all(reach == "none" for reach in far.values()):
            return "too_high", f"my hand gets nowhere at {', '.join(far)} m"
    if one["what"] == "detect" and not body.get("perception", {}).get("cameras"):
        return "no_camera", "I have no camera to look with"
    return "", ""


def reassign(question: Question) -> dict[str, Any]:
    """Give each to a robot that has not refused it and that the tools say can do it."""
    robots = [label[6:] for label in question.data if label.startswith("robot ")]
    said = " ".join(map(str, question.data["what was said so far"]))
    lines = [
        re.match(r"^(\S+): (\w+) (\S+)(?: on (\S+))?(?:.* by the robot of (\S+))?", line)
        for line in str(question.data["sub-tasks to give"]).splitlines()
    ]
    items = [match for match in lines if match is not None]
    calls = [
        call
        for match in items
        for robot in robots
        if (call := _call_for(match, robot)) is not None
        and question.used(call[0], **call[1]) is None
    ]
    if calls and question.tools:
        return question.calls(*calls[:_CALLS])
    given: dict[str, str] = {}
    for match in items:
        id, partner = match[1], match[5]
        if partner in given:
            given[id] = given[partner]
            continue
        mates = [other for other in items if other[5] == id]
        able = [
            robot
            for robot in robots
            if not re.search(rf"{robot}: [^,]*no to {re.escape(id)} ", said)
            and all(_possible(question, other, robot) for other in (match, *mates))
        ]
        given[id] = able[0] if able else ""
    return {
        "reason": "to who can and has not refused",
        "assignments": [{"sub_task": id, "robot": robot} for id, robot in given.items()],
    }


def _call_for(match: re.Match[str], robot: str) -> tuple[str, dict[str, Any]] | None:
    kind, thing, onto = match[2], match[3], match[4]
    if kind == "search":
        return None
    if kind == "detect":
        return "sight", {"thing": thing, "robot": robot}
    if kind == "go_to":
        return "path", {"to": thing, "robot": robot}
    return "reach", {"thing": thing, "robot": robot, "onto": onto or ""}


def _possible(question: Question, match: re.Match[str], robot: str) -> bool:
    call = _call_for(match, robot)
    use = question.used(call[0], **call[1]) if call is not None else None
    return use is None or not isinstance(use.value, dict) or bool(use.value.get("possible", True))


# -- steering one robot ----------------------------------------------------------------------------


def choose(question: Question) -> dict[str, Any]:
    """Take the step that is due; after a failure something else; what shows most for its way."""
    options: dict[str, str] = {one["id"]: one["what"] for one in question.data["options"]}
    tried: list[Mapping[str, str]] = question.data["so far"]
    failed = {one["did"] for one in tried if one["result"] != "succeeded"}
    last = tried[-1] if tried else None

    def worth(id: str) -> tuple[float, str]:
        words = options[id]
        value = {"done": 8.0, "seen": 9.0}.get(id, 5.0)
        if words.startswith(("give the sub-task back", "say something", "move the hand")):
            value = 1.0 if words.startswith("give") else 0.5
        if words.startswith("wait"):
            value = 7.0 if last is not None and last["result"] == "blocked" else 2.0
        if words in failed or words.removesuffix(", once more") in failed:
            value -= 2.0
        shows = re.search(r"(?:, ([\d.]+) m away)?; shows (\d+) %.* about ([\d.]+) of them", words)
        if shows is not None:
            value += float(shows[2]) / 100.0 * float(shows[3]) / (8.0 + 2.0 * float(shows[1] or 0))
        return value, id

    best = max(options, key=worth)
    return {"reason": "the step that is due", "option": best}


def check_in_code(question: Question) -> dict[str, Any]:
    """Write no code: the tools are at hand."""
    return {"reason": "the tools tell it", "code": ""}


ANSWERS = {
    "SplitReply": split,
    "ShareReply": reflect,
    "ReassignReply": reassign,
    "SkillChoice": choose,
    "WrittenCheck": check_in_code,
}
