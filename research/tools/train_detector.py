"""Trains a network for the pictures that the lab renders: an .onnx file, and its labels beside it.

    python -m research.tools.train_detector out/lab.onnx --seed 0

It renders pictures of generated houses (seeds from 10 000 on, which no bench uses), keeps them in
--pictures, and trains a small network of the CenterNet family with them, which the detector `onnx`
runs; needs torch (`pip install torch`). Test it on other houses:

    ./coterie bench map --detector onnx --network out/lab.onnx --houses 3 --seed 400
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from research.tools.rendered_images import SIZE, pictures_of

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    sys.exit("torch is not installed, and trains the network: pip install torch")

FIRST_HOUSE = 10_000
"""Seed of the first house that is trained with."""
PER_HOUSE = 30
"""Pictures of each house."""
INPUT = (256, 256)
"""Columns and rows of what the network takes, as robots' cameras make it; others get margins."""
STRIDE = 8
"""Pixels of that for each cell of the network's output."""
GRAY = 114
_SPREAD = 0.54 / 6.0
"""Standard deviation of the bell around a thing's middle, as a share of its side."""
_UNIT = 16.0
"""A distance of the network's last layer [px]."""
_BOX_WEIGHT = 3.0


class Network(nn.Module):
    """Middles, edges and kinds of things, for each cell (rows, cols) of an image.

    A cell that is a maximum of its neighborhood is the middle of a thing, whatever it is ("Objects
    as Points", Zhou et al. 2019); distances to its edges [px] and its kind are learned in all cells
    near a middle (TTFNet, Liu et al. 2020). The last kind is what has no label.
    """

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.eighth = nn.Sequential(
            _layer(3, 16, 2), _layer(16, 32, 2), _layer(32, 48, 2), _Residual(48)
        )
        self.sixteenth = nn.Sequential(_layer(48, 96, 2), _Residual(96))
        self.last = nn.Sequential(_layer(96, 128, 2), _Residual(128))
        self.up = nn.ModuleList([_layer(128, 96, 1, 1), _layer(96, 48, 1, 1)])
        self.mix = nn.ModuleList([_layer(96, 96, 1, 1), _layer(48, 64)])
        self.out = nn.Conv2d(64, 5 + kinds + 1, 1)
        nn.init.zeros_(self.out.bias)
        nn.init.constant_(self.out.bias[:1], -4.6)  # nearly all cells are no middle

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return middles (N, 1, ...) before the sigmoid, edges (N, 4, ...), kinds (N, K + 1, ...).

        Edges are distances to left, top, right, bottom; kinds are before the softmax.
        """
        eighth = self.eighth(pixels - 0.5)
        sixteenth = self.sixteenth(eighth)
        x = self.last(sixteenth)
        for up, mix, beside in zip(self.up, self.mix, (sixteenth, eighth), strict=True):
            x = mix(functional.interpolate(up(x), scale_factor=2.0, mode="nearest") + beside)
        out = self.out(x)
        return out[:, :1], functional.softplus(out[:, 1:5]) * _UNIT, out[:, 5:]


def _layer(before: int, after: int, stride: int = 1, size: int = 3) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


class _Residual(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.inner = _layer(wide, wide)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = x + self.inner(x)
        return out


class Exported(nn.Module):
    """The network as YOLOv8 answers: (1, 4 + K, cells), middle and size [px], then scores."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        cols, rows = INPUT[0] // STRIDE, INPUT[1] // STRIDE
        v, u = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
        self.register_buffer("middles", (torch.stack([u, v])[None] + 0.5) * STRIDE)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return candidates of images (1, 3, rows, cols), 0..1."""
        raw, edges, kinds = self.network(images)
        middle = raw.sigmoid()
        middle = middle * (functional.max_pool2d(middle, 3, 1, 1) == middle)
        score = middle * kinds.softmax(dim=1)[:, :-1]
        low, high = self.middles - edges[:, :2], self.middles + edges[:, 2:]
        return torch.cat([(low + high) / 2.0, high - low, score], dim=1).flatten(2)


Things = tuple[list[str], npt.NDArray[np.float32], npt.NDArray[np.bool_]]
"""Labels, boxes and which count of a `Picture`."""


class Pictures:
    """Rendered pictures, and what is in them.

    Args:
        folder: Where they are kept; they are rendered where they are not.
        houses: Of how many houses.
    """

    def __init__(self, folder: Path, houses: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.colors: list[npt.NDArray[np.uint8]] = []
        self.things: list[Things] = []
        for seed in range(FIRST_HOUSE, FIRST_HOUSE + houses):
            file = folder / f"{seed}.npz"
            if not file.exists():
                _render(seed, file)
            with np.load(file) as kept:
                owner, names = kept["owner"], kept["labels"]
                for k, color in enumerate(kept["colors"]):
                    mine = owner == k
                    self.colors.append(color)
                    self.things.append(
                        (names[mine].tolist(), kept["boxes"][mine], kept["counts"][mine])
                    )

    def commonest(self, number: int) -> list[str]:
        """Return the labels of which most things count."""
        counted = Counter(
            label
            for labels, _, counts in self.things
            for label, one_counts in zip(labels, counts, strict=True)
            if one_counts
        )
        return sorted(label for label, _ in counted.most_common(number))


def _render(seed: int, file: Path) -> None:
    found = list(pictures_of(seed, PER_HOUSE))
    aside = file.with_suffix(".part.npz")
    np.savez_compressed(
        aside,
        colors=np.stack([one.color for one in found]),
        owner=np.concatenate([np.full(len(one.labels), k) for k, one in enumerate(found)]),
        labels=np.array([label for one in found for label in one.labels]),
        boxes=np.concatenate([one.boxes for one in found]),
        counts=np.concatenate([one.counts for one in found]),
    )
    aside.replace(file)


Batch = tuple[torch.Tensor, ...]


def batches(
    pictures: Pictures, labels: list[str], size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield pixels (N, 3, rows, cols), heat, weights of heat and things, edges, kinds, forever."""
    kinds = {label: k for k, label in enumerate(labels)}
    while True:
        order = rng.permutation(len(pictures.colors))
        for first in range(0, len(order) - size + 1, size):
            made = [
                _sample(pictures.colors[k], pictures.things[k], kinds, rng)
                for k in order[first : first + size].tolist()
            ]
            yield tuple(torch.from_numpy(np.stack(one)) for one in zip(*made, strict=True))


