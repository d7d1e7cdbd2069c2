"""What a person would answer to open questions about a place, by what is told of it."""

from __future__ import annotations

import re
from typing import Any

from coterie_bench.oracle.mele import usual
from coterie_bench.oracle.request import Question
from coterie_bench.oracle.things import (
    COLORS,
    Thing,
    called,
    from_captions,
    from_line,
    from_map,
    mentioned,
    reply,
)

_PURPOSES: tuple[tuple[str, str], ...] = (
    (r"bulb|climb|reach the (?:top|ceiling)", "ladder stool chair"),
    (r"accountant|sit at|type|work at", "desk table"),
    (r"nature calls", "toilet"),
    (r"tie is|straight\?|my face|how i look", "mirror"),
    (r"running water|wash my|rinse", "sink bathtub shower faucet"),
    (r"teacher write|write on", "whiteboard board"),
    (r"morning|wake|out of bed", "alarm_clock phone"),
    (r"breath|teeth", "toothbrush toothpaste"),
    (r"hair is (?:dripping|wet)|dry my hair", "hairdryer"),
    (r"tangled|hair .*order", "hairbrush"),
    (r"sweaty|all of me clean|shower", "shower bathtub"),
    (r"slices of bread|toast", "toaster"),
    (r"hundred degrees|boil|tea|cocoa", "kettle stove"),
    (r"butter|milk|cold|fresh", "refrigerator"),
    (r"dough|bake|cake", "oven"),
    (r"fry|egg|soup", "stove pan oven microwave"),
    (r"greasy plates|dishes", "dishwasher sink"),
    (r"scrub|burnt", "sponge sink dishwasher"),
    (r"sip|juice|drink", "glass mug water_bottle bowl"),
    (r"peel|throw|waste|garbage", "trash_can"),
    (r"mud|shirts|laundry", "washing_machine"),
    (r"wet sheets|dries", "dryer"),
    (r"crumpled|smooth|crease", "iron ironing_board"),
    (r"crumbs|dust|picks them up", "vacuum_cleaner broom"),
    (r"sleep|nap|lie down|night", "bed sofa"),
    (r"sit|feet up|relax", "sofa armchair chair ottoman bench stool"),
    (r"news|film|series|match on", "television laptop tablet"),
    (r"call|ring|text somebody", "phone"),
    (r"page|novel|read", "books magazine tablet lamp"),
    (r"nail|hang up a picture", "hammer toolbox"),
    (r"headache|ill|fever", "medicine"),
    (r"rain|umbrella", "umbrella"),
    (r"coat|jacket", "coat_rack wardrobe"),
    (r"clothes|blouse|suit", "wardrobe dresser"),
    (r"what time|late is it", "clock alarm_clock wristwatch phone"),
    (r"muscles|weights|train|run ", "dumbbells weight_machine treadmill exercise_bike"),
    (r"music|play a song|tune", "piano guitar speaker"),
    (r"warm|cosy|cozy|freez", "fireplace blanket radiator"),
    (r"print|on paper", "printer"),
    (r"fire breaks|flames", "fire_extinguisher"),
    (r"eat|dinner|guests", "table dining_table chair kitchen_island"),
    (r"light|dark", "lamp floor_lamp ceiling_lamp candle"),
)
"""What people use for what."""
_HINTS: tuple[tuple[str, str], ...] = (
    (r"musician|music|instrument", "piano guitar"),
    (r"sport|exercise|fit\b", "treadmill dumbbells yoga_mat exercise_bike weight_machine ball"),
    (r"child|kid|toddler", "toy toy_chest teddy_bear"),
    (r"read|bookworm|literature", "books bookcase magazine"),
    (r"video games|gamer", "game_console"),
    (r"cycl|bike", "bicycle exercise_bike"),
    (r"plants|green thumb|garden", "plant small_plant"),
    (r"handy|repairs|craft", "toolbox hammer workbench ladder"),
    (r"glasses|sight|see well", "glasses"),
    (r"work(?:s)? (?:from|at) home|student|study", "desk computer laptop printer"),
    (r"paint|art", "painting paint_can statue"),
    (r"laundry|wash clothes", "washing_machine dryer"),
    (r"ill|sick|medicine", "medicine"),
)
"""What things say of those who live there."""
_ROOM_USES = {
    "kitchen": "cooking", "bedroom": "sleeping", "bathroom": "washing", "office": "working",
    "laundry room": "washing clothes", "dining room": "eating", "gym": "exercising",
    "living room": "relaxing", "playroom": "playing", "garage": "parking the car",
}  # fmt: skip
_BED_FOR_TWO = 1.4  # [m]


