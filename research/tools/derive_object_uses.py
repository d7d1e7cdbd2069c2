"""Derives which words speak of the use of which household thing, from the dictionary WordNet 3.0.

    apt-get install wordnet-base
    python -m research.tools.derive_object_uses associations.tsv

Nothing here was written for any question: each label of household.yaml gets a profile of words
from its dictionary entries (lemmas, definition, examples, hypernyms, kinds and parts of it, verbs
made of it, verbs whose definition names it); each word of the dictionary is compared with the
profiles through its own entries (gloss overlap, after Banerjee and Pedersen 2003).
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coterie_core.household import load_household
from coterie_requests.lexicon import load_lexicon

HEADER = """\
# word <tab> label:strength ... : what speaks of the use of a thing (strength in hundredths).
# "-label": the word names such a thing, or a kind of it.
# Made by research/tools/derive_object_uses.py.
# Derived from WordNet 3.0: "WordNet 3.0 Copyright 2006 by Princeton University. All rights
# reserved." It may be used, copied, modified and distributed for any purpose and without fee or
# royalty, with this notice; it is provided "as is", without warranties of any kind.
"""
_FILES = (("n", "noun"), ("v", "verb"), ("a", "adj"), ("r", "adv"))
_THINGS = (6, 13, 20, 10, 5)
"""Lexicographer files of things: artifact, food, plant, (person,) animal."""
_STOP = frozenset(
    re.findall(
        r"\w+",
        """a an the of or and to in on at by for with from as is are be was were been being it its
        that this these those which who whom whose what where when how i you he she we they my your
        his her our their me him them us do does did can could will would shall should may might
        must have has had not no nor so if then than into out up down off over under one two some
        any all each more most other another such etc very often usually especially used use using
        make makes made making thing things something someone somebody person people get gets got go
        goes come want need help there here also only own same too about between through during
        before after above below again further once whether having kind sort type object objects
        item part whole somewhat like""",
    )
)
_NO_THINGS = ("appliance", "decoration")
_LEAST, _MOST = 0.1, 5
"""Least strength that is kept, and for how many labels of a word."""
_PURPOSE = re.compile(r"\b(?:used|for|to|that|which)\b(.*)")
_POINTERS = {"@": 0.4, "+": 0.5, "&": 0.4, "*": 0.3, ">": 0.3, "$": 0.3}
"""What a neighbor of a word's entry is worth: hypernym, derived form, similar, entailed, ..."""


@dataclass(frozen=True)
class Entry:
    """A synset: lexicographer file, lemmas, pointers (symbol, synset), definition, examples."""

    id: tuple[str, str]
    file: int
    lemmas: tuple[str, ...]
    pointers: tuple[tuple[str, tuple[str, str]], ...]
    gloss: str
    examples: str


