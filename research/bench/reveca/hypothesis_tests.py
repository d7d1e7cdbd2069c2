"""Claims on REVECA, checked on records: what must show, and what each part of it is worth.

Every claim compares two methods on the same seeds: the ratio of their sums, with a 95 % interval
from resampling houses, since episodes of one house are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from research.bench.common.tables import print_whole
from research.bench.reveca.tables import house_of

Record = dict[str, Any]
Verdict = Literal["yes", "no", "a draw"]

STEPS, TALK, CHARACTERS = "simulation_steps", "communication_steps", "characters"
SHORT = {STEPS: "SS", TALK: "CS", CHARACTERS: "CC"}
RESAMPLES = 2000
LEAST = 5
"""Fewest episodes in common that are worth a comparison."""
BASELINES = ("mhp", "rhp", "coela")
ABLATIONS = (
    "no_spatial",
    "no_relevance",
    "no_order",
    "no_questions",
    "no_discount",
    "no_validation",
    "always_ask",
    "no_collaborators",
    "no_talk",
)
SETTINGS = ("r2", "r3", "r5", "r6")
WORLDS = ("household", "open", "known")
METHODS = ("reveca", "oracle", *BASELINES, *ABLATIONS, *SETTINGS)
"""What has to be played for all claims (transport worlds come on top where they were played)."""
PARTS = (
    ("no_questions", "questions save steps"),
    ("no_discount", "the discount saves steps"),
    ("no_validation", "questions and discount together save steps"),
    ("no_relevance", "rating relevance saves steps"),
    ("no_order", "the order by what is promised saves steps"),
    ("no_talk", "talk saves steps"),
    ("no_spatial", "distances save steps"),
    ("no_collaborators", "knowing the others saves steps"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """`measure` of one method in one world is at most (less than) `limit` times the other's.

    Attributes:
        text: In words.
        of: World and method whose measure should be small.
        to: World and method that it is compared with.
        measure: A field of the records.
        limit: The ratio that it should stay below.
        source: `issue` (what must show here) or `part` (what each part of the agent is worth).
    """

    text: str
    of: tuple[str, str]
    to: tuple[str, str]
    measure: str = STEPS
    limit: float = 1.0
    source: str = "issue"


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a claim: the ratio and its 95 % interval, from resampling houses.

    `verdict`: "yes" where the whole interval is below the limit, "no" where it is above, else
    "a draw".
    """

    claim: str
    source: str
    measure: str
    of: str
    to: str
    agents: int
    episodes: int
    houses: int
    mean_of: float
    mean_to: float
    ratio: float
    low: float
    high: float
    limit: float
    verdict: Verdict


def claims(worlds: Sequence[str]) -> Iterator[Claim]:
    """Yield the claims about so many worlds."""
    for world in worlds:
        for other in BASELINES:
            text = f"fewer steps than {other}"
            yield Claim(text, (world, "reveca"), (world, other))
    text = "at most 1.5 times the oracle's steps, everything seen"
    yield Claim(text, ("known", "reveca"), ("known", "oracle"), limit=1.5)
    for world in worlds:
        for other, text in PARTS:
            yield Claim(text, (world, "reveca"), (world, other), source="part")
        text = "asking where it pays takes fewer characters than always asking"
        yield Claim(text, (world, "reveca"), (world, "always_ask"), CHARACTERS, source="part")
        text = "always asking saves steps"
        yield Claim(text, (world, "always_ask"), (world, "reveca"), source="part")
        for name in SETTINGS:
            text = f"R = 4 saves steps against R = {name[1:]}"
            yield Claim(text, (world, "reveca"), (world, name), source="part")


def check(records: Sequence[Record]) -> list[Finding]:
    """Return what the records say of every claim for which they have episodes in common."""
    found: dict[tuple[str, str, int], dict[int, Record]] = {}
    for r in records:
        found.setdefault((r["world"], r["method"], r["agents"]), {})[r["seed"]] = r
    worlds = list(dict.fromkeys(r["world"] for r in records))
    teams = sorted({r["agents"] for r in records if r["agents"] > 1})
    out = []
    for claim in claims(worlds):
        for team in teams:
            a, b = found.get((*claim.of, team), {}), found.get((*claim.to, team), {})
            seeds = sorted(set(a) & set(b))
            if len(seeds) >= LEAST:
                of = np.array([float(a[s][claim.measure]) for s in seeds])
                to = np.array([float(b[s][claim.measure]) for s in seeds])
                houses = [house_of(a[s]) for s in seeds]
                out.append(_judge(claim, team, of, to, houses))
    return out


def _judge(
    claim: Claim,
    team: int,
    of: np.ndarray[Any, np.dtype[np.float64]],
    to: np.ndarray[Any, np.dtype[np.float64]],
    houses: Sequence[str],
) -> Finding:
    names, member = np.unique(np.array(houses), return_inverse=True)
    n, count = len(of), len(names)
    sums = np.stack([np.bincount(member, weights, count) for weights in (of, to)])
    draws = np.random.default_rng(0).integers(0, count, (RESAMPLES, count))
    ratios = sums[0][draws].sum(axis=1) / np.maximum(sums[1][draws].sum(axis=1), 1e-9)
    low, high = (float(x) for x in np.quantile(ratios, (0.025, 0.975)))
    ratio = float(of.sum() / max(to.sum(), 1e-9))
    return Finding(
        claim.text,
        claim.source,
        SHORT[claim.measure],
        " ".join(claim.of),
        " ".join(claim.to),
        team,
        n,
        count,
        round(float(of.mean()), 3),
        round(float(to.mean()), 3),
        round(ratio, 4),
        round(low, 4),
        round(high, 4),
        claim.limit,
        "yes" if high < claim.limit else "no" if low > claim.limit else "a draw",
    )


def as_records(findings: Sequence[Finding]) -> list[Record]:
    """Return findings as plain data."""
    return [asdict(one) for one in findings]


def print_claims(findings: Sequence[Finding], console: Console) -> None:
    """Print what must show, and what each part is worth, with what was measured."""
    titles = {"issue": "what must show", "part": "what each part is worth"}
    for source, title in titles.items():
        rows = [one for one in findings if one.source == source]
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        for head in ("claim", "compared", "agents", "houses"):
            table.add_column(head)
        for head in ("means", "ratio (95 %)", "limit", "holds?"):
            table.add_column(head, justify="right")
        for one in rows:
            table.add_row(
                one.claim,
                f"{one.of} : {one.to}",
                str(one.agents),
                str(one.houses),
                f"{one.measure} {one.mean_of:.1f} : {one.mean_to:.1f}",
                f"{one.ratio:.2f} ({one.low:.2f}-{one.high:.2f})",
                f"{one.limit:g}",
                one.verdict,
            )
        print_whole(table, console)
