"""Everyday wordings brought to the few shapes of questions that `patterns.py` reads."""

from __future__ import annotations

import re

from coterie_requests.understanding.descriptions import PREPOSITION

_POLITE = re.compile(
    r"^(?:(?:please|hey|hi|hello|well|now|so|and|then|but|ok|okay|excuse me|sorry|"
    r"(?:just )?(?:tell|show|let) (?:me|us)(?: know)?|(?:i|we) (?:wonder|need to know|want to "
    r"know|"
    r"would like to know|am wondering|are wondering)|"
    r"(?:(?:can|could|will|would|do|did) you |any of you )(?:please |maybe |possibly |happen to )?"
    r"(?:tell me|tell us|tell|know|remember|recall|say|think|guess|check|find out|see)|"
    r"(?:do )?you (?:know|think|say)|(?:have you )?any idea|is it (?:true|the case|so)|"
    r"(?:in|by|from|according to) (?:your|my|the) (?:opinion|view|memory|map|records?)|"
    r"remind (?:me|us)|(?:i|we) forgot)\b,? ?(?:about |of )?(?:if |whether |that (?!is)|me )?)+"
    r"(?=\S)"
)
_TAIL = re.compile(
    r"[ ,]+(?:please|thanks|thank you|roughly|approximately|exactly|right now|just now|at the "
    r"moment|"
    r"at present|at all|for now|now|currently|by any chance|do you (?:think|know|see)|"
    r"would you say|(?:in|to) your (?:opinion|mind|eyes|knowledge)|as far as you (?:know|can "
    r"tell)|"
    r"(?:if|when|while|because|since|although|though|unless|until|so that|in case|just in case|"
    r"in the event|before|after|for when|as) (?:of |i |we |you |it |he |she |they |my |our |the |"
    r"somebody |someone |there |an? |not\b).*|"
    r"in case of .*|i (?:am|have|need|must|want|should) .*|any(?: idea|one| ideas)?(?: where.*)?|"
    r"or what|or so|or not|is not it|right|okay)$"
)
_EXCLUDING = re.compile(
    r"[ ,]+(?:besides|apart from|aside from|other than|except(?: for)?|not counting|excluding|"
    r"ignoring|without counting|in addition to|beside from) (?P<what>(?:the |an? |any |all )?"
    r"[\w -]+?)(?=,|$)"
)
_EXCLUDING_FIRST = re.compile(
    r"^(?:besides|apart from|aside from|other than|except(?: for)?|not counting|excluding|"
    r"ignoring|"
    r"in addition to) (?P<what>[\w -]+?), ?(?P<rest>.+)"
)
_NOT = re.compile(r"^(?P<aux>is|are|was|were|do|does|did|has|have|can|could) not (?P<rest>.+)")
_AUX = r"(?:is|are|was|were)"
_STAND = (
    r"(?:stand|sit|lie|lay|hang|rest|lean|reside|remain|belong)(?:s|ing)|sitting|lying|"
    r"(?:located|placed|situated|positioned|mounted|fixed|fastened|stored|kept|parked|stationed|"
    r"attached|installed|hung|put up|put|laid|set|left|found|to be found|to be seen|visible)"
)
_PREP = rf"(?:{PREPOSITION}|there|here)"
_THINGS = r"(?:something|anything|some thing|any thing|things|any things|stuff)"
_WHO = r"(?:i|we|you|one|someone|somebody|anyone|anybody|people|they|he|she)"

