"""A URDF as its skeleton: links and joints as an indented tree, for models and people."""

from __future__ import annotations

from emos_planner.resume.tree import Tree

LIMIT = 6000
"""Longest skeleton in a prompt [characters]."""


def skeleton_text(tree: Tree, limit: int = LIMIT) -> str:
    """Return links (nodes) and joints (edges) of a robot, one joint a line (EMOS, section 3.3).

    Inertia, shapes and materials are left out. Names are those of the URDF: untrusted.

    Args:
        tree: The robot.
        limit: Longest text [characters]; what does not fit is counted in a last line.
    """
    lines = [_clean(tree.root)]
    stack = [(joint, 1) for joint in reversed(tree.below[tree.root])]
    while stack:
        joint, depth = stack.pop()
        span = ""
        if joint.kind in ("revolute", "prismatic"):
            unit = "rad" if joint.kind == "revolute" else "m"
            span = f" {joint.lower:.2f}..{joint.upper:.2f} {unit}"
        name, child = _clean(joint.name), _clean(joint.child)
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


def _clean(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)[:80]
