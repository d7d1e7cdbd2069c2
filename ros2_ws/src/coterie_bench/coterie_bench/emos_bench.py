"""`bench emos`: Habitat-MAS on generated houses: verified episodes, methods, tables, plots."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from coterie_bench.command import run as run_command
from coterie_bench.emos_episodes import (
    FAMILIES,
    Episode,
    EpisodeError,
    Family,
    WorldKind,
    load_episodes,
    make_episode,
    save_episodes,
)
from coterie_bench.emos_goals import GoalProblem
from coterie_bench.emos_run import BY_CHANCE, METHODS, Method, run_episode
from coterie_bench.emos_scaling import OBJECTS, ROBOTS, with_objects, with_robots
from coterie_bench.emos_tables import draw, print_results, scaling
from coterie_bench.records import write_csv, write_json
from coterie_bench.tables import print_whole
from coterie_core.language import LanguageError, ModelProfile, build_model, load_profile
from emos_planner.leader.options import ResumeFormat
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.prior import PriorMap

app = typer.Typer(help="EMOS on Habitat-MAS.", add_completion=False)
MOST_HOUSES = 20
"""Houses looked at per episode that is wanted, before the search ends."""
OBJECT_TRIES = 4
"""Choices of further objects that are tried per episode."""
FORMS: tuple[ResumeFormat, ...] = get_args(ResumeFormat)


@dataclass(frozen=True, slots=True)
class Job:
    """One run: an episode by a method; `vary` names a scaling experiment, `value` its setting."""

    episode: Episode
    method: Method
    seed: int = 0
    form: ResumeFormat = "json"
    profile: str = ""
    vary: str = ""
    value: str = ""
    world: WorldKind = "embedded"
    prior: PriorMap = "everything"
    noise: NoiseLevel = "none"

    @property
    def key(self) -> str:
        """What tells this run from all others."""
        parts: tuple[object, ...] = (
            self.episode.model_dump_json(),
            self.method,
            self.seed,
            self.form,
            self.profile,
            self.vary,
            self.value,
        )
        if self.world != "embedded":
            parts = (*parts, self.world)
        if (self.prior, self.noise) != ("everything", "none"):
            parts = (*parts, self.prior, self.noise)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def run_job(job: Job) -> dict[str, Any]:
    """Return the record of a run; what goes wrong in it is the record's `error`."""
    model, close = None, None
    record: dict[str, Any] = {
        "key": job.key,
        "episode": job.episode.id,
        "task": job.episode.family,
        "house": job.episode.house,
        "method": job.method,
        "seed": job.seed,
        "form": job.form,
        "robots": len(job.episode.robots),
        "objects": len(job.episode.goals),
        "vary": job.vary,
        "value": job.value,
        "world": job.world,
        "prior": job.prior,
        "noise": job.noise,
    }
    if job.profile:
        profile = ModelProfile.model_validate_json(job.profile)
        model = build_model(profile)
        close = getattr(model, "aclose", None)

    async def work() -> dict[str, Any]:
        try:
            done = await run_episode(
                job.episode,
                job.method,
                model=model,
                seed=job.seed,
                form=job.form,
                kind=job.world,
                prior=job.prior,
                noise=job.noise,
            )
        finally:
            if close is not None:
                await close()
        return asdict(done)

    try:
        found = asyncio.run(work())
    except Exception as error:  # one episode must not end the bench
        blank = {"success": False, "goals": {}, "tokens": 0, "prompt_tokens": 0, "steps": 0}
        return record | blank | {"rounds": 0, "seconds": 0.0, "error": _line(error)}
    return {**found, **record, "goals": dict(found["goals"])}


def verified(family: Family, house: int) -> Episode | None:
    """Return the episode of a house if the right assignment succeeds and the swapped one fails.

    Both are carried out in the world (XOR check of EMOS, appendix B.3).
    """
    episode = make_episode(family, house)
    if episode is None:
        return None
    right = run_job(Job(episode, "oracle"))
    if not right["success"] or run_job(Job(episode, "swapped"))["success"]:
        return None
    return episode


