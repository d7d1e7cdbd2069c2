"""Runs of the object-planning bench: every request by every workflow, scored, resumable."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from coterie_core.files import write_atomically
from coterie_llm import Decider, RulesModel
from object_planner.plan import PlanObjects
from object_planner.workflows import METHODS, Method, Options, Roles, plan_objects
from research.bench.common.code_digest import code_digest
from research.bench.objects.data import QUERY_TYPES, ObjectData, ObjectMap
from research.bench.objects.paper import MEASURES


@dataclass(frozen=True, slots=True)
class Scored:
    """One request on one map, answered by one method.

    `hits` are Top-1/2/3/Any with an empty answer to an empty truth as a hit everywhere, as the
    paper's figures count; `strict` are its formulas, where only Top-1 counts that.
    """

    method: str
    map: str
    dataset: str
    query: str
    query_type: str
    answer: tuple[str, ...]
    truth: tuple[str, ...]
    hits: tuple[bool, bool, bool, bool]
    strict: tuple[bool, bool, bool, bool]
    calls: int
    tokens: int
    seconds: float
    by_rule: int = 0
    mode: str = "rule"


_SCORED = TypeAdapter(list[Scored])


@dataclass(slots=True)
class ObjectsResult:
    """What a bench found: `records` per method, data set and query type; `details` per request."""

    records: list[dict[str, Any]] = field(default_factory=list)
    details: list[Scored] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


Hits = tuple[bool, bool, bool, bool]


def score(answer: Sequence[str], truth: Sequence[str]) -> tuple[Hits, Hits]:
    """Return Top-1/2/3/Any in both readings: the figures' and the formulas'.

    Section 5.2 of the paper gives an empty answer to an empty truth a hit in Top-1 only, yet calls
    the measures cumulative, and its tables fit only if all four count it.
    """
    empty = not answer and not truth
    one, two, three, some = (any(i in truth for i in answer[:k]) for k in (1, 2, 3, len(answer)))
    lenient = (one or empty, two or empty, three or empty, some or empty)
    return lenient, (one or empty, two, three, some)


async def run_objects(
    data: ObjectData,
    methods: Sequence[Method] = METHODS,
    *,
    decider: Decider | None = None,
    options: Options | None = None,
    cache: Path | None = None,
    key: str = "",
    on_progress: Callable[[int, int], None] | None = None,
    on_map: Callable[[ObjectMap], None] | None = None,
) -> ObjectsResult:
    """Answer every query on every map by every method, and score the answers.

    Args:
        data: Queries, maps, truth.
        methods: The workflows.
        decider: Who is asked; None: the rules.
        options: Of the workflows.
        cache: Folder of finished (method, map) pairs, from which a run that stopped goes on.
        key: Tells runs with other models apart in the cache.
        on_progress: Called with requests done and in all.
        on_map: Called before each method's pass over a map.
    """
    options = options or Options()
    roles = Roles(decider or Decider(RulesModel()))
    result = ObjectsResult(problems=list(data.problems))
    total, done = len(methods) * sum(len(m.truth) for m in data.maps), 0
    for method in methods:
        for one in data.maps:
            file = cache / f"{_digest(data, one, method, options, key)}.json" if cache else None
            scored = _read(file)
            if scored is None:
                scored = []
                if on_map:
                    on_map(one)
                for query in data.queries:
                    if query.id not in one.truth:
                        continue
                    begun = time.perf_counter()
                    answer = await plan_objects(one.scene, query.words, roles, method, options)
                    seconds = time.perf_counter() - begun
                    ids, truth = answer.plan.relevant_objects, one.truth[query.id]
                    hits, strict = score(ids, truth)
                    scored.append(
                        Scored(
                            method,
                            one.name,
                            one.dataset,
                            query.id,
                            query.type,
                            tuple(ids),
                            tuple(truth),
                            hits,
                            strict,
                            answer.calls,
                            answer.usage.tokens,
                            seconds,
                            answer.by_rule,
                            roles.planner.mode_of(PlanObjects.name),
                        )
                    )
                _write(file, scored)
            result.details += scored
            done += len(scored)
            if on_progress:
                on_progress(done, total)
    result.records = list(summarised(result.details))
    return result


def summarised(details: Sequence[Scored]) -> Iterable[dict[str, Any]]:
    """Yield a record per method, data set ("all" too) and query type ("all" too): means."""
    datasets = ["all", *sorted({d.dataset for d in details})]
    for method in dict.fromkeys(d.method for d in details):
        for dataset in datasets:
            for kind in ("all", *QUERY_TYPES):
                rows = [
                    d
                    for d in details
                    if d.method == method
                    and dataset in ("all", d.dataset)
                    and kind in ("all", d.query_type)
                ]
                if not rows:
                    continue
                n = len(rows)
                record: dict[str, Any] = {
                    "method": method,
                    "dataset": dataset,
                    "query_type": kind,
                    "queries": n,
                    "mode": rows[0].mode,
                }
                for k, measure in enumerate(MEASURES):
                    record[measure] = round(100.0 * sum(d.hits[k] for d in rows) / n, 2)
                for k, measure in enumerate(MEASURES):
                    record[f"{measure}_formula"] = round(
                        100.0 * sum(d.strict[k] for d in rows) / n, 2
                    )
                record["calls"] = sum(d.calls for d in rows)
                record["tokens"] = sum(d.tokens for d in rows)
                record["by_rule"] = sum(d.by_rule for d in rows)
                record["seconds"] = round(sum(d.seconds for d in rows) / n, 4)
                yield record


def _digest(data: ObjectData, one: ObjectMap, method: str, options: Options, key: str) -> str:
    parts = [method, one.name, repr(options), key, repr(data.queries), repr(one.truth)]
    parts += [repr(thing) for thing in one.scene.objects.values()]
    parts.append(code_digest("object_planner"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _read(file: Path | None) -> list[Scored] | None:
    if file is None or not file.is_file():
        return None
    try:
        return _SCORED.validate_json(file.read_bytes())
    except ValidationError:
        return None  # of an older version, or half written by another program: done again


def _write(file: Path | None, scored: Sequence[Scored]) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, _SCORED.dump_json(list(scored)))