_SHAPES: tuple[tuple[str, str], ...] = (
    # Where things stand, in one word.
    (r"\b(?:fixed|fastened|mounted|attached|screwed|nailed|pinned|glued) to (?P<what>the "
     r"(?:wall|ceiling|floor)|an? wall)",
     r"fixed on \g<what>"),
    (r"^(?P<ask>(?:what|which) (?:\w+ )?(?:room|one)) is it (?:that|which|where) ", r"\g<ask> "),
    (rf"\b(?:{_AUX} |can be |could be |might be |may be |has been |have been )?"
     rf"(?:currently |usually |normally |now |still )?(?:{_STAND}) "
     rf"(?=(?:{_PREP}|closest|nearest|farthest|furthest|closer|nearer)\b)", "is "),
    (rf"\b(?:can|could|may|might) (?P<thing>[\w ]+?) be (?:found|seen|spotted) "
     rf"(?P<at>{_PREP}\b.+)",
     r"is there \g<thing> \g<at>"),
    # Existence.
    (r"^(?:has|have) (?P<where>the .+?) (?:got )?(?P<thing>(?:an?|any|some) .+?) (?P<on>on|"
     r"in|under) "
     r"(?:it|them|top)$", r"is there \g<thing> \g<on> \g<where>"),
    (r"^(?:does|do) (?P<where>the .+?) (?:have|hold|carry|bear) (?P<thing>.+?) (?P<on>on|in|"
     r"under) "
     r"(?:it|them)$", r"is there \g<thing> \g<on> \g<where>"),
    (r"^(?:has|have) (?P<where>(?:the|this|our|my) .+?) got (?P<thing>.+)$",
     r"does \g<where> have \g<thing>"),
    (rf"^(?:does|do|did) (?P<thing>{_THINGS}) (?:lie|stand|sit|hang|rest|lay|is|stay) ",
     r"is there \g<thing> "),
    (rf"^(?:do|does|did) (?P<thing>the .+?) (?:stand|lie|sit|hang|rest|lean|is|stay) "
     rf"(?={_PREP}\b)",
     r"is \g<thing> "),
    (r"^(?:do|does) (?P<thing>the .+?) belong (?P<at>in|on|to)\b", r"is \g<thing> \g<at>"),
    (rf"^(?:did|has|have|was|were) (?:{_WHO} )?(?:put|place[d]?|left|leave|set|lay|laid|"
     rf"forget|forgot) "
     rf"(?P<thing>(?:an?|any|some|the) [\w -]+?) (?P<at>{_PREP}\b.+)", r"is there \g<thing> "
     r"\g<at>"),
    (rf"^(?:are|is) there (?P<thing>{_THINGS}) (?P<at>{_PREP}\b.+)", r"is there anything \g<at>"),
    (rf"^(?:is|are) there nothing (?P<at>{_PREP}\b.+)", r"not is there anything \g<at>"),
    (r"^(?:is|are) there (?:no|not any|not an?|never an?) (?P<rest>.+)", r"not is there a "
     r"\g<rest>"),
    # Whether it is bare.
    (r"\b(?:the )?(?:top|surface) of (?P<what>the [\w -]+?) (?P<how>clear|empty|free|bare)"
     r"(?: of .+)?$", r"\g<what> empty"),
    (r"^(?P<aux>is|are) (?P<what>the [\w -]+?) (?:clear|free|bare)(?: of [\w ]+)?$",
     r"\g<aux> \g<what> empty"),
    # Open and closed.
    (rf"\b{_AUX} (?P<thing>(?:the|my|our|your) .+?) (?:standing|wide|left|still|all|half|slightly|"
     r"properly|completely|fully|really|already) (?P<how>open|closed|shut|ajar)\b",
     r"is \g<thing> \g<how>"),
    (r"\b(?P<how>open|closed|shut|ajar) (?:properly|completely|fully|all the way|wide)"
     r"$", r"\g<how>"),
    (rf"^did {_WHO} (?:close|shut|lock) (?P<thing>.+)$", r"is \g<thing> closed"),
    (rf"^did {_WHO} open (?P<thing>the .+)$", r"is \g<thing> open"),
    (rf"^(?:would|will|do|did|can|could) {_WHO} (?:find|see|leave) (?P<thing>(?:the|my|our|"
     rf"your) .+?) "
     r"(?P<how>(?:open|closed|shut)(?: or (?:open|closed|shut))?)$", r"is \g<thing> \g<how>"),
    (r"^(?P<thing>(?:the|my|our|your) [\w -]+?),? (?P<how>(?:open|closed|shut) or (?:open|"
     r"closed|shut))$",
     r"is \g<thing> \g<how>"),
    # Colors.
    (r"^(?:what|which|how)\b.*\bcolors? (?:of|that) (?P<thing>(?:the|my|our|your|this) [\w -]+?)"
     r"(?: is| are| has| have)?$", r"what color is \g<thing>"),
    (r"^(?:the |its )?colors? of (?P<thing>.+)$", r"what color is \g<thing>"),
    (r"^(?:describe|name|give) (?:me )?the colors? of (?P<thing>.+)$", r"what color is \g<thing>"),
    (r"^(?P<thing>(?:the|my|our|your) [\w -]+?),? what color is (?:it|that|this)$",
     r"what color is \g<thing>"),
    (r"^(?P<aux>is|are) (?P<thing>(?:the|my|our|your) .+?) (?:more |rather |mostly |mainly )"
     r"(?P<a>\w+) or (?:more |rather |mostly |mainly )?(?P<b>\w+)$",
     r"\g<aux> \g<thing> \g<a> or \g<b>"),
    (r"^(?P<aux>is|are) (?P<thing>(?:the|my|our|your) .+?) (?P<a>\w+) or (?:is|are) (?:it|they) "
     r"(?P<b>\w+)$", r"\g<aux> \g<thing> \g<a> or \g<b>"),
    # Numbers.
    (r"^(?:what|which) (?:is the )?(?:number|amount|count|quantity) of (?P<rest>.+)",
     r"how many \g<rest>"),
    (rf"^how many (?P<thing>[\w -]+?) (?:did|do|can|could) {_WHO} (?:see|count|find|spot|have) "
     r"(?P<at>(?:in|on|at|under) .+)", r"how many \g<thing> \g<at>"),
    (r"^(?:count|number) (?:all )?(?P<rest>.+)", r"how many \g<rest>"),
    (r"^(?P<rest>.*\b(?:beds?|sleep|seats?|chairs?|sit)\b.*?)\b(?:for )?how many (?:people|"
     r"persons|guests|visitors)\b",
     r"how many people \g<rest>"),
    (r"^how many (?P<thing>[\w -]+?) does (?P<where>(?:the|this|our|my) .+?) "
     r"(?:contain|hold|have|own|include|possess)(?: in total| altogether)?$",
     r"how many \g<thing> in \g<where>"),
    # Which of two.
    (r"^(?:does|do) (?P<a>the .+?) or (?P<b>the .+?) (?:reach|stand|rise|go|tower) "
     r"(?P<how>higher|taller|"
     r"lower)$", r"which is taller, \g<a> or \g<b>"),
    (r"^is it (?P<a>.+?) or (?P<b>.+?) (?:that|which) (?P<rest>.+)$",
     r"is \g<a> or \g<b> \g<rest>"),
    # Rooms.
    (r"^(?:in |to )?(?:which|what) (?:one )?of (?:the|our|these) rooms (?:is|are|has|holds|"
     r"contains) "
     r"(?P<thing>.+)", r"which room is \g<thing> in"),
    (r"^(?:what|which) room do (?:i|we|you) (?:have to )?(?:go|enter)\b.* (?P<thing>the .+)$",
     r"which room is \g<thing> in"),
    (r"^(?:in|to) (?:which|what) room (?:can|could|would|do|should|will) (?:i|we|you) (?:find|"
     r"see|go for|"
     r"look for) (?P<thing>.+)", r"which room is \g<thing> in"),
    (r"^what (?:is|are) (?:the )?(?:purpose|function|use) of (?P<room>the room)(?: that| "
     r"which| where|"
     r" in which)? (?P<thing>the .+?) (?:stands?|is|are|hangs?)(?: in)?$",
     r"what is the room with \g<thing> used for"),
    (r"^what (?:would|do|does|can|could) (?:people|one|you|we|somebody|someone) (?:usually )"
     r"?(?:go to|use|"
     r"enter) (?P<room>the room .+?)(?: for)?$", r"what is \g<room> used for"),
    (r"^what (?P<kind>sort|kind|type) of (?:a )?(?P<what>room|place|area) (?:is|has|holds|"
     r"contains) ",
     r"what kind of room is "),
    (r"\bthe room (?:that|which|where|in which) (?P<thing>the .+?) (?:stands?|is|are|hangs?)"
     r"(?: in)?\b",
     r"the room with \g<thing>"),
    (r"^the room with (?P<thing>the .+?),? what (?:kind|sort|type) of room is (?:it|that)$",
     r"what kind of room is \g<thing> in"),
    # Where.
    (r"^(?:where to (?:find|look for|search for|get)|(?:i|we) (?:can not|could not|do not) "
     r"(?:find|see)|"
     r"find|locate|look for|search for)(?: me)? (?P<thing>(?:the|my|our|an?|your|his|her) .+)$",
     r"where is \g<thing>"),
    (r"^(?:in |at |on )?(?:which|what) (?:spot|place|location|position|part of the house|corner) "
     r"(?:is|are) (?P<thing>.+)", r"where is \g<thing>"),
    (r"^where (?:exactly |precisely |else |on earth |now )?(?P<rest>is|are|was|were)"
     r"\b", r"where \g<rest>"),
    (r"^where (?:did|has|have) (?P<thing>the .+?) (?:end up|go|gone|got to|get to|vanish|"
     r"disappear)$",
     r"where is \g<thing>"),
    (r"^where (?:does|do) (?P<thing>(?:the|my|our) .+?) (?:stand|lie|hang|sit|live|belong|is|"
     r"stay)$",
     r"where is \g<thing>"),
    (r"^what (?:is|are) (?P<thing>the .+?) (?:lying|standing|sitting|resting|placed|is) "
     r"(?P<on>on|in|"
     r"under|at)$", r"where is \g<thing>"),
    (r"^where (?P<thing>(?:the|my|our|your) [\w -]+?) (?:is|are|could be|might be|may be|can "
     r"be|went|lies|"
     r"stands)$", r"where is \g<thing>"),
    # What.
    (r"^(?:name|list|describe|identify|mention) (?:all |me )?(?:of )?(?P<thing>(?:the |every)"
     r"?.+)$",
     r"what is \g<thing>"),
    (r"^what do (?:you|we|people) call (?P<thing>.+)$", r"what is \g<thing>"),
    (r"^what (?:do|did|can|could|would) (?:i|we|you|one) see (?:when|if|looking) (?:i |we |"
     r"you |one )?"
     r"(?:look )?(?:at |on )?(?P<where>.+)$", r"what is on \g<where>"),
)  # fmt: skip
_REWRITES = tuple((re.compile(pattern), form) for pattern, form in _SHAPES)
_STATEMENT = re.compile(
    r"^(?P<thing>(?:the|my|our|your) .+?) (?P<aux>is|are|has|have) (?P<rest>.+)$"
)
_ROUNDS = 2


