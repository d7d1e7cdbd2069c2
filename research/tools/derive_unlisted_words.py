"""Derives words for household things that no table lists, and what they are, from WordNet 3.0.

    apt-get install wordnet-base
    python -m research.tools.derive_unlisted_words research/bench/data/unlisted_words.tsv

A word is taken if its first sense is an artifact, food or plant, if neither it nor a part of it
stands in household.yaml, objects.yaml or associations.tsv, and if one of its first three hypernyms
is a thing that they list: that one is what it is. At most twelve words for a thing, chosen by hash;
200 of them test, the others fit (`research/tools/fit_meanings.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

from coterie_core.household import load_household
from coterie_requests.understanding.english import is_english
from research.tools.derive_object_uses import _NO_THINGS, Dictionary, Entry, Profiles

ROOT = Path(__file__).resolve().parents[2] / "ros2_ws" / "src"
TABLES = (
    "coterie_core/coterie_core/data/household.yaml",
    "coterie_requests/coterie_requests/data/objects.yaml",
)
ASSOCIATIONS = "openeqa_agent/openeqa_agent/data/associations.tsv"
TESTED, MOST_A_LABEL, HYPERNYMS = 200, 12, 3
_FILES = (6, 13, 20)
HEADER = """\
# word <tab> what it is (labels of household.yaml) <tab> test or fit. Made by
# research/tools/derive_unlisted_words.py from WordNet 3.0: "WordNet 3.0 Copyright 2006 by Princeton
# University. All rights reserved." It may be used, copied, modified and distributed for any purpose
# and without fee or royalty, with this notice; it is provided "as is", without warranties.
"""


def listed(data: object) -> Iterator[str]:
    """Yield all words of a table."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from (*listed(key), *listed(value))
    elif isinstance(data, list):
        for value in data:
            yield from listed(value)
    elif isinstance(data, str):
        yield from re.findall(r"[a-z]+", data.lower())


def named_by(dictionary: Dictionary) -> dict[tuple[str, str], set[str]]:
    """Return entry -> the labels that name it."""
    things = load_household().categories.values()
    profiles = Profiles.__new__(Profiles)  # its senses are wanted, not its profiles
    profiles.dictionary = dictionary
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    for thing in things:
        if thing.shape != "none" and thing.label not in _NO_THINGS:
            for senses in profiles.senses(thing.label)[:3]:
                for entry in senses[:1]:
                    named[entry.id].add(thing.label)
    return named


def words(dictionary: Dictionary) -> Iterator[tuple[str, set[str]]]:
    """Yield words that no table lists, and what they are."""
    known = {w for table in TABLES for w in listed(yaml.safe_load((ROOT / table).read_text()))}
    rows = (ROOT / ASSOCIATIONS).read_text().splitlines()
    known |= {row.partition("\t")[0] for row in rows}
    named = named_by(dictionary)
    for (lemma, pos), ids in dictionary.index.items():
        parts = lemma.split("_")
        if pos != "n" or not all(is_english(p) and p not in known for p in parts):
            continue
        first = dictionary.entries[ids[0]]
        if first.file in _FILES and not any(f"{lemma}{end}" in known for end in ("s", "es")):
            found = _kind(dictionary, first, named)
            if found:
                yield lemma.replace("_", " "), found


def _kind(dictionary: Dictionary, entry: Entry, named: dict[tuple[str, str], set[str]]) -> set[str]:
    level = [entry]
    for _ in range(HYPERNYMS):
        level = [x for one in level for x in dictionary.related(one, "@")]
        found = {label for one in level for label in named.get(one.id, ())}
        if found:
            return found
    return set()


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    given = parser.parse_args()
    found = dict(words(Dictionary(given.wordnet)))
    counts: Counter[str] = Counter()
    chosen = []
    for word in sorted(found, key=lambda w: hashlib.sha256(w.encode()).hexdigest()):
        kind = min(found[word])
        if counts[kind] < MOST_A_LABEL:
            counts[kind] += 1
            chosen.append(word)
    lines = [
        f"{word}\t{', '.join(sorted(found[word]))}\t{'test' if k < TESTED else 'fit'}"
        for k, word in enumerate(chosen)
    ]
    given.out.write_text(HEADER + "\n".join(sorted(lines)) + "\n")
    print(f"{given.out}: {len(lines)} words, {TESTED} of them to test with")


if __name__ == "__main__":
    main()
