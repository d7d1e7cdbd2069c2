"""What a team file's parts must be to one another: groups of robots, names, models, the map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie_core.household import load_household
from coterie_core.yaml_checks import shown, suggestion
from coterie_core.yaml_marks import MarkedData, Problem
from coterie_llm.profile import BUILT_IN

if TYPE_CHECKING:
    from robot_adapters.sensing.grid_space import GridData
    from robot_adapters.settings import AdapterSettings

MAX_ROBOTS = 200


def as_written(problems: list[Problem], origin: list[int]) -> list[Problem]:
    """Give the robots of a group the index that the group has in the file, each problem once."""
    kept: dict[Problem, None] = {}
    for problem in problems:
        path = problem.path
        if len(path) > 1 and path[0] == "robots" and isinstance(path[1], int) and origin:
            path = ("robots", origin[path[1]], *path[2:])
        kept[Problem(path, problem.line, problem.message)] = None
    return list(kept)


def expand_groups(marked: MarkedData, problems: list[Problem]) -> list[int]:
    """Replace robots with `count` by so many robots; return each one's index in the file."""
    robots = marked.data.get("robots")
    if not isinstance(robots, list):
        return []
    origin: list[int] = []
    expanded: list[Any] = []
    lines: list[dict[tuple[str | int, ...], int]] = []
    for i, robot in enumerate(robots):
        own = {p[2:]: n for p, n in marked.lines.items() if p[:2] == ("robots", i)}
        if not isinstance(robot, dict) or "count" not in robot:
            expanded.append(robot)
            lines.append(own)
            origin.append(i)
            continue
        robot = dict(robot)
        count, name = robot.pop("count"), robot.get("name", "robot_{n}")
        line = own.get(("count",), marked.line(("robots", i)))
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_ROBOTS:
            message = f"expected a whole number from 1 to {MAX_ROBOTS}, got {shown(count)}"
            problems.append(Problem(("robots", len(expanded), "count"), line, message))
            count = 1
        if not isinstance(name, str) or (count > 1 and "{n}" not in name):
            line = own.get(("name",), line)
            message = "with count, the name must hold {n}, for example scout_{n}"
            problems.append(Problem(("robots", len(expanded), "name"), line, message))
            name = f"robot_{i}_{{n}}"
        for n in range(1, count + 1):
            expanded.append({**robot, "name": name.replace("{n}", str(n))})
            lines.append(own)
            origin.append(i)
    marked.data["robots"] = expanded
    kept = {p: n for p, n in marked.lines.items() if len(p) < 2 or p[0] != "robots"}
    for i, own in enumerate(lines):
        kept |= {("robots", i, *rest): n for rest, n in own.items()}
    marked.lines = kept
    return origin


def check_names(marked: MarkedData, problems: list[Problem]) -> None:
    """No two robots may have one name."""
    first: dict[str, int] = {}
    robots = marked.data.get("robots")
    for i, robot in enumerate(robots if isinstance(robots, list) else []):
        name = robot.get("name") if isinstance(robot, dict) else None
        if not isinstance(name, str):
            continue
        line = marked.line(("robots", i, "name"))
        if name.lower() in first:
            message = f"the name {name!r} is taken (line {first[name.lower()]}); names must differ"
            problems.append(Problem(("robots", i, "name"), line, message))
        first.setdefault(name.lower(), line)