def find_episodes(
    family: Family,
    count: int,
    seed: int,
    *,
    kept: Sequence[Episode] = (),
    workers: int = 1,
    on_found: Callable[[list[Episode]], None] | None = None,
) -> list[Episode]:
    """Return `count` verified episodes of a family, fewer if the houses offer no more.

    Houses are taken in order from the seed, so that the number of workers changes nothing.

    Args:
        family: 1 to 4.
        count: How many.
        seed: Episodes of different seeds are of different houses.
        kept: The first of them, found before.
        workers: Processes.
        on_found: Called with those found so far, whenever there is one more.
    """
    found = list(kept[:count])
    first, last = seed * 10_000, seed * 10_000 + MOST_HOUSES * count
    if kept:
        first = kept[-1].house + 1
    if len(found) == count:
        return found
    for one in _each(verified, [(family, house) for house in range(first, last)], workers):
        if one is not None:
            found.append(one)
            if on_found:
                on_found(found)
        if len(found) == count:
            break
    return found


def _each(
    work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """Yield results in order, computed by so many processes."""
    if workers <= 1:
        for one in arguments:
            yield work(*one)
        return
    # Each process gets one thread: numeric libraries would otherwise fight for the same cores.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Any]] = deque()
        try:
            for one in arguments:
                waiting.append(pool.submit(work, *one))
                if len(waiting) > 3 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Results:
    """Records of finished runs, one JSON line each, so that a bench that was stopped goes on.

    Args:
        file: JSON lines; None: nothing is kept.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.done: dict[str, dict[str, Any]] = {}
        if file is not None and file.is_file():
            for line in file.read_text("utf-8").splitlines():
                try:
                    record = json.loads(line)
                    self.done[record["key"]] = record
                except (ValueError, KeyError, TypeError):
                    continue  # cut off when the bench was stopped: that run is done again

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record."""
        self.done[record["key"]] = record
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    *,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Run what has no record yet; return the records of all jobs, in their order."""
    waiting = [job for job in jobs if job.key not in results.done]
    finished = len(jobs) - len(waiting)
    for record in _each(run_job, [(job,) for job in waiting], workers):
        results.add(record)
        finished += 1
        if on_progress:
            on_progress(finished, len(jobs))
    return [results.done[job.key] for job in jobs]


def solvable(episode: Episode, count: int) -> Episode | None:
    """Return the episode with so many things that the right assignment can bring all of them."""
    for attempt in range(OBJECT_TRIES):
        larger = with_objects(episode, count, attempt)
        if larger is None or len(larger.goals) <= len(episode.goals):
            return larger
        if run_job(Job(larger, "oracle"))["success"]:
            return larger
    return None


def scaling_jobs(episodes: Sequence[Episode], vary: str, base: Job) -> Iterator[Job]:
    """Yield the runs of a scaling experiment: "robots", "objects" or "form"."""
    for episode in episodes:
        if vary == "robots":
            for count in ROBOTS:
                larger = with_robots(episode, count)
                if larger is not None:
                    yield Job(larger, "emos", base.seed, base.form, base.profile, vary, str(count))
        elif vary == "objects":
            for count in OBJECTS:
                other = solvable(episode, count)
                if other is not None:
                    yield Job(other, "emos", base.seed, base.form, base.profile, vary, str(count))
        else:
            for form in FORMS:
                yield Job(episode, "emos", base.seed, form, base.profile, vary, form)


def bench_emos(
    episodes: Annotated[
        int, typer.Option(min=1, help="Number of verified episodes per task.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the houses and of chance.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for episodes, records, PDDL, tables and plots; default: none are written."
        ),
    ] = None,
    task: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=4,
            help="Number of a task of Habitat-MAS, 1 to 4; may be given again; default: all.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Method to measure: {', '.join(METHODS)}; may be given again; default: all."
        ),
    ] = None,
    vary: Annotated[
        str, typer.Option(help="Quantity to vary instead of the method: robots, objects or form.")
    ] = "",
    form: Annotated[
        str, typer.Option(help=f"Format of resumes in a model's prompts: {', '.join(FORMS)}.")
    ] = "json",
    world: Annotated[
        str,
        typer.Option(
            help="Kind of world: embedded, or habitat (the same episodes in habitat-sim)."
        ),
    ] = "embedded",
    prior: Annotated[
        str,
        typer.Option(help="Knowledge that the team begins with: rooms, furniture or everything."),
    ] = "everything",
    noise: Annotated[
        str, typer.Option(help="Noise of the detectors: none, low, normal or high.")
    ] = "none",
    lots: Annotated[
        int,
        typer.Option(
            min=1, help="Number of seeds for each method that draws lots (dealt, random)."
        ),
    ] = 5,
    profile: Annotated[
        Path | None,
        typer.Option(help="Path of a model profile (YAML or JSON); default: the rules decide."),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Number of processes; 0: one per core.")] = 0,
    pddl: Annotated[bool, typer.Option(help="Write every episode's goal as PDDL, too.")] = False,
) -> None:
    """Run EMOS and its ablations on verified episodes; print the paper's tables with ours."""
    console = Console()
    count = workers or os.cpu_count() or 1
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    families: list[Family] = sorted(set(task or FAMILIES))  # type: ignore[arg-type]
    try:
        methods = [_method(name) for name in method or METHODS]
        if vary not in ("", "robots", "objects", "form"):
            raise EpisodeError(f"--vary: {vary!r}; one of robots, objects, form")
        if form not in FORMS:
            raise EpisodeError(f"--form: {form!r}; one of {', '.join(FORMS)}")
        where: WorldKind = _chosen("--world", world, WorldKind)
        known: PriorMap = _chosen("--prior", prior, PriorMap)
        mistakes: NoiseLevel = _chosen("--noise", noise, NoiseLevel)
        told = _profile(profile)
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
            chosen: list[Episode] = []
            for family in families:
                chosen += _episodes(family, episodes, seed, out, count, bar)
            if not chosen:
                raise EpisodeError("no verified episode was found: try another --seed")
            base = Job(chosen[0], "emos", seed, form, told)
            jobs = (
                list(scaling_jobs(chosen, vary, base))
                if vary
                else [
                    Job(one, name, lot, form, told, world=where, prior=known, noise=mistakes)
                    for name in methods
                    for one in chosen
                    for lot in range(seed, seed + (lots if name in BY_CHANCE else 1))
                ]
            )
            shown = bar.add_task("episodes by methods", total=len(jobs))
            records = run_jobs(
                jobs,
                Results(out / "records.jsonl" if out else None),
                workers=count,
                on_progress=lambda n, m: bar.update(shown, completed=n, total=m),
            )
    except (EpisodeError, LanguageError, ValidationError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench emos: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    if vary:
        field = {"robots": "robots", "objects": "objects", "form": "form"}[vary]
        print_whole(scaling(records, field), console)
    else:
        print_results(records, console)
    for record in [r for r in records if r.get("error")][:10]:
        text = f"{record['episode']} {record['method']}: {record['error']}"
        console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    if out is not None:
        name = f"results_{vary}" if vary else "results"
        name += "" if world == "embedded" else f"_{world}"
        name += "" if (prior, noise) == ("everything", "none") else f"_{prior}_{noise}"
        write_json(out / f"{name}.json", records)
        write_csv(out / f"{name}.csv", [{**r, "goals": json.dumps(r["goals"])} for r in records])
        if not vary:
            draw(records, out)
        if pddl:
            for one in chosen:
                GoalProblem(one).write(out / "pddl" / f"task{one.family}")
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


app.command("emos")(bench_emos)


def _episodes(
    family: Family, count: int, seed: int, out: Path | None, workers: int, bar: Progress
) -> list[Episode]:
    """Return verified episodes, from the folder if they were found before."""
    file = out / "episodes" / f"task{family}_seed{seed}.jsonl" if out else None
    kept = load_episodes(file) if file is not None and file.is_file() else []
    shown = bar.add_task(f"verifying episodes of task {family}", total=count)

    def note(found: list[Episode]) -> None:
        bar.update(shown, completed=len(found))
        if file is not None:
            save_episodes(found, file)

    found = find_episodes(family, count, seed, kept=kept, workers=workers, on_found=note)
    bar.update(shown, completed=len(found))
    return found


def _method(name: str) -> Method:
    for known in METHODS:
        if name == known:
            return known
    raise EpisodeError(f"--method: unknown method {name!r}; one of {', '.join(METHODS)}")


def _chosen(option: str, name: str, kind: Any) -> Any:
    """Return `name` if it is one of a Literal's values."""
    if name in get_args(kind):
        return name
    raise EpisodeError(f"{option}: {name!r}; one of {', '.join(get_args(kind))}")


def _profile(path: Path | None) -> str:
    """Return a model profile as JSON ("" for the rules)."""
    if path is None:
        return ""
    return load_profile(path).model_dump_json(exclude_unset=True)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench emos", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
