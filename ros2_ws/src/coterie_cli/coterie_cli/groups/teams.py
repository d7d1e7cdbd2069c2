"""Commands that run, show and check a team."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from coterie_cli.options import TEAM, Domain, Model, Namespace, NoOpen, Port, TeamDomain, TeamFile

app = typer.Typer()
team_app = typer.Typer(
    help="Team files: check one, write its folders for hosts, make its keys.",
    no_args_is_help=True,
)


@app.command()
def up(
    team: TeamFile,
    model: Model = None,
    domain: Domain = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Host of the team file that this computer is; all: everything runs here.",
        ),
    ] = "",
    quiet: Annotated[
        bool, typer.Option(help="Only the events of processes are shown, not their output.")
    ] = False,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore", help="The robots explore at once, within the limits of the team file."
        ),
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="The team's page is opened in the browser.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="The team goes on with what its last run keeps: maps, tasks, stops."
        ),
    ] = False,
    run_folder: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of the run to go on with; default: the team's last."),
    ] = None,
) -> None:
    """Run a team until Ctrl-C, or until ./coterie down."""
    from coterie_cli.up import up as run

    raise typer.Exit(
        run(
            team,
            model=model,
            domain=domain,
            host=host,
            quiet=quiet,
            explore=explore,
            console=console,
            resume=resume,
            run_folder=run_folder,
        )
    )


@app.command()
def down(
    team: Annotated[
        str, typer.Argument(help="Name of the team, or its file; default: the only one.")
    ] = "",
    timeout: Annotated[
        float, typer.Option(min=0.0, help="Longest time until it has ended [s].")
    ] = 30.0,
) -> None:
    """End a running team, its task first; ./coterie up TEAM --resume goes on with it.

    Exit code 0: it has ended; 1: it has not within the time; 2: no such team runs here.
    """
    from coterie_cli.down import down as run

    raise typer.Exit(run(team, timeout))


@team_app.command("check")
def team_check(
    files: Annotated[
        list[Path],
        typer.Argument(
            **TEAM, help="Paths of team files, or names of teams that come with Coterie."
        ),
    ],
) -> None:
    """Check team files: all mistakes with line, field and nearest name; what they run and send."""
    from coterie_bringup.team import load_team
    from coterie_bringup.trust import acts, untrusted
    from coterie_core.yaml_marks import FileProblem

    failed = False
    for file in files:
        try:
            team = load_team(file)
        except FileProblem as error:
            print(error, file=sys.stderr)
            failed = True
        else:
            from coterie_cli.rehearsal import rehearse

            problems = rehearse(team)
            if problems:
                print("\n".join(f"{file}: {problem}" for problem in problems), file=sys.stderr)
                failed = True
                continue
            print(f"{file}: team {team.name}, {len(team.robots)} robots, {team.mode}: good")
            new = set(untrusted(team))
            for act in acts(team):
                print(f"  {act}" + ("; not agreed to yet: --trust" if act in new else ""))
    raise typer.Exit(2 if failed else 0)


@team_app.command()
def deploy(
    team: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder for the hosts; default: out/deploy/TEAM."),
    ] = None,
    kind: Annotated[
        Literal["systemd", "compose"],
        typer.Option(help="Kind of files: units of systemd, or compose files."),
    ] = "systemd",
) -> None:
    """Write a folder for each host of a team, from which it starts with its computer."""
    from coterie_cli.deploy import deploy as run

    run(team, out, kind)


@app.command()
def console(
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve the page at; any but 127.0.0.1 asks everybody for a key."
        ),
    ] = "127.0.0.1",
    port: Port = None,
    no_open: NoOpen = False,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Show a running team on one page: see, ask, allow, stop."""
    from coterie_cli.console.command import ConsoleOptions
    from coterie_cli.console.command import console as run

    raise typer.Exit(run(ConsoleOptions(host, port, not no_open), domain, namespace))


