"""Speed and memory of the semantic mapper on one core: frames/s beside a plain baseline.

Run: python bench_mapper.py [--frames 120] [--width 640] [--memory 10000] [--json FILE]
A camera drives through a generated house; of every frame the ten largest detections count. Parts
are timed in processor time on one core, so that other programs do not spoil the figures:
`map`: MapBuilder.add (lift, match, merge, look for what is gone, grids), `tidy` included;
`publish`: the map as a scene graph, as a node makes it once a second;
`baseline`: what is commonly done first: all points of a mask, DBSCAN of open3d on them, box.
The rate that the issue asks for is 10 frames/s at 640 x 480 with ten detections.
`--memory N` maps N small frames with ever new things and reports the memory in between.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

# One core for the libraries' threads too: before they are loaded.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / "ros2_ws/src" / package)
    for package in ("coterie_core", "habitat_bridge", "semantic_mapper")
]

import numpy as np  # noqa: E402

from coterie_core.detections import ImageDetection, RgbdFrame  # noqa: E402
from coterie_core.embodiment import Camera, Embodiment  # noqa: E402
from coterie_core.open3d_library import o3d  # noqa: E402
from coterie_core.skills import NavigateTo  # noqa: E402
from habitat_bridge.embedded.world import EmbeddedWorld  # noqa: E402
from habitat_bridge.house.generator import generate_house  # noqa: E402
from habitat_bridge.image_detector import detector_of  # noqa: E402
from habitat_bridge.simulator import FrameRequest, Start, run_skill  # noqa: E402
from semantic_mapper.builder import BuilderOptions, MapBuilder  # noqa: E402

DETECTIONS = 10
Seen = tuple[RgbdFrame, list[ImageDetection]]


def drive(seed: int, width: int, count: int) -> tuple[list[Seen], Any]:
    """Frames with ten detections each, and the house they show."""
    world = EmbeddedWorld(generate_house(seed, floors=1), seed=seed, look_on_arrival=False)
    camera = Camera(
        name="head",
        width=width,
        height=width * 3 // 4,
        hfov=math.radians(80),
        mount_height=1.2,
        pitch=0.35,
    )
    world.add_robot("r", Embodiment(name="r", radius=0.2, height=1.3, cameras=(camera,)), Start())
    detector, truth = detector_of(world), world.truth()
    assert detector is not None
    frames: list[Seen] = []
    while len(frames) < count:
        before = len(frames)
        for place in truth.places:
            for yaw in np.arange(-3.0, 3.0, 0.6).tolist():
                if not run_skill(world, "r", NavigateTo(place=place, yaw=yaw)).ok:
                    break
                (frame,) = world.render([FrameRequest("r", "head")])
                found = detector.detect(frame, round(1e3 * frame.time))
                found.sort(key=lambda one: -int(one.mask.sum()) if one.mask is not None else 0)
                if len(found) < DETECTIONS:
                    continue
                assert frame.depth is not None and frame.color is not None
                optics = (camera.focal, camera.focal, width / 2, camera.height / 2)
                rgbd = RgbdFrame(
                    frame.depth.copy(),
                    optics,
                    frame.camera_to_map,
                    frame.color.copy(),
                    frame.time,
                    "r",
                )
                frames.append((rgbd, found[:DETECTIONS]))
                if len(frames) == count:
                    return frames, truth
        if len(frames) == before:
            raise SystemExit(f"house {seed}: no frame with {DETECTIONS} detections; another --seed")
    return frames, truth


def baseline(frame: RgbdFrame, found: list[ImageDetection]) -> int:
    """All points of each mask, clustered as they are; returns how many boxes came out."""
    fx, fy, cx, cy = frame.intrinsics
    rows, cols = frame.depth.shape
    boxes = 0
    for one in found:
        u0, v0, width, height = one.box
        left, top = max(u0, 0), max(v0, 0)
        right, bottom = min(u0 + width, cols), min(v0 + height, rows)
        window = frame.depth[top:bottom, left:right]
        assert one.mask is not None
        mask = one.mask[top - v0 : bottom - v0, left - u0 : right - u0]
        v, u = np.nonzero(mask & (window > 0.1) & (window < 4.0))
        if len(v) < 10:
            continue
        z = window[v, u].astype(np.float64)
        points = np.stack([(u + left + 0.5 - cx) / fx * z, (v + top + 0.5 - cy) / fy * z, z], 1)
        cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
        labels = np.asarray(cloud.cluster_dbscan(0.06, 10))
        if labels.max(initial=-1) >= 0:
            kept = points[labels == np.bincount(labels[labels >= 0]).argmax()]
            boxes += bool((kept.max(axis=0) - kept.min(axis=0)).any())
    return boxes


def speed(frames: list[Seen], truth: Any, plain: int) -> dict[str, float]:
    builder = MapBuilder(BuilderOptions(keep_prior=False))
    rooms = replace(truth, objects={}, agents={})
    builder.set_prior(rooms)
    builder.add(*frames[0])  # libraries load what they need
    begun = time.process_time()
    for frame, found in frames:
        builder.add(frame, found)
    mapping = (time.process_time() - begun) / len(frames)
    begun = time.process_time()
    scene = builder.scene()
    publish = time.process_time() - begun
    begun = time.process_time()
    step = max(len(frames) // plain, 1)
    chosen = frames[::step][:plain]
    for frame, found in chosen:
        baseline(frame, found)
    plainly = (time.process_time() - begun) / len(chosen)
    return {
        "map [frames/s]": 1.0 / mapping,
        "baseline [frames/s]": 1.0 / plainly,
        "ratio": plainly / mapping,
        "publish [ms]": 1e3 * publish,
        "things": len(scene.objects),
    }


def memory(frames: list[Seen], count: int) -> list[dict[str, float]]:
    """Map `count` frames; the camera stands somewhere else each time, so that things are new."""
    builder = MapBuilder(BuilderOptions())
    rng = np.random.default_rng(0)
    rows = []
    for k in range(count):
        frame, found = frames[k % len(frames)]
        pose = frame.camera_to_map.copy()
        pose[:2, 3] += rng.uniform(-30.0, 30.0, 2)
        builder.add(replace(frame, camera_to_map=pose, time=float(k)), found)
        if (k + 1) % max(count // 10, 1) == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
            rows.append({"frames": k + 1, "things": len(builder.mapper), "peak RSS [MB]": peak})
            print("  " + ", ".join(f"{key} {value:.0f}" for key, value in rows[-1].items()))
            sys.stdout.flush()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=3, help="of the house")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--plain", type=int, default=8, help="frames for the baseline")
    parser.add_argument("--memory", type=int, default=0, help="frames for the memory; 0: none")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    out: dict[str, Any] = {}
    frames, truth = drive(arguments.seed, arguments.width, arguments.frames)
    out["speed"] = speed(frames, truth, arguments.plain)
    size = f"{arguments.width} x {arguments.width * 3 // 4}"
    print(f"{len(frames)} frames, {size}, {DETECTIONS} detections each, one core")
    for key, value in out["speed"].items():
        print(f"  {key:22} {value:8.1f}")
    if arguments.memory:
        small, _ = drive(arguments.seed, 160, min(arguments.frames, 60))
        out["memory"] = memory(small, arguments.memory)
    if arguments.json:
        arguments.json.write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
