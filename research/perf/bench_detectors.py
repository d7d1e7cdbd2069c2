"""Speed and memory of detectors on one core: images a second, and the process's memory.

Run: python bench_detectors.py PICTURES [--detector box] [--network FILE] [--labels FILE]
Parts are timed in processor time of one thread, so that other programs do not spoil the figures:
`load`: from the name to a detector that is ready; `image`: `detect` of one picture as it is read.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from coterie_core.detector_options import DetectorOptions  # noqa: E402
from coterie_perception.detector import make_detector  # noqa: E402
from coterie_perception.pictures import pictures  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="+", help="what ./coterie detect takes")
    parser.add_argument("--detector", default="box")
    parser.add_argument("--network", default="")
    parser.add_argument("--labels", default="")
    parser.add_argument("--words", default="")
    parser.add_argument("--most", type=int, default=20)
    given = parser.parse_args()
    images = [one.pixels for one in pictures(given.pictures, most=given.most)]
    before, begun = _memory(), time.process_time()
    words = tuple(word for word in given.words.split(",") if word)
    options = DetectorOptions(file=given.network, labels=given.labels, words=words, min_score=0.1)
    detector = make_detector(given.detector, options)
    detector.detect(images[0])
    loaded, spent = time.process_time() - begun, []
    for image in images:
        begun = time.process_time()
        detector.detect(image)
        spent.append(time.process_time() - begun)
    rows, cols = images[0].shape[:2]
    print(
        f"{detector.name}: {len(images)} images of {cols} x {rows} px, one core: "
        f"{1.0 / np.median(spent):.1f} images/s ({1e3 * np.median(spent):.0f} ms of processor time "
        f"each, at most {1e3 * max(spent):.0f}), load {loaded:.1f} s, {_memory():.0f} MB in all, "
        f"{_memory() - before:.0f} MB of it the detector's"
    )


def _memory() -> float:
    """Return the largest memory so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0


if __name__ == "__main__":
    main()
