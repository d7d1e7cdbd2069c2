"""Commands that ask a team, or let it do something."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.groups.teams import By
from coterie_cli.options import (
    TEAM,
    AsJson,
    Domain,
    Model,
    ModelForFiles,
    Namespace,
    Out,
    TeamDomain,
)

app = typer.Typer()


@app.command()
def ask(
    question: Annotated[
        str, typer.Argument(help='Question in words, such as "Is there a mug in the kitchen?".')
    ],
    domain: TeamDomain = None,
    namespace: Namespace = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time to wait for the team and its answer [s].")
    ] = 300.0,
    as_json: AsJson = False,
) -> None:
    """Ask the running team; answers with confidence and each robot's evidence.

    Exit code 0: answered; 3: guessed; 4: the team cannot tell (UNKNOWN); 5: it asked back what was
    meant, and nobody answered, or the question presumes what is not so.
    """
    from coterie_cli.ask import ask as run

    raise typer.Exit(
        run(question, domain=domain, timeout=timeout, as_json=as_json, namespace=namespace)
    )


@app.command()
def find(
    words: Annotated[
        str,
        typer.Argument(metavar="REQUEST", help='Request in words, such as "something to sit on".'),
    ],
    file: Annotated[
        Path | None,
        typer.Option("--map", help="Path of a map file; default: the running team's map."),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="Use of an object's labels: certainty (only the top one) or uncertainty (all)."
        ),
    ] = "uncertainty",
    method: Annotated[str, typer.Option(help="Workflow that chooses the objects.")] = "grounded",
    limit: Annotated[
        int, typer.Option(min=1, max=50, help="Largest number of objects found.")
    ] = 10,
    model: ModelForFiles = None,
    domain: TeamDomain = None,
    namespace: Namespace = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Time to wait for the team [s].")] = 60.0,
    embedder: Annotated[
        str,
        typer.Option(
            help="Embedder that finds objects of a map file by their appearance, in the space of "
            "the detector's embeddings: URL#NETWORK of an OpenAI-compatible endpoint, or "
            "MODULE:FUNCTION."
        ),
    ] = "",
    image: Annotated[
        Path | None, typer.Option(help="Path of a picture of what is looked for, with --embedder.")
    ] = None,
    meaning: Annotated[
        str,
        typer.Option(
            help="Embedder that guesses what words outside the tables mean: none, wordllama or "
            "minilm."
        ),
    ] = "none",
    as_json: AsJson = False,
) -> None:
    """Find the objects of a semantic map that a request calls for; exit code 1 if none does.

    Mode, method, model and meaning are for a map file: a team has its own in its team file.
    """
    from coterie_bringup.errors import CommandError
    from coterie_cli.find import find as run
    from coterie_cli.find import find_alike, find_in_team

    if embedder or image is not None:
        if file is None or not embedder:
            raise CommandError("looks are searched for in a file: give --map and --embedder")
        raise typer.Exit(
            find_alike(
                words, file=file, embedder=embedder, image=image, limit=limit, as_json=as_json
            )
        )

    if file is None:
        raise typer.Exit(
            find_in_team(
                words,
                domain=domain,
                limit=limit,
                timeout=timeout,
                as_json=as_json,
                namespace=namespace,
            )
        )
    found = run(
        words,
        file=file,
        mode=mode,
        method=method,
        limit=limit,
        model=model,
        meaning=meaning,
        as_json=as_json,
    )
    raise typer.Exit(found)


@app.command()
def read(
    words: Annotated[
        str, typer.Argument(help='Words of a person, such as "Bring two mugs to the kitchen".')
    ],
    door: Annotated[
        str, typer.Option("--for", help="Command that the words are for: do, ask or find.")
    ] = "do",
    file: Annotated[
        Path | None,
        typer.Option("--map", help="Path of a map file whose rooms and things they may name."),
    ] = None,
    robot: Annotated[
        list[str] | None,
        typer.Option(help="Name of a robot that may be spoken to; may be given again."),
    ] = None,
    model: ModelForFiles = None,
    as_json: AsJson = False,
) -> None:
    """Show what words are read as; no robot hears them.

    Exit code 5: they are not understood; what is asked back is printed.
    """
    from coterie_bringup.errors import CommandError
    from coterie_cli.read import read as run

    if door not in ("do", "ask", "find"):
        raise CommandError(f"--for: {door!r}; one of do, ask, find")
    raise typer.Exit(
        run(
            words,
            door=door,  # type: ignore[arg-type]
            file=file,
            robots=tuple(robot or ()),
            model=model,
            as_json=as_json,
        )
    )


@app.command("do")
def do_task(
    task: Annotated[
        list[str] | None,
        typer.Argument(
            help='Task in words, such as "Bring all mugs to the kitchen counter"; with --together '
            'predicates with counts, such as "ON(mug, counter): 2".'
        ),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="The robots share a goal and have no leader; without a task: the team file's.",
        ),
    ] = False,
    name: Annotated[
        str, typer.Option(help="Name of the shared goal, in words; default: the team file's.")
    ] = "",
    team: Annotated[
        Path | None,
        typer.Option(
            **TEAM,
            help="Path or name of a team to start; default: the running team, or emos; with "
            "--together reveca.",
        ),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            help="Kind of world for a shared goal instead of the team file's: embedded or habitat."
        ),
    ] = None,
    model: Model = None,
    out: Out = None,
    domain: Domain = None,
    max_time: Annotated[
        float, typer.Option(min=0.0, help="Limit of simulated time [s]; 0: the team's own limit.")
    ] = 0.0,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the task of --out that ended early; what is done counts."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let a team of different robots do a task; exit code 0 only if it was done.

    5: it is not clear, and nobody said what was meant.
    """
    from coterie_cli.do.command import do
    from coterie_cli.do.options import DoOptions

    options = DoOptions(
        words=tuple(task or ()),
        team_file=team,
        model=model,
        out=out or Path("out/do"),
        domain=domain,
        max_time=max_time,
        resume=resume,
        as_json=as_json,
        together=together,
        name=name,
        world=world,
    )
    raise typer.Exit(do(options))


@app.command("handover")
def hand_over(
    sub_task: Annotated[
        str,
        typer.Argument(help="Id of a sub-task; a wrong one lists those that are not done."),
    ],
    robot: Annotated[str, typer.Argument(help="Robot that is to do it.")],
    reason: Annotated[str, typer.Option(help="Reason, for the log and for `why`.")] = "",
    by: By = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Have another robot do a sub-task of the task in work; exit code 0 only if it does now."""
    from coterie_cli.hand_over import hand_over as run

    raise typer.Exit(run(sub_task, robot, by, reason, domain, namespace))
