"""What a person can do now: the actions of the agents, made from what the person perceives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from coterie_console.text import plain
from coterie_core.cooperation import (
    Action,
    Close,
    Facts,
    GoTo,
    Grab,
    Note,
    NoteKind,
    Open,
    Put,
    Send,
    Sighting,
    Thing,
    Turn,
    Wait,
    Whereabouts,
    compose,
)
from coterie_core.cooperation.messages import Answer
from research.natural_order import natural
from research.play.person import Choice, Person
from reveca_agent.communication import looked, searched
from reveca_agent.skill_book import carriers

WALK = 400
"""Most steps of one walk before the person is asked again."""
STAND_BY = 10
"""Most steps that one stands by."""
TOLD = 8
"""Most things told in one message, as with the agents."""
OFFERED = 6
"""Most one-click messages of a kind."""


def choices(person: Person) -> list[Choice]:
    """Return all that the person can do now, most wanted first; ids are unique."""
    found = [*_in_reach(person), *_places(person), *_standing(person)]
    if person.briefing.others:
        found = [*_answers(person), *found, *_messages(person)]
    out: dict[str, Choice] = {}
    for choice in found:
        out.setdefault(choice.id, choice)
    return list(out.values())


# --- what is in reach ----------------------------------------------------------------------------


def _in_reach(person: Person) -> Iterator[Choice]:
    near = [thing for thing in person.percept.things if person.near(thing.spot)]
    near.sort(key=lambda t: (not person.wanted(t), natural(t.id)))
    yield from _putting(person, near)
    free = len(person.percept.hands) < person.briefing.hands
    for thing in near:
        owner = person.memory.owner(thing)
        shut = owner is not None and owner.is_open is False
        mine = thing.id in person.percept.hands or thing.parent in person.percept.hands
        if thing.portable and thing.relation != "held" and free and not shut and not mine:
            there = f" ({thing.relation} {plain(thing.parent)})" if thing.parent else ""
            useful = person.wanted(thing) or (thing.kind == "container" and person.briefing.turn)
            yield Choice(
                f"take {thing.id}",
                "do" if useful else "further",
                f"Take {plain(thing.id)}{there}",
                partial(Grab, thing.id),
                target=thing.id,
            )
    for thing in near:
        name = plain(thing.id)
        if thing.is_open is False:
            yield Choice(f"open {thing.id}", "do", f"Open {name}", partial(Open, thing.id))
        elif thing.is_open is True:
            yield Choice(f"close {thing.id}", "further", f"Close {name}", partial(Close, thing.id))


def _putting(person: Person, near: list[Thing]) -> Iterator[Choice]:
    """Putting down what is held, on or in what is in reach; into containers in one's own hands."""
    memory, goal = person.memory, person.briefing.goal
    transport = person.briefing.turn > 0
    for item in person.percept.hands:
        entry = memory.scene.get(item)
        label = entry.thing.label if entry else ""
        if transport and entry is not None and entry.thing.kind == "item":
            for container, room in carriers(memory, person.briefing.carry):
                if room > 0 and container.id != item:
                    yield Choice(
                        f"put {item} {container.id}",
                        "do",
                        f"Put {plain(item)} into {plain(container.id)} ({room} left)",
                        partial(Put, item, container.id, "in"),
                    )
        filled = person.inside(item) if transport else []
        for target in near:
            if target.kind == "item" or target.is_open is False or target.id in memory.hands:
                continue
            if transport and target.kind != "surface":
                continue
            relation = "in" if target.kind == "container" else "on"
            labels = {memory.scene[id_].thing.label for id_ in filled} or {label}
            fits = any(
                sub.target in (target.label, target.id)
                for one in labels
                for sub in goal.of_item(one)
            )
            words = f"Put {plain(item)} {relation} {plain(target.id)}"
            if filled:
                what = ", ".join(plain(id_) for id_ in filled)
                words = f"Put what is in {plain(item)} ({what}) on {plain(target.id)}"
            yield Choice(
                f"put {item} {target.id}",
                "do" if fits else "further",
                words,
                partial(Put, item, target.id, relation),  # type: ignore[arg-type]
            )


