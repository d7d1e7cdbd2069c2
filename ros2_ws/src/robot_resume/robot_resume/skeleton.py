"""A URDF as its skeleton: links and joints as an indented tree, for models and people."""

from __future__ import annotations

from coterie_core.urdf.tree import Tree

_NAME = 80  # characters of a name

LIMIT = 6000
"""Longest skeleton in a prompt [characters]."""


def skeleton_text(tree: Tree, limit: int = LIMIT) -> str:
    """Return links (nodes) and joints (edges) of a robot, one joint a line (EMOS, section 3.3).

    Inertia, shapes and materials are left out. Names are those of the URDF: untrusted.

    Args:
        tree: The robot.
        limit: Longest text [characters]; what does not fit is counted in a last line.
    """
    lines = [plain_line(tree.root, _NAME)]
    stack = [(joint, 1) for joint in reversed(tree.below[tree.root])]
    while stack:
        joint, depth = stack.pop()
        span = ""
        if joint.kind in ("revolute", "prismatic"):
            unit = "rad" if joint.kind == "revolute" else "m"
            span = f" {joint.lower:.2f}..{joint.upper:.2f} {unit}"
        name, child = plain_line(joint.name, _NAME), plain_line(joint.child, _NAME)
        lines.append(f"{' ' * depth}{name} ({joint.kind}{span}) -> {child}")
        stack += [(below, depth + 1) for below in reversed(tree.below[joint.child])]
    kept: list[str] = []
    used = 0
    for line in lines:
        used += len(line) + 1
        if used > limit:
            kept.append(f"... and {len(lines) - len(kept)} more")
            break
        kept.append(line)
    return "\n".join(kept)


def plain_line(text: str, limit: int = 600) -> str:
    """Return text from a URDF as one line that is safe to print: nothing invisible in it."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
