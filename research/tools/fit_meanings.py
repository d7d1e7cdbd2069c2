"""Measures how far embedders place words that no table lists, and fits what a likeness is worth.

    python -m research.tools.fit_meanings [--write] [wordllama minilm ...]

The words are those of `research/bench/data/unlisted_words.tsv`: 200 test, the others fit. What is
fitted is a logistic in the likeness of the nearest label and its lead before the next, over random
choices of 60 labels (a house's map) that hold the right one in half of the cases; ECE, "sure" and
"right when sure" (stated 50 % and more) are those of such choices for the test words.
How far a likeness tells that two labels mean one kind of thing ("couch", "sofa"), for the
association of detections, is fitted to names of every other thing of the household's tables, as
many pairs of one thing as of two, and tested on the names of the others, and on the 200 words with
the labels that they are or are not. `same_*` is the fraction of pairs of one kind that is taken
for one (`MIN_LIKENESS` and more), `different_*` that of pairs of two kinds.
`--write` puts the coefficients into `coterie_world/data/meaning.yaml`.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression

from coterie_core.embedding import cosine
from coterie_core.household import load_household
from coterie_llm.embedders import EmbedderOptions, load_embedder
from coterie_world.likeness import MIN_LIKENESS
from coterie_world.meaning import Meanings

ROOT = Path(__file__).resolve().parents[2] / "ros2_ws" / "src"
WORDS = ROOT.parents[1] / "research/bench/data/unlisted_words.tsv"
FITTED = ROOT / "coterie_world/coterie_world/data/meaning.yaml"
MAP_LABELS, DRAWS, SEED = 60, 20, 0
HEADER = """\
# What a likeness of a word and a label is worth: logistic in the likeness of the nearest label and
# in its lead before the next, from words of WordNet 3.0; and how far a likeness tells that two
# labels mean the same (same), from names of the household's things. Written by
# research/tools/fit_meanings.py.
"""


def read_words(part: str) -> list[tuple[str, frozenset[str]]]:
    """Return the words of a part (fit or test) and the labels that each is, or is a kind of."""
    rows = (row.split("\t") for row in WORDS.read_text().splitlines() if not row.startswith("#"))
    return [(word, frozenset(kind.split(", "))) for word, kind, which in rows if which == part]


def all_labels() -> list[str]:
    """Return the labels of things that stand or lie in a house."""
    things = load_household().categories.values()
    return sorted(t.label for t in things if t.shape != "none")


def drawn(
    words: list[tuple[str, frozenset[str]]], meanings: Meanings, rng: random.Random
) -> tuple[list[list[float]], list[bool]]:
    """Return (likeness, lead) of the nearest of a map's labels, and whether it is right."""
    labels = all_labels()
    marks, right = [], []
    for word, kind in words:
        cosines = dict(zip(labels, meanings.likeness(word, labels).tolist(), strict=True))
        others = [label for label in labels if label not in kind]
        for draw in range(DRAWS):
            held = rng.sample(others, MAP_LABELS) + (sorted(kind) if draw % 2 else [])
            best = sorted(held, key=lambda label: (-cosines[label], label))[:2]
            marks.append([cosines[best[0]], cosines[best[0]] - cosines[best[1]]])
            right.append(best[0] in kind)
    return marks, right


def named_pairs(part: int, rng: random.Random) -> list[tuple[str, str, bool]]:
    """Return pairs of names of every other thing, as many of one thing as of two."""
    things = sorted(load_household().categories.values(), key=lambda t: t.label)[part::2]
    names = [(t.label, name) for t in things for name in (t.label, *t.synonyms)]
    same = [(t.label, name, True) for t in things for name in t.synonyms]
    different: list[tuple[str, str, bool]] = []
    while len(different) < len(same):
        (one, a), (other, b) = rng.sample(names, 2)
        if one != other:
            different.append((a, b, False))
    return same + different


def unlisted_pairs(rng: random.Random) -> list[tuple[str, str, bool]]:
    """Return pairs of a word that no table lists and a label, as many of its kind as of another."""
    labels, found = all_labels(), []
    for word, kind in read_words("test"):
        other = rng.choice([label for label in labels if label not in kind])
        found += [(word, min(kind), True), (word, other, False)]
    return found