# --- places --------------------------------------------------------------------------------------


def _places(person: Person) -> Iterator[Choice]:
    """Wanted things and where they go first, then rooms, then what stands here, then the rest."""
    memory, goal = person.memory, person.briefing.goal
    known = [e for e in memory.scene.values() if not e.missing and e.thing.relation != "held"]
    known = [e for e in known if e.thing.parent not in memory.hands]
    known.sort(key=lambda e: natural(e.thing.id))
    seen = {thing.id for thing in person.percept.things}
    here = memory.spot.room
    for entry in known:
        thing = entry.thing
        if person.near(thing.spot):
            continue
        if thing.kind == "item" and thing.id not in seen and not person.wanted(thing):
            continue  # it was seen some time ago, and nobody asks for it
        useful = person.wanted(thing) or bool({thing.label, thing.id} & goal.targets)
        useful = useful or (thing.id in memory.closed and thing.id not in memory.searched)
        useful = useful or (person.briefing.turn > 0 and thing.portable and thing.kind != "item")
        yield _walk(
            person,
            f"go to {thing.id}",
            "go" if useful else "further",
            f"Go to {plain(thing.id)} ({person.where(thing)})",
            # What is not in view any more is walked to by where it lay.
            partial(GoTo, thing.parent or thing.id, thing.spot),
            thing.id,
        )
    for room in sorted(person.briefing.ways.rooms.values(), key=lambda r: natural(r.id)):
        away = person.briefing.ways.distance(memory.spot, room.spot)
        if not away > 0.05:
            continue
        unseen = "not looked round yet" if person.briefing.turn else "not seen yet"
        new = "" if room.id in memory.rooms else f", {unseen}"
        words = "the middle of " if room.id == here else ""
        yield _walk(
            person,
            f"go to room {room.id}",
            "further" if room.id == here and not person.briefing.turn else "go",
            f"Go to {words}{person.room(room.id)} ({away:.0f} m{new})",
            partial(GoTo, room.id, room.spot),
            room.id,
        )


def _walk(
    person: Person, id_: str, group: str, text: str, action: Callable[[], Action], target: str
) -> Choice:
    return Choice(id_, group, text, action, WALK, "arrival", target)  # type: ignore[arg-type]


def _standing(person: Person) -> Iterator[Choice]:
    turn = person.briefing.turn
    if turn:
        round_ = 360 // turn
        yield Choice(
            "look round",
            "do",
            f"Look round, until all of the room is seen (at most {round_} steps)",
            partial(Turn, turn),
            round_,
            "seen",
        )
        yield Choice("turn left", "wait", f"Turn left by {turn}°", partial(Turn, turn))
        yield Choice("turn right", "wait", f"Turn right by {turn}°", partial(Turn, -turn))
    yield Choice("wait", "wait", "Wait one step", partial(Wait, "the person waits"))
    yield Choice(
        "stand by",
        "wait",
        f"Wait until something happens (at most {STAND_BY} steps)",
        partial(Wait, "the person waits"),
        STAND_BY,
        "event",
    )


# --- messages ------------------------------------------------------------------------------------


def _answers(person: Person) -> Iterator[Choice]:
    """Yes and no to what others asked."""
    for question in list(person.questions.values())[-OFFERED:]:
        facts = question.facts or Facts()
        search = facts.place == facts.item
        placed = person.memory.placed.get(facts.item)
        if search:
            partly = bool(person.memory.unopened(facts.item))
            options: list[tuple[Answer, str]] = [
                ("looked" if partly else "searched", ""),
                ("untouched", ""),
            ]
        elif placed is not None and not placed.by:
            options = [("placed", placed.target), ("untouched", "")]
        else:
            options = [("taken", ""), ("untouched", "")]
        for answer, place in options:
            said = Facts(
                item=facts.item,
                label=facts.label,
                place=place,
                answer=answer,
                reply_to=question.id,
                me=_me(person),
            )
            words = compose("reply", Facts(item=facts.item, place=place, answer=answer))[0]
            yield _say(
                person,
                f"answer {question.id} {answer}",
                "say",
                f"Answer {plain(question.sender)}: {plain(words, 200)}",
                "reply",
                said,
                to=(question.sender,),
            )


