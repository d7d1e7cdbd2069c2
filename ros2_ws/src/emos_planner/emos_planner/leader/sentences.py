"""Sentences made plain: contractions, courtesies, asides, conditions, and needs said as orders."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from coterie_core.household import load_household
from coterie_requests.understanding import NotUnderstood, plain_text, words_of, written_out
from emos_planner.leader.verbs import JOINED, LYING, STATE, VERBS, base_verb

SENTENCE = re.compile(r"(?<!\d)[.!?;\n]+(?=\s|$)|[!?;\n]+")
_COURTESY = re.compile(
    r"\b(?:please|kindly|pretty please|thanks(?: a lot| so much| in advance)?|thank you(?: so much|"
    r" very much| in advance)?|if (?:you (?:can|could|would|may|like|please|want|wish|do not mind|"
    r"have (?:the )?time)|(?:it is )?possible|(?:it is )?not too much trouble|need be)(?= ,|$|"
    r" and\b| to\b)|"
    r"when(?:ever)? (?:you (?:can|get (?:a|the) (?:chance|minute|moment)|have "
    r"(?:a |the |some )?(?:chance|minute|moment|time|second)(?: to spare)?|"
    r"are (?:free|ready|able))|possible|convenient)|right (?:now|away)|straight away|at once|"
    r"immediately|as (?:soon|fast|quickly) as (?:possible|you can)|"
    r"asap|for (?:me|us|once)|at the moment|now|quick(?:ly)?|fast|soon|today|also|too|again|"
    r"real(?:ly)?|actually|over (?:there|here)|behind (?:you|me|us|yourself|them)|"
    r"simply|maybe|perhaps|in the meantime|meanwhile|if so|by the way|"
    r"i guess|i think|will you|would you|can you|could you)(?=[ ,]|$)"
)
"""What makes a sentence polite, and changes nothing; robots begin at once anyway."""
_LEAD_COURTESY = re.compile(
    r"^(?:(?:would|do) (?:you|one of you|anyone|someone|somebody) mind|see (?:if|whether) you can|"
    r"do you (?:know|remember)|any idea|(?:i|we) (?:do not know|forgot|wonder)(?= where)|only|"
    r"how about|what about|i (?:would )?appreciate it if you|it would be "
    r"(?:nice|great|good|lovely|helpful|kind) (?:if you|to)(?: could| would)?|do me a favor and|be "
    r"so (?:kind|good) (?:as )?(?:to|and)|go ahead and|feel free to|start (?:by|with)|"
    r"would it be possible "
    r"(?:for you )?to|you (?:can|"
    r"may|might want to|could)|(?:it is )?time to|your (?:task|job|mission) is to|"
    r"(?:i|we) (?:want|need|would like|like)(?: you)?(?: all)? to|do not forget to|i was wondering "
    r"if you could|is it possible to|are you able to|any chance you (?:can|could))(?=[ ,])"
)
_MANNER = re.compile(
    r"\b(?:very |really |as )?(?:careful|gent|quiet|slow|neat|proper|safe|nice|soft|silent|caut|"
    r"delicate|prompt|speedi|complete|tidi)(?:ious)?ly\b(?: as possible)?|\bbe careful(?: not to"
    r" \w+(?: \w+){0,3}| with (?:it|them|that))?|\bwith (?:great )?care\b|\bin (?:a|one) (?:neat|"
    r"tidy) \w+|\bwithout (?:\w+ing)(?: (?!and\b)\w+){0,4}|\bside by side\b|"
    r"\btry not to \w+(?: (?!and\b)\w+){0,3}|\bone (?:by one|"
    r"at a time|after (?:the other|another))\b|\bin turn\b"
)
_ROUGHLY = re.compile(
    r"\b(?:up to|at least|at most|exactly|no more than|not more than|about|around|only|just)"
    r"(?= (?:\d|an?\b|one|two|three|four|five|six|seven|eight|nine|ten|half|the (?:first|second)))"
)
_TIME_OF_DAY = (
    r"(?:breakfast|lunch|dinner|supper|bedtime|noon|midnight|midday|sunset|sunrise|dark|tonight|"
    r"tomorrow|today|evening|morning|afternoon|night|the (?:evening|morning|afternoon|weekend|"
    r"night|party|meeting|guests?|game|movie|show)|christmas|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+(?:[:.]\d+)?)"
    r"(?: ?(?:o'clock|am|pm|a\.m|p\.m))?)"
)
_DEADLINE = re.compile(
    rf"\b(?:before|by|in time for|until) (?:my |our )?{_TIME_OF_DAY}(?: (?:arrives?|comes?|starts?|"
    r"begins?|gets? here))?(?=[ ,]|$)|\bbefore (?:i|we|he|she|they|the \w+|my \w+|anyone|anybody|"
    r"someone|everyone|it) (?:\w+)(?: \w+){0,3}(?=[ ,]|$)"
)
_PURPOSE = re.compile(
    r"\b(?:so(?: that)? (?:i|we|he|she|it|they|you|that|the)\b|because\b|since (?:i|we|it|he|she|"
    r"they|the)\b|as (?:i|we) (?:are|need|have|want)\b|in case\b|in order to\b|instead of\b|rather "
    r"than\b|to (?:eat|drink|read|cook|wash|clean|use|dry|wear|play|sit|make|prepare|cut|write|"
    r"watch|cool|warm|keep|have|help|protect|feed|be (?:washed|cleaned|read|eaten))\b)[^,]*"
)
_SEEKS = re.compile(r"\b(?:look|search|looking|searching|hunt|hunting|check|scan|inspect)\b")
_NO_PURPOSE = re.compile(r"\b(?:something|anything|somewhere|anywhere|things?|place|nothing) to\b")
_FOR = re.compile(
    r"\bfor (?:(?:the|my|our|your|his|her|a|an|some|later|tonight|this|tomorrow|when) ?)?\w+(?: "
    r"(?!and\b|to\b|into\b|from\b|on\b|in\b|then\b|,)\w+){0,2}"
)
_CONDITION = re.compile(
    r"\b(?:(?:if|unless|whenever|when|once|until|till|while|as long as|provided|as soon as|in case|"
    r"the moment|after|before|only (?:if|when|after|once)) (?=\w)[^,]*|every (?:single )?(?:day|"
    r"hour|morning|evening|"
    r"night|afternoon|week|weekend|time|(?:\w+ )?(?:minutes?|hours?|days?)|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)[^,]*|"
    r"(?:each|twice a|once a) (?:day|hour|morning|evening|night|week)|daily|hourly|weekly|"
    r"tomorrow(?: \w+)?|tonight|this (?:evening|afternoon|morning)|"
    r"in the (?:morning|evening|afternoon)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|next "
    rf"(?:week|month|time|monday|friday|sunday)|at (?:about |around )?{_TIME_OF_DAY}(?=[ ,]|$)|"
    r"in (?:\d+|an?|one|two|three|five|ten|fifteen|twenty|thirty|half an|a few|a couple of) "
    r"(?:minutes?|hours?|seconds?|moments?|while|days?)|(?:a bit |a little )?later(?: on)?|"
    r"wait(?:ing)? (?:until|till|for|a|\d)[^,]*)"
)
_ASKED = re.compile(
    r"^(?:check|see|verify|tell|confirm|find out|know|look|let me know|make sure|where|is|are|do|"
    r"have)\b"
)
_SUB = re.compile(
    r"\b(?P<how>once|when|after|before|as soon as) (?:you(?: have| are| will)? )?(?:have |be |been "
    r"(?=to)|are )?(?P<verb>\w+)\b(?P<rest>[^,]*)"
)
_WHETHER = re.compile(
    r"\b(?:check|see|verify|tell (?:me|us)|find out|know|confirm|wonder) (?:if|whether)\b"
)
_I_LEFT = re.compile(
    r"\b(?P<if>if|whether) (?:i|we|someone|somebody) (?:left|put|forgot|still have|have)(?= )"
)
_NOT_THAT = re.compile(
    r" , (?:and |but )?not (?:a|an|the|my|our|to|in|on|from|any) [^,]*?(?= (?:to|into|in|on) |,|$)"
)
_LIGHT = r"(?:an?|another|one(?: more)?) (?:(?!(?:look|search|check)\b)\w+ ){0,2}"
_BETTER = (
    # "Have a good look", "do another search of", "give the kitchen a quick check": the noun is what
    # is to be done.
    (re.compile(rf"\b(?:have|take) {_LIGHT}(?:look|peek|glance)\b"), "look"),
    (re.compile(rf"\b(?:have|do|make|run) {_LIGHT}(search|check)(?: of| on)?\b"), r"\1"),
    (re.compile(rf"\bgive ((?:the|my|our) (?:\w+ ){{1,3}}?){_LIGHT}(?:look|check|search)"
                r"(?: over)?$"), r"check \1"),
    (
        re.compile(
            r"\bas many (\w+) as (?:you can\b|possible\b|you find\b"
            r"|there are(?= (?:in|on|at|to|from)\b|$))"
        ),
        r"all \1",
    ),
    (re.compile(r"\b(the|my|our|an?) (upstairs|downstairs) (\w+)"), r"\1 \3 \2"),
    (re.compile(r"\b(the|my|our) ((?:first|second|third|ground|top|upper|lower) floor) (?!and\b|"
                r"or\b|"
                r"to\b|for\b|in\b|on\b|,)(\w+)"), r"\1 \3 on the \2"),
    (re.compile(r"\b(?:every|each|all(?: of)?(?: the)?) rooms?\b"), "everywhere"),
    (re.compile(r"\b(?:in|on|at|to|into|onto) the (?:very )?(?:middle|center|centre|edge|top|"
                r"end) of "
                r"(?=the|my|our|a\b|his|her)"), "on "),
    (re.compile(r"\b(?:in|on|at|to|into) the (?:corner|back|front|side|bottom|(?:left|"
                r"right)(?: side| hand "
                r"side)?) of (?=the|my|our|a\b|his|her)"), "in "),
    (re.compile(r"^(?:(?:i|we) (?:think|believe|guess|know|heard)(?: that)?|apparently|"
                r"it seems(?: that)?|"
                r"maybe|perhaps) "), ""),
    (re.compile(r" , (?:and |but )?not ((?:the|my|our) (?:\w+ )?ones?)\b(?: ,)?"), r" except \1"),
    (re.compile(r"^((?:(?! to | in | on | into | onto ).)+?) , (?:and |but )?not ((?:the|my|"
                r"our) [^,]+?)"
                r"(?: ,|(?= (?:to|in|into|on) ))"), r"\1 except \2"),
)  # fmt: skip
"""Other wordings of the same, in the order in which they are tried."""
_USUAL_PLACE = re.compile(
    r"\b(?:to|in|into|on) (?:its|their|the) (?:usual |proper |right |own |correct )?(?:places?|"
    r"spots?)\b"
    r"(?! (?:of|where|in|on|near))|\bwhere (?:it|they) (?:belongs?|goes|go|was|were)(?: before)?\b"
)
_DONE = re.compile(
    r"\b(?:once|when|after|as soon as) (?:you are |that is |it is |you have )?(?:done|finished|"
    r"ready|that|this)(?: with (?:it|that|this))?\b"
)
_PLACE = (
    r"(?:still |somewhere |probably |usually |currently |out )?(?P<where>(?:in|on|at|under|"
    r"upstairs|"
    r"downstairs|inside|near|next to)\b.*)"
)
_TO = r"(?:(?:in|on|at|inside|to|into|onto)\b.*|upstairs|downstairs)"
_DISPOSE = re.compile(
    r"^(?:(?:get rid|dispose) of|discard|throw (?:away|out)|dump) (?P<a>.+)$|"
    r"^throw (?P<b>(?:(?! in | into | to ).)+?) (?:away|out)$"
)
_LACKS = re.compile(
    r"^(?:the |our |my )?(?P<where>.+?) (?:needs?|is missing|are missing|lacks?|requires?|has no|"
    r"is (?:running )?(?:out|low|short) (?:of|on)|could use) (?P<what>.+)$"
)
_WONDERS = re.compile(
    r"^(?:i|we) (?:are wondering|wonder|(?:want|need|would like) to know) (?P<asked>(?:if|"
    r"whether) .+)$"
)
_NEEDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"^there (?:is|are) (?P<what>(?!no\b).+?) (?P<where>(?:in|on|at|under|near) .+?) "
                rf"(?:that|which) (?:belongs?|should (?:be|go)|goes|go|needs? to (?:be|go)) "
                rf"(?P<to>{_TO})$"), "bring {what} {where} {onto}"),
    (re.compile(rf"^(?P<what>.+?) (?:belongs?|(?:should|must|needs? to|has to|have to|ought to) "
                rf"(?:be|go|be (?:put|placed|moved|brought)|stand|lie|stay)|goes|go) "
                rf"(?P<to>{_TO})$"),
     "put {what} {to}"),
    (re.compile(rf"^(?:make sure|ensure|see to it) (?:that )?(?P<what>.+?) (?:is|are|gets) "
                rf"(?P<to>{_TO})$"), "put {what} {to}"),
    (re.compile(r"^(?:make sure|ensure|see to it) (?:that )?(?P<what>.+?) (?:is|are|stays?) "
                r"(?:closed|shut)$"), "close {what}"),
    (re.compile(r"^(?:make sure|ensure|see to it) (?:that )?(?P<what>.+?) (?:is|are|stays?) open$"),
     "open {what}"),
    (re.compile(rf"^(?:i|we) (?:need|want|require|could use|would (?:like|love)|like)(?: to have)? "
                rf"(?P<what>(?!to\b|you\b).+?) (?P<to>{_TO})$"), "put {what} {to}"),
    (re.compile(rf"^(?:could|can|may) (?:i|we) (?:have|get) (?P<what>.+?) (?P<to>{_TO})$"),
     "put {what} {to}"),
    (re.compile(r"^(?:could|can|may) (?:i|we) (?:have|get) (?P<what>.+)$"), "bring me {what}"),
    (re.compile(r"^(?:i|we) (?:need|want|require|could use|would (?:like|love))(?: to have)? "
                r"(?P<what>(?!to\b|you\b).+)$"), "bring {what}"),
    (re.compile(rf"^(?:we|i) (?:are|ran|have run|are running|run) (?:out of|short of|low on) "
                rf"(?P<what>.+?) {_PLACE}$"), "put {what} {where}"),
    (re.compile(r"^(?:we|i) (?:are|ran|have run|are running|run) (?:out of|short of|low on) "
                r"(?P<what>.+)$"), "bring {what}"),
    (re.compile(rf"^there (?:is|are) (?:no|not any|not enough|too few)(?: more)? (?P<what>.+?)"
                rf"(?: left)? {_PLACE}$"), "put {what} {where}"),
    (re.compile(rf"^(?P<what>.+?) (?:is|are) missing {_PLACE}$"), "put {what} {where}"),
    (re.compile(r"^(?:i|we) (?:can not|could not|do not) (?:find|see|remember where i put) "
                r"(?P<what>.+?)(?: anywhere)?$"), "find {what}"),
    (re.compile(r"^(?:i|we) (?:have )?(?:lost|misplaced|are missing) (?P<what>.+)$"),
     "find {what}"),
    (re.compile(r"^(?:i|we) are (?:looking|searching|hunting) for (?P<what>.+)$"), "find {what}"),
    (re.compile(r"^(?:has anyone|have you|did you|did anyone) (?:seen|see|find|found) "
                r"(?P<what>.+)$"),
     "find {what}"),
)  # fmt: skip
_NO_THINGS = frozenset(
    words_of(
        "first then next finally also please everybody everyone someone somebody anyone do does "
        "you robots one let not never i we he "
        "she they what which who where how check"
    )
)
_ONTO = {"in": "into", "inside": "into", "on": "onto", "at": "to", "upstairs": "upstairs"}
_LEFT = re.compile(
    r"^(?:(?:somebody|someone|i|we|he|she|they|the kids|the children) "
    r"(?:have |has |just |must have ){0,3}"
    r"(?:left|forgot|forgotten|put|dropped|placed|saw|seen) (?P<a>.+?)|there (?:is|are) (?!no\b)"
    rf"(?P<b>.+?)|(?P<c>(?!(?:what|which|who|how|why|where|is|are|do|does|you)\b).+?) (?:is|are)) "
    rf"{_PLACE}$"
)
"""Where something is: no order, but what "it" means in the next sentence."""


@dataclass(slots=True)
class Sentence:
    """A sentence in plain lower case, with what was said of it that changes nothing.

    `context` is a statement of where something is, which asks for nothing itself. `needs` says that
    the order was a need ("we are out of cups in the kitchen").
    """

    text: str
    notes: list[str] = field(default_factory=list)
    context: bool = False
    needs: bool = False


def sentences_of(words: str, robots: Collection[str] = ()) -> list[Sentence]:
    """Return the sentences of a task, made plain.

    Raises:
        NotUnderstood: One says when or on what condition.
    """
    found = []
    text = plain_text(words)
    for robot in robots:
        text = re.sub(rf"(?i)\b{re.escape(robot)} ?:", f"{robot},", text)
    text = text.replace(":", " ; ")
    for part in SENTENCE.split(text):
        for plain in _parts(_lower(part)):
            sentence = Sentence(plain)
            _make_plain(sentence, words, robots)
            if sentence.text:
                found.append(sentence)
    return found


def _parts(text: str) -> list[str]:
    """A statement and an order that a comma joins are two sentences."""
    head, comma, rest = text.partition(" , ")
    statement = _LEFT.match(head) or need_of(head)
    if comma and statement and rest.split()[0] in (*VERBS, "so", "please", "and", "can", "could"):
        return [head, rest.removeprefix("so ").removeprefix("and ")]
    return [text]


def _lower(sentence: str) -> str:
    text = re.sub(r"\bi am\b", "i are", written_out(sentence))  # as "we are": one wording less
    text = re.sub(r"\b(?:the |my |your |our |his |her )?\w+'s\b(?= \w)", "the", text)
    text = re.sub(r"[\"()\[\]*<>{}|\\~^]+|(?<!\w)'|'(?!\w)", " ", text)
    text = re.sub(r"[-_/](?=\w)|-", " ", text)
    text = " ".join(re.sub(r"\s*,[\s,]*", " , ", text).split()).strip(" ,")
    for pattern, better in _BETTER:
        text = pattern.sub(better, text)
    return text


def _make_plain(sentence: Sentence, words: str, robots: Collection[str]) -> None:
    text = _in_order(sentence.text)
    text = _USUAL_PLACE.sub("away", text)
    text = _without(_NOT_THAT, text, sentence.notes, "{!r}: robots do only what is said")
    text = _I_LEFT.sub(r"\g<if> there is ", text)
    asked = _ASKED.match(text) or _WHETHER.search(text)
    for pattern, why in (
        (_MANNER, "{!r}: robots do it as they always do"),
        (_DEADLINE, "{!r}: robots begin at once"),
        (_PURPOSE, "{!r} changes nothing in what robots do"),
    ):
        if pattern is not _PURPOSE or not _NO_PURPOSE.search(text):
            text = _without(pattern, text, sentence.notes, why)
    while (lead := _LEAD_COURTESY.match(text)) is not None:
        text = _imperative(_squeeze(text[lead.end() :]))
    text = _squeeze(_ROUGHLY.sub(" ", _COURTESY.sub(" ", text)))
    if not _SEEKS.search(text):
        text = _without(_FOR, text, sentence.notes, "{!r} changes nothing in what robots do")
    condition = None if asked else _CONDITION.search(text)
    if condition is not None:
        said = condition.group().strip()
        raise NotUnderstood(
            f"robots begin at once and cannot wait for {said!r}",
            "condition",
            said,
            sentence=words,
            question=f"Shall they do it now? Then say it without {said!r}",
        )
    text = LYING.sub(" ", STATE.sub("", f"{text} ")).strip()
    need = need_of(text, robots)
    if need:
        text, sentence.needs = need, True
    elif (left := _LEFT.match(text)) is not None and not asked and _is_statement(text):
        what = left["a"] or left["b"] or left["c"]
        text, sentence.context = f"find {what} {left['where']}", True
    for said, meant in JOINED:
        if said in text:
            text = re.sub(rf"\b{said}\b", meant, text)
    sentence.text = _squeeze(text)


def _is_statement(text: str) -> bool:
    return text.split()[0] not in VERBS


def need_of(text: str, robots: Collection[str] = ()) -> str:
    """Return the order that a need stands for ("" if it is none).

    Args:
        text: A clause in plain words.
        robots: Names of robots: "rover should go to the hall" is no need of anything.
    """
    robots = frozenset(robots)
    gone = _DISPOSE.match(text)
    if gone is not None:
        return f"put {gone['a'] or gone['b']} into the trash can"
    wonders = _WONDERS.match(text)
    if wonders is not None:
        return f"check {wonders['asked']}"
    if text.split()[:1] and text.split()[0] in VERBS and not text.startswith(("see to", "ensure")):
        return ""
    lacks = _LACKS.match(text)
    if lacks is not None and _holds(lacks["where"]):
        return f"bring {lacks['what']} to the {lacks['where']}"
    for pattern, order in _NEEDS:
        found = pattern.match(text)
        if found is not None:
            parts = found.groupdict()
            what = parts["what"].split()
            if what[0] in _NO_THINGS or not robots.isdisjoint(what):
                continue
            to = (parts.get("to") or "").partition(" ")
            onto = f"{_ONTO.get(to[0], to[0])} {to[2]}".strip()
            return order.format(**parts, onto=onto)
    return ""


def _holds(text: str) -> bool:
    """Whether words name a room or a piece of furniture."""
    household = load_household()
    category = household.category(text)
    known = category is not None and category.kind != "item"
    return len(text.split()) <= 4 and (known or bool(household.room_type(text)))


def _in_order(text: str) -> str:
    """Return a sentence with "once you have found it" and "before you go" put in order of time."""
    text = _DONE.sub("then", text)
    found = _SUB.search(text)
    verb = base_verb(found["verb"]) if found is not None else ""
    if found is None or not verb:
        return text
    sub = f"{verb}{found['rest']}".strip()
    main = _squeeze(f"{text[: found.start()]} {text[found.end() :]}")
    if not main or not sub:
        return text
    first, second = (main, sub) if found["how"] == "before" else (sub, main)
    return f"{first} then {second}"


def _imperative(text: str) -> str:
    """Return "bring it" for "bringing it"."""
    word, _, rest = text.partition(" ")
    return f"{base_verb(word) or word} {rest}".strip()


def _without(pattern: re.Pattern[str], text: str, notes: list[str], why: str) -> str:
    for found in pattern.finditer(text):
        said = found.group().strip()
        if said:
            notes.append(why.format(said))
    return _squeeze(pattern.sub(" ", text))


def _squeeze(text: str) -> str:
    return re.sub(r"(?: ,)+(?= ,)", "", " ".join(text.split())).strip(" ,")
