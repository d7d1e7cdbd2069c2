"""Household imperatives as wishes: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from emos_planner.leader.parts import Part, complete, grouped, items, located, parts_of, where_to
from emos_planner.leader.phrases import Phrase, Vocabulary
from emos_planner.leader.verbs import (
    ASKS,
    CAN_DO,
    EXAMPLE,
    JOINED,
    LEAD,
    LYING,
    MEANT,
    PUT,
    REFUSED,
    SENTENCE,
    SEPARATOR,
    STATE,
    STRONG,
    TO_GET,
    VERBS,
    WEAK,
    WHERE,
    WHERE_LATE,
    WHETHER_AT,
    NotUnderstood,
    WishKind,
)

__all__ = ["CAN_DO", "NotUnderstood", "Wish", "parse_task"]

LONGEST_TASK = 2000
"""Characters of a task that are read."""
MOST_WISHES = 60


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a person wants: verb, object, and where to (`relation`: in, on or near)."""

    kind: WishKind
    object: Phrase
    target: Phrase | None = None
    relation: str = ""
    robot: str = ""
    everybody: bool = False
    text: str = ""


def parse_task(words: str, names: Vocabulary) -> tuple[Wish, ...]:
    """Return the wishes of a task, one per verb and object, in the order they were said.

    Raises:
        NotUnderstood: Empty, too long, or a part of it means nothing to robots; nothing of it is
            done then, for half a task may be worse than none.
    """
    text = words.strip()
    if not text:
        raise NotUnderstood(f"the task is empty; {CAN_DO}: {EXAMPLE['bring']}")
    if len(text) > LONGEST_TASK:
        raise NotUnderstood(
            f"the task has {len(text)} characters, at most {LONGEST_TASK} are read; split it"
        )
    wishes: list[Wish] = []
    for sentence in SENTENCE.split(text):
        plain = _plain(sentence)
        if plain:
            _sentence(plain, names, wishes)
    if not wishes:
        raise NotUnderstood(f"{words[:80]!r} asks for nothing that robots can do; {CAN_DO}")
    if len(wishes) > MOST_WISHES:
        raise NotUnderstood(f"{len(wishes)} wishes at once; split the task (most: {MOST_WISHES})")
    return tuple(wishes)


def _plain(sentence: str) -> str:
    text = sentence.lower().replace("\u2019", "'")
    text = re.sub(r"[\"()\[\]:*]+|(?<!\w)'|'(?!\w)", " ", text)
    text = re.sub(r"[-_/](?=\w)", " ", text)
    text = " ".join(re.sub(r"\s*,\s*", " , ", text).split()).strip(" ,")
    text = LYING.sub(" ", STATE.sub("", f"{text} ")).strip()
    for said, meant in JOINED:
        text = re.sub(rf"\b{said}\b", meant, text)
    return text


def _sentence(text: str, names: Vocabulary, wishes: list[Wish]) -> None:
    verb, robot = "", ""
    everybody = bool(
        re.match(r"(?:everybody|all (?:of you|robots)|all the robots|you all)\b", text)
    )
    text = re.sub(r"^(?:everybody|all (?:of you|robots)|all the robots|you all)[ ,]*", "", text)
    text = LEAD.sub("", f"{text} ").strip(" ,")
    text = re.sub(r"^(\w+(?: \w+)?) , (?=\S)", lambda m: _comma(m, names), text)
    for clause in _clauses(text, names):
        clause = LEAD.sub("", f"{clause} ").strip(" ,")
        clause, named = _addressed(clause, names)
        clause = LEAD.sub("", f"{clause} ").strip(" ,")
        robot = named or robot
        if not clause:
            continue
        refused = REFUSED.search(clause)
        if refused is not None and not ASKS.match(clause):
            raise NotUnderstood(
                f"{clause!r}: {refused.group()!r} is not understood; say what is to be done, "
                f"unconditionally and at once. {CAN_DO[0].upper()}{CAN_DO[1:]}"
            )
        verb = _clause(clause, verb, names, wishes, robot, everybody)


def _comma(spoken_to: re.Match[str], names: Vocabulary) -> str:
    """Take the comma away after the name of a robot that is spoken to."""
    name = names.lookup(spoken_to.group(1))
    return f"{spoken_to.group(1)} " if name is not None and name.robot else spoken_to.group()


def _clauses(text: str, names: Vocabulary) -> list[str]:
    """Split a sentence where a separator is followed by a verb (or a robot and a verb)."""
    clauses, start = [], 0
    for cut in SEPARATOR.finditer(text):
        rest = LEAD.sub("", f"{text[cut.end() :]} ").strip()
        if _begins(rest, names) and cut.start() > start:
            clauses.append(text[start : cut.start()])
            start = cut.end()
    clauses.append(text[start:])
    return clauses


