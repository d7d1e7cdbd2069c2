"""The offline reader: one lark grammar for commands, questions and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Literal

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef
from lark.load_grammar import Grammar

from coterie_core.colors import basic_color
from coterie_core.household import load_household, singulars
from coterie_core.kept import kept
from coterie_core.skill_registry import own_verbs
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import Place, Request, Thing
from coterie_requests.steps import StepReader
from coterie_requests.taste import is_taste
from coterie_requests.things import ThingReader, Tree, Word, no_use, trees
from coterie_requests.understanding.phrases import PERSONS
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.quantities import NUMBERS, ordinal_of
from coterie_requests.understanding.text import (
    MAX_SENTENCE_CHARS,
    code_in,
    nearest,
    plain_text,
    shown,
    word_tables,
    written_out,
)
from coterie_requests.understanding.vocabulary import MAX_NAME_WORDS, Vocabulary

Door = Literal["do", "ask", "find"]
"""Where words came in: a task, a question, or a request for objects of the map."""
EXAMPLES: dict[Door, str] = {
    "do": '"bring all mugs to the kitchen counter"',
    "ask": '"is there an oven in the kitchen?"',
    "find": '"something to sit on near the window"',
}
CAN_DO = (
    "robots can go somewhere, look for things, check whether something is there, bring or put "
    "things somewhere, and open or close furniture"
)
_ARTICLES = frozenset(("the", "a", "an", "my", "your", "our", "his", "her", "their", "any", "some"))
_BEFORE_VERBS = frozenset((",", "and", "then", "to", "must", "should", "can", "please"))
_FIRST = ("first", "firstly", "then", "finally")
_MAX_WORDS = 60
_STARTS = ("start_do", "start_ask", "start_find", "np", "target")
_MAX_SUGGESTED = 4
_QUOTED = re.compile(r'"([a-z]+)"')
_TOKEN = re.compile(r"[^\W_][\w'/.-]*[^\W_]|[^\W_]|,", re.UNICODE)
_SENTENCES = re.compile(r"[.?!;]+(?=\s|$)|\n+")
_PAUSES = re.compile(r"[:()]|--+")


def read(words: str, names: Vocabulary, door: Door = "do") -> Request:
    """Return the request that a sentence, or several, make.

    Args:
        words: As a person said them.
        names: Names that mean something: of the household, the map and the robots.
        door: Command that they are given to.

    Raises:
        NotUnderstood: Part of it is not understood; nothing of it is to be done then.
    """
    text = _checked(words, names)
    steps = StepReader(names, door)
    asides: list[str] = []
    for then, part in _parts(text, names, door, asides):
        try:
            tree = _parsed(f"start_{door}", part, words, door, names)
        except NotUnderstood:
            if door != "find" or not _is_plight(part):
                raise
            steps.serve(" ".join(word.said for word in part))
        else:
            steps.read(trees(tree)[0], part, then)
    made = steps.finished()
    if not made:
        raise NotUnderstood(
            f"{shown(words)!r} asks for nothing; say it like {EXAMPLES[door]}", "empty"
        )
    return Request(words=words, steps=made, asides=tuple(asides))


def read_thing(text: str, names: Vocabulary) -> Thing:
    """Return the things that a phrase describes: "the red mug on the table".

    Raises:
        NotUnderstood: It is no such phrase.
    """
    part = _tagged(_checked(text, names), names)
    tree = _parsed("np", part, text, "find", names)
    return ThingReader(part).np(tree)


def read_place(text: str, names: Vocabulary) -> Place:
    """Return the place that a phrase tells: "on the table in the kitchen", "upstairs".

    Raises:
        NotUnderstood: It is no such phrase.
    """
    part = _tagged(_checked(text, names), names)
    to, now = ThingReader(part).target(_parsed("target", part, text, "do", names))
    if now:
        raise NotUnderstood(f"{shown(text)!r} are several places", "target", text)
    return to


def _checked(words: str, names: Vocabulary) -> str:
    """Return the words in plain lower-case letters.

    Raises:
        NotUnderstood: There are none, too many, or they are code.
    """
    if len(words) > MAX_SENTENCE_CHARS:
        raise NotUnderstood(
            f"{len(words)} characters at once; at most {MAX_SENTENCE_CHARS} are read", "too_long"
        )
    code = code_in(words, names.names)
    if code:
        raise NotUnderstood(f"{code[0]!r} is code and no words", "word", code[0], sentence=words)
    text = written_out(plain_text(words))
    if not re.search(r"\w", text):
        raise NotUnderstood(f"{shown(words)!r} asks for nothing", "empty")
    return text


@cache
def _any_of(table: str) -> re.Pattern[str]:
    """Return the pattern of the phrases of a table, between spaces, the longest first."""
    phrases = sorted(word_tables()[table], key=len, reverse=True)
    return re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, phrases))})(?!\S)")


@cache
def _adjectives() -> frozenset[str]:
    qualities = load_lexicon().qualities.values()
    words = (word for one in qualities for word in one.words if " " not in word)
    return frozenset((*word_tables()["adjectives"].split(), *words))


def _parts(
    text: str, names: Vocabulary, door: Door, asides: list[str]
) -> Iterable[tuple[bool, list[Word]]]:
    """Yield the parts of a text that are read one after the other; True: after what came before.

    `asides` grows by the words of each that robots do not heed.
    """
    then = False
    for sentence in _SENTENCES.split(text):
        said = " ".join(_TOKEN.findall(_PAUSES.sub(" , ", sentence)))
        asides += _any_of("manner").findall(said)
        said = _any_of("courtesy").sub("", _any_of("manner").sub("", said))
        for k, part in enumerate(_any_of("then").split(said)):
            then = then or k > 0
            if words := _stripped(part.split()):
                yield then, _tagged(" ".join(words), names, door)
                then = False


def _is_plight(words: Sequence[Word]) -> bool:
    """Whether words tell a plight, or a purpose, that things are known to serve."""
    said = " ".join(word.said for word in words)
    known = words[0].said in word_tables()["plights"].split() and load_lexicon().uses_in(said)
    return bool(known) and not no_use(said)


def _stripped(tokens: list[str]) -> list[str]:
    """Leave out signs and "and" at both ends, signs in a row, and "first"."""
    kept = [t for k, t in enumerate(tokens) if t != "," or tokens[k - 1 : k] != [","]]
    while kept and (kept[-1] in (",", "and", "but", "so")):
        kept.pop()
    while kept and (kept[0] in (",", "and", "but", "so") or kept[0] in _FIRST):
        kept.pop(0)
    return kept


# -- words and their tags -------------------------------------------------------------------------


def _tagged(text: str, names: Vocabulary, door: Door = "do") -> list[Word]:
    tokens = _TOKEN.findall(text)
    if len(tokens) > _MAX_WORDS:
        raise NotUnderstood(f"{len(tokens)} words in one sentence; say it in several", "too_long")
    words: list[Word] = []
    k = 0
    while k < len(tokens):
        word, length = _named(tokens, k, names)
        words.append(word)
        k += length
    if door != "do":
        for k in range(len(words) - 1, 0, -1):
            words[k - 1] = _before(words[k - 1], words[k], words[k - 2] if k > 1 else None)
    return words


def _before(word: Word, noun: Word, last: Word | None) -> Word:
    """Let a word before a thing's name, or before such a word, tell what kind it is of.

    "Plaid" is no word of ours: a "plaid blanket" is a blanket, and the answer says what it left
    out. Nothing is done on such words: tasks refuse them. Before it stands an article or the like.
    """
    if not {"T", "K"} & set(noun.tags) or not word.said.isalpha() or "A" in word.tags:
        return word
    known = (
        word.tags
        or word.said in _grammar()[1]
        or nearest(word.said, (*sorted(_adjectives()), *load_household().colors), 1)
    )
    compound = word.tags == "T" and not word.plural and "K" not in noun.tags
    begun = last is not None and (last.said in _ARTICLES or set("ACNO") & set(last.tags))
    if (compound and word.said != noun.said) or (begun and not known):
        return Word(word.said, f"{word.tags}AK", word.name, word.plural)
    return word


def _own_verb(tokens: list[str], k: int) -> tuple[Word, int] | None:
    """Return the verb of a package's skill, where one can stand; None: there is none."""
    if k and tokens[k - 1] not in _BEFORE_VERBS:
        return None
    for verb in own_verbs():
        said = verb.split()
        if tokens[k : k + len(said)] == said:
            return Word(verb, "S" + (_tags(verb) if len(said) == 1 else ""), verb), len(said)
    return None