def _messages(person: Person) -> Iterator[Choice]:
    """One-click messages: what one took, brought, looks for, makes for and knows."""
    memory, goal = person.memory, person.briefing.goal
    carried = _carried(person)
    for id_ in carried:
        entry = memory.scene.get(id_)
        if entry is not None and entry.thing.label in goal.items:
            yield _say(
                person, f"took {id_}", "say", f"“I took {plain(id_)}.”", "start",
                Facts(me=_me(person)), opening=f"I took {id_}.",
            )  # fmt: skip
    for id_ in sorted(person.carried_out & set(memory.placed), key=natural)[:OFFERED]:
        claim, thing = memory.placed[id_], memory.scene[id_].thing
        facts = Facts(
            me=_me(person), item=id_, label=thing.label, place=claim.target, answer="placed",
            subgoal=claim.key,
        )  # fmt: skip
        yield _say(
            person, f"done {id_}", "say", f"“{plain(id_)} is {thing.relation} "
            f"{plain(claim.target)} now.”", "done", facts,
        )  # fmt: skip
    yield _say(
        person, "tell", "say", "Tell where I am and what I know of", "start",
        Facts(
            me=_me(person),
            searched=tuple(searched(memory)[-TOLD:]),
            looked=tuple(looked(memory)[-TOLD:]),
            seen=_seen(person),
        ),
    )  # fmt: skip
    wanted = sorted(
        (e for e in memory.scene.values() if person.wanted(e.thing) and e.thing.id not in carried),
        key=lambda e: (not e.missing, -e.step, e.thing.id),
    )
    seen = {thing.id for thing in person.percept.things}
    going = [e.thing for e in wanted if not e.missing and e.thing.relation != "held"]
    for thing in going[:OFFERED]:
        yield _say(
            person, f"next {thing.id}", "say", f"“I will fetch {plain(thing.id)}.”", "start",
            Facts(me=_me(person), heading=thing.id),
        )  # fmt: skip
    asked = [e.thing for e in wanted if e.thing.id not in seen and e.thing.relation != "held"]
    for thing in asked[:OFFERED]:
        yield _say(
            person, f"ask {thing.id}", "say", f"“Did you take {plain(thing.id)}?”", "ask",
            Facts(item=thing.id, label=thing.label, place=thing.parent),
        )  # fmt: skip


def _say(
    person: Person,
    id_: str,
    group: str,
    text: str,
    kind: NoteKind,
    facts: Facts,
    *,
    to: tuple[str, ...] = (),
    opening: str = "",
) -> Choice:
    def action() -> Action:
        room = person.briefing.limit - (len(opening) + 1 if opening else 0)
        words, said = compose(kind, facts, room)
        whole = f"{opening} {words}" if opening else words
        return Send(Note(person.new_id(), person.name, kind, whole, said, to))

    return Choice(id_, group, text, action)  # type: ignore[arg-type]


def _me(person: Person) -> Whereabouts:
    memory = person.memory
    return Whereabouts(memory.spot.room, memory.spot.position, _carried(person))


def _carried(person: Person) -> tuple[str, ...]:
    """What is in the hands, and in the containers there."""
    hands = person.memory.hands
    return (*hands, *(id_ for hand in hands for id_ in person.inside(hand)))


def _seen(person: Person) -> tuple[Sighting, ...]:
    """What one saw oneself of what the goal names, newest first."""
    memory, goal = person.memory, person.briefing.goal
    found = [
        entry
        for entry in memory.scene.values()
        if not entry.by and not entry.missing and entry.thing.relation != "held"
        and (person.wanted(entry.thing) or {entry.thing.label, entry.thing.id} & goal.targets)
    ]  # fmt: skip
    found.sort(key=lambda entry: (-entry.step, entry.thing.id))
    things = [entry.thing for entry in found[:TOLD]]
    return tuple(Sighting(t.id, t.label, t.spot.room, t.parent, t.relation) for t in things)
