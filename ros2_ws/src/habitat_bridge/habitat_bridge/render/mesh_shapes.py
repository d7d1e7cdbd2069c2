"""The shapes of furniture and things, built inside their box: legs, boards, doors, basins.

Frame as in `surfaces`: x ahead, y left, the origin below the box's centre on its lower face, z up.
All measures that things rest on come from `surfaces`, so what stands on a board touches it.
"""

from __future__ import annotations

from coterie_core.geometry import Vec3
from habitat_bridge.house import surfaces
from habitat_bridge.house.surfaces import BOARD, levels
from habitat_bridge.render.mesh_items import DARK, ITEM_BUILDERS, METAL, WOOD, Builder
from habitat_bridge.render.mesh_parts import Parts, Rgb, shade

WHITE: Rgb = (238, 238, 234)
PAPER: Rgb = (240, 236, 224)


def build_shape(shape: str, size: Vec3, color: Rgb, is_open: bool, level: float = 1.0) -> Parts:
    """Return the parts of a shape that fill a box of this size (depth, width, height) [m].

    Unknown shapes are plain boxes. `is_open` matters for containers only: their front is gone.
    `level` is as for `surfaces.levels`.
    """
    parts = Parts(levels(shape, size, level))
    depth, width, height = size
    build = BUILDERS.get(shape, _box)
    build(parts, depth / 2.0, width / 2.0, height, color, is_open)
    return parts


def _box(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (0.0, h), c)


def _legs(p: Parts, x: float, y: float, h: float, thick: float, c: Rgb) -> None:
    t = min(thick, x, y)
    for sx in (-x, x - t):
        for sy in (-y, y - t):
            p.box((sx, sx + t), (sy, sy + t), (0.0, h), c)


def _table(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    top = min(0.04, h * 0.2)
    p.box((-x, x), (-y, y), (h - top, h), c)
    _legs(p, x - 0.02, y - 0.02, h - top, 0.06, shade(c, 0.8))


def _desk(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.035, h), c)
    for s in (-y, y - 0.04):
        p.box((-x + 0.02, x - 0.04), (s, s + 0.04), (0.0, h - 0.035), shade(c, 0.85))
    p.box((-x + 0.02, -x + 0.04), (-y + 0.04, y - 0.04), (h * 0.45, h - 0.035), shade(c, 0.8))


def _bench(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.06, h), c)
    for s in (-y + 0.05, y - 0.11):
        p.box((-x + 0.02, x - 0.02), (s, s + 0.06), (0.0, h - 0.06), shade(c, 0.8))


def _stool(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.05, h), c)
    _legs(p, x - 0.03, y - 0.03, h - 0.05, 0.035, shade(c, 0.75))


