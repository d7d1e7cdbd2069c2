"""What belongs together: stamps, still cameras, and the thread that works frames off."""

import math
import threading

import numpy as np
import pytest

from coterie_world.perception.frame_join import MotionFilter
from coterie_world.perception.pairing import FramePairs
from semantic_mapper.worker import Worker


def test_the_same_stamp_whoever_comes_first():
    pairs = FramePairs(0.0)
    assert pairs.add_depth(1.0, "d1") == []
    assert pairs.add_detections(1.0, "f1") == [(1.0, "d1", "f1")]
    assert pairs.add_detections(2.0, "f2") == []
    assert pairs.add_depth(2.0, "d2") == [(2.0, "d2", "f2")]
    assert pairs.counts.pairs == 2


def test_a_repeat_of_a_stamp_counts_once():
    pairs = FramePairs(0.0)
    pairs.add_depth(1.0, "d")
    pairs.add_detections(1.0, "f")
    assert pairs.add_depth(1.0, "d") == [] == pairs.add_detections(1.0, "f")
    assert pairs.counts.repeats == 2


def test_the_nearest_within_the_tolerance_once_no_nearer_one_can_come():
    pairs = FramePairs(0.05)
    pairs.add_depth(1.00, "early")
    assert pairs.add_detections(1.04, "f") == []  # one that is nearer may come
    assert pairs.add_depth(1.05, "near") == [(1.05, "near", "f")]
    assert pairs.add_detections(1.30, "g") == []
    assert pairs.add_depth(1.40, "too far") == []


def test_what_finds_no_partner_is_thrown_away_and_counted():
    pairs = FramePairs(0.02, limit=3)
    for k in range(10):
        pairs.add_depth(float(k), k)
    assert pairs.counts.depth_alone == 7
    assert pairs.add_detections(8.0, "f") == [(8.0, 8, "f")]
    assert pairs.counts.depth_alone == 8  # 7.0 has missed its chance
    for k in range(20, 30):
        pairs.add_detections(float(k), "g")
    assert pairs.counts.detections_alone == 7


def test_colour_comes_along_if_it_is_near():
    pairs = FramePairs(0.02, limit=2)
    for time in (1.0, 2.0, 3.0):
        pairs.add_color(time, f"c{time:.0f}")
    assert pairs.color_at(2.01) == "c2"
    assert pairs.color_at(2.5) is None
    assert pairs.color_at(1.0) is None  # only so many are kept


def test_colour_is_expected_until_a_later_one_came_or_the_camera_sends_none():
    pairs = FramePairs(0.02, limit=2)
    assert not pairs.expects_color(1.0)  # none came yet
    pairs.add_color(1.0, "c1")
    assert not pairs.expects_color(1.01)  # it is there
    assert pairs.expects_color(2.0)
    assert not pairs.expects_color(11.1)  # silent for 10.1 s
    pairs.add_color(2.5, "c2")
    assert not pairs.expects_color(2.0)
    pairs.restart()
    assert not pairs.expects_color(2.6)


def test_a_clock_that_begins_anew():
    pairs = FramePairs(0.0)
    pairs.add_depth(100.0, "old")
    pairs.add_detections(100.0, "old")
    pairs.add_depth(0.5, "new")
    assert pairs.add_detections(0.5, "f") == [(0.5, "new", "f")]


def test_frames_of_a_camera_that_stands_still_are_few():
    still = MotionFilter(1.0)
    here = np.eye(4)
    assert [still.passes(here, t) for t in (0.0, 0.2, 0.9, 1.0, 1.1)] == [
        True, False, False, True, False,
    ]  # fmt: skip
    there = here.copy()
    there[0, 3] = 0.1
    assert still.passes(there, 1.2)
    turned = there.copy()
    turned[:2, :2] = [[math.cos(0.1), -math.sin(0.1)], [math.sin(0.1), math.cos(0.1)]]
    assert still.passes(turned, 1.3)
    assert still.passes(turned, 0.0)  # the clock went back


def working(work, **options):
    failures = []
    worker = Worker(work, lambda: None, lambda what, error: failures.append(error), **options)
    return worker, failures


def test_the_oldest_jobs_go_when_they_come_too_fast():
    begun, go, done = threading.Event(), threading.Event(), []

    def work(job):
        begun.set()
        assert go.wait(10.0)
        done.append(job)

    worker, _ = working(work, limit=3)
    worker.start()
    worker.offer(0)
    assert begun.wait(10.0)
    for k in range(1, 10):
        worker.offer(k)
    assert (worker.dropped, worker.waiting) == (6, 3)
    go.set()
    while worker.waiting:
        worker.call(lambda: None).result(10.0)
    assert worker.stop()
    assert done == [0, 7, 8, 9]


def test_a_job_that_fails_is_reported_and_the_thread_goes_on():
    worker, failures = working(lambda job: 1 / job)
    worker.start()
    for job in (0, 1):
        worker.offer(job)
    while worker.waiting:
        worker.call(lambda: None).result(10.0)
    worker.stop()
    assert [type(f) for f in failures] == [ZeroDivisionError]
    assert worker.done == 2


def test_calls_give_results_and_errors_and_are_refused_at_the_end():
    worker, _ = working(lambda job: None)
    worker.start()
    assert worker.call(lambda: 7).result(10.0) == 7
    with pytest.raises(ZeroDivisionError):
        worker.call(lambda: 1 / 0).result(10.0)
    assert worker.stop()
    with pytest.raises(RuntimeError, match="has ended"):
        worker.call(lambda: 7).result(10.0)
