"""Household imperatives as wishes: what is to be brought, found, checked, gone to, opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from emos_planner.leader.phrases import Phrase, Vocabulary, parse_phrase, words_of

LONGEST_TASK = 2000
"""Characters of a task that are read."""
MOST_WISHES = 60

WishKind = Literal["bring", "take", "find", "check", "go", "look", "open", "close"]

CAN_DO = (
    "robots can go somewhere, look for things, check whether something is there, bring or put "
    "things somewhere, and open or close furniture"
)


class NotUnderstood(ValueError):
    """A task in words is not understood; says which words, and what is nearest that can be done."""


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


_VERBS: dict[str, WishKind] = {
    **dict.fromkeys(
        words_of("bring carry move deliver transport haul relocate transfer return take get fetch"),
        "bring",
    ),
    **dict.fromkeys(
        words_of("put place set lay drop leave store stow hang stack deposit throw toss"), "bring"
    ),
    **dict.fromkeys(["pick", "grab", "collect", "gather"], "take"),
    **dict.fromkeys(["find", "search", "locate", "seek", "spot", "look", "hunt"], "find"),
    **dict.fromkeys(words_of("check see verify tell confirm ensure report know"), "check"),
    **dict.fromkeys(words_of("go drive walk head come navigate fly travel visit run"), "go"),
    **dict.fromkeys(["inspect", "examine", "photograph", "detect", "observe", "watch"], "look"),
    **dict.fromkeys(("open", "unlock"), "open"),
    **dict.fromkeys(("close", "shut"), "close"),
}
_PUT = frozenset(words_of("put place set lay drop leave store stow hang stack deposit throw toss"))
_TO_GET = frozenset(["get", "fetch", "take"])
_MEANT = {
    "clean": "find", "tidy": "bring", "vacuum": "go", "wash": "bring", "cook": "bring",
    "turn": "open", "switch": "open", "push": "bring", "pull": "open", "give": "bring",
    "hand": "bring", "serve": "bring", "clear": "bring", "empty": "bring", "fill": "bring",
    "count": "find", "water": "go", "follow": "go", "guide": "go", "guard": "go", "wait": "go",
}  # fmt: skip
_EXAMPLE = {
    "bring": '"bring the mug to the kitchen counter"', "find": '"find the keys"',
    "go": '"go to the bathroom"', "open": '"open the fridge"',
}  # fmt: skip
_LEAD = re.compile(
    r"^(?:(?:hey|hello|hi|ok|okay|so|now|then|first|second|finally|also|next|afterwards|after that|"
    r"please|kindly|just|robots?|team|everyone|someone|somebody|one of you|"
    r"(?:can|could|would|will) (?:you|one of you|someone|somebody|the robots?)|"
    r"(?:i|we) (?:want|need|would like|d like)(?: you)?(?: all)? to|i'd like you to|"
    r"you (?:should|must|have to|need to)|let's|try to|make sure to|be sure to|go and|go to and|"
    r"remember to|your task is to|help me(?: to)?|the robots? (?:should|must))[\s,]+)+"
)
_SENTENCE = re.compile(r"(?<!\d)[.!?;\n]+(?=\s|$)|[!?;\n]+")
_SEPARATOR = re.compile(
    r"\s*,?\s+(?:and\s+)?(?:then|after that|afterwards|finally|also)\s+|"
    r"\s*,\s*and\s+|\s+and\s+|\s*,\s*"
)
_REFUSED = re.compile(
    r"\b(?:not|don't|dont|never|unless|except|without|until|instead|if there|when|while|as soon as|"
    r"every (?:day|hour|morning|evening|time)|tomorrow|tonight|at \d|in \d+ (?:minutes|hours))\b"
)
_STATE = re.compile(r"\b(?:that|which|who) (?:is|are|was|were|stands?|lies?|sits?) ")
_LYING = re.compile(
    r" (?:lying|standing|sitting|located|placed|kept|left|hanging) (?=in|on|at|under|near)"
)
_ASKS = re.compile(
    r"^(?:(?:check|see|verify|tell me|tell us|confirm|report|find out|know|look|let me know|"
    r"make sure)(?: whether| if| that)? )?"
    r"(?:there (?:is|are)|is there|are there|(?:do|can) you see|we (?:still )?have|do we have|"
    r"you (?:can )?see) (?P<what>.+?)(?: there| or not)?$"
)
_WHERE = re.compile(r"^(?:tell me )?where (?:is|are|did (?:i|we) (?:leave|put)) (?P<what>.+)$")
_WHERE_LATE = re.compile(r"^(?:tell me |show me |find out )where (?P<what>.+?) (?:is|are)$")
_WHETHER_AT = re.compile(
    r"^(?:check|see|verify|tell me|confirm|find out|know)(?: whether| if| that) (?P<what>.+?) "
    r"(?:is|are) (?P<where>(?:still )?(?:in|on|at|upstairs|downstairs).*)$"
)
_STRONG = frozenset(("to", "into", "onto"))
_WEAK = {"in": "in", "inside": "in", "within": "in", "at": "in", "on": "on", "upon": "on",
         "near": "near", "beside": "near", "by": "near", "into": "in", "onto": "on"}  # fmt: skip
_FROM = frozenset(("from", "off"))
_JOINED = (("on top of", "on"), ("next to", "near"), ("close to", "near"), ("out of", "from"),
           ("over to", "to"), ("back to", "to"), ("down on", "on"), ("in front of", "near"),
           ("away from", "from"), ("up to", "to"), ("as well as", "and"))  # fmt: skip


def parse_task(words: str, names: Vocabulary) -> tuple[Wish, ...]:
    """Return the wishes of a task, one per verb and object, in the order they were said.

    Raises:
        NotUnderstood: Empty, too long, or a part of it means nothing to robots; nothing of it is
            done then, for half a task may be worse than none.
    """
    text = words.strip()
    if not text:
        raise NotUnderstood(f"the task is empty; {CAN_DO}: {_EXAMPLE['bring']}")
    if len(text) > LONGEST_TASK:
        raise NotUnderstood(
            f"the task has {len(text)} characters, at most {LONGEST_TASK} are read; split it"
        )
    wishes: list[Wish] = []
    for sentence in _SENTENCE.split(text):
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
    text = _LYING.sub(" ", _STATE.sub("", f"{text} ")).strip()
    for said, meant in _JOINED:
        text = re.sub(rf"\b{said}\b", meant, text)
    return text


def _sentence(text: str, names: Vocabulary, wishes: list[Wish]) -> None:
    verb, robot = "", ""
    everybody = bool(
        re.match(r"(?:everybody|all (?:of you|robots)|all the robots|you all)\b", text)
    )
    text = re.sub(r"^(?:everybody|all (?:of you|robots)|all the robots|you all)[ ,]*", "", text)
    text = _LEAD.sub("", f"{text} ").strip(" ,")
    text = re.sub(r"^(\w+(?: \w+)?) , (?=\S)", lambda m: _comma(m, names), text)
    for clause in _clauses(text, names):
        clause = _LEAD.sub("", f"{clause} ").strip(" ,")
        clause, named = _addressed(clause, names)
        clause = _LEAD.sub("", f"{clause} ").strip(" ,")
        robot = named or robot
        if not clause:
            continue
        refused = _REFUSED.search(clause)
        if refused is not None and not _ASKS.match(clause):
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
    for cut in _SEPARATOR.finditer(text):
        rest = _LEAD.sub("", f"{text[cut.end() :]} ").strip()
        if _begins(rest, names) and cut.start() > start:
            clauses.append(text[start : cut.start()])
            start = cut.end()
    clauses.append(text[start:])
    return clauses


def _begins(rest: str, names: Vocabulary) -> bool:
    words = rest.split()
    if not words:
        return False
    if _ASKS.match(rest) or _WHERE.match(rest):
        return True
    if _is_verb(words):
        return True
    found = names.find(words, 0)
    if found is not None and found[0].robot:
        after = words[found[1] :]
        return bool(after) and (
            after[0] == "," or _is_verb(after) or after[0] in ("should", "must")
        )
    return words[0] in _MEANT and len(words) > 1 and names.find(words, 0) is None


def _is_verb(words: Sequence[str]) -> bool:
    if words[0] not in _VERBS:
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
    for pattern in (_WHERE, _WHERE_LATE):
        where = pattern.match(clause)
        if where is not None:
            _add(wishes, "find", _items(where["what"], names, clause), None, "", robot, clause)
            return "find"
    located = _WHETHER_AT.match(clause)
    if located is not None:
        said = f"{located['what']} {located['where'].removeprefix('still ')}"
        _add(wishes, "check", _items(said, names, clause), None, "", robot, clause)
        return "check"
    asked = _ASKS.match(clause)
    if asked is not None:
        _add(wishes, "check", _items(asked["what"], names, clause), None, "", robot, clause)
        return "check"
    words = clause.split()
    if words[0] not in _VERBS:
        if not verb:
            raise NotUnderstood(_no_verb(clause, words[0]))
        words = [verb, *words]
    verb, rest = words[0], words[1:]
    kind = _VERBS[verb]
    if verb == "pick" and rest[:1] == ["up"]:
        rest = rest[1:]
    if verb in _PUT | {"pick"} and rest[-1:] in (["down"], ["up"], ["away"], ["back"]):
        rest = rest[:-1]
    if verb in _PUT and rest[:1] in (["down"], ["back"], ["away"]):
        rest = rest[1:]
    if verb == "look" and rest[:1] == ["at"]:
        kind, rest = "look", rest[1:]
    if kind == "bring" and rest[:1] and rest[0] in _STRONG:
        kind = "go"  # "move to the kitchen", "return to the hall"
    if kind == "find":
        _find(clause, rest, names, wishes, robot)
    elif kind == "go":
        _go(clause, rest, names, wishes, robot, everybody)
    elif kind == "bring":
        _bring(clause, verb, rest, names, wishes, robot)
    elif kind == "check" and rest[:1] and rest[0] in ("whether", "if", "that"):
        _add(wishes, "check", _items(" ".join(rest[1:]), names, clause), None, "", robot, clause)
    elif kind == "check":
        _add(wishes, "look", _items(" ".join(rest), names, clause), None, "", robot, clause)
    else:
        _add(wishes, kind, _items(" ".join(rest), names, clause), None, "", robot, clause)
    return verb


def _no_verb(clause: str, word: str) -> str:
    near = _MEANT.get(word)
    hint = f"; nearest that they can do: {_EXAMPLE[near]}" if near else f": {_EXAMPLE['bring']}"
    return f"{clause!r} is not understood: {word!r} is nothing that robots can do; {CAN_DO}{hint}"


def _find(clause: str, rest: list[str], names: Vocabulary, wishes: list[Wish], robot: str) -> None:
    """As in "find the keys", "search the kitchen for keys", "look upstairs for the red towel"."""
    if "for" in rest:
        k = rest.index("for")
        where, what = rest[:k], rest[k + 1 :]
    else:
        where, what = [], rest
    if not what:
        raise NotUnderstood(f"{clause!r}: say what to look for, as in {_EXAMPLE['find']}")
    things = _items(" ".join(what), names, clause)
    if where and where[0] not in ("around", "everywhere"):
        if where[0] not in _WEAK:
            where = ["in", *where]
        places = _parts(where, names, clause)
        things = [_located(thing, places, clause) for thing in things]
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
        raise NotUnderstood(f"{clause!r}: say where to go, as in {_EXAMPLE['go']}")
    for phrase in _items(" ".join(rest), names, clause):
        wishes.append(Wish("go", phrase, robot=robot, everybody=everybody, text=clause))


def _bring(
    clause: str, verb: str, rest: list[str], names: Vocabulary, wishes: list[Wish], robot: str
) -> None:
    """Objects, then where to; several such pairs may follow one another."""
    parts = _parts(rest, names, clause)
    if parts and isinstance(parts[0], Phrase) and parts[0].person:
        raise NotUnderstood(
            f"{clause!r}: robots do not know where you are; name a room or a piece of furniture, "
            f"as in {_EXAMPLE['bring']}"
        )
    strong = any(isinstance(p, str) and p in _STRONG for p in parts)
    group: list[_Part] = []
    for k, part in enumerate(parts):
        if part == "and" and _complete(group, strong) and _complete(parts[k + 1 :], strong):
            _move(clause, verb, group, strong, wishes, robot)
            group = []
        else:
            group.append(part)
    _move(clause, verb, group, strong, wishes, robot)


_Part = str | Phrase


def _complete(parts: Sequence[_Part], strong: bool) -> bool:
    """Whether there is an object, a preposition of where to, and a place."""
    return bool(parts) and isinstance(parts[0], Phrase) and _cut(parts, strong) is not None


def _cut(parts: Sequence[_Part], strong: bool) -> int | None:
    """Index of the preposition that says where to."""
    to = [k for k, p in enumerate(parts) if isinstance(p, str) and p in _STRONG]
    if to:
        return to[-1]
    if strong:
        return None
    weak = [
        k
        for k, p in enumerate(parts[:-1])
        if isinstance(p, str) and p in _WEAK and isinstance(parts[k + 1], Phrase)
    ]
    if not weak:
        return None
    # "on the table in the kitchen": the room says which table, unless there is only the room.
    last = weak[-1]
    place = parts[last + 1]
    if (
        len(weak) > 1
        and isinstance(place, Phrase)
        and (place.room or place.floor)
        and not place.compound
    ):
        if weak[-2] == last - 2:
            return weak[-2]
    return last


def _move(
    clause: str,
    verb: str,
    parts: Sequence[_Part],
    strong: bool,
    wishes: list[Wish],
    robot: str,
) -> None:
    cut = _cut(parts, strong)
    if cut is None:
        things = _grouped(parts, clause)
        if verb in _TO_GET and things:
            _add(wishes, "take", things, None, "", robot, clause)
            return
        raise NotUnderstood(f"{clause!r}: say where to, as in {_EXAMPLE['bring']}")
    word = str(parts[cut])
    things = _grouped(parts[:cut], clause)
    places = _grouped(parts[cut + 1 :], clause)
    if len(places) != 1 or not things:
        what = "what to move" if not things else "one place where it is to go"
        raise NotUnderstood(f"{clause!r}: name {what}, as in {_EXAMPLE['bring']}")
    target = places[0]
    if target.person:
        raise NotUnderstood(
            f"{clause!r}: robots do not know where {target.said!r} is; name a room or a piece of "
            f"furniture, as in {_EXAMPLE['bring']}"
        )
    relation = {"into": "in", "onto": "on", "to": ""}.get(word, _WEAK.get(word, ""))
    _add(wishes, "bring", things, target, relation, robot, clause)


def _items(text: str, names: Vocabulary, clause: str) -> list[Phrase]:
    """Return the phrases of a list of things, each with where it is."""
    found = _grouped(_parts(text.split(), names, clause), clause)
    if not found:
        raise NotUnderstood(f"{clause!r}: say what it is about; {CAN_DO}")
    return found


def _parts(words: list[str], names: Vocabulary, clause: str) -> list[_Part]:
    """Return phrases and the words between them.

    Raises:
        NotUnderstood: A word is neither.
    """
    parts: list[_Part] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word in (",", "and", "or", "plus", "&"):
            if word == "or":
                raise NotUnderstood(f"{clause!r}: 'or' is not understood; name what is wanted")
            if parts and parts[-1] != "and":
                parts.append("and")
            i += 1
        elif word in _STRONG or word in _WEAK or word in _FROM or word in ("of", "with"):
            parts.append(word)
            i += 1
        elif (
            word in ("please", "now", "up", "again", "there", "then", "down", "away", "back")
            and parts
        ):
            i += 1
        elif word in ("under", "below", "behind", "above"):
            raise NotUnderstood(
                f"{clause!r}: {word!r} is not understood; robots know things in, on and near others"
            )
        else:
            found = parse_phrase(words, i, names)
            if found is None or found[1] == i:
                raise NotUnderstood(
                    f"{clause!r}: {word!r} is not understood there; {CAN_DO}: {_EXAMPLE['bring']}"
                )
            phrase, i = found
            if phrase.floor and parts and isinstance(parts[-1], Phrase):
                parts.append("in")  # "the towel upstairs"
            parts.append(phrase)
    while parts and isinstance(parts[-1], str):
        parts.pop()
    return parts


def _grouped(parts: Sequence[_Part], clause: str) -> list[Phrase]:
    """Return the things of a list, each with the places that follow it."""
    things: list[Phrase] = []
    k = 0
    while k < len(parts):
        part = parts[k]
        if isinstance(part, Phrase):
            things.append(part)
        elif part != "and":
            place = parts[k + 1] if k + 1 < len(parts) else None
            if not isinstance(place, Phrase):
                raise NotUnderstood(f"{clause!r}: something is missing after {part!r}")
            relation = "from" if part in _FROM else _WEAK.get(part, "in")
            if part not in ("of", "with"):
                if not things:
                    raise NotUnderstood(f"{clause!r}: what is meant {part} {place.said!r}?")
                # "the one on the table in the bedroom": the room is the table's as well.
                things[-1] = things[-1].within(relation, place)
            k += 1
        k += 1
    # "the mugs and plates in the kitchen" means both: a place said of the last counts for all.
    last = things[-1] if things else None
    shared = last is not None and last.places and not last.pronoun
    if last is not None and shared and not any(t.places for t in things[:-1]):
        things = [*(replace(t, places=last.places) for t in things[:-1]), last]
    return things


def _located(thing: Phrase, places: Sequence[_Part], clause: str) -> Phrase:
    for k, part in enumerate(places[:-1]):
        place = places[k + 1]
        if isinstance(part, str) and isinstance(place, Phrase):
            thing = thing.within(_WEAK.get(part, "in"), place)
    return thing


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