def _chair(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    seat, back = p.levels[0].z, surfaces.CHAIR_BACK
    p.box((-x, x), (-y, y), (seat - 0.05, seat), c)
    _legs(p, x - 0.01, y - 0.01, seat - 0.05, 0.04, shade(c, 0.75))
    p.box((-x, -x + back), (-y, y), (seat, h), shade(c, 0.92))


def _sofa(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    seat, arm, back = p.levels[0].z, surfaces.ARM_WIDTH, surfaces.BACK_DEPTH
    p.box((-x, x), (-y + arm, y - arm), (0.06, seat), c)
    p.box((-x, -x + back), (-y + arm, y - arm), (seat, h), shade(c, 0.9))
    for s in (-y, y - arm):
        p.box((-x, x), (s, s + arm), (0.06, min(h, seat + 0.2)), shade(c, 0.85))
    _legs(p, x - 0.03, y - 0.03, 0.06, 0.05, WOOD)


def _bed(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    top, head = p.levels[0].z, surfaces.HEADBOARD
    slats, frame = 0.32 * top, 0.6 * top
    p.box((-x, -x + head), (-y, y), (0.0, h), c)
    p.box((-x + head, x), (-y, y), (slats, frame), shade(c, 0.9))
    p.box((-x + head, x - 0.02), (-y + 0.02, y - 0.02), (frame, top), WHITE)
    _legs(p, x - 0.02, y - 0.02, slats, 0.07, shade(c, 0.8))


def _case(
    p: Parts, x: float, y: float, h: float, c: Rgb, boards: list[float], *, back: float = BOARD
) -> None:
    """A case that is open in front, with boards whose upper faces are at the given heights."""
    for s in (-y, y - BOARD):
        p.box((-x, x), (s, s + BOARD), (0.0, h), c)
    p.box((-x, -x + back), (-y + BOARD, y - BOARD), (0.0, h), shade(c, 0.75))
    p.box((-x + back, x), (-y + BOARD, y - BOARD), (h - BOARD, h), c)
    for z in boards:
        p.box((-x + back, x), (-y + BOARD, y - BOARD), (max(0.0, z - BOARD), z), shade(c, 0.9))


def _boards(p: Parts, h: float) -> list[float]:
    return [level.z for level in p.levels if level.z < h - 1e-6]


def _shelf(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    _case(p, x, y, h, c, _boards(p, h), back=0.015)


def _cabinet(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    _case(p, x - BOARD, y, h, c, _boards(p, h))
    _shift_case(p, -BOARD)
    if is_open:
        return
    for s, e in ((-y, -0.003), (0.003, y)):
        p.box((x - 2 * BOARD + 0.001, x - 0.012), (s, e), (0.0, h), shade(c, 1.04))
    for s in (-0.03, 0.02):
        p.box((x - 0.012, x), (s, s + 0.01), (h * 0.45, h * 0.55), METAL)


def _drawers(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    boards = _boards(p, h)
    _case(p, x - BOARD, y, h, c, boards)
    _shift_case(p, -BOARD)
    if is_open:
        return
    for low, high in zip(boards, [*boards[1:], h], strict=True):
        z0, z1 = max(0.0, low - BOARD), high - BOARD - 0.004
        z1 = h if high == h else z1
        p.box((x - 2 * BOARD + 0.001, x - 0.012), (-y, y), (z0, z1), shade(c, 1.04))
        m = (z0 + z1) / 2.0
        p.box((x - 0.012, x), (-0.06, 0.06), (m - 0.008, m + 0.008), METAL)


def _shift_case(p: Parts, dx: float) -> None:
    for points in p.vertices:
        points[:, 0] += dx


def _counter(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.04, h), shade(c, 0.75))
    p.box((-x, x - 0.03), (-y, y), (0.1, h - 0.04), c)
    p.box((-x, x - 0.08), (-y + 0.01, y - 0.01), (0.0, 0.1), DARK)
    count = max(1, round(2 * y / 0.6))
    for k in range(1, count):
        s = -y + 2 * y * k / count
        p.box((x - 0.03, x - 0.026), (s - 0.004, s + 0.004), (0.1, h - 0.04), DARK)


def _fridge(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    _case(p, x - 0.03, y, h, c, _boards(p, h))
    _shift_case(p, -0.03)
    if is_open:
        return
    split = h * 0.68
    for z0, z1 in ((0.0, split - 0.004), (split + 0.004, h)):
        p.box((x - 0.059, x - 0.02), (-y, y), (z0, z1), shade(c, 1.03))
    p.box((x - 0.02, x), (y - 0.08, y - 0.06), (split - 0.4, split - 0.05), METAL)


def _oven(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    thick = 0.02 if h < 0.5 else 0.04
    level = _boards(p, h)[0]
    front = x - thick
    for s in (-y, y - thick):
        p.box((-x, front), (s, s + thick), (0.0, h), c)
    p.box((-x, -x + thick), (-y + thick, y - thick), (0.0, h), c)
    p.box((-x + thick, front), (-y + thick, y - thick), (h - 0.05, h), c)
    p.box((-x + thick, front), (-y + thick, y - thick), (0.0, level), shade(c, 0.7))
    if not is_open:
        p.box((front, x - 0.005), (-y, y), (0.0, h), shade(c, 0.9))
        p.box((x - 0.005, x), (-y + 0.06, y - 0.1), (h * 0.25, h * 0.7), DARK)


def _washer(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    drum = p.levels[-1]
    level, lid = drum.z, drum.z + drum.clearance + 0.01
    for s in (-y, y - 0.08):
        p.box((-x, x - 0.03), (s, s + 0.08), (0.0, h), c)
    p.box((-x, -x + 0.08), (-y + 0.08, y - 0.08), (0.0, h), c)
    p.box((-x + 0.08, x - 0.03), (-y + 0.08, y - 0.08), (lid, h), c)
    p.box((-x + 0.08, x - 0.03), (-y + 0.08, y - 0.08), (0.0, level), c)
    if is_open:
        return
    p.box((x - 0.03, x - 0.01), (-y, y), (0.0, h), shade(c, 1.02))
    p.box((x - 0.01, x), (-0.17, 0.17), (h * 0.32, h * 0.32 + 0.34), DARK)


def _stove(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x - 0.02), (-y, y), (0.0, h - 0.01), c)
    p.box((-x, x), (-y, y), (h - 0.01, h), DARK)
    p.box((x - 0.02, x - 0.005), (-y + 0.06, y - 0.06), (0.2, h - 0.25), DARK)
    for k in range(4):
        s = -y + 0.12 + k * (2 * y - 0.24) / 3
        p.box((x - 0.02, x), (s - 0.02, s + 0.02), (h - 0.1, h - 0.06), METAL)


def _hood(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (0.0, min(0.1, h * 0.4)), c)
    p.box((-x, 0.0), (-y * 0.4, y * 0.4), (min(0.1, h * 0.4), h), shade(c, 0.9))


def _tub(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    e, floor = surfaces.TUB_EDGE, p.levels[0].z
    p.box((-x, x), (-y, y), (0.0, floor), c)
    for s in (-y, y - e):
        p.box((-x, x), (s, s + e), (floor, h), c)
    for s in (-x, x - e):
        p.box((s, s + e), (-y + e, y - e), (floor, h), c)


def _shower(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    t, tray = 0.012, p.levels[0].z
    p.box((-x, x), (-y, y), (0.0, tray), WHITE)
    p.box((-x + 0.05, x), (-y, -y + t), (tray, h - 0.1), c)
    p.box((x - t, x), (0.0, y), (tray, h - 0.1), c)
    p.box((-x, -x + 0.03), (-0.015, 0.015), (0.9, h), METAL)
    p.box((-x, -x + 0.2), (-0.06, 0.06), (h - 0.04, h), METAL)


def _toilet(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    tank = surfaces.TANK
    p.box((-x, -x + tank), (-y, y), (0.38, h), c)
    p.box((-x, x - 0.18), (-y * 0.55, y * 0.55), (0.0, 0.34), shade(c, 0.95))
    front = (-x + tank + x) / 2.0
    p.cylinder((front, 0.0), (0.2, 0.4), (x - tank / 2.0, y), c, sides=12)
    p.cylinder((front, 0.0), (0.4, 0.43), (x - tank / 2.0, y), shade(c, 0.9), sides=12)


def _sink(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    rim, e, deep = surfaces.SINK_RIM, surfaces.SINK_EDGE, h - p.levels[-1].z
    cabinet = shade(c, 0.86)
    p.box((-x, x), (-y, y), (0.0, h - deep), cabinet)
    p.box((-x, -x + rim), (-y, y), (h - deep, h), c)
    p.box((x - e, x), (-y, y), (h - deep, h), c)
    for s in (-y, y - e):
        p.box((-x + rim, x - e), (s, s + e), (h - deep, h), c)


def _panel(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    _box(p, x, y, h, c, is_open)


def _frame(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    e = min(0.04, y * 0.3, h * 0.2)
    p.box((-x, x * 0.4), (-y + e, y - e), (e, h - e), c)
    for s in (-y, y - e):
        p.box((-x, x), (s, s + e), (0.0, h), WOOD)
    for z in (0.0, h - e):
        p.box((-x, x), (-y + e, y - e), (z, z + e), WOOD)


def _window(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    e = 0.06
    p.box((-x, 0.0), (-y + e, y - e), (e, h - e), c)
    for s in (-y, -e / 4, y - e):
        p.box((-x, x), (s, s + (e / 2 if s == -e / 4 else e)), (0.0, h), WHITE)
    for z in (0.0, h - e):
        p.box((-x, x), (-y, y), (z, z + e), WHITE)


def _curtain(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    folds = max(3, round(2 * y / 0.1))
    for k in range(folds):
        s, e = -y + 2 * y * k / folds, -y + 2 * y * (k + 1) / folds
        near = -x if k % 2 else -x * 0.2
        p.box((near, x if k % 2 else x * 0.9), (s, e), (0.0, h), c if k % 2 else shade(c, 0.88))


def _rail(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((x * 0.4, x), (-y, y), (h * 0.4, h * 0.7), c)
    for s in (-y, y - 0.03):
        p.box((-x, x), (s, s + 0.03), (h * 0.3, h * 0.8), c)


def _railing(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.05, h), c)
    count = max(2, round(2 * y / 0.14) + 1)
    for k in range(count):
        s = -y + (2 * y - 0.025) * k / (count - 1)
        p.box((-0.012, 0.012), (s, s + 0.025), (0.0, h - 0.05), shade(c, 0.9))


def _disc(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    for low, high, share in ((0.0, 1.0, 0.5), (0.1, 0.9, 0.8), (0.25, 0.75, 1.0)):
        p.box((-x, x * 0.8), (-y * share, y * share), (h * low, h * high), c)
    p.box((x * 0.8, x), (-0.01, 0.01), (h * 0.5, h * 0.85), DARK if c[0] > 100 else WHITE)


def _ceiling_lamp(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.cylinder((0.0, 0.0), (h * 0.75, h), (x * 0.4, y * 0.4), METAL)
    p.round((0.0, 0.0), [(0.5, 0.0), (0.9, h * 0.3), (1.0, h * 0.75)], (x, y), c, 12)


def _chandelier(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-0.01, 0.01), (-0.01, 0.01), (h * 0.3, h), METAL)
    p.box((-x, x), (-0.015, 0.015), (h * 0.25, h * 0.3), c)
    p.box((-0.015, 0.015), (-y, y), (h * 0.25, h * 0.3), c)
    r = 0.05
    for px, py in ((x - r, 0.0), (-x + r, 0.0), (0.0, y - r), (0.0, -y + r)):
        p.cylinder((px, py), (h * 0.3, h * 0.55), (r, r), PAPER, top=0.7, sides=8)
    p.ball((0.0, 0.0), (0.0, h * 0.3), (x * 0.3, y * 0.3), c, 8)


def _fireplace(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (h - 0.08, h), shade(c, 0.8))
    for s in (-y, y * 0.5):
        p.box((-x, x - 0.03), (s, s + y * 0.5), (0.0, h - 0.08), c)
    p.box((-x, x - 0.03), (-y * 0.5, y * 0.5), (h * 0.65, h - 0.08), c)
    p.box((-x, -x + 0.06), (-y * 0.5, y * 0.5), (0.0, h * 0.65), DARK)
    p.box((-x + 0.08, x - 0.1), (-y * 0.3, y * 0.3), (0.0, 0.12), WOOD)


def _rack(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    t = min(0.04, x * 0.5, y * 0.2)
    for s in (-y, y - t):
        p.box((-x, x), (s, s + t), (0.0, 0.06), c)
        p.box((-t / 2, t / 2), (s, s + t), (0.0, h), c)
    for k in range(1, 6):
        z = h * k / 5
        p.box((-t / 2, t / 2), (-y + t, y - t), (z - t, z), shade(c, 0.9))


def _treadmill(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (0.0, 0.16), c)
    p.box((-x + 0.2, x - 0.05), (-y + 0.08, y - 0.08), (0.16, 0.18), DARK)
    for s in (-y, y - 0.06):
        p.box((-x + 0.05, -x + 0.13), (s, s + 0.06), (0.16, h - 0.05), METAL)
    p.box((-x, -x + 0.2), (-y, y), (h - 0.14, h), shade(c, 1.2))


def _bike(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    # Wheels stand one behind the other along the width, which runs along the wall.
    r = min(0.33, h * 0.32)
    for s in (-y + r, y - r):
        p.box((-0.02, 0.02), (s - r, s + r), (r * 0.85, r * 1.15), DARK)
        p.box((-0.02, 0.02), (s - r * 0.15, s + r * 0.15), (0.0, 2 * r), DARK)
        for k in (-0.7, 0.7):
            m = s + k * r * 0.95
            p.box((-0.02, 0.02), (m - 0.04, m + 0.04), (r * 0.35, r * 1.65), DARK)
    p.box((-0.025, 0.025), (-y + r, y - r), (h * 0.62, h * 0.68), c)
    p.box((-0.025, 0.025), (-0.03, 0.03), (r * 0.8, h * 0.85), c)
    p.box((-0.025, 0.025), (y - r - 0.04, y - r + 0.02), (r, h), c)
    p.box((-0.08, 0.08), (-0.14, 0.12), (h * 0.85, h * 0.9), DARK)
    p.box((-x, x), (y - r - 0.03, y - r + 0.01), (h - 0.04, h), DARK)


def _piano(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    keys = surfaces.PIANO_KEYS
    p.box((-x, x - keys), (-y, y), (0.0, h), c)
    p.box((x - keys, x), (-y, y), (0.62, 0.7), shade(c, 1.1))
    p.box((x - keys + 0.02, x - 0.02), (-y + 0.08, y - 0.08), (0.7, 0.715), WHITE)
    for s in (-y, y - 0.06):
        p.box((x - 0.08, x - 0.02), (s, s + 0.06), (0.0, 0.62), c)


BUILDERS: dict[str, Builder] = {
    **ITEM_BUILDERS,
    "table": _table,
    "desk": _desk,
    "bench": _bench,
    "stool": _stool,
    "chair": _chair,
    "sofa": _sofa,
    "bed": _bed,
    "shelf": _shelf,
    "cabinet": _cabinet,
    "low cabinet": _cabinet,
    "drawers": _drawers,
    "counter": _counter,
    "fridge": _fridge,
    "oven": _oven,
    "washer": _washer,
    "stove": _stove,
    "hood": _hood,
    "tub": _tub,
    "shower": _shower,
    "toilet": _toilet,
    "sink": _sink,
    "panel": _panel,
    "frame": _frame,
    "window": _window,
    "curtain": _curtain,
    "rail": _rail,
    "railing": _railing,
    "disc": _disc,
    "ceiling lamp": _ceiling_lamp,
    "chandelier": _chandelier,
    "fireplace": _fireplace,
    "rack": _rack,
    "treadmill": _treadmill,
    "bike": _bike,
    "piano": _piano,
    "box": _box,
    "slab": _box,
    "flat": _box,
}
