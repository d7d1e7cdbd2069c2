"""What is there of a robot, as the ROS graph and its messages tell; ROS-free."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """Who publishes a topic.

    Attributes:
        node: Its full name.
        type: Type of the messages.
        qos_trouble: Why its QoS does not fit the adapter's ("": it does).
        differs: Whether its definition of the type is another than the one installed here.
    """

    node: str
    type: str
    qos_trouble: str = ""
    differs: bool = False


@dataclass(slots=True)
class TopicFacts:
    """What came on a topic.

    Attributes:
        sources: Who publishes it.
        count: Number of messages.
        duration: How long was listened [s].
        frame: Frame of the last message that has one, without a slash in front.
        offsets: Local clock at receipt minus stamp, of each stamped message [s].
        size: Columns and rows of the last image, camera info or detections; (0, 0): none.
        encoding: Of the last image.
        focal: Focal lengths of the last camera info [px]; None: none came.
        distorted: Whether the last camera info tells of a lens that distorts.
        labels: Class identifiers of the first detections, or names of joints.
        charge: Percentage of the last battery state, a fraction; None: none came.
        trouble: Why nobody could listen ("": somebody could).
    """

    sources: list[Source] = field(default_factory=list)
    count: int = 0
    duration: float = 0.0
    frame: str = ""
    offsets: list[float] = field(default_factory=list)
    size: tuple[int, int] = (0, 0)
    encoding: str = ""
    focal: tuple[float, float] | None = None
    distorted: bool = False
    labels: set[str] = field(default_factory=set)
    charge: float | None = None
    trouble: str = ""

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.count / self.duration if self.duration > 0.0 else 0.0

    @property
    def offset(self) -> float | None:
        """Least of the offsets [s], as delays only add; None: no stamped message came."""
        return min(self.offsets, default=None)


@dataclass(slots=True)
class FrameLink:
    """A frame's parents, and the least age of its transforms when they came [s]; None: unknown.

    The age is negative for those that are stamped ahead.
    """

    parents: set[str] = field(default_factory=set)
    fixed: bool = False
    age: float | None = None


@dataclass(slots=True)
class Facts:
    """All that is known of one robot.

    Attributes:
        topics: By full name, of those that are expected.
        all_topics: Types of every topic of the graph by name.
        servers: Types of the servers that are there, actions and services, by name.
        all_servers: Types of every action and service of the graph by name.
        strangers: Nodes whose definition of a server's type is another than the one installed
            here, by name of the server.
        active: What a lifecycle manager says, by name of its service: whether all is active.
        speeds: Speed that each controller of Nav2 has of its own [m/s]; None: it does not tell.
        states: Label of the lifecycle state of each node that has one, by name.
        links: Transforms by child frame.
        clock: Whether /clock came; None: it is not used.
        clock_told: Whether somebody publishes /clock, silent or not.
    """

    topics: dict[str, TopicFacts] = field(default_factory=dict)
    all_topics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    all_servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    strangers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    active: dict[str, bool | None] = field(default_factory=dict)
    speeds: dict[str, float | None] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    links: dict[str, FrameLink] = field(default_factory=dict)
    clock: bool | None = None
    clock_told: bool = False

    def root(self, frame: str) -> str:
        """Return the frame at the end of a frame's parents."""
        seen = {frame}
        while frame in self.links:
            parent = min(self.links[frame].parents)
            if parent in seen:
                return frame
            seen.add(parent)
            frame = parent
        return frame

    def path(self, child: str, top: str) -> list[str]:
        """Return the frames from one up to another; [] where they do not join that way."""
        frames = [child]
        while frames[-1] != top:
            link = self.links.get(frames[-1])
            if link is None or min(link.parents) in frames:
                return []
            frames.append(min(link.parents))
        return frames