class Dictionary:
    """WordNet's files, read once."""

    def __init__(self, folder: Path) -> None:
        self.entries: dict[tuple[str, str], Entry] = {}
        self.index: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self.used: set[str] = set()
        self.exceptions: dict[tuple[str, str], str] = {}
        for pos, name in _FILES:
            for line in self._lines(folder / f"data.{name}"):
                entry = _entry(pos, line)
                self.entries[entry.id] = entry
            for line in self._lines(folder / f"index.{name}"):
                parts = line.split()
                count, tagged = int(parts[2]), int(parts[-int(parts[2]) - 1])
                self.index[parts[0], pos] = [(pos, offset) for offset in parts[-count:]]
                if tagged:
                    self.used.add(parts[0])
            path = folder / f"{name}.exc"
            if path.is_file():
                for line in path.read_text("latin-1").splitlines():
                    self.exceptions[line.split()[0], pos] = line.split()[1]
        self.words_of = {id_: self.words(e.gloss) for id_, e in self.entries.items()}
        counts: Counter[str] = Counter()
        self.naming: dict[str, list[Entry]] = defaultdict(list)
        for id_, words in self.words_of.items():
            counts.update(set(words))
            if id_[0] in "nv":
                for word in set(words):
                    self.naming[word].append(self.entries[id_])
        total = math.log(len(self.entries))
        self.rare = {w: (total - math.log(1 + n)) / total for w, n in counts.items()}

    @staticmethod
    def _lines(path: Path) -> Iterator[str]:
        return (x for x in path.read_text("latin-1").splitlines() if not x.startswith("  "))

    def lemmas(self, word: str) -> list[tuple[str, str]]:
        """Return (lemma, part of speech) of a word, itself first."""
        rules = {
            "n": (("ies", "y"), ("ses", "s"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"),
                  ("s", "")),
            "v": (("ies", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ed", "e"), ("ed", ""),
                  ("ing", "e"), ("ing", "")),
            "a": (("est", "e"), ("est", ""), ("er", "e"), ("er", "")),
            "r": (),
        }  # fmt: skip
        found = []
        for pos, endings in rules.items():
            forms = [word, self.exceptions.get((word, pos), "")]
            for end, other in endings:
                if word.endswith(end) and len(word) > len(end) + 1:
                    form = word[: -len(end)] + other
                    forms.append(form)
                    if len(form) > 2 and form[-1] == form[-2]:
                        forms.append(form[:-1])
            found += [(form, pos) for form in forms if (form, pos) in self.index]
        return list(dict.fromkeys(found))

    @cache  # noqa: B019  (there is one dictionary)
    def stem(self, word: str) -> str:
        """Return one form for all forms of a word."""
        found = self.lemmas(word)
        other = next((lemma for lemma, pos in found if lemma != word and pos in "nv"), "")
        return other or (found[0][0] if found else word)

    def words(self, text: str) -> list[str]:
        """Return the stems of the words of a text that carry meaning."""
        found = re.findall(r"[a-z]+", text.lower().replace("_", " "))
        return [self.stem(w) for w in found if w not in _STOP and len(w) > 2]

    def related(self, entry: Entry, symbol: str) -> list[Entry]:
        """Return the entries that a pointer leads to."""
        return [self.entries[other] for kind, other in entry.pointers if kind == symbol]


def _entry(pos: str, line: str) -> Entry:
    head, _, gloss = line.partition("|")
    parts = head.split()
    lemmas = int(parts[3], 16)
    at = 4 + 2 * lemmas
    pointers = []
    for k in range(int(parts[at])):
        symbol, offset, kind, _ = parts[at + 1 + 4 * k : at + 5 + 4 * k]
        pointers.append((symbol, ("a" if kind == "s" else kind, offset)))
    told = gloss.split('"')
    names = tuple(re.sub(r"\(\w+\)$", "", parts[4 + 2 * k]).lower() for k in range(lemmas))
    return Entry(
        (pos, parts[0]),
        int(parts[1]),
        names,
        tuple(pointers),
        told[0].strip(),
        " ".join(told[1::2]),
    )


class Profiles:
    """What the dictionary says of each label: words and how much they belong to it."""

    def __init__(self, dictionary: Dictionary, labels: list[str]) -> None:
        self.dictionary = dictionary
        self.labels = labels
        self.naming: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.weights: dict[str, dict[str, float]] = {}
        self.holders: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for label in labels:
            for senses in self.senses(label)[:3]:
                for entry in senses[:2]:
                    self.naming[entry.id].add(label)
            profile = self.profile(label)
            size = math.sqrt(sum((v * self.rare(w)) ** 2 for w, v in profile.items())) or 1.0
            for word, weight in profile.items():
                share = min(weight, 1.6) * self.rare(word) ** 2 / size**0.35
                self.holders[word].append((label, share))

    def rare(self, word: str) -> float:
        """How much a word tells (0..1): less the more definitions hold it."""
        return self.dictionary.rare.get(word, 1.0)

    def names(self, label: str) -> list[str]:
        """Return a label and its synonyms of the word lists."""
        category = load_household().categories[label]
        return [label, *category.synonyms, *load_lexicon().labels.get(label, ())]

    def senses(self, label: str) -> list[list[Entry]]:
        """Return per name of a label its entries that are things, artifacts if there are any."""
        found = []
        for name in self.names(label):
            every = [
                self.dictionary.entries[id_]
                for lemma, pos in self.dictionary.lemmas(name.replace(" ", "_"))
                if pos == "n"
                for id_ in self.dictionary.index[lemma, pos]
            ]
            things = [e for e in every if e.file in _THINGS]
            found.append([e for e in things if e.file == 6] or things)
        return found

    def profile(self, label: str) -> defaultdict[str, float]:
        """Return the words of a label's entries, and those around them, with weights."""
        profile: defaultdict[str, float] = defaultdict(float)
        for entry, weight in self._chosen(label):
            self._add(profile, entry, weight)
            for broader in self.dictionary.related(entry, "@"):
                self._add(profile, broader, 0.35 * weight)
                for still in self.dictionary.related(broader, "@"):
                    self._add(profile, still, 0.12 * weight)
            around = (("~", 15, 0.25), ("%p", 10, 0.2), ("#p", 10, 0.2), ("+", 20, 0.7))
            for symbol, count, share in around:
                for other in self.dictionary.related(entry, symbol)[:count]:
                    self._add(profile, other, share * weight)
        for k, name in enumerate(self.names(label)[:4]):
            words = self.dictionary.words(name)
            pattern = re.compile(rf"\b{re.escape(name)}(?:s|es)?\b")
            said = self.dictionary.naming.get(words[0], []) if words else []
            said = [e for e in said if pattern.search(e.gloss.lower())]
            scale = (1.0 if k == 0 else 0.5) / math.sqrt(max(len(said), 4) / 4)
            for entry in said:
                weight = scale * (0.7 if entry.id[0] == "v" else 0.3)
                for word in self.dictionary.words(" ".join(entry.lemmas)):
                    profile[word] += weight
                for word in self.dictionary.words_of[entry.id]:
                    profile[word] += 0.4 * weight
        return profile

    def _chosen(self, label: str) -> list[tuple[Entry, float]]:
        """The entries that a label means, with weights; several names for one are good signs."""
        senses = self.senses(label)
        shared = Counter(e.id for part in senses for e in {e.id: e for e in part}.values())
        chosen: dict[tuple[str, str], tuple[Entry, float]] = {}
        for k, part in enumerate(senses):
            for rank, entry in enumerate(part[:3]):
                weight = (1.0 if k == 0 else 0.45) * (1.0, 0.6, 0.4)[rank]
                weight *= 1.5 if shared[entry.id] > 1 else 1.0
                if entry.id not in chosen or chosen[entry.id][1] < weight:
                    chosen[entry.id] = (entry, weight)
        if not chosen:
            head = self.dictionary.index.get((label.split()[-1], "n"), [])
            things = [e for id_ in head if (e := self.dictionary.entries[id_]).file == 6]
            return [(e, 0.6) for e in things[:1]]
        return list(chosen.values())

    def _add(self, profile: defaultdict[str, float], entry: Entry, weight: float) -> None:
        for word in self.dictionary.words_of[entry.id]:
            profile[word] += 0.7 * weight
        purpose = _PURPOSE.search(entry.gloss)
        for word in self.dictionary.words(purpose[1]) if purpose else ():
            profile[word] += 0.5 * weight
        for word in self.dictionary.words(entry.examples):
            profile[word] += 0.3 * weight
        for word in self.dictionary.words(" ".join(entry.lemmas)):
            profile[word] += weight

    # -- words -----------------------------------------------------------------------------------

    def expanded(self, word: str) -> dict[str, float]:
        """Return the stems that a word leads to, with how much they mean the same (0..1)."""
        found: dict[str, float] = {self.dictionary.stem(word): 1.0}

        def note(words: list[str], share: float) -> None:
            for other in words:
                found[other] = max(found.get(other, 0.0), share)

        for lemma, pos in self.dictionary.lemmas(word):
            note([lemma], 0.9)
            for rank, id_ in enumerate(self.dictionary.index[lemma, pos][:4]):
                entry = self.dictionary.entries[id_]
                share = (1.0, 0.6, 0.4, 0.3)[rank] * (1.0 if pos in "nv" else 0.7)
                note(self.dictionary.words(" ".join(entry.lemmas)), 0.55 * share)
                note(self.dictionary.words_of[id_], 0.2 * share)
                for symbol, other in entry.pointers:
                    worth = _POINTERS.get(symbol, 0.0)
                    worth = (0.15 if pos == "v" else 0.05) if symbol == "~" else worth
                    if worth:
                        lemmas = self.dictionary.entries[other].lemmas
                        note(self.dictionary.words(" ".join(lemmas)), worth * share)
                if pos == "n":
                    broader = [entry]
                    for step in (0.4, 0.25, 0.15):
                        broader = [x for e in broader for x in self.dictionary.related(e, "@")]
                        for one in broader:
                            note(self.dictionary.words(" ".join(one.lemmas)), step * share)
        return found

    def named(self, word: str) -> set[str]:
        """Return the labels that a word names, or names a kind of."""
        found: set[str] = set()
        for lemma, pos in self.dictionary.lemmas(word):
            for id_ in self.dictionary.index[lemma, pos][:2] if pos == "n" else ():
                level = [self.dictionary.entries[id_]]
                for _ in range(5):
                    for entry in level:
                        found |= self.naming.get(entry.id, set())
                    level = [x for e in level for x in self.dictionary.related(e, "@")]
        return found

    def strengths(self, word: str) -> dict[str, float]:
        """Return label -> how much a word speaks of its use."""
        found: dict[str, float] = {}
        own = self.dictionary.stem(word)
        for other, share in self.expanded(word).items():
            for label, weight in self.holders.get(other, ()):
                value = share * weight * (1.15 if other == own else 1.0)
                found[label] = max(found.get(label, 0.0), value)
        return found


def table(dictionary: Dictionary) -> Iterator[str]:
    """Yield the lines of the table, words in the order of the alphabet."""
    things = load_household().categories.values()
    labels = sorted(t.label for t in things if t.shape != "none" and t.label not in _NO_THINGS)
    profiles = Profiles(dictionary, labels)
    known = {w for w in dictionary.used if w.isalpha() and len(w) > 2 and w not in _STOP}
    spoken = {w for words in dictionary.words_of.values() for w in words}
    for word in sorted(known & spoken | {w for w in known if (w, "v") in dictionary.index}):
        if dictionary.stem(word) != word:
            continue
        named = profiles.named(word)
        best = sorted(profiles.strengths(word).items(), key=lambda kv: (-kv[1], kv[0]))
        best = [(k, v) for k, v in best if k not in named and v >= _LEAST][:_MOST]
        if best or named:
            parts = [f"{label}:{100 * value:.0f}" for label, value in best]
            yield f"{word}\t{','.join([*parts, *(f'-{label}' for label in sorted(named))])}"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    options = parser.parse_args()
    lines = list(table(Dictionary(options.wordnet)))
    options.out.write_text(HEADER + "\n".join(lines) + "\n", "utf-8")
    print(f"{options.out}: {len(lines)} words")


if __name__ == "__main__":
    main()