def _begins(rest: str, names: Vocabulary) -> bool:
    words = rest.split()
    if not words:
        return False
    if ASKS.match(rest) or WHERE.match(rest):
        return True
    if _is_verb(words):
        return True
    found = names.find(words, 0)
    if found is not None and found[0].robot:
        after = words[found[1] :]
        return bool(after) and (
            after[0] == "," or _is_verb(after) or after[0] in ("should", "must")
        )
    return words[0] in MEANT and len(words) > 1 and names.find(words, 0) is None


def _is_verb(words: Sequence[str]) -> bool:
    if words[0] not in VERBS:
        return False
    # "the drawer set", "watch": nouns that look like verbs.
    return not (words[0] in ("watch", "spot", "set", "place", "run", "drop") and len(words) == 1)


def _addressed(clause: str, names: Vocabulary) -> tuple[str, str]:
    """Return the clause without the robot that it speaks to, and that robot's name."""
    sent = re.match(r"(?:send|let|have|tell|ask) (?:the )?", clause)
    words = clause[sent.end() :].split() if sent else clause.split()
    if words and words[0] == "the":
        words = words[1:]
    found = names.find(words, 0) if words else None
    if found is None or not found[0].robot:
        return clause, ""
    after = words[found[1] :]
    while after and after[0] in (",", "should", "must", "to", "please", "can", "could", "will"):
        if after[0] == "to" and sent and not (len(after) > 1 and _is_verb(after[1:])):
            return "go " + " ".join(after), found[0].robot  # "send rover to the kitchen"
        after = after[1:]
    if after and (_is_verb(after) or sent):
        rest = " ".join(after)
        return (rest if _is_verb(after) else f"go to {rest}"), found[0].robot
    return clause, ""


def _clause(
    clause: str, verb: str, names: Vocabulary, wishes: list[Wish], robot: str, everybody: bool
) -> str:
    """Add the wishes of one clause; return its verb, which the next one may do without."""
    for pattern in (WHERE, WHERE_LATE):
        where = pattern.match(clause)
        if where is not None:
            _add(wishes, "find", items(where["what"], names, clause), None, "", robot, clause)
            return "find"
    located = WHETHER_AT.match(clause)
    if located is not None:
        said = f"{located['what']} {located['where'].removeprefix('still ')}"
        _add(wishes, "check", items(said, names, clause), None, "", robot, clause)
        return "check"
    asked = ASKS.match(clause)
    if asked is not None:
        _add(wishes, "check", items(asked["what"], names, clause), None, "", robot, clause)
        return "check"
    words = clause.split()
    if words[0] not in VERBS:
        if not verb:
            raise NotUnderstood(_no_verb(clause, words[0]))
        words = [verb, *words]
    verb, rest = words[0], words[1:]
    kind = VERBS[verb]
    if verb == "pick" and rest[:1] == ["up"]:
        rest = rest[1:]
    if verb in PUT | {"pick"} and rest[-1:] in (["down"], ["up"], ["away"], ["back"]):
        rest = rest[:-1]
    if verb in PUT and rest[:1] in (["down"], ["back"], ["away"]):
        rest = rest[1:]
    if verb == "look" and rest[:1] == ["at"]:
        kind, rest = "look", rest[1:]
    if kind == "bring" and rest[:1] and rest[0] in STRONG:
        kind = "go"  # "move to the kitchen", "return to the hall"
    if kind == "find":
        _find(clause, rest, names, wishes, robot)
    elif kind == "go":
        _go(clause, rest, names, wishes, robot, everybody)
    elif kind == "bring":
        _bring(clause, verb, rest, names, wishes, robot)
    elif kind == "check" and rest[:1] and rest[0] in ("whether", "if", "that"):
        _add(wishes, "check", items(" ".join(rest[1:]), names, clause), None, "", robot, clause)
    elif kind == "check":
        _add(wishes, "look", items(" ".join(rest), names, clause), None, "", robot, clause)
    else:
        _add(wishes, kind, items(" ".join(rest), names, clause), None, "", robot, clause)
    return verb


def _no_verb(clause: str, word: str) -> str:
    near = MEANT.get(word)
    hint = f"; nearest that they can do: {EXAMPLE[near]}" if near else f": {EXAMPLE['bring']}"
    return f"{clause!r} is not understood: {word!r} is nothing that robots can do; {CAN_DO}{hint}"


