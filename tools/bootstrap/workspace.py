"""The step that makes the install tree of the colcon workspace ros2_ws."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bootstrap import stamps, terminal
from bootstrap.plan import ROBOTS, Layout, Plan
from bootstrap.steps import EXPECTED


@contextlib.contextmanager
def building(plan: Plan, environ: Mapping[str, str]) -> Iterator[None]:
    """Link the Python packages of ``ros2_ws``, and build the others beside what is done here.

    Modules, launch files and configurations are linked and not copied: editing needs no build. What
    is built already is left alone: where only the interfaces of real robots are asked for, only
    they are built.

    Raises:
        SetupError: A package cannot be linked or built.
    """
    layout = plan.layout
    origin = layout.workspace / "build" / "coterie-origin"
    # A build tree knows its place, its interpreter and its builder; of others it is of no use.
    python = os.path.realpath(layout.python)
    made_for = f"{layout.root}\n{plan.installation.name}\n{python}\nninja"
    # Left where a build could not be ended in order; what it wrote may be incomplete.
    unfinished = layout.workspace / "build" / "coterie-unfinished"
    if unfinished.exists():
        print("coterie: the last build was cut off; it is done again", flush=True)
    if unfinished.exists() or (origin.is_file() and origin.read_text() != made_for):
        for name in ("build", "install", "log"):
            shutil.rmtree(layout.workspace / name, ignore_errors=True)
    fresh = not plan.workspace_ready
    if fresh:
        layout.workspace_stamp.unlink(missing_ok=True)
    origin.parent.mkdir(exist_ok=True)
    origin.write_text(made_for)
    source = layout.workspace / "src"
    packages = [path for path in stamps.workspace_packages(source) if path.parent == source]
    compiled = [path for path in packages if (path / "CMakeLists.txt").is_file()]
    prefixes = _ament_prefixes(environ, layout)
    stand_ins = missing_stand_ins(source / "compat", prefixes)
    for_robots = missing_stand_ins(source / "compat" / ROBOTS, prefixes)
    _drop_removed(layout, {path.name for path in [*packages, *stand_ins, *for_robots]})
    built = []
    if fresh:
        _link_programs(layout, environ)
        built += [*compiled, *stand_ins]
    if ROBOTS in plan.missing:
        built += for_robots
    if built:
        with _compiling(plan, built, environ, unfinished):
            yield
    else:
        yield
    if fresh:
        stamps.write(layout.workspace_stamp, plan.workspace_digest)
    if ROBOTS in plan.missing:
        stamps.write(layout.group_stamp(ROBOTS), plan.more[ROBOTS])


def _link_programs(layout: Layout, environ: Mapping[str, str]) -> None:
    terminal.Job(
        [str(layout.python), str(layout.root / "tools" / "link_packages.py"),
         str(layout.workspace / "src"), str(layout.install)],
        title="programs of ros2_ws",
        log=layout.log("link_packages"),
        environ=environ,
    ).wait()  # fmt: skip


def _compiling(
    plan: Plan, built: Sequence[Path], environ: Mapping[str, str], unfinished: Path
) -> terminal.Job:
    """Return the build of interface packages; it is waited for where its context ends."""
    layout = plan.layout
    command = [
        str(layout.venv / "bin" / "colcon"), "--log-base", str(layout.workspace / "log"),
        "build", "--symlink-install",
        "--base-paths", *(str(path.relative_to(layout.workspace)) for path in built),
        "--cmake-args", "-GNinja", "-DBUILD_TESTING=OFF",
        f"-DPython3_EXECUTABLE={layout.python}",
        f"-DCOTERIE_ROS_FROM_WHEELS={'ON' if plan.installation.wheels else 'OFF'}",
    ]  # fmt: skip
    title = "messages of ros2_ws" if not plan.workspace_ready else "interfaces of real robots"
    return terminal.Job(
        command,
        title=title,
        log=layout.log("colcon"),
        environ=environ,
        cwd=layout.workspace,
        marker=unfinished,
        expected=EXPECTED["robots" if plan.workspace_ready else "messages"],
        describe=ColconProgress(len(built)),
        advise=lambda _: (
            "mend what the log names, then run ./coterie setup again",
            "if the build tree is broken:  rm -rf ros2_ws/build ros2_ws/install ros2_ws/log",
        ),
    )


def _ament_prefixes(environ: Mapping[str, str], layout: Layout) -> list[Path]:
    entries = [Path(e) for e in environ.get("AMENT_PREFIX_PATH", "").split(":") if e]
    return [entry for entry in entries if not entry.is_relative_to(layout.install)]


def missing_stand_ins(compat: Path, prefixes: Sequence[Path]) -> list[Path]:
    """Return the packages of ``compat`` that no ament prefix provides."""
    return [
        package.parent
        for package in sorted(compat.glob("*/package.xml"))
        if not any((prefix / "share" / package.parent.name).is_dir() for prefix in prefixes)
    ]


def _drop_removed(layout: Layout, names: set[str]) -> None:
    """Remove what was built from packages that no longer exist, so that nobody imports it."""
    for marker in layout.install.glob("*/share/colcon-core/packages/*"):
        if marker.name not in names:
            shutil.rmtree(marker.parents[3], ignore_errors=True)
            shutil.rmtree(layout.workspace / "build" / marker.name, ignore_errors=True)


class ColconProgress:
    """Turns colcon's lines into ``done/total package``."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._done = 0

    def __call__(self, line: str) -> str | None:
        """Return what to show for ``line``."""
        match = re.match(r"(Starting >>>|Finished <<<) (\S+)", line)
        if match is None:
            return None
        if match[1].startswith("Finished"):
            self._done += 1
        return f"{self._done}/{self.total} {match[2]}"
