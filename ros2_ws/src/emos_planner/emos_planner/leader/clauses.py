"""Clauses of a task: bounded, in English, each with its verb and the robot that it speaks to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coterie_requests.understanding import (
    MAX_SENTENCE_CHARS,
    NotUnderstood,
    foreign_words,
    is_english,
    is_name,
    language_told,
    nearest,
    plain_text,
    shown,
    unknown_words,
    words_in,
    words_of,
)
from coterie_requests.understanding.phrases import PERSONS, STOPS
from coterie_requests.understanding.quantities import (
    ARTICLES,
    NUMBERS,
    ORDINALS,
    SUPERLATIVES,
    begins_phrase,
)
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.sentences import Sentence, need_of
from emos_planner.leader.verbs import (
    ASKS,
    CAN_DO,
    CANNOT,
    EXAMPLE,
    MEANT,
    VERBS,
    WHERE,
    base_verb,
)

_LEAD_WORDS = frozenset(
    words_of(
        "hey hello hi ok okay so now then first second third finally lastly also next "
        "afterwards after please kindly just robot robots team someone somebody secondly "
        "firstly dear alright well oh um yes and"
    )
)
_LEAD = re.compile(
    r"^(?:(?:hey|hello|hi|ok|okay|so|now|then|first of all|first|second|finally|lastly|last|also|"
    r"next|afterwards|after that|to begin with|and|well|alright|oh|um|yes|dear|firstly|secondly|"
    r"please|kindly|just|robots?|team|everyone|someone|somebody|one of you|"
    r"(?:can|could|would|will) (?:you|one of you|someone|somebody|anyone|the robots?)|"
    r"(?:i|we) (?:want|need|would like|like)(?: you)?(?: all)? to|"
    r"you (?:should|must|have to|need to)|lets|let us|try to|make sure to|be sure to|go and|"
    r"go to and|remember to|help me(?: to)?|the robots? (?:should|must)|good (?:morning|evening)|"
    r"(?:i would )?like you to|i would like)[\s,]+)+"
)
_THEN = re.compile(r"\b(?:then|after that|afterwards|finally|lastly|next|secondly|second)\b")
SEPARATOR = re.compile(
    r"\s*,?\s+(?:and\s+)?(?:then|after that|afterwards|finally|also|but|lastly|next|plus)\s+|"
    r"\s*,\s*and\s+|\s+and\s+|\s*,\s*"
)
_EVERYBODY = re.compile(r"^(?:everybody|all (?:of you|robots)|all the robots|you all)\b[ ,]*")
_CALLED = re.compile(
    r"^\W*(?:(?:hey|hi|hello|ok|okay|dear|yo)[ ,]+)?(?P<name>[^\W_][\w-]{1,24})\s*,\s*"
    r"(?P<verb>\w+)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"^(?:please )?(?:tell|ask|order|have|let|send) (?P<name>[^\W_][\w-]{1,24}) (?:to )?"
    r"(?P<verb>\w+)"
    r"|^(?P<name2>[^\W_][\w-]{1,24}) (?:should|must|shall) (?P<verb2>\w+)",
    re.IGNORECASE,
)
_SENT = re.compile(r"(?:send|let|have|tell|ask) (?:the )?")
_NOTHING = re.compile(
    r"^(?:there|that is (?:all|it)(?: for (?:now|today))?|all|everyone|you|robots?|team|"
    r"good (?:job|work|boy|day|morning|evening|night)|well done|great|fine|how are you)$"
)
_ORDINARY = frozenset((*STOPS, *ARTICLES, *NUMBERS, *ORDINALS, *SUPERLATIVES, *PERSONS))


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in plain words, without the robot that it speaks to.

    `then` says that it comes after those before it; `notes` what was said and changes nothing.
    """

    text: str
    robot: str = ""
    everybody: bool = False
    then: bool = False
    notes: tuple[str, ...] = ()