@app.command()
def lab(
    team: Annotated[
        Path,
        typer.Argument(
            **TEAM, help="Path of the team file whose robots the lab plays; default: lab."
        ),
    ] = Path("lab"),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the house, the starts, the detector, the faults.")
    ] = 0,
    floors: Annotated[
        int | None, typer.Option(min=1, max=3, help="Number of storeys; default: by the seed.")
    ] = 1,
    rooms: Annotated[
        int | None, typer.Option(min=4, max=25, help="Number of rooms; default: by the seed.")
    ] = None,
    house: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Path of a saved house, instead of a seed."),
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Level of the detector's errors: none, low, normal or high.")
    ] = "normal",
    habitat: Annotated[
        bool, typer.Option("--habitat", help="The house is rendered by habitat-sim.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="Fault to play, such as navigate_aborted:code=208; may be given again.",
        ),
    ] = None,
    faults: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Path of a YAML file with a list of faults."
        ),
    ] = None,
    random_faults: Annotated[
        int, typer.Option(min=0, max=1000, help="Number of faults drawn by the seed.")
    ] = 0,
    list_faults: Annotated[
        bool, typer.Option("--list-faults", help="Prints every fault with what it does, and ends.")
    ] = False,
    pace: Annotated[
        float,
        typer.Option(min=0.1, max=100.0, help="Simulated seconds per second, in simulated time."),
    ] = 1.0,
    domain: Domain = None,
) -> None:
    """Run a lab in a box: robots in a house that speak only what real robots speak."""
    from coterie_cli import lab as program

    if list_faults:
        program.list_faults()
        return
    from coterie_bringup.resources import team_file

    raise typer.Exit(
        program.lab(
            team_file("lab") if team == Path("lab") else team,
            seed=seed,
            floors=floors,
            rooms=rooms,
            house=house,
            noise=noise,
            habitat=habitat,
            faults=fault or (),
            fault_file=faults,
            random_faults=random_faults,
            pace=pace,
            domain=domain,
        )
    )


@app.command()
def view(
    team: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Path that RViz's configuration is written to, instead of showing it.",
        ),
    ] = None,
) -> None:
    """Show a team in RViz, or write the configuration that does."""
    from coterie_cli.view import view as run

    raise typer.Exit(run(team, out=out))


Robots = Annotated[
    list[str] | None, typer.Argument(help="Names of robots; default: all robots of the team.")
]
RunningTeam = Annotated[
    str,
    typer.Option(
        "--team",
        help="Name of a running team, or path of its file; default: every team on this computer.",
    ),
]
Reason = Annotated[str, typer.Option(help="Reason, for the log and for who is refused.")]
By = Annotated[str, typer.Option(help="Name of who says so; default: your login and computer.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Longest wait for the robots [s].")]


@app.command("stop")
def stop(
    robot: Robots = None,
    team: RunningTeam = "",
    reason: Reason = "",
    by: By = "",
    timeout: Timeout = 5.0,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Stop robots at once: goals are cancelled, and nothing moves until ./coterie release."""
    from coterie_bringup.stop_robots import run

    raise typer.Exit(run("stop", robot or (), team, reason, by, timeout, domain, namespace))


@app.command("release")
def release(
    robot: Robots = None,
    team: RunningTeam = "",
    reason: Reason = "",
    by: By = "",
    timeout: Timeout = 5.0,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Let stopped robots go on."""
    from coterie_bringup.stop_robots import run

    raise typer.Exit(run("release", robot or (), team, reason, by, timeout, domain, namespace))


@team_app.command()
def security(
    team: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the keystore; default: where the team file says that it is.",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Keys that are there stay; missing ones are made, certificates that end within 30 "
            "days are renewed, and all permissions are written anew.",
        ),
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Host of the team file: only what its processes need is copied from the keystore "
            "to the folder of `--out`, for that computer."
        ),
    ] = "",
) -> None:
    """Make the keystore of a team: keys, and who may command and who may only listen."""
    from coterie_cli.security import security as run

    raise typer.Exit(run(team, out=out, update=update, host=host))


@app.command("mcp")
def serve_mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Over streamable HTTP instead of standard input.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this computer's need a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8765,
    key_file: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Path of a file with the key that clients need; default: COTERIE_MCP_KEY.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Other name under which clients reach this computer; repeatable."),
    ] = None,
    allow_proposals: Annotated[
        bool,
        typer.Option(
            "--allow-proposals",
            help="Tasks may be proposed; each is put to a person, as ./coterie permits shows it.",
        ),
    ] = False,
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> None:
    """Let an assistant ask the team through the Model Context Protocol; it only reads."""
    from coterie_cli.team_tools.command import McpOptions, mcp

    options = McpOptions(
        http=http,
        host=host,
        port=port,
        key_file=key_file,
        hosts=tuple(allow_host or ()),
        allow_proposals=allow_proposals,
        domain=domain,
        namespace=namespace,
    )
    raise typer.Exit(mcp(options))
