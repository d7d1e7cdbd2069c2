"""A semantic map from a detector of your own; the recording is made up, a folder or bag does too.

Of a recording in a file: ./coterie map my_recording.mcap --detector my_detector:RedThings
On a robot: `detections: {topic: detections, detector: my_detector:RedThings}` of its camera
"""

import numpy as np

from coterie import SemanticMap
from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_recordings import RecordedFrame
from semantic_mapper.from_recording import MappingOptions, map_recording


class RedThings(Detector):
    def __call__(self, frame):  # your network goes here
        rows, columns = np.nonzero(frame.color[..., 0] > 200)
        if not len(rows):
            return []
        x, y = int(columns.min()), int(rows.min())
        box = (x, y, int(columns.max()) - x + 1, int(rows.max()) - y + 1)
        return [ImageDetection(box, {"cup": 0.8, "vase": 0.1})]


class Corridor(list[RecordedFrame]):
    name, scene, problems = "corridor", None, ()


if __name__ == "__main__":
    color, depth = np.zeros((120, 160, 3), np.uint8), np.full((120, 160), 3.0, np.float32)
    color[50:70, 70:90], depth[50:70, 70:90] = (255, 0, 0), 2.0  # something red, 2 m ahead
    ahead = np.array([[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 1.0], [0, 0, 0, 1]])
    frames = [RgbdFrame(depth, (150, 150, 80, 60), ahead, color, time=t / 10) for t in range(10)]
    recording = Corridor(RecordedFrame(f"{n}", frame) for n, frame in enumerate(frames))
    house = SemanticMap.of(map_recording(recording, MappingOptions(detector=RedThings())))
    for thing in house.objects:
        print(f"{thing.label} at {thing.center} m, {thing.labels}")
