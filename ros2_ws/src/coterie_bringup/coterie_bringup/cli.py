"""The command line `./coterie`: one small function per command; each imports what it needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from coterie_bench.catalog import BENCHES

app = typer.Typer(
    name="coterie",
    help="A team of household robots explores a house, answers questions and decides together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench_app = typer.Typer(help="Benchmarks of the papers, without ROS.", no_args_is_help=True)
team_app = typer.Typer(help="Team files.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
app.add_typer(team_app, name="team")

TeamFile = Annotated[
    Path, typer.Argument(metavar="TEAM", help="Team file, or the name of one of ours: demo.")
]
Domain = Annotated[
    int | None,
    typer.Option(min=0, max=232, help="ROS domain; default: ROS_DOMAIN_ID, or a free one."),
]
Namespace = Annotated[
    str | None, typer.Option(help="ROS namespace of the team, where several run; / for none.")
]
Out = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Folder for the results; default: out/<command>."),
]

PASS_THROUGH = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command()
def up(
    team: TeamFile,
    domain: Domain = None,
    quiet: Annotated[bool, typer.Option(help="Only show what happens to processes.")] = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Let the robots explore, as the team file limits it.")
    ] = False,
) -> None:
    """Run a team until Ctrl-C."""
    from coterie_bringup.resources import team_file
    from coterie_bringup.up import up as run

    raise typer.Exit(run(team_file(team), domain=domain, quiet=quiet, explore=explore))


@app.command()
def demo(
    seed: Annotated[
        int | None,
        typer.Option(help="Another house, other starts; default: that of the team file."),
    ] = None,
    world: Annotated[
        str, typer.Option(help="embedded (generated house), habitat (the same in it) or graph.")
    ] = "embedded",
    out: Out = None,
    team: Annotated[
        Path | None,
        typer.Option(help="Another team file than config/teams/demo.yaml."),
    ] = None,
    domain: Domain = None,
    open_report: Annotated[
        bool, typer.Option("--open", help="Open the report in the browser.")
    ] = False,
) -> None:
    """Three robots explore a house in real ROS processes and answer forty questions."""
    from coterie_bringup.demo import DemoOptions
    from coterie_bringup.demo import demo as run

    options = DemoOptions(
        team_file=team, seed=seed, world=world, out=out or Path("out/demo"), domain=domain
    )
    raise typer.Exit(run(options, open_report=open_report))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help='For example "Is there a mug in the kitchen?"')],
    domain: Domain = None,
    namespace: Namespace = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Wait so long [s].")] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Ask the running team; answers with confidence and each robot's evidence.

    Exit code 0: answered; 3: guessed; 4: the team cannot tell (UNKNOWN).
    """
    from coterie_bringup.ask import ask as run

    raise typer.Exit(
        run(question, domain=domain, timeout=timeout, as_json=as_json, namespace=namespace)
    )


