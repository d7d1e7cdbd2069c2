"""Commands that make houses, recordings, maps and resumes of robots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from coterie_cli.options import AsJson, Domain, ModelForFiles, NoOpen, Out, Port, TeamDomain

app = typer.Typer()


@app.command()
def house(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated house.")] = 0,
    floors: Annotated[
        int | None,
        typer.Option(min=1, max=3, help="Number of storeys; default: chosen by the seed."),
    ] = None,
    rooms: Annotated[
        int | None,
        typer.Option(min=4, max=25, help="Number of rooms in all; default: chosen by the seed."),
    ] = None,
    out: Out = None,
) -> None:
    """Generate a house: ground truth (JSON), GLB, Habitat scene and a floor plan."""
    from coterie_cli.house import generate_house

    generate_house(seed=seed, floors=floors, rooms=rooms, out=out or Path(f"out/house_{seed}"))


@app.command()
def record(
    out: Annotated[
        Path, typer.Option(help="Path of a new MCAP file; one without that ending gets it.")
    ] = Path("out/recording.mcap"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated house.")] = 0,
    world: Annotated[str, typer.Option(help="Kind of world: embedded or habitat.")] = "embedded",
    floors: Annotated[
        int | None,
        typer.Option(min=1, max=3, help="Number of storeys; default: chosen by the seed."),
    ] = None,
    rooms: Annotated[
        int | None,
        typer.Option(min=4, max=25, help="Number of rooms in all; default: chosen by the seed."),
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Noise of the detector: none, low, normal or high.")
    ] = "normal",
    width: Annotated[int, typer.Option(min=64, max=1920, help="Width of the images [px].")] = 640,
    headings: Annotated[
        int, typer.Option(min=1, max=36, help="Number of directions looked in at every place.")
    ] = 6,
    on_the_way: Annotated[
        float,
        typer.Option(
            min=0.0, help="Distance between frames on the way [m]; 0: no frames on the way."
        ),
    ] = 1.0,
    most: Annotated[
        int,
        typer.Option(min=0, help="Largest number of frames; 0: as many as the whole house takes."),
    ] = 0,
    detections: Annotated[bool, typer.Option(help="Record the detector's results, too.")] = True,
    known_rooms: Annotated[
        bool, typer.Option(help="Record the house's rooms and floors, too.")
    ] = True,
    live: Annotated[
        bool,
        typer.Option("--live", help="Record the whole run of a running team instead, as MCAP."),
    ] = False,
    robot: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of a robot whose topics a live recording takes, beside those of the team; "
            "may be given again; default: all robots."
        ),
    ] = None,
    images: Annotated[
        str,
        typer.Option(
            help="Images of a live recording: all, thumbnails (small ones, one a second) or none."
        ),
    ] = "all",
    topic: Annotated[
        list[str] | None,
        typer.Option(
            help="Regular expression of the topics that a live recording takes; may be given "
            "again; default: all."
        ),
    ] = None,
    duration: Annotated[
        float, typer.Option(min=0.0, help="Duration of a live recording [s]; 0: until Ctrl-C.")
    ] = 0.0,
    domain: TeamDomain = None,
) -> None:
    """Drive a robot through a generated house, or listen to a team; write down what happens."""
    if out.suffix != ".mcap":
        out = out.with_name(f"{out.name}.mcap")
    if live:
        from coterie_bringup.errors import CommandError
        from coterie_cli.record_live import Images, LiveOptions, record_running

        if images not in get_args(Images):
            raise CommandError(f"--images {images}: one of {', '.join(get_args(Images))}")
        record_running(
            LiveOptions(out, images, tuple(robot or ()), tuple(topic or ()), duration),  # type: ignore[arg-type]
            domain=domain,
        )
        return
    from coterie_cli.record import RecordOptions
    from coterie_cli.record import record as run

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
    )
    run(options)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="Path of an MCAP file of ./coterie record --live.")],
    rate: Annotated[
        float,
        typer.Option(min=0.01, max=100.0, help="Ratio of speeds; 2: twice as fast as it was."),
    ] = 1.0,
    delay: Annotated[
        float,
        typer.Option(
            min=0.0, help="Time before the first message, in which listeners find the topics [s]."
        ),
    ] = 3.0,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Regular expression of the topics; may be given again; default: all."),
    ] = None,
    hold: Annotated[
        bool, typer.Option("--hold", help="Latched topics stay there after the end, until Ctrl-C.")
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="It is shown in the console; implies --hold.")
    ] = False,
    port: Port = None,
    no_open: NoOpen = False,
    info: Annotated[
        bool, typer.Option("--info", help="Only a table of what is in the file is shown.")
    ] = False,
    decisions: Annotated[
        bool,
        typer.Option(
            "--decisions",
            help="The first task of a lockstep run is decided once more, without ROS and models; "
            "exit code 1 where a decision comes out otherwise.",
        ),
    ] = False,
    domain: Domain = None,
) -> None:
    """Play a recorded run on a ROS domain of its own."""
    from coterie_cli.console.command import ConsoleOptions
    from coterie_cli.replay import ReplayOptions
    from coterie_cli.replay import replay as run

    options = ReplayOptions(
        file=file,
        rate=rate,
        delay=delay,
        topics=tuple(topic or ()),
        hold=hold or console,
        console=console,
        info=info,
        decisions=decisions,
        domain=domain,
        page=ConsoleOptions(port=port, show=not no_open),
    )
    raise typer.Exit(run(options))


@app.command("map")
def map_command(
    recording: Annotated[
        Path,
        typer.Argument(
            help="Path of a recording: an MCAP file, a rosbag2 folder, a folder of OpenEQA's or "
            "ScanNet's."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Path of the map: .json, .voxeland.json, .dsg.json or .ply."),
    ] = Path("out/map.json"),
    picture: Annotated[
        Path | None, typer.Option(help="Path of the map's picture; default: beside the map.")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Step between the frames used; 1: every frame.")
    ] = 1,
    detector: Annotated[
        str,
        typer.Option(
            help="MODULE:FUNCTION that makes a detector; default: the recording's detections."
        ),
    ] = "",
    rooms: Annotated[
        Path | None, typer.Option(help="Path of a map whose rooms and floors are taken as known.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            help="Source of an exported folder: scannet or hm3d; default: told by its files."
        ),
    ] = "",
    depth_topic: Annotated[
        str, typer.Option(help="Topic of a bag's depth images; default: found by type.")
    ] = "",
    color_topic: Annotated[
        str, typer.Option(help="Topic of a bag's color images; default: found by type.")
    ] = "",
    info_topic: Annotated[
        str, typer.Option(help="Topic of the CameraInfo of a bag's depth; default: found by type.")
    ] = "",
    detections_topic: Annotated[
        str, typer.Option(help="Topic of a bag's detections; default: found by type.")
    ] = "",
    map_frame: Annotated[
        str, typer.Option(help="Coordinate frame of a bag's map; default: map, world or odom.")
    ] = "",
    meaning: Annotated[
        str,
        typer.Option(
            help="Embedder that compares the detector's labels, and that is kept in the map: none, "
            "wordllama or minilm."
        ),
    ] = "none",
) -> None:
    """Make a semantic map from a recording."""
    from coterie_cli.map import MapOptions, map_recording
    from coterie_world.recording.bag import BagTopics

    topics = BagTopics(depth_topic, color_topic, info_topic, detections_topic, map_frame)
    map_recording(
        MapOptions(recording, out, picture, every, detector, rooms, source, topics, meaning)
    )


@app.command()
def resume(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="ROBOT.urdf...", help="Paths of the URDF or xacro files."),
    ],
    as_json: AsJson = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the robot; default: the URDF's.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the results; default: out/resume/ROBOT, with --json none.",
        ),
    ] = None,
    overrides: Annotated[
        str | None,
        typer.Option(
            help="Path of a YAML file with what the URDF does not say, or none; default: "
            "config/robots."
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1000, max=5_000_000, help="Number of postures sampled for each arm's workspace."
        ),
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampled postures.")] = 0,
    picture: Annotated[
        bool, typer.Option(help="Draw pictures of the workspace and the fields of view.")
    ] = True,
    model: ModelForFiles = None,
    packages: Annotated[
        list[Path] | None,
        typer.Option(
            "--package", help="Folder of packages whose files the URDF names; may be given again."
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="NAME:=VALUE",
            help="Argument of a xacro file, such as arm:=true; may be given again.",
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder of Habitat-MAS resumes to compare with."),
    ] = None,
) -> None:
    """Read from a robot's URDF what its body can do: base, cameras, arms, workspace."""
    from coterie_cli.resume import ResumeOptions
    from coterie_cli.resume import resume as run

    options = ResumeOptions(
        as_json=as_json,
        name=name,
        out=out,
        overrides=overrides,
        samples=samples,
        seed=seed,
        picture=picture,
        model=model,
        packages=tuple(packages or ()),
        arguments=tuple(arguments or ()),
        compare=compare,
    )
    run(files, options)