def cosines(pairs: list[tuple[str, str, bool]], meanings: Meanings) -> Any:
    """Return the likeness of each pair (n, 1), as association compares them."""
    meanings.learn(sorted({label for a, b, _ in pairs for label in (a, b)}))
    made = [(meanings.embedding({a: 1.0}), meanings.embedding({b: 1.0})) for a, b, _ in pairs]
    return np.array([[cosine(a, b)] for a, b in made if a is not None and b is not None])


def same_kind(meanings: Meanings) -> tuple[dict[str, float], dict[str, float]]:
    """Return the coefficients of `same`, and how far they hold for other names and words."""
    rng = random.Random(SEED)
    pairs = named_pairs(0, rng)
    fit = LogisticRegression(C=100.0).fit(cosines(pairs, meanings), [s for _, _, s in pairs])
    found = {}
    for what, others in (("names", named_pairs(1, rng)), ("unlisted", unlisted_pairs(rng))):
        taken = fit.predict_proba(cosines(others, meanings))[:, 1] >= MIN_LIKENESS
        truth = np.array([s for _, _, s in others])
        found[f"same_{what}"] = round(float(taken[truth].mean()), 3)
        found[f"different_{what}"] = round(float(taken[~truth].mean()), 3)
    marks = {"base": float(fit.intercept_[0]), "likeness": float(fit.coef_[0][0])}
    return {key: round(value, 3) for key, value in marks.items()}, found


def measured(name: str, write: bool) -> dict[str, Any]:
    """Fit and test one embedder."""
    embedder = load_embedder(EmbedderOptions(kind=name))
    assert embedder is not None
    meanings, rng = Meanings(embedder), random.Random(SEED)
    labels, test = all_labels(), read_words("test")
    meanings.likeness(labels[0], labels)
    begun = time.perf_counter()
    found = [(kind, [n.label for n in meanings.nearest(word, labels, 5)]) for word, kind in test]
    seconds = time.perf_counter() - begun
    tops = {k: np.mean([bool(kind & set(near[:k])) for kind, near in found]) for k in (1, 3, 5)}
    fitted = LogisticRegression(C=100.0).fit(*drawn(read_words("fit"), meanings, rng))
    marks, right = drawn(test, meanings, rng)
    stated = fitted.predict_proba(marks)[:, 1]
    truth = np.array(right)
    bins = np.clip((stated * 10).astype(int), 0, 9)
    ece = sum(
        abs(stated[bins == b].mean() - truth[bins == b].mean()) * np.mean(bins == b)
        for b in range(10)
        if (bins == b).any()
    )
    sure = stated >= 0.5
    same, kinds = same_kind(meanings)
    if write:
        data = yaml.safe_load(FITTED.read_text()) if FITTED.is_file() else {}
        (likeness, lead), base = fitted.coef_[0], fitted.intercept_[0]
        data = {**(data or {}), name: {
            "base": round(float(base), 3), "likeness": round(float(likeness), 3),
            "lead": round(float(lead), 3),
            "same": same,
        }}  # fmt: skip
        FITTED.write_text(HEADER + yaml.safe_dump(data, sort_keys=True))
    return {
        "embedder": name,
        **{f"top_{k}": round(float(v), 3) for k, v in tops.items()},
        "ece": round(float(ece), 3),
        "sure": round(float(sure.mean()), 3),
        "right_when_sure": round(float(truth[sure].mean()), 3) if sure.any() else None,
        **kinds,
        "ms_a_word": round(1000.0 * seconds / len(test), 2),
    }


def spelled() -> dict[str, Any]:
    """What likeness of letters alone finds: the floor."""
    labels, test = all_labels(), read_words("test")
    near = [(kind, difflib.get_close_matches(word, labels, 5, 0.0)) for word, kind in test]
    tops = {k: np.mean([bool(kind & set(n[:k])) for kind, n in near]) for k in (1, 3, 5)}
    return {"embedder": "letters", **{f"top_{k}": round(float(v), 3) for k, v in tops.items()}}


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("embedders", nargs="*", default=["wordllama", "minilm"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", type=Path, help="JSON")
    given = parser.parse_args()
    rows = [spelled(), *(measured(name, given.write) for name in given.embedders)]
    columns = list(rows[-1])
    table = Table(*columns, title="200 words that no table lists, against all labels")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    Console().print(table)
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