def _sample(
    color: npt.NDArray[np.uint8],
    things: Things,
    kinds: dict[str, int],
    rng: np.random.Generator,
) -> tuple[npt.NDArray[Any], ...]:
    """A picture mirrored, scaled, shifted and recolored, with what the network shall answer."""
    names, boxes, counts = things
    canvas, boxes = np.full((INPUT[1], INPUT[0], 3), GRAY, np.float32), boxes.copy()
    if rng.random() < 0.5:
        color = color[:, ::-1]
        boxes[:, [0, 2]] = SIZE[0] - boxes[:, [2, 0]]
    scale = float(np.exp(rng.uniform(np.log(0.6), np.log(1.1))))
    wide, high = round(SIZE[0] * scale), round(SIZE[1] * scale)
    small = np.asarray(Image.fromarray(color).resize((wide, high), Image.Resampling.BILINEAR))
    left, top = (int(rng.integers(min(n - m, 0), max(n - m, 0) + 1))
                 for n, m in zip(INPUT, (wide, high), strict=True))  # fmt: skip
    x, y = max(left, 0), max(top, 0)
    part = small[y - top : y - top + INPUT[1] - y, x - left : x - left + INPUT[0] - x]
    gain = (rng.uniform(0.85, 1.15) * rng.uniform(0.95, 1.05, 3)).astype(np.float32)
    canvas[y : y + part.shape[0], x : x + part.shape[1]] = part * gain
    boxes = boxes * scale + np.array([left, top, left, top], np.float32)
    whole = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    boxes = np.clip(boxes, 0, [*INPUT, *INPUT]).astype(np.float32)
    shown = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) / np.maximum(whole, 1e-6)
    pixels = np.clip(canvas, 0, 255).transpose(2, 0, 1) / np.float32(255.0)
    return pixels, *_answer(names, boxes, counts & (shown > 0.25), shown > 0.0, kinds)


def _answer(
    names: list[str],
    boxes: npt.NDArray[np.float32],
    counts: npt.NDArray[np.bool_],
    shown: npt.NDArray[np.bool_],
    kinds: dict[str, int],
) -> tuple[npt.NDArray[Any], ...]:
    cols, rows = INPUT[0] // STRIDE, INPUT[1] // STRIDE
    heat, asked, weight = (np.full((rows, cols), value, np.float32) for value in (0, 1, 0))
    target, kind = np.zeros((4, rows, cols), np.float32), np.zeros((rows, cols), np.int64)
    v, u = np.mgrid[0:rows, 0:cols].astype(np.float32)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    for k in np.argsort(-area):  # what is small lies before what is large
        box = boxes[k] / STRIDE
        if not shown[k]:
            continue
        if not counts[k]:  # it may be told or not
            low, high = np.floor(box[:2]).astype(int), np.ceil(box[2:]).astype(int)
            asked[low[1] : high[1], low[0] : high[0]] = 0.0
            continue
        middle, side = (box[:2] + box[2:]) / 2.0, box[2:] - box[:2]
        cell = np.minimum(middle.astype(int), [cols - 1, rows - 1])
        sigma = np.maximum(side * _SPREAD, 0.3)
        bell = np.exp(
            -((u - cell[0]) ** 2) / (2 * sigma[0] ** 2) - (v - cell[1]) ** 2 / (2 * sigma[1] ** 2)
        )
        bell[bell < 1e-2] = 0.0
        np.maximum(heat, bell, out=heat)
        mine = bell > 0.0
        weight[mine] = (bell / bell.sum())[mine]
        target[:, mine] = boxes[k][:, None]
        kind[mine] = kinds.get(names[k], len(kinds))
    asked[heat > 0.0] = 1.0
    return heat, asked, weight, target, kind