def from_the_map(question: Question) -> dict[str, Any]:
    """Answer from the map, and look up what the extract leaves out."""
    text, things = _asked(question), from_map(str(question.data.get("map", "")))
    if question.tools and "are left out" in str(question.data.get("map", "")):
        use = question.used("find_objects")
        if use is None:
            return question.call("find_objects", words="")
        told = [from_line(line) for line in use.value["objects"]]
        known = {one.id for one in things}
        things += [one for one in told if one is not None and one.id not in known]
    return _answer(text, things)


def from_descriptions(question: Question) -> dict[str, Any]:
    """Answer from what is told of frames."""
    things = from_captions(str(question.data["descriptions"]))
    told = _answer(_asked(question), things)
    named = {one.id: one.frames for one in things}
    frames = sorted({f for id_ in told.pop("objects") for f in named.get(id_, ())})[:5]
    return {**told, "frames": frames}


def blind(question: Question) -> dict[str, Any]:
    """Say what is usual."""
    text = _asked(question)
    told = {k: v for k, v in _usual(text).items() if k != "objects"}
    return {**told, "guessed": True}


def _asked(question: Question) -> str:
    return " ".join(str(question.data["question"]).lower().rstrip("?. ").split())


def _answer(text: str, things: list[Thing]) -> dict[str, Any]:
    for way in (_counted, _colored, _compared, _state, _room, _upon, _above, _hint, _where, _used):
        told = way(text, things, mentioned(text, things))
        if told is not None:
            return told
    return reply("it cannot be told", "nothing shown says so", 0.3)


Named = list[tuple[str, str, int]]


def _room_in(text: str, things: list[Thing]) -> str:
    rooms = sorted({t.room for t in things if t.room}, key=lambda r: (-len(r), r))
    return next((room for room in rooms if f"the {room}" in text or text.startswith(room)), "")


