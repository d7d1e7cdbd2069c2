"""`bench models`: rules, oracle, guesser and models on a fixed small set; tables by decision."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_cli.commands import run as run_command
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle import Oracle, random_answerer
from coterie_llm import (
    Decided,
    LanguageError,
    Mode,
    ModelProfile,
    UsageMeter,
    load_profile,
)
from research.bench.common.records import write_json
from research.bench.common.tables import print_whole
from research.bench.decision_samples import sampled
from research.bench.models.tables import print_savings, print_tables
from research.bench.models.token_counts import token_table
from research.bench.models.works import FEW, Amount, Answering, Outcome, Work, all_works

app = typer.Typer(
    help="Every decision put to rules, oracle, guesser, models.", add_completion=False
)
STAND_INS = ("rules", "oracle", "random")
_SUMS = (
    "calls", "prompt_tokens", "completion_tokens", "seconds", "by_model", "by_rule", "at_once",
    "asked_again", "overruled", "tool_uses",
)  # fmt: skip


SAVINGS: dict[str, dict[str, Any]] = {
    "each asked": {"ask_always": True, "cache": 0, "join": 1},
    "not needless": {"cache": 0, "join": 1},
    "and cached": {"join": 1},
    "and joined": {},
}
"""What `--calls` compares: settings of profiles that save calls, one more with each."""


@contextmanager
def answerer(name: str, mode: Mode, seed: int) -> Iterator[ModelProfile]:
    """Provide an answerer: a stand-in by its name, or a model by the file of its profile.

    Raises:
        LanguageError: The profile cannot be used.
    """
    if name == "rules":
        yield ModelProfile(kind="rules")
    elif name in STAND_INS:
        responder: Any = Oracle() if name == "oracle" else random_answerer(seed)
        with Endpoint(responder, model=name, usage=None) as endpoint:
            yield ModelProfile(
                kind="openai", base_url=endpoint.url, model=name, mode=mode, timeout_s=60.0
            )
    else:
        yield load_profile(Path(name)).model_copy(update={"mode": mode})


def run_models(
    names: Sequence[str],
    works: dict[str, Work],
    *,
    mode: Mode = "model",
    seed: int = 0,
    amount: Amount | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    larger: str = "",
    trace: Path | None = None,
    on_done: Callable[[str, str, list[dict[str, Any]]], None] = lambda name, work, records: None,
) -> list[dict[str, Any]]:
    """Let every answerer do every work; return a record of each.

    Args:
        names: `rules`, `oracle`, `random`, or paths of profiles.
        works: What is done.
        mode: Of the models' decisions.
        seed: Of the guesses.
        amount: How much of each work is done; None: all of it.
        settings: Name -> changes of the profiles; every work is done with each.
        larger: Answerer that is asked where the replies of a model by its profile cannot be used.
        trace: File that a line for each decision is written to; None: none.
        on_done: Called after each work, with all records so far.

    Raises:
        LanguageError: A profile cannot be used.
    """
    records = []
    for name in names:
        own = name not in STAND_INS
        with (
            answerer(name, mode, seed) as profile,
            answerer(larger, mode, seed) if larger and own else nullcontext() as next_profile,
        ):
            if next_profile is not None:
                profile = profile.model_copy(update={"larger": next_profile})
            for told, changes in (settings or {"": {}}).items():
                changed = profile.model_copy(update=dict(changes))
                for title, work in works.items():
                    record = _record(name, title, work, changed, amount or Amount(), trace)
                    records.append({**record, "settings": told})
                    on_done(name, title, records)
    return records


def _record(
    name: str,
    title: str,
    work: Work,
    profile: ModelProfile,
    amount: Amount,
    trace: Path | None,
) -> dict[str, Any]:
    meter, begun, error = (
        TracingMeter(f"{Path(name).stem}, {title}", trace),
        time.perf_counter(),
        "",
    )
    outcomes: list[Outcome] = []
    try:
        outcomes = asyncio.run(work(Answering(profile, meter, amount)))
    except Exception as trouble:  # one work must not end the bench; the table shows it
        error = f"{type(trouble).__name__}: {trouble}"[:300]
    return {
        "answerer": Path(name).stem if name not in STAND_INS else name,
        "mode": profile.mode if profile.kind != "rules" else "rule",
        "work": title,
        "seconds": round(time.perf_counter() - begun, 3),
        "error": error,
        "outcomes": [asdict(one) for one in outcomes],
        "decisions": _by_decision(meter),
    }


class TracingMeter(UsageMeter):
    """Counts decisions, and writes each down for people to read.

    Args:
        title: What they were made for.
        file: File that lines are added to; None: none are.
    """

    def __init__(self, title: str, file: Path | None) -> None:
        super().__init__()
        self.title, self.file = title, file

    def watch(self, who: str) -> Callable[[str, Decided[Any]], None]:
        """Return what counts a robot's decisions."""
        count = super().watch(who)

        def told(name: str, made: Decided[Any]) -> None:
            count(name, made)
            if self.file is not None:
                reply = made.reply.model_dump_json(exclude_defaults=True)
                refused = f" ({made.reason})" if made.reason else ""
                with self.file.open("a", encoding="utf-8") as file:
                    file.write(
                        f"{self.title}: {who} {name} by {made.model or 'the rule'}, "
                        f"{made.attempts} replies, {made.seconds:.0f} s: {reply}{refused}\n"
                    )

        return told


