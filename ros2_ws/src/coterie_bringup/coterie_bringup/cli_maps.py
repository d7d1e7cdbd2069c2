"""Commands that make houses, recordings, maps and resumes of robots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie_bringup.cli_options import Domain, Out

app = typer.Typer()


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
