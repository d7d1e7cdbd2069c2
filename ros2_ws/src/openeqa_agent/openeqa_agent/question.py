"""Open questions in words to what they ask."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from openeqa_agent.patterns import AUX, CAN, KINDS, WE
from openeqa_agent.sorting import sort_category
from openeqa_agent.understood import STATES, Kind, OpenQuestion
from openeqa_agent.words import clean, describe

__all__ = ["STATES", "Kind", "OpenQuestion", "parse_open"]

_ASKS = re.compile(
    r"\b(?:what|which|where|how|who|why|when|is|are|does|do|did|can|could|has|have|will|would|was|were)\b"
)
_YES_NO = re.compile(r"(?:is|are|was|were|can|could|would|will|do|does|did|has|have|should)\b")
_FILLER = re.compile(
    r"\b(?:in|inside|around|throughout|of) (?:the|this|our|my|that) (?:entire |whole )?"
    r"(?:house|home|apartment|flat|building|scene|image|picture|video|environment)\b(?! in\b)"
    r"|\b(?:also|please|currently|by any chance|exactly)\b"
)
_SUBJECT = re.compile(
    r"\b(?:(?:i|we|you) (?:are |have |just |really |think i )*(?:need|want|lost|miss|misplaced|put|"
    r"left|can not find|could not find|do not (?:see|find|remember where i (?:put|left))|"
    r"looking for|searching for|look for|like to find)|looking for|there (?:is|are)|"
    r"(?:is|are) there|notice|see|find) (?P<thing>(?!to\b|it\b).+)$"
)
_PRONOUN = re.compile(
    r"^(?P<ask>(?:where|what|which|how many|what color|what kind)\b.*?) "
    r"(?:it|they|them|that|those|this|these)(?: (?:is|are))?$"
)


@lru_cache(maxsize=4096)
def parse_open(text: str) -> OpenQuestion:
    """Return what a question asks; never fails, whatever the text."""
    core, context = _core(clean(text))
    core, context = (" ".join(_FILLER.sub(" ", part).split()) for part in (core, context))
    found = _anaphoric(core, context)
    for pattern, build in KINDS:
        if found is not None:
            break
        match = pattern.search(core)
        if match is not None:
            found = build(match, core)
    if found is None:
        found = OpenQuestion(text, target=describe(core))
    if found.kind in ("used_for", "space") and context:
        # "I want to hang up my jacket. What should I use?": the use is in what was said before.
        found = replace(found, use=f"{found.use}, {context}" if found.use else context)
        room = describe(context).room
        if room and not found.target.room:
            found = replace(found, target=replace(found.target, room=room))
    elif not found.target.room and re.match(r"(?:going by|judging by|in|from)\b", context):
        room = describe(context).room
        found = replace(found, target=replace(found.target, room=room))
    polar = found.polar or (found.kind == "other" and bool(_YES_NO.match(core)))
    found = replace(found, text=text, polar=polar)
    return replace(found, category=sort_category(found, core, context))


def _core(said: str) -> tuple[str, str]:
    """Return the clause that asks, and what was said before it."""
    parts = [part.strip() for part in re.split(r"[.?!;]+", said) if part.strip()]
    asking = [p for p in parts if _ASKS.match(p)] or [p for p in parts if _ASKS.search(p)]
    core = asking[-1] if asking else (parts[-1] if parts else "")
    context = " ".join(part for part in parts if part != core)
    clauses = [c.strip() for c in core.split(",") if c.strip()]
    if len(clauses) > 1:
        starts = [k for k, clause in enumerate(clauses) if _ASKS.match(clause)]
        if starts and starts[0] > 0:
            context = f"{context} {' '.join(clauses[: starts[0]])}".strip()
            core = " ".join(clauses[starts[0] :])
    core = re.sub(r"^(?:and|so|then|tell me|do you know|can you tell me)\s+", "", core)
    return " ".join(core.replace(",", " ").split()), context.replace(",", " ")


def _anaphoric(core: str, context: str) -> OpenQuestion | None:
    """Put the thing that was spoken of before in the place of "it"."""
    subject = _SUBJECT.search(context)
    if subject is None:
        return None
    if re.match(rf"where (?:{AUX} (?:it|they|that|this)\b|{CAN} {WE} (?:look|find|search))", core):
        return OpenQuestion("", "where", target=describe(subject["thing"]))
    if re.match(rf"(?:what|which) {AUX} (?:it|they|that|this|those|these)(?: object)?$", core):
        return OpenQuestion("", "what", target=describe(subject["thing"]))
    match = _PRONOUN.match(core)
    if match is None:
        return None
    rewritten = f"{match['ask']} {subject['thing']}"
    for pattern, build in KINDS:
        found = pattern.search(rewritten)
        if found is not None and (result := build(found, rewritten)) is not None:
            return result
    return None
