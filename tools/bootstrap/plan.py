"""What the set-up should lead to: where things are, and stamps that tell what is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootstrap import ros, stamps

#: Raise it when a step does something else with the same inputs.
RECIPE = "2"
#: The groups of requirements that builds need, then those that everybody needs.
BUILD = ("ros", "build")
ALWAYS = (*BUILD, "run")
#: Files of requirements/ that are not groups.
_NO_GROUP = ("system", "unused")
#: Asked for as a group of requirements is; it is built and not installed: the interfaces of real
#: robots, where ROS lacks them.
ROBOTS = "robots"
#: Programs of tools/ that make the wheels of ROS usable.
AFTER_INSTALLING = ("relocate_cmake_exports", "write_setup_files")
#: What the renderer of images is compiled from, below ros2_ws.
RENDERER = "src/habitat_bridge/habitat_bridge/render/raster.c"
#: What fetches the network of the detector in the box, below ros2_ws.
NETWORK = "src/coterie_perception/coterie_perception/fetch.py"


@dataclass(frozen=True)
class Layout:
    """Where the set-up puts what it makes; all of it lies below the repository's root."""

    root: Path

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def venv_stamp(self) -> Path:
        """Written when the environment is complete; goes away with it."""
        return self.venv / "coterie-stamp"

    def group_stamp(self, name: str) -> Path:
        """Written when a part of the environment is complete; goes away with it."""
        return (self.install if name == ROBOTS else self.venv) / f"coterie-with-{name}"

    @property
    def workspace(self) -> Path:
        """The colcon workspace."""
        return self.root / "ros2_ws"

    @property
    def install(self) -> Path:
        """The install tree of colcon."""
        return self.workspace / "install"

    @property
    def workspace_stamp(self) -> Path:
        """Written when the workspace is built; goes away with it."""
        return self.install / "coterie-stamp"

    @property
    def state(self) -> Path:
        """Logs, lock and the recorded activation."""
        return self.root / ".coterie"

    @property
    def renderer_stamp(self) -> Path:
        """Written when the renderer of images is compiled."""
        return self.state / "renderer-stamp"

    @property
    def activation(self) -> Path:
        """The recorded activation."""
        return self.state / "activation.json"

    def log(self, step: str) -> Path:
        """Return the log file of a step."""
        return self.state / "log" / f"{step}.log"

    def requirements(self, name: str) -> Path:
        """Return a requirement file."""
        return self.root / "requirements" / f"{name}.txt"

    def lock(self, name: str) -> Path:
        """Return the file with all that a requirement file pulls in."""
        return self.root / "requirements" / "lock" / f"{name}.txt"


@dataclass(frozen=True)
class Plan:
    """What the set-up should lead to, and the stamps that tell whether it has.

    Attributes:
        layout: Where things are.
        installation: Where ROS comes from.
        build_digest: Stamp of an environment in which ros2_ws can be built.
        venv_digest: Stamp of the complete environment.
        workspace_digest: Stamp of the built workspace.
        renderer_digest: Stamp of the compiled renderer of images.
        more: Groups of requirements that are asked for beside those everybody needs, and the stamp
            of each.
    """

    layout: Layout
    installation: ros.Installation
    build_digest: str
    venv_digest: str
    workspace_digest: str
    renderer_digest: str
    more: Mapping[str, str]

    @classmethod
    def of(
        cls,
        layout: Layout,
        installation: ros.Installation,
        python_version: str,
        more: Sequence[str] = (),
    ) -> Plan:
        """Read the inputs of all steps.

        Args:
            layout: Where things are.
            installation: Where ROS comes from.
            python_version: Of the interpreter that makes the environment, e.g. ``3.11``.
            more: Groups beside those that everybody needs. Interfaces of real robots that were
                asked for once are among them: they change with the repository.
        """
        if ROBOTS not in more and layout.group_stamp(ROBOTS).exists():
            more = (*more, ROBOTS)
        tools = layout.root / "tools"
        # The root is part of it: neither environments nor builds can be moved.
        facts = [RECIPE, str(layout.root), python_version, installation.name]

        def digest(groups: Sequence[str]) -> str:
            files = [layout.requirements(name) for name in groups]
            files += [layout.lock(name) for name in groups if name != "ros"]
            files += [layout.requirements("system")]
            return stamps.digest(facts, files, layout.root)

        scripts = [tools / f"{name}.py" for name in AFTER_INSTALLING]
        build_digest = stamps.digest([digest(BUILD)], scripts, layout.root)
        source = layout.workspace / "src"
        inputs = stamps.build_inputs(stamps.workspace_packages(source))
        inputs += [tools / "link_packages.py"]
        for_robots = stamps.build_inputs(stamps.robot_stand_ins(source))
        slim = [tools / "bootstrap" / "slim.py"]
        venv_digest = stamps.digest([build_digest, digest(ALWAYS)], slim, layout.root)
        renderer = [path for path in [layout.workspace / RENDERER] if path.is_file()]
        return cls(
            layout,
            installation,
            build_digest,
            venv_digest,
            stamps.digest([build_digest], inputs, layout.root),
            stamps.digest([venv_digest], renderer, layout.root),
            {
                name: stamps.digest([build_digest], for_robots, layout.root)
                if name == ROBOTS
                else digest([name])
                for name in more
            },
        )

    @property
    def build_ready(self) -> bool:
        """Can the workspace be built in the environment?"""
        return self.layout.python.exists() and stamps.is_current(
            self.layout.group_stamp("build"), self.build_digest
        )

    @property
    def venv_ready(self) -> bool:
        """Is the environment complete, but for what is asked for beside it?"""
        return self.build_ready and stamps.is_current(self.layout.venv_stamp, self.venv_digest)

    @property
    def missing(self) -> list[str]:
        """Return the groups that are asked for and not there."""
        return [
            name
            for name, digest in self.more.items()
            if not stamps.is_current(self.layout.group_stamp(name), digest)
        ]

    @property
    def workspace_ready(self) -> bool:
        """Is the workspace built?"""
        return stamps.is_current(self.layout.workspace_stamp, self.workspace_digest)

    @property
    def renderer_ready(self) -> bool:
        """Is the renderer of images compiled?"""
        return stamps.is_current(self.layout.renderer_stamp, self.renderer_digest)

    @property
    def ready(self) -> bool:
        """Is there nothing to do?"""
        return (
            self.venv_ready
            and self.workspace_ready
            and not self.missing
            and self.renderer_ready
            and self.layout.activation.is_file()
        )


def optional_groups(layout: Layout) -> list[str]:
    """Return the groups of requirements that are installed only when asked for, and `ROBOTS`."""
    found = (path.stem for path in layout.requirements("run").parent.glob("*.txt"))
    return sorted([ROBOTS, *(name for name in found if name not in (*ALWAYS, *_NO_GROUP))])