@app.command()
def cooperate(
    goal: Annotated[
        list[str] | None,
        typer.Argument(
            help='Predicates with counts, such as "ON(mug, counter): 2"; default: the team file\'s.'
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="What the goal is for, in words.")] = "",
    team: Annotated[
        Path | None,
        typer.Option(
            help="Start this team; default: the one that runs, or config/teams/reveca.yaml."
        ),
    ] = None,
    world: Annotated[
        str | None, typer.Option(help="Another kind of world for the team: embedded, habitat.")
    ] = None,
    out: Out = None,
    domain: Domain = None,
    max_time: Annotated[
        float, typer.Option(min=0.0, help="Simulated time it may take [s]; 0: the team's.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Let robots do a goal that they share, without a leader; exit code 0 only if it was done."""
    from coterie_bringup.cooperate_command import CooperateOptions
    from coterie_bringup.cooperate_command import cooperate as run

    options = CooperateOptions(
        predicates=tuple(goal or ()),
        name=name,
        team_file=team,
        world=world,
        out=out or Path("out/cooperate"),
        domain=domain,
        max_time=max_time,
        as_json=as_json,
    )
    raise typer.Exit(run(options))


@app.command("do")
def do_task(
    task: Annotated[
        str, typer.Argument(help='For example "Bring all mugs to the kitchen counter".')
    ],
    team: Annotated[
        Path | None,
        typer.Option(
            help="Start this team; default: the one that runs, or config/teams/emos.yaml."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Model profile of the team file that all think with.")
    ] = None,
    out: Out = None,
    domain: Domain = None,
    max_time: Annotated[
        float, typer.Option(min=0.0, help="Simulated time it may take [s]; 0: the leader's.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Let a team of different robots do a task; exit code 0 only if it was done."""
    from coterie_bringup.do_command import DoOptions, do

    options = DoOptions(
        words=task,
        team_file=team,
        profile=profile,
        out=out or Path("out/do"),
        domain=domain,
        max_time=max_time,
        as_json=as_json,
    )
    raise typer.Exit(do(options))


@app.command()
def house(
    seed: Annotated[int, typer.Option(min=0, help="Which house.")] = 0,
    floors: Annotated[
        int | None, typer.Option(min=1, max=3, help="Storeys; default: by the seed.")
    ] = None,
    rooms: Annotated[
        int | None, typer.Option(min=4, max=25, help="Rooms in all; default: by the seed.")
    ] = None,
    out: Out = None,
) -> None:
    """Generate a house: ground truth (JSON), GLB, Habitat scene and a floor plan."""
    from coterie_bringup.house_command import generate_house

    generate_house(seed=seed, floors=floors, rooms=rooms, out=out or Path(f"out/house_{seed}"))


@app.command()
def resume(
    files: Annotated[list[Path], typer.Argument(metavar="ROBOT.urdf...")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the robot; default: the URDF's.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder; default: out/resume/ROBOT, with --json none."),
    ] = None,
    overrides: Annotated[
        str | None,
        typer.Option(help="YAML with what the URDF does not say; default: config/robots; or none."),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1000, max=5_000_000, help="Postures sampled per arm.")
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampling.")] = 0,
    picture: Annotated[bool, typer.Option(help="Draw workspace and view fields.")] = True,
    profile: Annotated[
        Path | None, typer.Option(help="Model profile (YAML) that writes the summaries.")
    ] = None,
    packages: Annotated[
        list[Path] | None,
        typer.Option("--package", help="Folder with the packages whose meshes the URDF names."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Compare with a folder of Habitat-MAS resumes."),
    ] = None,
) -> None:
    """Read from a robot's URDF what its body can do: base, cameras, arms, workspace."""
    from coterie_bringup.resume_command import ResumeOptions
    from coterie_bringup.resume_command import resume as run

    options = ResumeOptions(
        as_json=as_json,
        name=name,
        out=out,
        overrides=overrides,
        samples=samples,
        seed=seed,
        picture=picture,
        profile=profile,
        packages=tuple(packages or ()),
        compare=compare,
    )
    run(files, options)


@app.command()
def find(
    words: Annotated[str, typer.Argument(metavar="REQUEST", help="What is wanted, in words.")],
    file: Annotated[
        Path | None,
        typer.Option("--map", help="A map file; default: the running team's map."),
    ] = None,
    mode: Annotated[str, typer.Option(help="certainty or uncertainty.")] = "uncertainty",
    method: Annotated[str, typer.Option(help="The workflow.")] = "grounded",
    limit: Annotated[int, typer.Option(min=1, max=50, help="Most objects.")] = 10,
    profile: Annotated[Path | None, typer.Option(help="Model profile (YAML).")] = None,
    domain: Domain = None,
    namespace: Namespace = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Wait for the team so long [s].")] = 60.0,
    embedder: Annotated[
        str,
        typer.Option(help="MODULE:FUNCTION of an embedder: find by looks, in a map file."),
    ] = "",
    image: Annotated[
        Path | None, typer.Option(help="A picture of what is looked for (with --embedder).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Find the objects of a semantic map that a request calls for; exit code 1 if none does.

    Mode, method and profile are for a map file: a team has its own in its team file.
    """
    from coterie_bringup.errors import CommandError
    from coterie_bringup.find_command import find as run
    from coterie_bringup.find_command import find_alike, find_in_team

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
        profile=profile,
        as_json=as_json,
    )
    raise typer.Exit(found)


@app.command()
def annotate(
    file: Annotated[
        Path, typer.Argument(metavar="MAP", help="The map: our JSON, Voxeland's, or spark-dsg.")
    ],
    queries: Annotated[
        Path | None,
        typer.Option(help="Queries (YAML); default: those of the map's data set, or beside it."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Answers (JSON); default: those of the data set, or beside the map."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; default: the first free one from 8080 on."),
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Write down, in the browser, which objects of a map answer which queries."""
    from coterie_console.annotate import annotate as run

    run(file, queries=queries, out=out, port=port, show=show)


@app.command()
def record(
    out: Annotated[Path, typer.Option(help="A new folder, or a file that ends in .mcap.")] = Path(
        "out/recording"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Which house.")] = 0,
    world: Annotated[str, typer.Option(help="embedded, or habitat.")] = "embedded",
    floors: Annotated[int | None, typer.Option(min=1, max=3, help="Storeys.")] = None,
    rooms: Annotated[int | None, typer.Option(min=4, max=25, help="Rooms in all.")] = None,
    noise: Annotated[str, typer.Option(help="none, low, normal or high.")] = "normal",
    width: Annotated[int, typer.Option(min=64, max=1920, help="Of the images [px].")] = 640,
    headings: Annotated[int, typer.Option(min=1, max=36, help="Looks from every place.")] = 6,
    on_the_way: Annotated[
        float, typer.Option(min=0.0, help="A frame every so many metres; 0: none.")
    ] = 1.0,
    most: Annotated[int, typer.Option(min=0, help="Most frames; 0: the whole house.")] = 0,
    detections: Annotated[bool, typer.Option(help="With what a detector finds.")] = True,
    known_rooms: Annotated[bool, typer.Option(help="With rooms and floors.")] = True,
    jpeg: Annotated[bool, typer.Option(help="Colour images as JPEG.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Record a running team's cameras instead, as MCAP.")
    ] = False,
    robot: Annotated[list[str] | None, typer.Option(help="Live: whose cameras.")] = None,
    duration: Annotated[float, typer.Option(min=0.0, help="Live: how long [s].")] = 0.0,
    domain: Domain = None,
) -> None:
    """Drive a robot through a generated house, or listen to a team; write down what is seen."""
    if live:
        from coterie_bringup.record_live import record_running

        record_running(out, domain=domain, robots=tuple(robot or ()), duration=duration)
        return
    from coterie_bringup.record_command import RecordOptions
    from coterie_bringup.record_command import record as run

    options = RecordOptions(
        seed=seed,
        out=out,
        world=world,
        floors=floors,
        rooms=rooms,
        noise=noise,
        size=(width, width * 3 // 4),
        headings=headings,
        on_the_way=on_the_way,
        most=most,
        detections=detections,
        known_rooms=known_rooms,
        jpeg=jpeg,
    )
    run(options)


@app.command("map")
def map_command(
    recording: Annotated[
        Path,
        typer.Argument(help="Folder of ours, of OpenEQA or ScanNet, MCAP file or rosbag2 folder."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="The map: .json, .voxeland.json, .dsg.json or .ply."),
    ] = Path("out/map.json"),
    picture: Annotated[Path | None, typer.Option(help="Default: beside the map.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Use every so many-th frame.")] = 1,
    detector: Annotated[
        str, typer.Option(help="MODULE:FUNCTION that makes a detector; default: the recording's.")
    ] = "",
    rooms: Annotated[
        Path | None, typer.Option(help="A map whose rooms and floors are taken as known.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="scannet or hm3d: whose an exported folder is; default: by files.")
    ] = "",
    depth_topic: Annotated[str, typer.Option(help="Of a bag; default: by type.")] = "",
    color_topic: Annotated[str, typer.Option(help="Of a bag; default: by type.")] = "",
    info_topic: Annotated[str, typer.Option(help="CameraInfo of a bag's depth.")] = "",
    detections_topic: Annotated[str, typer.Option(help="Of a bag; default: by type.")] = "",
    map_frame: Annotated[str, typer.Option(help="Of a bag; default: map, world or odom.")] = "",
) -> None:
    """Make a semantic map from a recording."""
    from coterie_bringup.map_command import MapOptions, map_recording
    from coterie_core.recording.bag import BagTopics

    topics = BagTopics(depth_topic, color_topic, info_topic, detections_topic, map_frame)
    map_recording(MapOptions(recording, out, picture, every, detector, rooms, source, topics))


@app.command()
def view(
    team: TeamFile,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write RViz's configuration here.")
    ] = None,
) -> None:
    """Show a team in RViz, or write the configuration that does."""
    from coterie_bringup.resources import team_file
    from coterie_bringup.view_command import view as run

    raise typer.Exit(run(team_file(team), out=out))


@app.command()
def tour(
    team: Annotated[
        Path | None, typer.Option(help="Another team file than config/teams/home.yaml.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another house; default: the team file's.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Hops per robot; default: the team file's.")
    ] = None,
    world: Annotated[
        str, typer.Option(help="embedded (generated house), or habitat (the same in it).")
    ] = "embedded",
    ask: Annotated[
        list[str] | None, typer.Option(help="Ask this; may be given again. Default: by the house.")
    ] = None,
    find: Annotated[list[str] | None, typer.Option(help="Find this; may be given again.")] = None,
    out: Out = None,
    domain: Domain = None,
) -> None:
    """Robots explore a house and map it; then they are asked what only a map can tell."""
    from coterie_bringup.tour import TourOptions
    from coterie_bringup.tour import tour as run

    options = TourOptions(
        team_file=team,
        seed=seed,
        steps=steps,
        world=world,
        out=out or Path("out/tour"),
        domain=domain,
        ask=tuple(ask or ()),
        find=tuple(find or ()),
    )
    raise typer.Exit(run(options))


@team_app.command("check")
def team_check(files: Annotated[list[Path], typer.Argument(metavar="FILE...")]) -> None:
    """Check team files: all mistakes with line, field and nearest name; what they run and send."""
    from coterie_bringup.rehearsal import rehearse
    from coterie_bringup.team import FileProblem, load_team
    from coterie_bringup.trust import acts, untrusted

    failed = False
    for file in files:
        try:
            team = load_team(file)
        except FileProblem as error:
            print(error, file=sys.stderr)
            failed = True
        else:
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


@app.command()
def doctor() -> None:
    """Show what is installed and whether everything that a team needs is reachable."""
    from coterie_bringup.doctor import doctor as run

    raise typer.Exit(run())


@app.command()
def test(
    marker: Annotated[
        str | None, typer.Option("-m", metavar="EXPR", help="As pytest -m: ros, slow, 'not slow'.")
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="As pytest -k: part of names.")
    ] = None,
    paths: Annotated[list[str] | None, typer.Argument(help="Only below these.")] = None,
) -> None:
    """Run ruff, mypy, the ROS-free tests, then the ROS tests; with a selection, just those."""
    from coterie_bringup.testing import test as run

    run(marker, keyword, paths)


@app.command()
def setup() -> None:
    """Set up what is missing (the script ./coterie does it before this program starts)."""
    print("Coterie is set up. `./coterie doctor` shows what is installed.")


@app.command("play", context_settings=PASS_THROUGH)
def play(context: typer.Context) -> None:
    """Be one of the agents, in the terminal or the browser; `--help` shows its options."""
    from coterie_console.play import main as run

    raise typer.Exit(run(context.args))


def _add_bench(name: str, text: str) -> None:
    """Make `coterie bench NAME` of a bench that reads its own command line."""

    @bench_app.command(name, context_settings=PASS_THROUGH, help=f"{text} See `--help`.")
    def bench(context: typer.Context) -> None:
        from coterie_bench.catalog import run_bench

        raise typer.Exit(run_bench(name, context.args))


for _name, _bench in BENCHES.items():
    _add_bench(_name, _bench.help)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; a mistake is one clear line and exit code 2, without traceback.

    `--debug` anywhere (or COTERIE_DEBUG=1) shows the traceback; `--trust` (or COTERIE_TRUST=1)
    agrees to what a team file runs, sends, reads and writes.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or os.environ.get("COTERIE_DEBUG") == "1"
    if "--trust" in words:  # what a team file runs, sends, reads and writes (docs/team_file.md)
        os.environ["COTERIE_TRUST"] = "1"
    words = [w for w in words if w not in ("--debug", "--trust")]
    try:
        app(args=words, prog_name="coterie")
    except KeyboardInterrupt:
        print("\ncoterie: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:
        if debug:
            raise
        known = type(error).__name__ in KNOWN_ERRORS or isinstance(error, OSError)
        text = str(error) or type(error).__name__
        if known:
            print(
                text if type(error).__name__ == "FileProblem" else f"coterie: {text}",
                file=sys.stderr,
            )
            raise SystemExit(getattr(error, "exit_code", 2)) from None
        print(
            f"coterie: {type(error).__name__}: {text}\n"
            "  -> this should not happen; the same command with --debug shows where",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    raise SystemExit(0)


KNOWN_ERRORS = {
    "CommandError",
    "DomainError",
    "FileProblem",
    "PageError",
    "PlanError",
    "PlayError",
    "ProfileError",
    "RecordingError",
    "WorldError",
}
"""Errors whose text is meant for users, by name: their modules are imported only when needed."""


if __name__ == "__main__":
    main()