def _counted(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not re.search(r"how many|number of|^count\b", text):
        return None
    room = _room_in(text, things)
    if re.search(r"people|guests|persons|sleep", text):
        beds = called(things, "bed", room)
        places = sum(2 if min(bed.size[:2]) >= _BED_FOR_TWO else 1 for bed in beds)
        return reply(str(places), "one a narrow bed, two a wide one", 0.7, beds)
    if not named:
        return None
    found = called(things, named[0][0], room)
    # Who asks for a number has seen more than one.
    return reply(str(max(len(found), 2)), "counted", 0.7, found)


def _colored(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    said = [color for color in COLORS if re.search(rf"\b{color}\b", text)]
    if said and re.search(r"\bone\b|\bobject\b|something|thing", text) and named:
        holder = _first(things, named[0])
        for one in things:
            if holder is not None and one.holder == holder.id and one.color == said[0]:
                return reply(one.label, f"the {one.color} thing on it", 0.7, [one])
        return None
    if not named or not ("color" in text or len(said) > 1):
        return None
    thing = next((one for one in called(things, *named[0][:2]) if one.color), None)
    if thing is None:
        return None
    fits = [color for color in said if color in thing.color]
    return reply(fits[0] if fits else thing.color, "as mapped", 0.7, [thing])


def _compared(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if re.search(r"nearer|closer|shorter", text) and len(named) >= 3:
        choice = re.search(r"(?:,| to) the [a-z ]+ or (?:to )?the ", text)
        pair = [one for one in named if choice is None or one[2] >= choice.start()][-2:]
        anchor = _first(things, next(one for one in named if one not in pair))
        if anchor is None:
            return None
        near = [
            min(
                ((one.away(anchor), one.id, one) for one in called(things, label) if one != anchor),
                default=None,
            )
            for label, _, _ in pair
        ]
        known = [one for one in near if one is not None]
        if not known:
            return None
        best = min(known)[2]
        return reply(f"the {best.label}", "by the gaps", 0.8, [best, anchor])
    if re.search(r"taller|higher|height|\bhigh\b", text) and len(named) >= 2 and "over" not in text:
        room = _room_in(text, things)
        pair_of = [_first(things, (one[0], one[1] or room, 0)) for one in named[:2]]
        both = [one for one in pair_of if one is not None]
        if not both:
            return None
        best = max(both, key=lambda one: one.top)
        return reply(f"the {best.label}", "by their tops", 0.8, both)
    return None


def _first(things: list[Thing], named: tuple[str, str, int]) -> Thing | None:
    found = called(things, named[0], named[1]) or called(things, named[0])
    return found[0] if found else None


def _state(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not named or not re.search(r"\bopen\b|\bshut\b|\bclosed\b|\bajar\b", text):
        return None
    thing = next((o for o in called(things, *named[0][:2]) if o.is_open is not None), None)
    if thing is None:
        return None
    state = "open" if thing.is_open else "closed"
    if re.search(r"open or|shut or|closed or", text):
        return reply(state, "as mapped", 0.8, [thing])
    asks_open = re.search(r"standing open|is .* open$|forget to (?:shut|close)|left open", text)
    yes = thing.is_open if asks_open else not thing.is_open
    return reply("yes" if yes else "no", f"it is {state}", 0.8, [thing])


_ASKS_ROOM = re.compile(
    r"which (?:of the )?rooms?\b|what (?:sort of |kind of )?room\b|\bthe room (?:that|with|where)\b"
)


def _room(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not named or not _ASKS_ROOM.search(text):
        return None
    thing = _first(things, named[0])
    if thing is None or not thing.room:
        return None
    if re.search(r"purpose|for what|\bfor$|people go to", text):
        plain = re.sub(r"\s*\d+$", "", thing.room)
        return reply(_ROOM_USES.get(plain, plain), f"it is the {thing.room}", 0.7, [thing])
    return reply(f"the {thing.room}", "as mapped", 0.8, [thing])


def _upon(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    polar = re.match(r"(?:has|have|does|do|is|are|can|did|was)\b", text)
    if not named or not re.search(r"\bon\b|\bholds?\b|carries|top of|stand", text):
        return None
    if len(named) >= 2 and polar:
        item, holder = named[0], named[1]
        if re.search(r"got an? .* on it", text):
            item, holder = named[1], named[0]
        base = _first(things, holder)
        hits = [o for o in called(things, item[0]) if base is not None and o.holder == base.id]
        return reply("yes" if hits else "no", "by what is on it", 0.7, hits)
    base = _first(things, named[0])
    if base is None or re.search(r"where|lying on$|standing on$", text):
        return None
    upon = [one for one in things if one.holder == base.id and one.held == "on"]
    if polar:
        empty = re.search(r"nothing|clear|empty|bare", text)
        yes = not upon if empty else bool(upon)
        return reply("yes" if yes else "no", f"{len(upon)} things on it", 0.7, upon)
    if upon:
        best = max(upon, key=lambda one: one.sure)
        return reply(f"a {best.label}", "on it by the map", 0.6, [best])
    return None


def _above(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not named or not re.search(r"\babove\b|\bover\b|wall over", text):
        return None
    base = _first(things, named[0])
    if base is None or base.center is None:
        return None
    over = [
        (one.away(base), -one.sure, one.id, one)
        for one in things
        if one.center is not None
        and one.id != base.id
        and one.room == base.room
        and one.center[2] - one.size[2] / 2.0 > base.top
        and not one.label.startswith(("ceiling", "chandelier", "light switch"))
        and one.away(base) < 0.4
        and one.holder != base.id
    ]
    return reply(f"a {min(over)[3].label}", "over it", 0.6, [min(over)[3]]) if over else None


def _hint(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not re.search(r"^(?:is|are|does|do|has|have|can|would|from what you saw)\b", text):
        return None
    room = _room_in(text, things)
    for form, labels in _HINTS:
        if re.search(form, text):
            names = [label.replace("_", " ") for label in labels.split()]
            found = [one for name in names for one in called(things, name, room)]
            return reply("yes" if found else "no", "by what stands there", 0.6, found)
    return None


def _where(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    if not named or not re.search(r"where|spot|find|lying on|standing on|what became", text):
        return None
    thing = _first(things, named[0])
    if thing is None:
        return None
    holder = next((one for one in things if one.id == thing.holder), None)
    spot = f"in the {thing.room or _usual_room(thing.label)}"
    if holder is not None:
        spot = f"{thing.held or 'on'} the {holder.label} {spot}"
    return reply(spot, "as mapped", 0.8, [thing])


def _used(text: str, things: list[Thing], named: Named) -> dict[str, Any] | None:
    for form, labels in _PURPOSES:
        if not re.search(form, text):
            continue
        for label in labels.split():
            found = called(things, label.replace("_", " "))
            if found:
                name, room = found[0].label, found[0].room
                where = f"in the {room}" if "where" in text and room else f"the {name}"
                return reply(where, f"the {name} serves", 0.7, found[:1])
    return None


_PAINTED = (
    (r"ladder|radiator|dumbbells|weight machine|pan\b|pot\b", "grey"),
    (r"table|desk|chair|shelf|bookcase|wardrobe|dresser|cabinet|nightstand|bench|guitar", "brown"),
    (r"television|laptop|speaker|keyboard|piano|treadmill|tv remote|phone", "black"),
    (r"plant", "green"),
    (r"sofa|armchair|rug|curtain|carpet", "grey"),
)
"""How things are painted most often; all others are white."""


def _usual_room(thing: str) -> str:
    """Return the room in which people expect a thing."""
    return max(_ROOM_USES, key=lambda room: usual(thing, room))


def _usual(text: str) -> dict[str, Any]:
    """Answer without having been there."""
    said = [color for color in COLORS if re.search(rf"\b{color}\b", text)]
    if len(said) > 1 or "color" in text:
        color = next((color for form, color in _PAINTED if re.search(form, text)), "white")
        return reply(color if not said or color in said else said[0], "usual", 0.4)
    if re.search(r"how many|number of|^count\b", text):
        return reply("2", "usual", 0.4)
    if re.search(r"open or|shut or|closed or", text):
        return reply("closed", "usual", 0.6)
    rooms = list(_ROOM_USES)
    words = re.findall(r"(?:the|with an?) ([a-z ]+?)(?=,|:| in the | stands| is\b|$)", text)
    likely = max(rooms, key=lambda room: max((usual(word, room) for word in words), default=0.0))
    if re.search(r"purpose|people go to|\bfor$", text) and "room" in text:
        return reply(_ROOM_USES[likely], "usual", 0.5)
    if _ASKS_ROOM.search(text):
        return reply(f"the {likely}", "usual", 0.5)
    if "tv stand" in text and re.search(r"\bon\b|carries", text):
        return reply("a television", "usual", 0.7)
    if re.match(r"(?:is|are|has|have|does|do|did|can|was|from what)\b", text):
        no = re.search(r"forget|standing open|from what you saw", text)
        return reply("no" if no else "yes", "usual", 0.5)
    pair = re.search(r"the ([a-z ]+?) or (?:to )?the ([a-z ]+)", text)
    if pair is not None:
        return reply(f"the {pair[1]}", "one of two", 0.5)
    for form, labels in _PURPOSES:
        if re.search(form, text):
            name = labels.split()[0].replace("_", " ")
            place = max(rooms, key=lambda room: usual(name, room))
            return reply(f"in the {place}" if "where" in text else f"the {name}", "usual", 0.6)
    if re.search(r"above|over", text):
        return reply("a picture", "usual", 0.3)
    if re.search(r"where|spot|find", text):
        return reply(f"in the {likely}", "usual", 0.4)
    return reply("a lamp", "usual", 0.2)


_DECLINES = re.compile(
    r"can(?:no|')t (?:be )?(?:told|tell|say|seen?)|not (?:known|visible)|unknown"
)


def declines(question: Question) -> dict[str, Any]:
    """Tell whether a reply says nothing but that it cannot be told."""
    said = str(question.data["reply"]).lower()
    return {"reason": said[:80], "abstains": not said.strip() or bool(_DECLINES.search(said))}


_NUMBERS = dict(
    zip(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"],
        range(9),
        strict=True,
    )
)
_EMPTY = {"a", "an", "the", "it", "is", "in", "on", "of", "at", "there", "to"}


def mark(question: Question) -> dict[str, Any]:
    """Compare a reply with the right answers by what they mean."""
    said = _meaning(str(question.data["reply to mark"]))
    marks = [_agreement(said, _meaning(str(one))) for one in question.data["reference answers"]]
    return {"reason": "by what agrees", "mark": max(marks)}


def _meaning(text: str) -> set[str]:
    words = re.findall(r"[a-z0-9]+", text.lower().replace("gray", "grey"))
    return {str(_NUMBERS.get(word, word)) for word in words} - _EMPTY


def _agreement(said: set[str], right: set[str]) -> int:
    if {"yes", "no"} & right:
        return 5 if {"yes", "no"} & right == {"yes", "no"} & said else 1
    if right <= said or said == right:
        return 5
    shared = len(said & right) / max(len(right), 1)
    return 4 if shared >= 0.6 else 2 if shared > 0.0 else 1


ANSWERS = {
    "BlindAnswer": blind,
    "CaptionsAnswer": from_descriptions,
    "MapAnswer": from_the_map,
    "ToolsAnswer": from_the_map,
    "AbstainReply": declines,
    "MarkReply": mark,
}
