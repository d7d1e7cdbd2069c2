"""The agents of the benchmark: blind, captions, scene graph, frames, and ours."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from coterie_core.language import Decider
from coterie_core.recording import Recording
from coterie_core.scene import SceneGraph
from openeqa_agent.answers import OpenReply
from openeqa_agent.ground import answer_from_map
from openeqa_agent.question import parse_open

METHODS = ("blind", "captions", "scene_graph", "frames", "ours")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Limits of an agent.

    Attributes:
        frames: Frames that are looked at (50 from memory, 75 when exploring, in the paper).
        objects: Most objects in a prompt (75 in the paper).
        tokens: Most tokens of a map or of captions in a prompt.
        image_bytes: Most bytes of all images of one question.
        image_side: Longest side of an image [px].
        force_guess: Whether the blind agent answers where another abstains.
    """

    frames: int = 50
    objects: int = 75
    tokens: int = 6000
    image_bytes: int = 6_000_000
    image_side: int = 512
    force_guess: bool = True


class OpenAgent:
    """Answers open questions about a place.

    Args:
        decider: Asks the model; with rules alone nothing is asked.
        method: One of METHODS.
        options: Limits.
    """

    def __init__(
        self, decider: Decider, method: str = "ours", options: AgentOptions | None = None
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method {method!r}: expected one of {', '.join(METHODS)}")
        self.decider = decider
        self.method = method
        self.options = options or AgentOptions()

    async def answer(
        self, text: str, scene: SceneGraph | None = None, recording: Recording | None = None
    ) -> OpenReply:
        """Return the answer to a question; never raises for what a map or a model holds."""
        question = parse_open(text)
        reply = OpenReply(category=question.category)
        if scene is not None and self.method != "blind":
            reply = answer_from_map(question, scene)
        if reply.abstains and self.options.force_guess:
            guess = "yes" if question.polar else "I do not know"
            reply = dataclasses.replace(reply, text=guess, confidence=0.3, guessed=True)
        return dataclasses.replace(reply, method=self.method)