def _named(tokens: list[str], k: int, names: Vocabulary) -> tuple[Word, int]:
    if verb := _own_verb(tokens, k):
        return verb
    for length in range(min(MAX_NAME_WORDS, len(tokens) - k), 0, -1):
        said = " ".join(tokens[k : k + length])
        plain = said.replace("-", " ").replace("_", " ")
        name = names.lookup(said) or names.lookup(plain) if said != "," else None
        if name is None or (length > 1 and tokens[k] in ("the", "a", "an", "of")):
            continue
        tags = "T" * bool(name.label) + "R" * bool(name.room) + "F" * bool(name.floor)
        tags += "B" * bool(name.robot)
        single = next((one for one in singulars(plain) if one in names.names), plain)
        plural = name.plural and bool(name.label)
        own = single if name.plural else plain
        return Word(said, tags + (_tags(said) if length == 1 else ""), own, plural), length
    return Word(tokens[k], _tags(tokens[k]), tokens[k]), 1


def _tags(word: str) -> str:
    tags = "C" if basic_color(word) else ""
    tags += "N" if word in NUMBERS or (word.isdecimal() and len(word) < 4) else ""
    tags += "O" if ordinal_of(word) else ""
    tags += "A" if word in _adjectives() or is_taste(word) else ""
    return tags + ("P" if word in PERSONS else "")