def loss_of(network: Network, batch: Batch) -> tuple[torch.Tensor, ...]:
    """Return the losses of middles (focal, of CornerNet), edges (GIoU) and kinds (entropy)."""
    pixels, heat, asked, weight, target, kind = batch
    raw, edges, kinds = network(pixels.contiguous(memory_format=torch.channels_last))
    raw = raw[:, 0]
    score = raw.sigmoid()
    middle = heat == 1.0
    hit = functional.logsigmoid(raw) * (1 - score) ** 2 * middle
    miss = functional.logsigmoid(-raw) * score**2 * (1 - heat) ** 4 * ~middle
    things = middle.sum().clamp(min=1)
    v, u = torch.meshgrid(*(torch.arange(n) for n in raw.shape[1:]), indexing="ij")
    middles = (torch.stack([u, v])[None] + 0.5) * STRIDE
    low, high = middles - edges[:, :2], middles + edges[:, 2:]
    common = (torch.minimum(high, target[:, 2:]) - torch.maximum(low, target[:, :2])).clamp(min=0)
    around = torch.maximum(high, target[:, 2:]) - torch.minimum(low, target[:, :2])
    both, hull = common.prod(dim=1), around.prod(dim=1).clamp(min=1e-6)
    union = (high - low).prod(dim=1) + (target[:, 2:] - target[:, :2]).prod(dim=1) - both
    giou = both / union.clamp(min=1e-6) - (hull - union) / hull
    boxes = ((1.0 - giou) * weight).sum() / things
    names = (functional.cross_entropy(kinds, kind, reduction="none") * weight).sum() / things
    return -((hit + miss) * asked).sum() / things, boxes, names


def train(
    pictures: Pictures,
    labels: list[str],
    steps: int,
    size: int,
    seed: int,
    keep: Callable[[Network], None],
) -> None:
    """Train a network in so many steps of so many pictures; it is kept now and then."""
    torch.manual_seed(seed)
    network = Network(len(labels)).to(memory_format=torch.channels_last)
    best = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.02)
    plan = torch.optim.lr_scheduler.OneCycleLR(best, 3e-3, total_steps=steps, pct_start=0.1)
    given = batches(pictures, labels, size, np.random.default_rng(seed))
    told: list[list[float]] = []
    begun = time.monotonic()
    for step in range(1, steps + 1):
        heat, boxes, kinds = loss_of(network, next(given))
        best.zero_grad()
        (heat + _BOX_WEIGHT * boxes + kinds).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        best.step()
        plan.step()
        told.append([heat.item(), boxes.item(), kinds.item()])
        if step % 50 == 0 or step == steps:
            means = ", ".join(f"{mean:.3f}" for mean in np.mean(told[-50:], axis=0))
            spent = time.monotonic() - begun
            print(f"step {step}: middles, boxes, kinds {means}; {spent:.0f} s", flush=True)
        if step % 200 == 0 or step == steps:
            keep(network.eval())
            network.train()


def write(network: Network, labels: list[str], file: Path, about: str) -> None:
    """Write the network with its labels, as the detector `onnx` reads it."""
    import onnx

    images = torch.zeros(1, 3, INPUT[1], INPUT[0])
    torch.onnx.export(
        Exported(network).eval(), (images,), str(file), dynamo=False, opset_version=17,
        input_names=["images"], output_names=["found"],
    )  # fmt: skip
    model = onnx.load(file)
    model.doc_string = about
    onnx.helper.set_model_props(
        model, {"names": str(dict(enumerate(labels))), "license": "Apache-2.0"}
    )
    onnx.save(model, file)
    file.with_suffix(".txt").write_text("".join(f"{label}\n" for label in labels))


def main() -> None:
    """Render, train, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="the .onnx file to write")
    parser.add_argument("--pictures", type=Path, default=Path("out/rendered"))
    parser.add_argument("--houses", type=int, default=300)
    parser.add_argument("--labels", type=int, default=30, help="so many of the commonest")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    pictures = Pictures(given.pictures, given.houses)
    labels = pictures.commonest(given.labels)
    print(f"{len(pictures.colors)} pictures; labels: {', '.join(labels)}", flush=True)
    about = (
        f"Finds {len(labels)} kinds of things in the flat pictures that Coterie renders of its "
        f"generated houses; of no use for photographs. Trained by research.tools.train_detector, "
        f"--houses {given.houses} --steps {given.steps} --batch {given.batch} --seed {given.seed}."
    )
    train(
        pictures, labels, given.steps, given.batch, given.seed,
        lambda network: write(network, labels, given.file, about),
    )  # fmt: skip


if __name__ == "__main__":
    main()