def check_roles(marked: MarkedData, problems: list[Problem]) -> None:
    """Leader, cooperation and people must fit to the roles and names of the robots."""
    data: dict[str, Any] = marked.data
    robots = data.get("robots")
    entries = list(enumerate(robots if isinstance(robots, list) else []))

    def of_role(role: str) -> list[int]:
        return [i for i, r in entries if isinstance(r, dict) and r.get("role") == role]

    def add(path: tuple[str | int, ...], message: str) -> None:
        problems.append(Problem(path, marked.line(path), message))

    workers = of_role("worker")
    if workers and data.get("leader") is None:
        name = shown(entries[workers[0]][1].get("name"))
        message = f"{name} is a worker and there is no leader; add `leader: {{}}`"
        add(("robots", workers[0], "role"), message)
    if data.get("leader") is not None and not workers and entries:
        add(("leader",), "a leader needs robots with role: worker; give at least one")
    if "cooperation" in data and not of_role("cooperator") and entries:
        add(("cooperation",), "needs robots with role: cooperator; give at least one")
    people = _at(data, ("cooperation", "people"))
    names = {r.get("name") for _, r in entries if isinstance(r, dict) if _is_text(r.get("name"))}
    for k, person in enumerate(people if isinstance(people, list) else []):
        if isinstance(person, str) and person in names:
            message = f"{person!r} is a robot of this team; name people otherwise"
            add(("cooperation", "people", k), message)


def check_decisions(marked: MarkedData, problems: list[Problem]) -> None:
    """Somebody must make the decisions that are the user's own, else they are never used."""
    data: dict[str, Any] = marked.data
    robots, decisions = data.get("robots"), data.get("decisions")
    roles = [
        robot.get("role", "explorer")
        for robot in (robots if isinstance(robots, list) else [])
        if isinstance(robot, dict)
    ]
    makers = {  # first part of a decision's name -> who makes it, and whether that one is there
        "mele": ("a robot with role: explorer", "explorer" in roles),
        "emos": ("a leader", data.get("leader") is not None),
        "reveca": ("a robot with role: cooperator", "cooperator" in roles),
        "objects": ("a planner", data.get("planner") is not None),
        "openeqa": ("open_questions", data.get("open_questions") is not None),
        "coela": ("a study in research/", False),
    }
    for name in decisions if isinstance(decisions, dict) else ():
        maker, there = makers.get(str(name).partition(".")[0], ("", True))
        if not there:
            path = ("decisions", name)
            message = f"nobody in this team makes this decision; it takes {maker}"
            problems.append(Problem(path, marked.line(path), message))


def check_files(marked: MarkedData, team: Any, problems: list[Problem]) -> None:
    """Files and folders that a team reads must be there.

    Args:
        marked: The file.
        team: The team that it describes (a `Team`), which tells where its paths lead.
        problems: Found ones are added.
    """
    places: list[tuple[str | int, ...]] = [
        ("world", "house"), ("world", "dataset"), ("questions", "path"),
    ]  # fmt: skip
    places += [("models", name, part) for name in team.models for part in ("cassette", "file")]
    robots = marked.data["robots"]
    places += [("robots", i, name) for i in range(len(robots)) for name in ("urdf", "overrides")]
    for path in places:
        value = _at(marked.data, path)
        if isinstance(value, str) and value and not team.resolve(value).exists():
            message = f"there is no {team.resolve(value)}"
            problems.append(Problem(path, marked.line(path), message))
    for i, robot in enumerate(team.robots):
        if robot.adapter is not None and robot.adapter.sensors.map_file:
            path = ("robots", i, "adapter", "sensors", "map_file")
            try:
                read_map(team, robot.adapter)
            except ValueError as error:
                problems.append(Problem(path, marked.line(path), str(error)))


def check_detectors(marked: MarkedData, team: Any, problems: list[Problem]) -> None:
    """Detectors that come with Coterie must have what they are told to use.

    Args:
        marked: The file.
        team: The team that it describes (a `Team`).
        problems: Found ones are added.
    """
    adapters = [
        (i, r.adapter.sensors) for i, r in enumerate(team.robots) if team.real and r.adapter
    ]
    for i, sensors in adapters:
        for k, camera in enumerate(sensors.all_cameras()):
            name, told = camera.detections.detector, camera.detections.options
            wrong = {
                field: f"there is no {team.resolve(path)}"
                for field, path in (("file", told.file), ("labels", told.labels))
                if name == "onnx" and path and not team.resolve(path).is_file()
            }
            if name in ("onnx", "open_vocabulary") and not told.file:
                wrong["file"] = f"{name} needs the network: a path of its own"
            if name == "vlm" and team.profile(told.profile).kind == "rules":
                wrong["profile"] = "vlm needs a profile of `models` whose model sees images"
            where = ("cameras", k) if sensors and sensors.cameras else ()
            for field, text in wrong.items():
                path = ("robots", i, "adapter", "sensors", *where, "detections", "options", field)
                problems.append(Problem(path, marked.line(path), text))