def politely(text: str) -> str:
    """Return words without what is said for politeness, before and after."""
    text = _POLITE.sub("", text, count=1)
    for _ in range(3):
        shorter = _TAIL.sub("", text)
        if shorter == text or len(shorter.split()) < 2:
            break
        text = shorter
    return text.strip(" ,")


def excluded(text: str) -> tuple[str, str]:
    """Part "what is on the shelf besides the books": the question, and what does not count."""
    first = _EXCLUDING_FIRST.match(text)
    if first:
        return first["rest"].strip(), first["what"].strip()
    found = _EXCLUDING.search(text)
    if found is None:
        return text, ""
    return f"{text[: found.start()]}{text[found.end() :]}".strip(" ,"), found["what"].strip()


def shaped(core: str) -> tuple[str, bool]:
    """Return a clause in a usual shape, and whether it is asked for the opposite."""
    opposite = False
    for _ in range(_ROUNDS):
        before = core
        for pattern, form in _REWRITES:
            core = pattern.sub(form, core, count=1)
            if core.startswith("not "):
                core, opposite = core[4:], not opposite
        if core == before:
            break
    found = _NOT.match(core)
    if found:  # "isn't there a sofa?" asks whether there is one
        core = f"{found['aux']} {found['rest']}"
    statement = _STATEMENT.match(core)
    if statement and not re.search(r"\b(?:what|which|where|how|who|why)\b", core):
        core = f"{statement['aux']} {statement['thing']} {statement['rest']}"
    inner = re.match(r"^(?P<aux>is|are|was|were) (?P<thing>.+?) not (?P<rest>.+)$", core)
    if inner and " or " not in core:
        core, opposite = f"{inner['aux']} {inner['thing']} {inner['rest']}", not opposite
    return " ".join(core.replace(",", " ").split()), opposite
