"""Resume node: reads a robot's `robot_description` and publishes what its body can do."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

from std_msgs.msg import String

from coterie_core.resume import Resume
from coterie_core.urdf.errors import UrdfError
from coterie_core.yaml_marks import FileProblem
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.model import MODEL_PARAMETER, node_decider
from coterie_ros.parameters import Parameters, ParameterSpec
from robot_resume.builder import SAMPLES, analyse, resume_from
from robot_resume.overrides import RobotOverrides, load_overrides
from robot_resume.skeleton import plain_line, skeleton_text
from robot_resume.verbalize import describe

_PATIENCE = 10.0
"""After so long without a description the node says that it waits [s]."""


class ResumeNode(AgentNode):
    """`resume_node`, in a robot's namespace: `robot_description` in, `resume` out (both latched).

    A description that cannot be used is logged and shown in the diagnostics; the resume of the
    last good one stays. A changed description makes a new resume.
    """

    PARAMETERS = (
        ParameterSpec(
            "robot", "", "Name of the robot; empty: the last part of the node's namespace."
        ),
        ParameterSpec(
            "overrides",
            "",
            "Path of the file of overrides (config/robots/*.yaml); empty: no overrides.",
        ),
        ParameterSpec(
            "packages",
            (),
            "Folders of the ROS packages whose files the description names; empty: none.",
        ),
        ParameterSpec(
            "samples",
            SAMPLES,
            "Number of postures sampled for each arm's workspace.",
            minimum=1000,
            maximum=5_000_000,
        ),
        ParameterSpec("seed", 0, "Seed of the sampled postures.", minimum=0),
        MODEL_PARAMETER,
    )

    def on_setup(self, parameters: Parameters) -> None:
        """Read the overrides, make the model and the publisher."""
        self.robot = parameters["robot"] or self.get_namespace().strip("/").rpartition("/")[2]
        if not self.robot:
            raise ValueError("parameter 'robot': give a name, or run the node in its namespace")
        self._overrides: RobotOverrides | None = None
        if parameters["overrides"]:
            try:
                self._overrides = load_overrides(Path(parameters["overrides"]))
            except FileProblem as error:
                raise ValueError(str(error)) from None
        self._decider = node_decider(self, parameters.json("model_profile"), self.robot)
        self._publisher = self.publisher(String, "resume", "latched")
        self._digest = b""
        self._next: str | None = None
        self._busy = False
        self._built: Resume | None = None
        self._took = 0.0
        self.diagnostics.add_source("resume", self._figures)

    def on_start(self) -> None:
        """Listen to the description."""
        self._digest = b""
        self._busy = False
        self._since = time.monotonic()
        self.subscribe(String, "robot_description", "latched", self._on_description)
        self.every(_PATIENCE, self._say_if_absent, name="wait for the description")

    async def _on_description(self, message: String) -> None:
        """Build the resume of the newest description; one that came meanwhile is next."""
        self._next = message.data
        if self._busy:
            return
        self._busy = True
        try:
            while self._next is not None:
                text, self._next = self._next, None
                await self._take(text)
        finally:
            self._busy = False

    async def _take(self, text: str) -> None:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest == self._digest:
            return
        self._digest = digest
        started = time.monotonic()
        try:
            found, skeleton = await asyncio.to_thread(self._build, text)
        except UrdfError as error:
            kept = "; the last good resume stays" if self._built is not None else ""
            self._refuse(f"robot_description: {plain_line(str(error))}{kept}")
            return
        except Exception as error:  # whatever a description does, the node lives on
            self.report_failure("robot_description", error)
            return
        resume = await describe(found, skeleton, self._decider)
        self._took = time.monotonic() - started
        self._built = resume
        self._publisher.publish(conversions.resume_to_msg(self.robot, resume))
        self.get_logger().info(
            f"resume of {self.robot}: {resume.mobility.kind}, {len(resume.perception.cameras)} "
            f"cameras, {len(resume.manipulation.arms)} arms, {len(resume.warnings)} notes, "
            f"{self._took:.2f} s"
        )

    def _build(self, text: str) -> tuple[Resume, str]:
        """Return the resume without words, and the skeleton; runs in a thread of its own."""
        packages = [Path(folder) for folder in self.parameters["packages"]]
        found = analyse(
            text.encode("utf-8", "replace"), packages=packages, overrides=self._overrides
        )
        resume = resume_from(
            found,
            name=self.robot,
            samples=self.parameters["samples"],
            seed=self.parameters["seed"],
        )
        return resume, skeleton_text(found.scene.tree)

    def _refuse(self, text: str) -> None:
        self.diagnostics.count("refused")
        self.diagnostics.error(text)
        self.get_logger().error(text)

    def _say_if_absent(self) -> None:
        waited = time.monotonic() - self._since
        if not self._digest and waited >= _PATIENCE:
            topic = self.resolve_topic_name("robot_description")
            text = f"no description on {topic} for {waited:.0f} s; who publishes the robot's URDF?"
            if self.diagnostics.count("absent") == 1:
                self.get_logger().warning(text)
            self.diagnostics.warn(text)

    def _figures(self) -> dict[str, object]:
        built = self._built
        if built is None:
            return {"built": False, "busy": self._busy}
        return {
            "built": True,
            "busy": self._busy,
            "robot": self.robot,
            "mobility": built.mobility.kind,
            "cameras": len(built.perception.cameras),
            "arms": len(built.manipulation.arms),
            "notes": len(built.warnings),
            "seconds": f"{self._took:.2f}",
        }


def make_nodes(options: ProcessOptions) -> list[ResumeNode]:
    """Make the nodes of one process: one per robot it serves."""
    return nodes_of_robots(options, ResumeNode, "resume", __doc__)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run_nodes(make_nodes, args)


if __name__ == "__main__":
    raise SystemExit(main())