def checked(words: str, names: Vocabulary) -> Vocabulary:
    """Return the vocabulary with the persons that a task names.

    Raises:
        NotUnderstood: The task is empty, too long, or in another language, has a word that is none,
            or speaks to a robot that is not in the team.
    """
    if len(words) > MAX_SENTENCE_CHARS:
        raise NotUnderstood(
            f"the task has {len(words)} characters, at most {MAX_SENTENCE_CHARS} are read; "
            "split it",
            "too_long",
        )
    text = plain_text(words)
    if not any(c.isalnum() for c in text):
        raise NotUnderstood(f"the task is empty; {CAN_DO}: {EXAMPLE['bring']}", "empty")
    known = [
        name
        for name in names.names
        if not name.isascii() or " " not in name or any(c.isdigit() for c in name)
    ]
    known += [*names.robots]
    foreign = foreign_words(text, known)
    if foreign is not None:
        raise NotUnderstood(
            language_told(foreign, what="task"),
            "language",
            foreign.words[0],
            sentence=words,
            language=foreign.language or "unknown",
        )
    _check_robot(text, names, words)
    persons = _persons(text, names)
    _check_words(text, [*known, *persons], names, words)
    return replace(names, persons=frozenset(persons))


def _check_robot(text: str, names: Vocabulary, words: str) -> None:
    for found in (_CALLED.match(text), _TOLD.match(text)):
        if found is None:
            continue
        parts = found.groupdict()
        name, verb = parts["name"] or parts["name2"], parts["verb"] or parts["verb2"]
        low = name.lower()
        strange = low not in names.names and low not in _ORDINARY and low not in _LEAD_WORDS
        named = any(c.isdigit() for c in low) or is_name(low) or not is_english(low)
        orders = base_verb(verb.lower()) == verb.lower() or verb.lower() in MEANT
        if strange and named and orders and not base_verb(low) and low not in MEANT:
            near = nearest(low, names.robots)
            team = ", ".join(names.robots) or "no robot at all"
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise NotUnderstood(
                f"no robot is called {name!r}; the team has {team}{hint}",
                "robot",
                name,
                sentence=words,
                suggestions=near or names.robots,
            )


def _persons(text: str, names: Vocabulary) -> list[str]:
    """Return the names of persons in a text: words that begin with a capital and mean nothing."""
    found = []
    for word, position in words_in(text):
        low = word.lower().removesuffix("'s")
        if low in names.names or low in _ORDINARY or low in VERBS:
            continue
        begins = position == 0 or text[:position].rstrip()[-1:] in ".!?;:"
        if word[0].isupper() and not word.isupper() and not begins:
            if is_name(low) or not is_english(low):
                found.append(low)
        elif is_name(low) and not is_english(low):
            found.append(low)
        elif is_name(low) and re.search(rf"\b(?:to|for|give|bring) {re.escape(word)}\b", text):
            found.append(low)  # "to john"
    # A capital does not make a name of what is only misspelled.
    near = _vocabulary(names)
    return [name for name in found if is_name(name) or not nearest(name, near)]


def _vocabulary(names: Vocabulary) -> list[str]:
    """Return the words that a misspelled one may be: verbs, little words, then names."""
    verbs = [*VERBS, *MEANT]
    usual = ["the", "all", "please", "could", "would", "where", "there", "whether", "everything"]
    return [*verbs, *usual, *sorted(_ORDINARY), *names.robots, *names.words()]


def _check_words(text: str, known: Sequence[str], names: Vocabulary, words: str) -> None:
    """Refuse words that are none."""
    near = _vocabulary(names)
    unknown = unknown_words(text, known, near=near)
    if not unknown:
        return
    mended = text
    for word in reversed(unknown):
        if word.suggestions:
            better = word.suggestions[0]
            better = better.capitalize() if word.word[0].isupper() else better
            mended = mended[: word.position] + better + mended[word.position + len(word.word) :]
    said = ", ".join(repr(word.word) for word in unknown[:6])
    are = "are no words" if len(unknown) > 1 else "is no word"
    first = unknown[0]
    if all(word.suggestions for word in unknown):
        raise NotUnderstood(
            f"{said} {are} {'that are' if len(unknown) > 1 else 'that is'} known here",
            "spelling",
            first.word,
            sentence=words,
            suggestions=(mended, *first.suggestions[:3]),
            question=f'Did you mean "{shown(mended, 200)}"?',
        )
    hints = "; ".join(
        f"{word.word!r}: {' or '.join(map(repr, word.suggestions))}?"
        for word in unknown[:6]
        if word.suggestions
    )
    raise NotUnderstood(
        f"{said} {are} known here; robots look for nothing whose name they do not know"
        + (f" ({hints})" if hints else ""),
        "word",
        first.word,
        sentence=words,
        suggestions=first.suggestions,
        question="What is meant?",
    )


