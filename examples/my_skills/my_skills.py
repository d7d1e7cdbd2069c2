"""Two skills that Coterie does not have: press a switch, wipe a surface."""

from dataclasses import dataclass

from coterie_core.skills import Outcome, SkillRefused, SkillSpec, Target

_STROKES = (-0.1, 0.0, 0.1)
"""Where the hand wipes, from the middle [m]."""


@dataclass(frozen=True)
class Press:
    """Press a switch."""

    target: Target


@dataclass(frozen=True)
class Wipe:
    """Wipe a surface."""

    target: Target


async def press(hand, skill):
    """Bring the fingertips of an arm to the switch, and back."""
    await hand.touch(skill.target.position)
    await hand.back()


async def wipe(hand, skill):
    """Stroke over the surface with the hand of an arm."""
    x, y, z = skill.target.position
    for aside in _STROKES:
        await hand.touch((x + aside, y, z))
    await hand.back()


def pressed(label):
    """Return what a switch of the simulated house is once it was pressed."""
    if "switch" not in label and "lamp" not in label:
        raise SkillRefused(Outcome.UNSUPPORTED, f"a {label} has no switch")
    return {"state": "on"}


PRESS = SkillSpec(
    "press", Press, "press {thing}", thing="target", arm=True, verbs=("press", "push", "switch on"),
    seconds=1.0, by_arm=press, in_house=pressed,
)  # fmt: skip
WIPE = SkillSpec(
    "wipe", Wipe, "wipe {thing}", thing="target", arm=True, verbs=("wipe", "wipe off", "clean"),
    seconds=4.0, by_arm=wipe, in_house=lambda label: {"state": "clean"},
)  # fmt: skip