def _find(clause: str, rest: list[str], names: Vocabulary, wishes: list[Wish], robot: str) -> None:
    """As in "find the keys", "search the kitchen for keys", "look upstairs for the red towel"."""
    if "for" in rest:
        k = rest.index("for")
        where, what = rest[:k], rest[k + 1 :]
    else:
        where, what = [], rest
    if not what:
        raise NotUnderstood(f"{clause!r}: say what to look for, as in {EXAMPLE['find']}")
    things = items(" ".join(what), names, clause)
    if where and where[0] not in ("around", "everywhere"):
        if where[0] not in WEAK:
            where = ["in", *where]
        places = parts_of(where, names, clause)
        things = [located(thing, places, clause) for thing in things]
    _add(wishes, "find", things, None, "", robot, clause)


def _go(
    clause: str,
    rest: list[str],
    names: Vocabulary,
    wishes: list[Wish],
    robot: str,
    everybody: bool,
) -> None:
    while rest and rest[0] in (
        "to",
        "into",
        "in",
        "over",
        "back",
        "near",
        "towards",
        "and",
        "inside",
        "at",
    ):
        rest = rest[1:]
    if not rest:
        raise NotUnderstood(f"{clause!r}: say where to go, as in {EXAMPLE['go']}")
    for phrase in items(" ".join(rest), names, clause):
        wishes.append(Wish("go", phrase, robot=robot, everybody=everybody, text=clause))


def _bring(
    clause: str, verb: str, rest: list[str], names: Vocabulary, wishes: list[Wish], robot: str
) -> None:
    """Objects, then where to; several such pairs may follow one another."""
    parts = parts_of(rest, names, clause)
    if parts and isinstance(parts[0], Phrase) and parts[0].person:
        raise NotUnderstood(
            f"{clause!r}: robots do not know where you are; name a room or a piece of furniture, "
            f"as in {EXAMPLE['bring']}"
        )
    strong = any(isinstance(p, str) and p in STRONG for p in parts)
    group: list[Part] = []
    for k, part in enumerate(parts):
        if part == "and" and complete(group, strong) and complete(parts[k + 1 :], strong):
            _move(clause, verb, group, strong, wishes, robot)
            group = []
        else:
            group.append(part)
    _move(clause, verb, group, strong, wishes, robot)


def _move(
    clause: str,
    verb: str,
    parts: Sequence[Part],
    strong: bool,
    wishes: list[Wish],
    robot: str,
) -> None:
    cut = where_to(parts, strong)
    if cut is None:
        things = grouped(parts, clause)
        if verb in TO_GET and things:
            _add(wishes, "take", things, None, "", robot, clause)
            return
        raise NotUnderstood(f"{clause!r}: say where to, as in {EXAMPLE['bring']}")
    word = str(parts[cut])
    things = grouped(parts[:cut], clause)
    places = grouped(parts[cut + 1 :], clause)
    if len(places) != 1 or not things:
        what = "what to move" if not things else "one place where it is to go"
        raise NotUnderstood(f"{clause!r}: name {what}, as in {EXAMPLE['bring']}")
    target = places[0]
    if target.person:
        raise NotUnderstood(
            f"{clause!r}: robots do not know where {target.said!r} is; name a room or a piece of "
            f"furniture, as in {EXAMPLE['bring']}"
        )
    relation = {"into": "in", "onto": "on", "to": ""}.get(word, WEAK.get(word, ""))
    _add(wishes, "bring", things, target, relation, robot, clause)


def _add(
    wishes: list[Wish],
    kind: WishKind,
    things: Sequence[Phrase],
    target: Phrase | None,
    relation: str,
    robot: str,
    clause: str,
) -> None:
    """Add a wish per thing; "it", "them" and "the one" take their noun from what came before."""
    for thing in things:
        before = wishes[-1] if wishes else None
        if thing.person or thing.house:
            raise NotUnderstood(f"{clause!r}: {thing.said!r} is nothing to {kind}; {CAN_DO}")
        if thing.pronoun:
            if before is None:
                raise NotUnderstood(f"{clause!r}: what does {thing.said!r} stand for?")
            thing = thing.like(before.object)
            # "take the mug and put it on the desk" is one wish.
            while wishes and wishes[-1].kind == "take" and kind == "bring":
                taken = wishes.pop()
                if taken.object.noun != thing.noun:
                    wishes.append(Wish(kind, taken.object, target, relation, robot, text=clause))
                    break
        if target is not None and target.pronoun:
            if before is None:
                raise NotUnderstood(f"{clause!r}: what does {target.said!r} stand for?")
            target = target.like(before.target or before.object)
        wishes.append(Wish(kind, thing, target, relation, robot, text=clause))
