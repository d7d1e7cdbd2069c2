"""Measures requests on annotated maps with tables, with embeddings alone, and with both.

    python -m research.tools.measure_meanings_on_maps DIR [wordllama minilm ...]

DIR holds queries.yaml, semantic_maps/ and responses/, as for `./coterie bench objects`. Alone, an
object's worth is the cosine of its top label with the request; of equals the one that was seen more
often comes first. Both: tables, and the embedder for words that they lack. Each map is also written
and read with what its labels mean, and asked again: the answers have to be the same.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from coterie_llm import Decider, RulesModel
from coterie_world.meaning import Meanings, local_meanings
from coterie_world.scene import SceneGraph, from_json, to_json
from object_planner.workflows import Options, Roles, plan_objects
from research.bench.objects.data import load_data
from research.bench.objects.run import score


def by_tables(scene: SceneGraph, words: str, meanings: Meanings | None) -> Sequence[str]:
    """Return the answer of the rules, with an embedder for words that no table lists."""
    roles = Roles(Decider(RulesModel()))
    answer = asyncio.run(plan_objects(scene, words, roles, "grounded", Options(meanings=meanings)))
    return answer.plan.relevant_objects


def alone(scene: SceneGraph, words: str, meanings: Meanings) -> Sequence[str]:
    """Return the objects in the order of their labels' likeness with the request."""
    labels = sorted({thing.label.top for thing in scene.objects.values()})
    near = meanings.ranked(words, labels, scene)
    things = scene.objects.values()
    ranked = sorted(things, key=lambda t: (-near[t.label.top], -t.observations, t.id))
    return [thing.id for thing in ranked[:3]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("embedders", nargs="*", default=["wordllama"])
    given = parser.parse_args()
    data = load_data(given.folder)
    asked = [(m, q) for m in data.maps for q in data.queries if q.id in m.truth]
    table = Table("embedder", "tables", "alone", "both", "both, kept in files", "characters more")

    def top_1(answers: Sequence[Sequence[str]]) -> str:
        right = [
            score(ids, m.truth[q.id])[0][0] for ids, (m, q) in zip(answers, asked, strict=True)
        ]
        return f"{sum(right) / len(right):.1%}"

    plain = [by_tables(m.scene, q.words, None) for m, q in asked]
    for name in given.embedders:
        meanings = local_meanings(name)
        assert meanings is not None
        kept, more = {}, []
        for one in data.maps:
            before = len(to_json(one.scene))
            scene = from_json(to_json(one.scene))
            meanings.keep(scene)
            text = to_json(scene)
            kept[one.name] = from_json(text)
            more.append((len(text) - before) / len(scene.objects))
        single = [alone(m.scene, q.words, meanings) for m, q in asked]
        both = [by_tables(m.scene, q.words, meanings) for m, q in asked]
        again = [by_tables(kept[m.name], q.words, meanings) for m, q in asked]
        table.add_row(
            name,
            top_1(plain),
            top_1(single),
            top_1(both),
            f"{top_1(again)}, {sum(a == b for a, b in zip(both, again, strict=True))} the same",
            f"{sum(more) / len(more):.0f} an object",
        )
    Console().print(f"{len(asked)} requests on {len(data.maps)} maps, Top-1", table)


if __name__ == "__main__":
    main()
