"""The shapes of small things: electronics, vessels, textiles (frame as in `mesh_shapes`)."""

from __future__ import annotations

from collections.abc import Callable

from habitat_bridge.render.mesh_parts import Parts, Rgb, shade

METAL: Rgb = (150, 152, 156)
DARK: Rgb = (34, 34, 38)
WOOD: Rgb = (120, 86, 56)
SCREEN: Rgb = (20, 22, 30)

# Arguments: parts to add to, half depth, half width, height [m], colour, whether it stands open.
Builder = Callable[[Parts, float, float, float, Rgb, bool], None]


def _tv(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y * 0.35, y * 0.35), (0.0, 0.015), DARK)
    p.box((-0.02, 0.02), (-0.05, 0.05), (0.015, 0.1), DARK)
    p.box((-0.02, 0.015), (-y, y), (0.08, h), c)
    p.box((0.015, 0.02), (-y + 0.02, y - 0.02), (0.1, h - 0.02), SCREEN)


def _laptop(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x + 0.012, x), (-y, y), (0.0, 0.018), c)
    p.box((-x, -x + 0.012), (-y, y), (0.0, h), c)
    p.box((-x + 0.012, -x + 0.014), (-y + 0.015, y - 0.015), (0.03, h - 0.012), SCREEN)


def _books(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    count = max(1, round(h / 0.035))
    for k in range(count):
        z0, z1 = h * k / count, h * (k + 1) / count
        inset = (k * 37 % 5) * 0.006
        tint = shade(c, 0.8 + 0.1 * (k * 53 % 5))
        limit = (-x, x - min(inset, x * 0.4))
        p.box(limit, (-y, y - min(inset, y * 0.4)), (z0, z1 - 0.001), tint)


def _stick(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x * 0.35, x * 0.35), (-y, y * 0.35), (0.0, h * 0.75), c)
    p.box((-x, x), (y * 0.35, y), (0.0, h), shade(c, 0.75))


def _ring(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.ring((0.0, h), (x, y), (x * 0.75, y * 0.75), c)


def _soft(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x, x), (-y, y), (0.0, h * 0.45), c)
    p.box((-x * 0.85, x * 0.9), (-y * 0.9, y * 0.8), (h * 0.45, h * 0.8), shade(c, 0.93))
    p.box((-x * 0.5, x * 0.7), (-y * 0.6, y * 0.6), (h * 0.8, h), shade(c, 1.05))


def _cushion(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x * 0.9, x * 0.9), (-y * 0.9, y * 0.9), (0.0, h), c)
    p.box((-x, x), (-y, y), (h * 0.25, h * 0.75), shade(c, 0.94))


def _cylinder(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.cylinder((0.0, 0.0), (0.0, h), (x, y), c)


def _ball(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.ball((0.0, 0.0), (0.0, h), (x, y), c)


def _bottle(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    profile = [(0.9, 0.0), (1.0, h * 0.08), (1.0, h * 0.6), (0.4, h * 0.78), (0.35, h)]
    p.round((0.0, 0.0), profile, (x, y), c)


def _vase(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    profile = [(0.55, 0.0), (1.0, h * 0.4), (0.5, h * 0.8), (0.7, h)]
    p.round((0.0, 0.0), profile, (x, y), c)


def _mug(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    body = y * 0.75
    p.cylinder((0.0, -y + body), (0.0, h), (min(x, body), body), c)
    p.box((-x * 0.2, x * 0.2), (y * 0.45, y), (h * 0.25, h * 0.75), shade(c, 0.85))


def _plate(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.round((0.0, 0.0), [(0.6, 0.0), (1.0, h * 0.9), (0.95, h)], (x, y), c, 12)


def _pot(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    body = min(x, y) * 0.98
    p.cylinder((0.0, -y + body), (0.0, h), (min(x, body), body), c, sides=12)
    p.box((-x * 0.15, x * 0.15), (-y + body * 1.9, y), (h * 0.6, h * 0.8), DARK)


def _hat(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.cylinder((0.0, 0.0), (0.0, h * 0.15), (x, y), c)
    p.ball((0.0, 0.0), (0.0, h), (x * 0.65, y * 0.65), shade(c, 0.92))


def _teddy(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.ball((0.0, 0.0), (0.0, h * 0.62), (x * 0.9, y * 0.8), c, 8)
    p.ball((0.0, 0.0), (h * 0.52, h), (x * 0.7, y * 0.6), shade(c, 0.92), 8)
    p.box((x * 0.2, x), (-y, y), (0.0, h * 0.2), shade(c, 0.85))


def _plant(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    pot = h * 0.3
    p.cylinder((0.0, 0.0), (0.0, pot), (x * 0.55, y * 0.55), (150, 92, 66), top=1.25, sides=8)
    p.box((-0.01, 0.01), (-0.01, 0.01), (pot, h * 0.6), WOOD)
    p.ball((0.0, 0.0), (h * 0.38, h), (x, y), c, 9)


def _lamp(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.cylinder((0.0, 0.0), (0.0, min(0.03, h * 0.1)), (x * 0.6, y * 0.6), METAL, sides=8)
    p.box((-0.01, 0.01), (-0.01, 0.01), (0.0, h * 0.7), METAL)
    shade_low = h - min(0.3, h * 0.5)
    p.cylinder((0.0, 0.0), (shade_low, h), (x, y), c, top=0.7, sides=10)


def _fan(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.cylinder((0.0, 0.0), (0.0, 0.03), (x * 0.9, y * 0.9), c)
    p.box((-0.015, 0.015), (-0.015, 0.015), (0.03, h - y), c)
    for share in (0.5, 0.8, 1.0):
        tall = y * (1.35 - share * 0.85)
        p.box((-0.05, 0.05), (-y * share, y * share), (h - y - tall, h - y + tall), c)


def _faucet(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    t = min(0.012, x * 0.5, y * 0.5)
    p.box((-x, -x + 2 * t), (-t, t), (0.0, h), c)
    p.box((-x + 2 * t, x), (-t, t), (h - 2 * t, h), c)
    p.box((-x, x * 0.4), (-y, y), (0.0, 0.015), shade(c, 0.9))


def _open_box(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    t = 0.015
    p.box((-x, x), (-y, y), (0.0, 0.02), shade(c, 0.8))
    for s in (-y, y - t):
        p.box((-x, x), (s, s + t), (0.02, h), c)
    for s in (-x, x - t):
        p.box((s, s + t), (-y + t, y - t), (0.02, h), shade(c, 0.93))


def _dumbbell(p: Parts, x: float, y: float, h: float, c: Rgb, is_open: bool) -> None:
    p.box((-x * 0.25, x * 0.25), (-y * 0.6, y * 0.6), (h * 0.38, h * 0.62), METAL)
    for s in (-y, y * 0.55):
        p.box((-x, x), (s, s + y * 0.45), (h * 0.2, h * 0.8), c)
        p.box((-x * 0.6, x * 0.6), (s, s + y * 0.45), (0.0, h), c)


ITEM_BUILDERS: dict[str, Builder] = {
    "tv": _tv,
    "laptop": _laptop,
    "books": _books,
    "stick": _stick,
    "ring": _ring,
    "soft": _soft,
    "cushion": _cushion,
    "cylinder": _cylinder,
    "ball": _ball,
    "bottle": _bottle,
    "vase": _vase,
    "mug": _mug,
    "plate": _plate,
    "pot": _pot,
    "hat": _hat,
    "teddy": _teddy,
    "plant": _plant,
    "lamp": _lamp,
    "fan": _fan,
    "faucet": _faucet,
    "open box": _open_box,
    "dumbbell": _dumbbell,
}