# -- parsing --------------------------------------------------------------------------------------


@cache
def _grammar() -> tuple[str, frozenset[str]]:
    """Return the grammar with words as terminals, and the words that it knows."""
    text = resources.files("coterie_requests").joinpath("data/request.lark").read_text("utf-8")
    known = frozenset(_QUOTED.findall(text))
    text = text.replace('","', "_COMMA")
    text = _QUOTED.sub(lambda m: f"_W_{m[1].upper()}", text)
    words = "\n".join(rf"_W_{word.upper()}: /{word}\{{\w*\}}/" for word in sorted(known))
    return f"{text}\n{words}\n_COMMA: /,\\{{\\}}/\n", known


class _Compiled(Grammar):
    """The grammar as lark's own terminals and rules: to compile its text takes longest."""

    def __init__(self) -> None:
        text = _grammar()[0]
        self._parts = kept("request.lark", f"{lark.__version__}{text}", lambda: _compiled(text))

    def compile(self, *_: Any) -> tuple[list[TerminalDef], list[Rule], list[str]]:
        terminals, rules, ignored = self._parts
        return (
            [TerminalDef.deserialize(one, {}) for one in terminals],
            [Rule.deserialize(one, {}) for one in rules],
            ignored,
        )


def _compiled(text: str) -> tuple[list[Any], list[Any], list[str]]:
    made = lark.Lark(text, parser="earley", start=list(_STARTS))
    terminals = [one.serialize() for one in made.terminals]
    return terminals, [one.serialize() for one in made.rules], list(made.ignore_tokens)


@cache
def _parser() -> lark.Lark:
    return lark.Lark(_Compiled(), parser="earley", lexer="dynamic", start=list(_STARTS))


@lru_cache(maxsize=512)
def _tree(start: str, text: str) -> Tree:
    return _parser().parse(text, start=start)


def _parsed(
    start: str, words: Sequence[Word], sentence: str, door: Door, names: Vocabulary
) -> Tree:
    text = _marked(words)
    try:
        return _tree(start, text)
    except lark.exceptions.UnexpectedInput as error:
        end = len(text) if error.pos_in_stream is None else error.pos_in_stream
        at = text[:end].count(" ")
        raise _not_read(start, words, at, sentence, door, names) from None


def _marked(words: Sequence[Word]) -> str:
    """Return words with their tags and numbers, as the grammar reads them."""
    return " ".join(
        f"{word.said.replace(' ', '_')}{{{word.tags}{k if word.said != ',' else ''}}}"
        for k, word in enumerate(words)
    )


def _is_read(start: str, text: str, door: Door, names: Vocabulary) -> bool:
    try:
        _tree(start, _marked(_tagged(text, names, door)))
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def _not_read(
    start: str, words: Sequence[Word], at: int, sentence: str, door: Door, names: Vocabulary
) -> NotUnderstood:
    """Say which word is not known, or else at which one (`at`) no sentence goes on so."""
    known = _grammar()[1]
    unknown = [w.said for w in words if not w.tags and w.said not in known and w.said != ","]
    strange = next(iter(unknown), "")
    alike = nearest(strange, sorted({*names.words(), *known}), _MAX_SUGGESTED)
    near = tuple(w for w in alike if w[0] == strange[0] and abs(len(w) - len(strange)) < 2)
    text = " ".join("{}" if w.said == strange else w.said for w in words)
    fits = tuple(w for w in near if _is_read(start, text.replace("{}", w), door, names))
    if not fits and (len(strange) < 4 or 2 * len(unknown) > len(words)):
        near = ()  # it may be anything
    near = fits or near
    if near and strange not in near:
        meant = " or ".join(repr(word) for word in near)
        return NotUnderstood(
            f"I did not understand {strange!r}", "spelling", strange, sentence=sentence,
            suggestions=near, question=f"Did you mean {meant}?",
        )  # fmt: skip
    what = repr(strange or shown(sentence))
    there = f" from {words[at].said!r} on" if not strange and 0 < at < len(words) else ""
    begins = door == "do" and (strange == words[0].said or not (strange or at))
    own = ", ".join(["", *own_verbs()])
    can = f"{CAN_DO}{own}; " if begins else ""
    return NotUnderstood(
        f"I did not understand {what}{there}; {can}say it like {EXAMPLES[door]}, or let a language "
        "model read it (--model)",
        "verb" if begins and strange else "word", strange, sentence=sentence,
    )  # fmt: skip