def check_arms(marked: MarkedData, team: Any, problems: list[Problem]) -> None:
    """Adapters of real robots must know what moves their arms, else they do not start.

    Args:
        marked: The file.
        team: The team that it describes (a `Team`).
        problems: Found ones are added.
    """
    for i, robot in enumerate(team.robots if team.real else ()):
        arm = None if robot.adapter is None else robot.adapter.arm
        if arm is None or arm.backend not in ("moveit", "trajectory"):
            continue

        def add(*field: str, message: str, i: int = i) -> None:
            path: tuple[str | int, ...] = ("robots", i, "adapter", "arm", *field)
            problems.append(Problem(path, marked.line(path), message))

        if arm.backend == "trajectory" and not robot.urdf:
            add("backend", message="trajectory moves the arm by the robot's `urdf`; give its file")
        if arm.backend == "moveit" and not robot.urdf and not arm.tip:
            add("tip", message="name the link that grasps, or give the robot's `urdf`")
        if arm.gripper.backend == "parallel_gripper" and not arm.gripper.joint:
            add("gripper", "joint", message="parallel_gripper needs the name of its joint")


def read_map(team: Any, adapter: AdapterSettings) -> GridData:
    """Return the saved map that a robot's adapter names.

    Args:
        team: The team (a `Team`), which tells where its paths lead.
        adapter: The robot's; its `sensors.map_file` is not empty.

    Raises:
        ValueError: It cannot be used; names the file and what to do.
    """
    # Few teams need it, and all commands read their team.
    from robot_adapters.sensing.map_file import read_map_file

    return read_map_file(team.resolve(adapter.sensors.map_file), adapter.frames.map)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path, None where there is none."""
    for part in path:
        if isinstance(part, int) and isinstance(data, list) and part < len(data):
            data = data[part]
        else:
            data = data.get(part) if isinstance(data, dict) else None
    return data


def check_models(marked: MarkedData, problems: list[Problem]) -> None:
    """Every model that is named must be a profile of the file, or one that always exists."""
    models = marked.data.get("models")
    known = {*BUILT_IN, *(models if isinstance(models, dict) else {})}
    places: list[tuple[str | int, ...]] = [
        (section, "model") for section in ("aggregator", "leader", "planner", "open_questions")
    ]
    robots = marked.data.get("robots")
    places += [
        ("robots", i, "model") for i in range(len(robots) if isinstance(robots, list) else 0)
    ]
    for path in places:
        value: Any = marked.data
        for part in path:
            if isinstance(part, int):
                value = value[part]
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value not in known:
            message = f"unknown model profile {value!r}{suggestion(value, known)}"
            problems.append(Problem(path, marked.line(path), message))


def check_writes(marked: MarkedData, folder: Path | None, problems: list[Problem]) -> None:
    """What a team writes must lie below the folder of its file, and a cassette must be one.

    Args:
        marked: The file.
        folder: That it lies in; None: not known.
        problems: Found ones are added.
    """
    places: list[tuple[tuple[str | int, ...], bool]] = [(("aggregator", "model_directory"), False)]
    models = marked.data.get("models")
    places += [
        (("models", n, "record_to"), True) for n in (models if isinstance(models, dict) else {})
    ]
    for path, cassette in places:
        value: Any = marked.data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, str) or not value:
            continue
        base = folder or Path.cwd()
        try:
            inside = (base / Path(value).expanduser()).resolve().is_relative_to(base.resolve())
        except (OSError, RuntimeError, ValueError) as error:
            problems.append(Problem(path, marked.line(path), f"no path: {error}"))
            continue
        if not inside:
            message = (
                f"{shown(value)} lies outside of the team file's folder; nothing is written there"
            )
            problems.append(Problem(path, marked.line(path), message))
        elif cassette and Path(value).suffix not in (".jsonl", ".json"):
            message = f"a cassette's name ends in .jsonl, got {shown(value)}"
            problems.append(Problem(path, marked.line(path), message))


def check_real(marked: MarkedData, problems: list[Problem]) -> None:
    """Real robots need adapters, and somebody who sees the house: nobody else knows it."""
    data: dict[str, Any] = marked.data
    if _at(data, ("world", "kind")) != "real":
        return

    def add(path: tuple[str | int, ...], message: str) -> None:
        problems.append(Problem(path, marked.line(path), message))

    robots = data.get("robots")
    for i, robot in enumerate(robots if isinstance(robots, list) else []):
        if isinstance(robot, dict) and robot.get("adapter") is None:
            name = shown(robot.get("name"))
            message = f"{name} has no adapter, and the world is real; add `adapter: {{}}` or more"
            add(("robots", i), message)
    if data.get("mode") == "lockstep":
        add(("mode",), "real robots do not wait for one another; remove mode, or use real_time")
    if data.get("leader") is not None and data.get("mapper") is None:
        add(("leader",), "with real robots a leader needs the mapper's map; add `mapper: {}`")


def check_starts(marked: MarkedData, problems: list[Problem]) -> None:
    """A generated house has rooms of the household's kinds only; another world is asked itself."""
    data: dict[str, Any] = marked.data
    world, robots = data.get("world"), data.get("robots")
    if not isinstance(world, dict) or world.get("kind") != "embedded":
        return
    for i, robot in enumerate(robots if isinstance(robots, list) else []):
        start = robot.get("start") if isinstance(robot, dict) else None
        room = start.get("room") if isinstance(start, dict) else None
        if not isinstance(room, str):
            continue
        from coterie_requests.presence import unknown_room  # reads grammars

        if why := unknown_room(room.replace("-", " "), ()):
            path = ("robots", i, "start", "room")
            kinds = load_household().room_types
            hint = "" if "did you mean" in why else suggestion(room, kinds)
            problems.append(Problem(path, marked.line(path), f"{why}{hint}"))


