"""Charts of the report as SVG text: coverage curve and decision tree."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from coterie_cli.demo.results import Track
from coterie_core.colors import robot_colors


def number(value: float) -> str:
    """Return a coordinate with two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(value: object) -> str:
    """Return text that is safe inside SVG: labels and names are untrusted."""
    return html.escape(str(value), quote=True)


def coverage_curve(
    tracks: Sequence[Track],
    together: Sequence[float] = (),
    width: float = 560.0,
    height: float = 250.0,
) -> str:
    """Return an SVG of the share of the house seen against hops, per robot and by all together.

    Args:
        tracks: The robots' ways with their coverage (0..1).
        together: What all robots together had seen after each hop (0..1).
        width: Of the drawing [px].
        height: Of the drawing [px].
    """
    longest = max((p.step for t in tracks for p in t.points), default=0) or 1
    left, bottom, top, right = 40.0, 34.0, 12.0, 78.0
    w, h = width - left - right, height - top - bottom

    def at(step: float, share: float) -> str:
        return f"{number(left + w * step / longest)},{number(top + h * (1.0 - share))}"

    parts = [
        f'<svg class="chart" viewBox="0 0 {number(width)} {number(height)}" role="img" '
        'aria-label="coverage against hops">'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = number(top + h * (1.0 - share))
        parts.append(f'<path class="rule" d="M{number(left)},{y}H{number(left + w)}"/>')
        parts.append(f'<text class="tick end" x="{number(left - 6)}" y="{y}">{share:.0%}</text>')
    stride = max(1, round(longest / 6))
    for step in range(0, longest + 1, stride):
        x = number(left + w * step / longest)
        parts.append(f'<text class="tick mid" x="{x}" y="{number(top + h + 14)}">{step}</text>')
    x = number(left + w / 2)
    parts.append(f'<text class="tick mid" x="{x}" y="{number(height - 4)}">hops</text>')
    labels: list[tuple[float, str, str]] = []
    if together:
        line = " L".join(at(hop, share) for hop, share in enumerate(together))
        parts.append(f'<path class="team" d="M{line}"/>')
        labels.append((top + h * (1.0 - together[-1]), "var(--soft)", "together"))
    colors = robot_colors(track.robot for track in tracks)
    for track in tracks:
        if not track.points:
            continue
        line = " L".join(at(p.step, p.coverage) for p in track.points)
        parts.append(f'<path class="way" stroke="{colors[track.robot]}" d="M{line}"/>')
        end = top + h * (1.0 - track.points[-1].coverage)
        labels.append((end, colors[track.robot], track.robot))
    last = -math.inf
    for y_end, color, name in sorted(labels):
        y_end = last = max(y_end, last + 13.0)
        parts.append(
            f'<text class="series" style="fill:{color}" x="{number(left + w + 6)}" '
            f'y="{number(y_end)}">{text(name)}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


@dataclass(slots=True)
class TreeNode:
    """A node of a decision tree to draw: what it asks (or answers), and its two branches.

    `yes_share` (0..1) is the share of YES among the `count` training answers that reach it.
    """

    label: str
    count: int
    yes_share: float
    yes: TreeNode | None = None
    no: TreeNode | None = None


def tree_picture(root: TreeNode, depth: int = 3) -> str:
    """Return an SVG of the top of a decision tree; deeper parts are summed up in their root."""
    box_w, box_h, gap_x, gap_y = 128.0, 40.0, 10.0, 34.0
    places: list[tuple[TreeNode, float, int, bool]] = []
    edges: list[tuple[float, int, float, str]] = []
    cursor = 0.0

    def lay(node: TreeNode, level: int) -> float:
        nonlocal cursor
        branches = [(n, word) for n, word in ((node.no, "no"), (node.yes, "yes")) if n is not None]
        leaf = not branches or level >= depth
        if leaf:
            x = cursor + box_w / 2.0
            cursor += box_w + gap_x
        else:
            below = [(lay(n, level + 1), word) for n, word in branches]
            x = sum(b for b, _ in below) / len(below)
            for child_x, word in below:
                edges.append((x, level, child_x, word))
        places.append((node, x, level, leaf))
        return x

    lay(root, 0)
    levels = max(level for _, _, level, _ in places) + 1
    width, height = max(cursor - gap_x, box_w), levels * (box_h + gap_y) - gap_y + 4.0
    parts = [
        f'<svg class="tree" viewBox="-2 -2 {number(width + 4)} {number(height)}" '
        f'style="max-width:{number(width)}px" role="img" aria-label="decision tree">'
    ]
    for x, level, child_x, word in edges:
        y0, y1 = level * (box_h + gap_y) + box_h, (level + 1) * (box_h + gap_y)
        mid = (y0 + y1) / 2.0
        parts.append(
            f'<path class="edge" d="M{number(x)},{number(y0)}C{number(x)},{number(mid)} '
            f'{number(child_x)},{number(mid)} {number(child_x)},{number(y1)}"/>'
        )
        tx = child_x + (12.0 if child_x > x else -12.0)
        parts.append(f'<text class="branch" x="{number(tx)}" y="{number(y1 - 7)}">{word}</text>')
    for node, x, level, leaf in places:
        y = level * (box_h + gap_y)
        side = "leaf-yes" if node.yes_share >= 0.5 else "leaf-no"
        css = side if leaf else "ask"
        first = node.label if not leaf or node.yes is None else f"{node.label} …"
        if leaf:
            first = "YES" if node.yes_share >= 0.5 else "NO"
        share = f"{node.count} asked, {node.yes_share:.0%} yes"
        parts.append(
            f'<g class="{css}"><title>{text(node.label)}</title><rect x="{number(x - box_w / 2)}" '
            f'y="{number(y)}" width="{number(box_w)}" height="{number(box_h)}" rx="6"/>'
            f'<text x="{number(x)}" y="{number(y + 16)}">{text(_short(first))}</text>'
            f'<text class="small" x="{number(x)}" y="{number(y + 31)}">{text(share)}</text></g>'
        )
    parts.append("</svg>")
    return "".join(parts)


def _short(label: str, longest: int = 21) -> str:
    return label if len(label) <= longest else label[: longest - 1] + "…"
