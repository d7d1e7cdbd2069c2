"""What a team file's parts must be to one another: groups of robots, names, models, the map."""

from __future__ import annotations

from typing import Any

from coterie_core.yaml_checks import shown, suggestion
from coterie_core.yaml_marks import MarkedData, Problem

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


def check_models(marked: MarkedData, problems: list[Problem]) -> None:
    """Every model that is named must be a profile of the file, or `rules`."""
    models = marked.data.get("models")
    known = {"rules", *(models if isinstance(models, dict) else {})}
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


def check_map(marked: MarkedData, problems: list[Problem]) -> None:
    """Who makes the map and who works on it must fit to the world, the robots and one another."""
    data: dict[str, Any] = marked.data
    robots = data.get("robots")
    entries = robots if isinstance(robots, list) else []
    names = {r["name"] for r in entries if isinstance(r, dict) and isinstance(r.get("name"), str)}

    def add(path: tuple[str | int, ...], message: str) -> None:
        problems.append(Problem(path, marked.line(path), message))

    world = data.get("world")
    graph = isinstance(world, dict) and world.get("kind") == "graph"
    if graph and data.get("mapper") is not None:
        add(("mapper",), "a world of kind graph has no images; use embedded or habitat")
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