def check_map(marked: MarkedData, problems: list[Problem]) -> None:
    """Who makes the map and who works on it must fit to the world, the robots and one another."""
    data: dict[str, Any] = marked.data
    robots = data.get("robots")
    entries = robots if isinstance(robots, list) else []
    names = {r["name"] for r in entries if isinstance(r, dict) and isinstance(r.get("name"), str)}

    def add(path: tuple[str | int, ...], message: str) -> None:
        problems.append(Problem(path, marked.line(path), message))

    if data.get("mapper") is None and data.get("leader") is None:
        for section in ("planner", "open_questions"):
            if data.get(section) is not None:
                add((section,), "needs a map; add `mapper: {}`")
    mapper, asked = data.get("mapper"), data.get("open_questions")
    cameras = mapper.get("cameras") if isinstance(mapper, dict) else None
    for k, camera in enumerate(cameras if isinstance(cameras, list) else []):
        robot, slash, _ = str(camera).partition("/")
        if slash and robot not in names:
            add(("mapper", "cameras", k), f"no robot {robot!r}{suggestion(robot, names)}")
    looker = asked.get("robot") if isinstance(asked, dict) else None
    if isinstance(looker, str) and looker not in {"", "none", *names}:
        add(("open_questions", "robot"), f"no robot {looker!r}{suggestion(looker, names)}")