def clauses_of(sentence: Sentence, names: Vocabulary, words: str) -> list[Clause]:
    """Return the clauses of a sentence, split where a separator is followed by a verb."""
    text = sentence.text
    everybody = bool(_EVERYBODY.match(text))
    text = _EVERYBODY.sub("", text)
    _check_one_robot(text, names)
    first = bool(_THEN.match(_lead(text)))
    text = _LEAD.sub("", f"{text} ").strip(" ,")
    text = re.sub(r"^(\w+(?: \w+)?) , (?=\S)", lambda m: _comma(m, names), text)
    found: list[Clause] = []
    robot = ""
    notes = tuple(sentence.notes)
    for clause, then in _split(text, names):
        then = then or (first and not found) or bool(_THEN.search(_lead(clause)))
        plain = _LEAD.sub("", f"{clause} ").strip(" ,")
        plain = need_of(plain, names.robots) or plain
        plain, named = _addressed(plain, names)
        plain = _LEAD.sub("", f"{plain} ").strip(" ,")
        robot = named or robot
        if plain and not _NOTHING.match(plain):
            found.append(Clause(plain, robot, everybody, then, notes))
            notes = ()
    return found


def _check_one_robot(text: str, names: Vocabulary) -> None:
    """Refuse orders to some of the robots."""
    words = text.split()[:3]
    named = [word for word in words if (name := names.names.get(word)) is not None and name.robot]
    if len(named) == 2 and words[1] in ("and", "or"):
        raise NotUnderstood(
            f"{shown(text)!r} speaks to some of the robots: speak to one, to everybody, or to "
            f"nobody "
            "and the team finds out who does it",
            "robot",
            " ".join(words),
        )


def _lead(text: str) -> str:
    found = _LEAD.match(f"{text} ")
    return found.group() if found is not None else ""


def _comma(spoken_to: re.Match[str], names: Vocabulary) -> str:
    """Take the comma away after the name of a robot that is spoken to."""
    name = names.lookup(spoken_to.group(1))
    return f"{spoken_to.group(1)} " if name is not None and name.robot else spoken_to.group()


def _split(text: str, names: Vocabulary) -> list[tuple[str, bool]]:
    """Split a sentence where a separator is followed by a verb (or a robot and a verb)."""
    clauses: list[tuple[str, bool]] = []
    start, then = 0, False
    for cut in SEPARATOR.finditer(text):
        rest = text[cut.end() : cut.end() + 200]
        rest = _LEAD.sub("", f"{rest} ").strip()
        later = bool(_THEN.search(cut.group()))
        if cut.start() > start and _begins(rest, names, later):
            clauses.append((text[start : cut.start()], then))
            start, then = cut.end(), later
    clauses.append((text[start:], then))
    return clauses


def _begins(rest: str, names: Vocabulary, then: bool) -> bool:
    words = rest.split()
    if not words:
        return False
    if ASKS.match(rest) or WHERE.match(rest) or rest.startswith(("do not ", "never ")):
        return True
    if _is_verb(words):
        return True
    found = names.find(words, 0)
    if found is not None and found[0].robot:
        after = words[found[1] :]
        return bool(after) and (
            after[0] == "," or _is_verb(after) or after[0] in ("should", "must")
        )
    if words[0] in ("to", "into") and then:
        return True  # "go to the kitchen then to the bedroom"
    cannot = words[0] in MEANT or words[0] in CANNOT
    return (
        cannot
        and len(words) > 1
        and (
            begins_phrase(words[1])
            or words[1] in ("it", "them", "some")
            or not names.find(words, 0)
        )
    )


def _is_verb(words: Sequence[str]) -> bool:
    if words[0] not in VERBS:
        return False
    if words[0] in ("open", "close") and len(words) > 1 and words[1] in ("to", "and", ","):
        return False
    # "the drawer set", "watch": nouns that look like verbs.
    nouns = ("watch", "spot", "set", "place", "run", "drop", "hand", "stick", "slide", "pop")
    return not (words[0] in nouns and len(words) == 1)


def _addressed(clause: str, names: Vocabulary) -> tuple[str, str]:
    """Return the clause without the robot that it speaks to, and that robot's name."""
    sent = _SENT.match(clause)
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
