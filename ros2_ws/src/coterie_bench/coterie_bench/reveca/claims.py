"""Claims on REVECA, checked on records: what must show, and what the paper's ablations found.

Every claim compares two methods, or two worlds, on the same seeds: the ratio of their sums, with a
95 % interval from resampling the episodes. The paper's text tells which way its figures go, not the
figures themselves (its tables are not part of it): so directions are what is set beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from coterie_bench.tables import print_whole

Record = dict[str, Any]

STEPS, TALK, CHARACTERS = "simulation_steps", "communication_steps", "characters"
SHORT = {STEPS: "SS", TALK: "CS", CHARACTERS: "CC"}
RESAMPLES = 2000
LEAST = 5
"""Fewest episodes in common that are worth a comparison."""
BASELINES = ("mhp", "rhp", "coela")
ABLATIONS = ("no_spatial", "no_relevance", "no_validation", "always_ask", "no_collaborators")
SETTINGS = ("k1", "k2", "k4", "k5", "r2", "r3", "r5", "r6")
WORLDS = ("household", "noisy20", "open", "known")
METHODS = ("reveca", "oracle", *BASELINES, *ABLATIONS, *SETTINGS)
"""What has to be played for all claims (transport worlds come on top where they were played)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`measure` of one method in one world is at most (less than) `limit` times the other's.

    Attributes:
        text: In words.
        of: World and method whose measure should be small.
        to: World and method that it is compared with.
        measure: A field of the records.
        limit: The ratio that it should stay below.
        source: `issue` (what must show here) or `paper` (what its tables showed).
    """

    text: str
    of: tuple[str, str]
    to: tuple[str, str]
    measure: str = STEPS
    limit: float = 1.0
    source: str = "issue"


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a claim: the ratio, its 95 % interval, whether it holds, and how sure.

    `certain`: the whole interval is on one side of the limit.
    """

    claim: str
    source: str
    measure: str
    of: str
    to: str
    agents: int
    episodes: int
    mean_of: float
    mean_to: float
    ratio: float
    low: float
    high: float
    limit: float
    holds: bool
    certain: bool


def claims(worlds: Sequence[str]) -> Iterator[Claim]:
    """Yield the claims about so many worlds."""
    for world in worlds:
        for other in BASELINES:
            text = f"fewer steps than {other}"
            yield Claim(text, (world, "reveca"), (world, other))
    for world in ("open", "known"):
        text = "at most 1.5 times the oracle's steps, nothing hidden"
        yield Claim(text, (world, "reveca"), (world, "oracle"), limit=1.5)
    home, noisy = "household", "noisy20"
    text = "20 dummies cost at most 10 % of steps"
    yield Claim(text, (noisy, "reveca"), (home, "reveca"), limit=1.1)
    for world in (home, noisy, *(w for w in ("transport", "tdw") if w in worlds)):
        text = "validation saves steps against none"
        yield Claim(text, (world, "reveca"), (world, "no_validation"))
        text = "validation saves characters against always asking"
        yield Claim(text, (world, "reveca"), (world, "always_ask"), CHARACTERS)
        for name, what in (
            ("no_spatial", "distances save steps"),
            ("no_collaborators", "knowing the others saves steps"),
        ):
            yield Claim(what, (world, "reveca"), (world, name), source="paper")
        what = "talking when it pays takes fewer messages than always asking"
        yield Claim(what, (world, "reveca"), (world, "always_ask"), TALK, source="paper")
        what = "always asking saves some steps"
        yield Claim(what, (world, "always_ask"), (world, "reveca"), source="paper")
    what = "relevance saves steps among dummies"
    yield Claim(what, (noisy, "reveca"), (noisy, "no_relevance"), source="paper")
    what = "without dummies relevance costs steps"
    yield Claim(what, (home, "no_relevance"), (home, "reveca"), source="paper")
    for name in SETTINGS:
        what = f"K = 3, R = 4 are no worse than {name[0].upper()} = {name[1:]}"
        yield Claim(what, (home, "reveca"), (home, name), limit=1.005, source="paper")


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
                out.append(_judge(claim, team, of, to))
    return out


def _judge(
    claim: Claim,
    team: int,
    of: np.ndarray[Any, np.dtype[np.float64]],
    to: np.ndarray[Any, np.dtype[np.float64]],
) -> Finding:
    n = len(of)
    draws = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    ratios = of[draws].sum(axis=1) / np.maximum(to[draws].sum(axis=1), 1e-9)
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
        round(float(of.mean()), 3),
        round(float(to.mean()), 3),
        round(ratio, 4),
        round(low, 4),
        round(high, 4),
        claim.limit,
        ratio < claim.limit,
        not low <= claim.limit <= high,
    )


def as_records(findings: Sequence[Finding]) -> list[Record]:
    """Return findings as plain data."""
    return [asdict(one) for one in findings]


def print_claims(findings: Sequence[Finding], console: Console) -> None:
    """Print what must show, and what the paper found, each with what was measured here."""
    titles = {"issue": "what must show", "paper": "as in the paper?"}
    for source, title in titles.items():
        rows = [one for one in findings if one.source == source]
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        for head in ("claim", "compared", "agents"):
            table.add_column(head)
        for head in ("means", "ratio (95 %)", "limit", "holds"):
            table.add_column(head, justify="right")
        for one in rows:
            table.add_row(
                one.claim,
                f"{one.of} : {one.to}",
                str(one.agents),
                f"{one.measure} {one.mean_of:.1f} : {one.mean_to:.1f}",
                f"{one.ratio:.2f} ({one.low:.2f}-{one.high:.2f})",
                f"{one.limit:g}",
                ("yes" if one.holds else "NO") + ("" if one.certain else ", not certain"),
            )
        print_whole(table, console)