def _by_decision(meter: UsageMeter) -> dict[str, dict[str, float]]:
    """Return decision -> its counts, over all robots."""
    counts: dict[str, dict[str, float]] = {}
    for row in meter.as_json():
        told = counts.setdefault(row["decision"], dict.fromkeys((*_SUMS, "failed"), 0))
        for key in _SUMS:
            told[key] += row[key]
        told["failed"] += sum(row["failures"].values())
        for what in ("asked", "decided"):
            for model, count in row[what].items():
                name = f"{what} {model}"
                told[name] = told.get(name, 0) + count
    return counts


def bench_models(
    answerers: Annotated[
        list[str] | None,
        typer.Option(
            "--answerer",
            help=f"Answerers that decide: {', '.join(STAND_INS)}; may be given again; default: all "
            "of them.",
        ),
    ] = None,
    profile: Annotated[
        list[Path] | None,
        typer.Option("--profile", help="Path of a model profile to add; may be given again."),
    ] = None,
    mode: Annotated[
        str, typer.Option(help=f"Mode of the models' decisions: {', '.join(get_args(Mode))}.")
    ] = "model",
    only: Annotated[
        str, typer.Option(help="Only works whose name holds this text, for example 'reveca'.")
    ] = "",
    few: Annotated[
        bool,
        typer.Option(
            "--few", help="A few of each bench only, for a model that takes half a minute a reply."
        ),
    ] = False,
    larger: Annotated[
        str,
        typer.Option(
            "--larger",
            help="Answerer, or path of a profile, that is asked where replies of the models by "
            "--profile cannot be used.",
        ),
    ] = "",
    calls: Annotated[
        bool,
        typer.Option(
            "--calls",
            help="Compare what saves calls and tokens: each work is done with one such setting "
            "more; default answerer: oracle.",
        ),
    ] = False,
    houses: Annotated[
        str,
        typer.Option(
            help="Seeds of houses, for example 221-244: MELE's works are done in these, and works "
            "are added: 'explore', in which robots only explore, and 'house', with what people ask "
            "of teams, in each house."
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random answerer.")] = 0,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens",
            help="Only count the tokens of each decision's prompt, by the --profile's model.",
        ),
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="Path of the text file that each decision is written to."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Path of the JSON file with all records.")
    ] = None,
) -> None:
    """Let rules, a scripted oracle, a guesser and models do a fixed small set of all benches."""
    console = Console()
    own = ("oracle",) if calls else STAND_INS
    names = [*(answerers if answerers is not None else own), *map(str, profile or [])]
    settings = SAVINGS if calls else None
    amount = FEW if few else Amount()
    try:
        if tokens:
            chosen = [load_profile(one) for one in profile or [Path("tiny")]]
            for one in chosen:
                print_whole(token_table(one, [n for n in sampled() if only in n]), console)
            return
        every = all_works(amount, _seeds(houses))
        works = {title: work for title, work in every.items() if only in title}
        if mode not in get_args(Mode):
            raise ValueError(f"--mode: {mode!r}; one of {', '.join(get_args(Mode))}")
        if larger == "rules":
            raise ValueError("--larger: the rules decide after any model; name a model")
        strange = [n for n in answerers or [] if n not in STAND_INS]
        if strange or not works:
            raise ValueError(
                f"--answerer: {strange[0]!r}; one of {', '.join(STAND_INS)}; models by --profile"
                if strange
                else f"--only: no work holds {only!r}; works: {', '.join(every)}"
            )
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            task = progress.add_task("works", total=len(names) * len(works) * len(settings or [0]))

            def done(name: str, work: str, records: list[dict[str, Any]]) -> None:
                if out is not None:  # a run of an hour that is stopped keeps what it has done
                    write_json(out, records)
                progress.update(task, advance=1, description=f"{Path(name).stem}: {work}")

            records = run_models(
                names,
                works,
                mode=mode,  # type: ignore[arg-type]
                seed=seed,
                amount=amount,
                settings=settings,
                larger=larger,
                trace=trace,
                on_done=done,
            )
    except (LanguageError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench models: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    if calls:
        print_savings(records, console)
    else:
        print_tables(records, console)
    if out is not None:
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


def _seeds(text: str) -> Sequence[int]:
    """Read the seeds of houses: one, or the first and the last.

    Raises:
        ValueError: That is no range of seeds.
    """
    if not text:
        return ()
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise ValueError(f"--houses: expected a seed or two, such as 221-244, got {text!r}")
    return range(first, last + 1)


app.command("models")(bench_models)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    return run_command(app, "bench models", arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
