"""How detections are lifted from images into space; imports no library of points."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiftOptions:
    """How detections are lifted.

    Attributes:
        near: Least depth that counts [m].
        far: Greatest depth that counts [m].
        voxel: Edge of the grid that thins points out [m].
        eps: DBSCAN: neighbours are nearer than this [m]; grows with the distance of the thing.
        min_points: DBSCAN: neighbours that make a core point.
        least: Fewest thinned points that make a thing.
        stride: Most pixels of a detection that are looked at; larger ones are sampled.
        step: The rim of a mask counts where its depth is within this of the pixels next to it that
            are no rim, as a share of the depth: detectors take in what lies behind. Masks that
            are all rim are slivers of things behind something nearer, and are dropped.
    """

    near: float = 0.1
    far: float = 4.0
    voxel: float = 0.025
    eps: float = 0.06
    min_points: int = 4
    least: int = 4
    stride: int = 6000
    step: float = 0.012
