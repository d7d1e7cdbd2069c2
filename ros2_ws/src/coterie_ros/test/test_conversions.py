"""Conversions: what goes out comes back, and what is wrong is named."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from geometry_msgs.msg import Point
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header

from coterie_core.embedding import Embedding
from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView, RoomView
from coterie_core.questions import Answer, Evidence, FinalAnswer, Question, Vote
from coterie_core.skills import (
    Ask,
    Close,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    SkillResult,
    Target,
    Wait,
)
from coterie_core.skills import Place as PlaceSkill
from coterie_fixtures.read_messages import camera_from_msg, cloud_from_msg, transform_from_msg
from coterie_msgs.msg import DiscussionTurn, TeamMessage
from coterie_msgs.msg import Utterance as UtteranceMsg
from coterie_requests.debate import Utterance
from coterie_ros import conversions as cv
from coterie_ros.conversions import ConversionError, debate
from coterie_ros.conversions.basics import stamp_from_msg
from coterie_world.right_of_way import YieldRequest
from coterie_world.scene import (
    AgentState,
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Receptacle,
    Room,
    SceneGraph,
    SceneObject,
    Sighting,
)

pytestmark = pytest.mark.quick

# Fields of messages that are float32 hold only such numbers.
numbers = st.floats(-1000, 1000, width=32)
lengths = st.floats(0, 1000, width=32)
shares = st.floats(0, 1, width=32)
confidences = st.floats(0.5, 1, width=32)
counts = st.integers(0, 2**32 - 1)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
names = texts.filter(bool)
points = st.tuples(numbers, numbers, numbers)
speeds = st.floats(-100, 100, width=32)
angles = st.floats(-math.pi, math.pi)
times = st.integers(0, 2**31 * 1000 - 1).map(lambda ms: ms / 1000.0)
spans = st.integers(0, 86400 * 1000).map(lambda ms: ms / 1000.0)
tolerances = st.integers(1, 5_000_000).map(lambda millionths: millionths / 1e6)
poses = st.builds(Pose, points, angles)
boxes = st.builds(Box, points, st.tuples(lengths, lengths, lengths), numbers)
rooms = st.none() | st.builds(RoomView, names, texts, texts)
detections = st.builds(
    Detection,
    label=names,
    score=shares,
    box=st.none() | boxes,
    room=rooms,
    distance=lengths,
    instance=texts,
    scores=st.dictionaries(texts, shares, max_size=3),
    fused=st.booleans(),
    surfaces=st.lists(st.builds(Receptacle, texts, boxes, st.booleans(), shares), max_size=2).map(
        tuple
    ),
)
places = st.builds(
    PlaceView,
    id=names,
    position=points,
    distance=lengths,
    room=rooms,
    labels=st.lists(texts, max_size=3).map(tuple),
)
observations = st.builds(
    Observation,
    robot=names,
    step=counts,
    time=times,
    pose=poses,
    place=texts,
    room=rooms,
    detections=st.lists(detections, max_size=3).map(tuple),
    neighbours=st.lists(places, max_size=3).map(tuple),
    seen=st.dictionaries(names, shares, max_size=3),
)
questions = st.builds(Question, id=names, object=names, room=texts, text=texts)
evidences = st.builds(
    Evidence,
    kind=st.sampled_from(["seen", "not_there", "prior_only"]),
    objects=st.lists(texts, max_size=3).map(tuple),
    looks=counts,
    visited_fraction=shares,
    prior=shares,
    elsewhere=st.lists(texts, max_size=3).map(tuple),
    sightings=counts,
)
answers = st.builds(
    Answer,
    question=names,
    robot=names,
    yes=st.booleans(),
    confidence=confidences,
    evidence=evidences,
    explanation=texts,
    decided_by=st.sampled_from(["model", "rule"]),
    reason=texts,
)
votes = st.builds(
    Vote, robot=names, yes=st.booleans(), confidence=confidences, weight=numbers, note=texts
)
finals = st.builds(
    FinalAnswer,
    question=names,
    yes=st.sampled_from([True, False, None]),
    confidence=shares,
    method=texts,
    votes=st.lists(votes, max_size=3).map(tuple),
    missing=st.lists(texts, max_size=3).map(tuple),
    explanation=texts,
)
targets = st.builds(Target, names, points, texts)
acts = st.one_of(
    st.just(LookAround()),
    st.builds(Detect, texts),
    st.builds(MoveArmTo, points),
    st.builds(Pick, targets),
    st.builds(PlaceSkill, targets),
    st.builds(Open, targets),
    st.builds(Close, targets),
    st.builds(Wait, spans),
)
ways = st.one_of(
    st.builds(NavigateTo, place=names, yaw=st.none() | angles),
    st.builds(
        NavigateTo,
        position=points,
        yaw=st.none() | angles,
        tolerance=tolerances,
        yaw_tolerance=tolerances,
    ),
)


def over_the_wire(message):
    """What a subscriber gets: only what the wire keeps."""
    return deserialize_message(serialize_message(message), type(message))


def same_pose(a, b):
    assert a.position == b.position
    assert math.cos(a.yaw - b.yaw) == pytest.approx(1.0)


@given(observations)
def test_observations_come_back(value):
    back = cv.observation_from_msg(over_the_wire(cv.observation_to_msg(value)), frame="map")
    same_pose(back.pose, value.pose)
    assert back.time == pytest.approx(value.time, abs=1e-9)
    for name in ("robot", "step", "place", "room", "detections", "neighbours", "seen"):
        assert getattr(back, name) == getattr(value, name)


@given(questions)
def test_questions_come_back(value):
    assert cv.question_from_msg(over_the_wire(cv.question_to_msg(value, deadline=5.0))) == value


@given(answers)
def test_answers_come_back(value):
    assert cv.answer_from_msg(over_the_wire(cv.answer_to_msg(value, time=1.0))) == value


@given(finals)
def test_final_answers_come_back(value):
    assert cv.final_answer_from_msg(over_the_wire(cv.final_answer_to_msg(value))) == value


@given(acts)
def test_skills_come_back(value):
    assert cv.manipulate_from_msg(over_the_wire(cv.manipulate_to_msg(value))) == value


@given(ways)
def test_ways_come_back(value):
    back = cv.navigate_from_msg(over_the_wire(cv.navigate_to_msg(value)))
    assert (back.yaw is None) == (value.yaw is None)
    assert math.cos((back.yaw or 0.0) - (value.yaw or 0.0)) == pytest.approx(1.0)
    assert back.tolerance == pytest.approx(value.tolerance, abs=1e-6)
    assert back.yaw_tolerance == pytest.approx(value.yaw_tolerance, abs=1e-6)
    assert (back.place, back.position) == (value.place, value.position)


def test_a_way_without_tolerances_has_the_usual_ones():
    goal = cv.navigate_to_msg(NavigateTo(position=(1.0, 2.0, 0.0)))
    goal.position_tolerance = goal.yaw_tolerance = 0.0
    assert cv.navigate_from_msg(goal) == NavigateTo(position=(1.0, 2.0, 0.0))


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"frame": "odom"}, "pose.header.frame_id", r"map frame \('map'\); transform.*'odom'"),
        ({"frame": ""}, "pose.header.frame_id", "map frame"),
        ({"frame": "odom", "place": "p1", "use_yaw": True}, "pose.header.frame_id", "map frame"),
        ({"position_tolerance": -1.0}, "position_tolerance", "from 0"),
        ({"yaw_tolerance": math.nan}, "yaw_tolerance", "from 0"),
    ],
)
def test_broken_ways_are_named(change, field, expected):
    goal = cv.navigate_to_msg(NavigateTo(position=(1.0, 2.0, 0.0)))
    for name, value in change.items():
        owner = goal.pose.header if name == "frame" else goal
        setattr(owner, "frame_id" if name == "frame" else name, value)
    with pytest.raises(ConversionError, match=f"r1/navigate_to, field {field}: .*{expected}"):
        cv.navigate_from_msg(goal, "r1/navigate_to")


def test_the_frame_of_a_place_without_heading_does_not_matter():
    goal = cv.navigate_to_msg(NavigateTo(place="p7"))
    goal.pose.header.frame_id = ""
    assert cv.navigate_from_msg(goal) == NavigateTo(place="p7")


spots = st.none() | st.tuples(lengths, lengths, lengths)


@given(
    st.builds(
        SkillResult,
        st.sampled_from(Outcome),
        texts,
        spans,
        lengths,
        put_at=spots,
        bears_at=spots,
    )
)
def test_skill_results_come_back(value):
    assert cv.skill_result_from_msg(over_the_wire(cv.skill_result_to_msg(value))) == value


@given(times)
def test_times_come_back(value):
    assert cv.time_from_msg(cv.time_to_msg(value)) == pytest.approx(value, abs=1e-9)


@given(times)
def test_time_spans_come_back(value):
    assert cv.duration_from_msg(cv.duration_to_msg(value)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("sec", "nanosec"), [(-1, 0), (0, 2_000_000_000), (86401, 0)])
def test_broken_time_spans_are_named(sec, nanosec):
    message = cv.question_to_msg(Question("q", "mug", "kitchen"))
    message.deadline.sec, message.deadline.nanosec = sec, nanosec
    with pytest.raises(ConversionError, match="question, field deadline: expected 0 to 86400 s"):
        cv.question_from_msg(message)


@given(poses, poses)
def test_poses_relative_to_one_another(origin, pose):
    back = cv.compose(origin, cv.relative(origin, pose))
    assert back.position == pytest.approx(pose.position, abs=1e-6)
    assert math.cos(back.yaw - pose.yaw) == pytest.approx(1.0)


@given(poses)
def test_transforms_come_back(value):
    message = over_the_wire(cv.transform_to_msg("map", "x", value, 1.0))
    same_pose(transform_from_msg(message), value)


@given(poses, st.tuples(speeds, speeds, speeds), numbers)
def test_odometry_comes_back_with_its_velocity(pose, velocity, rate):
    message = over_the_wire(cv.odometry_to_msg("r", pose, velocity, rate, 1.0))
    back, linear, angular = cv.odometry_from_msg(message)
    same_pose(back, pose)
    assert linear == pytest.approx(velocity, abs=1e-6)
    assert angular == rate


def test_odometry_is_in_the_robots_own_frame():
    message = cv.odometry_to_msg("r", Pose((0, 0, 0), math.pi / 2), (0.0, 0.5, 0.0), 0.0, 0.0)
    assert message.twist.twist.linear.x == pytest.approx(0.5)
    assert message.twist.twist.linear.y == pytest.approx(0.0)


def graph():
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_room(Room("k", "kitchen", "kitchen", "f0", [(0, 0), (4, 0), (4, 3)]))
    scene.add_place(Place("p1", (1, 1, 0), "k", "f0"))
    scene.add_place(Place("p2", (2, 1, 0), "k", "f0"))
    scene.add_link(PlaceLink("p1", "p2", 1.0))
    mug = SceneObject(
        "mug 1",
        LabelBelief({"mug": 3.0, "bowl": 1.0}),
        Box((1, 1, 1), (0.1, 0.1, 0.1)),
        "k",
        observations=4,
        last_seen=Sighting(12.5, "r1"),
    )
    scene.add_object(mug)
    scene.add_room(Room("h", "hall", "hall", "f0"))
    scene.add_connection(Connection("d1", "k", "h", "stairs", (4, 1, 0), 0.9, 0.17))
    cupboard = SceneObject(
        "cupboard 1",
        LabelBelief.of("cupboard"),
        Box((3, 1, 1), (1, 0.5, 2), 0.3),
        "k",
        kind="furniture",
        is_open=False,
        receptacles=[Receptacle("shelf", Box((3, 1, 1.2), (0.9, 0.4, 0.3), 0.3), True, 4e-4)],
        properties={"color": "blue=grey"},
        embeddings=(
            Embedding.of("clip", (0.6, -0.8)),
            Embedding.of("words", (1.0, 0.0, 0.0), "label"),
        ),
        confidence=0.7,
    )
    scene.add_object(cupboard)
    scene.agents["r1"] = AgentState("r1", Pose((1, 1, 0)), "k", "mug 1", Sighting(3.0, "r2"))
    return scene


def test_scene_graphs_come_back_whole():
    scene = graph()
    assert cv.scene_from_msg(over_the_wire(cv.scene_to_msg(scene, time=2.0))) == scene


def test_the_labels_of_an_object_come_most_likely_first():
    scene = graph()
    scene.objects["mug 1"].label.weights = {"bowl": 1.0, "mug": 3.0}
    told = cv.scene_to_msg(scene).objects[0]
    assert (told.labels, list(told.label_weights)) == (["mug", "bowl"], [3.0, 1.0])


BODY = Embodiment(name="dog", mobility="legs", step_height=0.2, arm=Arm(), cameras=(Camera(),))


def test_resumes_come_back():
    message = over_the_wire(cv.resume_to_msg("r1", BODY))
    body = cv.embodiment_from_msg(message)
    assert (body.name, body.mobility, body.step_height) == ("r1", "legs", BODY.step_height)
    assert body.arm is not None and body.arm.reaches(0.7, 1.0) and not body.arm.reaches(0.9, 1.0)
    resume = cv.resume_from_msg(message)
    assert "takes stairs" in resume.summary and resume.robot == "r1"
    assert over_the_wire(cv.resume_to_msg("r1", resume)) == message


@pytest.mark.parametrize(
    "pixels",
    [
        np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3),
        np.linspace(0, 8, 24, dtype=np.float32).reshape(4, 6),
        np.arange(24, dtype=np.int32).reshape(4, 6),
    ],
)
def test_images_come_back(pixels):
    message = over_the_wire(cv.image_to_msg(pixels, Header()))
    back = cv.image_from_msg(message)
    assert back.dtype == pixels.dtype and (back == pixels).all()


def test_padded_rows_of_other_peoples_images_are_read():
    message = cv.image_to_msg(np.arange(12, dtype=np.uint8).reshape(2, 2, 3), Header())
    message.step = 8
    message.data = bytes([0, 1, 2, 3, 4, 5, 99, 99, 6, 7, 8, 9, 10, 11, 99, 99])
    assert cv.image_from_msg(message).ravel().tolist() == list(range(12))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"encoding": "bayer_rggb8"}, "encoding"),
        ({"step": 1}, "step"),
        ({"data": b"123"}, "data"),
    ],
)
def test_broken_images_are_named(change, field):
    message = cv.image_to_msg(np.zeros((2, 2, 3), np.uint8), Header())
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(ConversionError, match=f"camera, field {field}: expected"):
        cv.image_from_msg(message, "camera")


def test_clouds_come_back_and_lie_where_the_depth_says():
    camera = Camera(width=9, height=9)
    depth = np.zeros((9, 9), np.float32)
    depth[4, 4], depth[0, 8], depth[2, 2] = 2.0, 4.0, np.nan
    points = cv.depth_to_points(depth, camera)
    back = cloud_from_msg(over_the_wire(cv.cloud_to_msg(points, Header())))
    assert sorted(map(tuple, back.tolist())) == [
        (0.0, 0.0, 2.0),
        pytest.approx((4 * 4 / camera.focal, -4 * 4 / camera.focal, 4.0)),
    ]


def test_camera_models_come_back():
    camera = Camera(width=64, height=48, hfov=1.2)
    message = over_the_wire(cv.camera_info_to_msg(camera, Header()))
    back = camera_from_msg(message)
    assert (back.width, back.height) == (64, 48) and back.hfov == pytest.approx(1.2)
    assert message.k[2] == 31.5 and message.p[0] == message.k[0]


def observation_msg(**change):
    detection = Detection("mug", 0.5, Box((0, 0, 0), (1, 1, 1)))
    observation = Observation(
        "r1", 0, 1.0, Pose((0, 0, 0)), "p", None, (detection,), (PlaceView("q", (1, 0, 0), 1.0),)
    )
    message = cv.observation_to_msg(observation)
    for path, value in change.items():
        *parts, last = path.split("__")
        target = message
        for part in parts:
            target = target[int(part)] if part.isdigit() else getattr(target, part)
        setattr(target, last, value)
    return message


@pytest.mark.parametrize(
    ("change", "field", "expected", "got"),
    [
        ({"robot": ""}, "robot", "not empty", "''"),
        ({"robot": "x" * 5000}, "robot", "at most 200 characters", "5000 characters"),
        ({"pose__position__x": math.nan}, "pose.position.x", "a number", "nan"),
        ({"pose__position__z": 1e30}, "pose.position.z", "from -100000 to 100000", "1e+30"),
        ({"pose__orientation__w": 0.0}, "pose.orientation", "length 1", "length 0"),
        ({"detections__0__score": 1.5}, "detections[0].score", "from", "1.5"),
        ({"detections__0__score": math.nan}, "detections[0].score", "a number", "nan"),
        ({"detections__0__label": ""}, "detections[0].label", "not empty", "''"),
        ({"detections__0__box__size__x": -1.0}, "detections[0].box.size.x", "from 0", "-1"),
        ({"neighbours__0__distance": -2.0}, "neighbours[0].distance", "from 0", "-2"),
        ({"seen": ["p", ""], "seen_quality": [1.0, 0.5]}, "seen[1]", "not empty", "''"),
        ({"seen": ["p"], "seen_quality": [1.5]}, "seen_quality[0]", "from", "1.5"),
        ({"seen": ["p"], "seen_quality": []}, "seen_quality", "one per place seen", "0"),
        ({"header__frame_id": "odom"}, "header.frame_id", "'map'", "'odom'"),
    ],
)
def test_broken_observations_are_named(change, field, expected, got):
    with pytest.raises(ConversionError) as caught:
        cv.observation_from_msg(observation_msg(**change), "r1/observation", "map")
    error = caught.value
    assert (error.where, error.field) == ("r1/observation", field)
    assert expected in error.expected and got in error.got
    assert str(error).startswith(f"r1/observation, field {field}: expected ")


ANSWER = Answer("q1", "r1", True, 0.9, Evidence("seen"))


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("confidence", 0.2, "confidence"),
        ("confidence", math.nan, "confidence"),
        ("confidence", 1.7, "confidence"),
        ("decided_by", 7, "decided_by"),
        ("question", "", "question"),
        ("explanation", "x" * 100_000, "explanation"),
        ("explanation", "a\0b", "explanation"),
    ],
)
def test_broken_answers_are_named(field, value, named):
    message = cv.answer_to_msg(ANSWER)
    setattr(message, field, value)
    with pytest.raises(ConversionError, match=f"r1/answer, field {named}: expected"):
        cv.answer_from_msg(message, "r1/answer")


def test_unknown_evidence_is_named():
    message = cv.answer_to_msg(ANSWER)
    message.evidence = 9
    with pytest.raises(ConversionError, match=r"evidence: .*0 \(nothing\).*got 9"):
        cv.answer_from_msg(message)


def test_a_question_without_object_and_text_is_refused():
    message = cv.question_to_msg(Question("q", "", "kitchen"))
    with pytest.raises(ConversionError, match="field object: expected an object, or a sentence"):
        cv.question_from_msg(message)


def test_a_question_carries_what_was_read_of_it():
    said = '{"words": "a mug", "steps": [{"act": "find", "things": [{"name": "mug"}]}]}'
    question = Question("q", "", "", "a mug", said)
    assert cv.question_from_msg(over_the_wire(cv.question_to_msg(question))) == question
    message = cv.question_to_msg(Question("q", "", "", "a cup", said))
    with pytest.raises(ConversionError, match=r"field request: .*not those of the sentence"):
        cv.question_from_msg(message)


def test_skills_that_no_action_does_are_refused():
    with pytest.raises(ConversionError, match="got Ask"):
        cv.manipulate_to_msg(Ask("r2", "hello"))
    with pytest.raises(ConversionError, match="neither"):
        cv.navigate_to_msg(NavigateTo())
    goal = cv.manipulate_to_msg(Wait(1.0))
    goal.skill = 99
    with pytest.raises(ConversionError, match="field skill: expected one of 0"):
        cv.manipulate_from_msg(goal)


def test_broken_maps_are_named():
    message = cv.scene_to_msg(graph())
    message.objects[1].room = "cellar"
    with pytest.raises(ConversionError, match=r"semantic_map, .*consistent map, got .*'cellar'"):
        cv.scene_from_msg(message)
    message = cv.scene_to_msg(graph())
    message.connections[0].kind = 0
    with pytest.raises(ConversionError, match=r"connections\[0\].kind: expected one of 1 \(door\)"):
        cv.scene_from_msg(message)


def test_turns_and_messages_are_checked():
    turn = DiscussionTurn(topic="q1", speaker="r1", kind=DiscussionTurn.FINAL, confidence=0.9)
    assert cv.checked_turn(turn) is turn
    turn.confidence = 0.1
    with pytest.raises(ConversionError, match="confidence"):
        cv.checked_turn(turn)
    turn = DiscussionTurn(topic="q1", speaker="r1", kind=DiscussionTurn.PROPOSE)
    turn.said = [UtteranceMsg(speaker="r2", confidence=0.9, evidence=2)]
    assert cv.checked_debate_turn(turn) is turn
    turn.said[0].evidence = 6
    with pytest.raises(ConversionError, match=r"said\[0\].evidence"):
        cv.checked_debate_turn(turn)
    message = TeamMessage(id="1", sender="r1", text="x" * 500)
    assert cv.checked_team_message(message) is message
    message.text += "x"
    with pytest.raises(ConversionError, match="at most 500 characters, got 501"):
        cv.checked_team_message(message)


@pytest.mark.parametrize(
    ("points", "radius", "field"),
    [
        ([(0.0, math.nan, 0.0)], 0.2, r"way\[0\].y"),
        ([(0.0, 0.0, 0.0), (math.inf, 0.0, 0.0)], 0.2, r"way\[1\].x"),
        ([(0.0, 0.0, 1e9)], 0.2, r"way\[0\].z"),
        ([(0.0, 0.0, 0.0)] * 201, 0.2, "way: expected at most 200 items"),
        ([], math.nan, "way_radius"),
        ([], -0.1, "way_radius"),
        ([], 30.0, "way_radius"),
    ],
)
def test_ways_that_no_robot_drives_are_refused(points, radius, field):
    way = [Point(x=x, y=y, z=z) for x, y, z in points]
    message = TeamMessage(id="1", sender="r1", kind=TeamMessage.WAY, way=way, way_radius=radius)
    with pytest.raises(ConversionError, match=field):
        cv.checked_team_message(message)
    with pytest.raises(ConversionError, match=field):
        cv.yield_request_from_msg(message)
    message.way, message.way_radius = [Point(x=1.0)] * 200, 0.2
    assert cv.checked_team_message(message) is message
    message.kind += 1
    with pytest.raises(ConversionError, match="kind"):
        cv.checked_team_message(message)


@pytest.mark.parametrize("out", [False, True])
def test_requests_for_the_way_come_back_the_same(out):
    way = ((0.0, 1.0, 0.0), (4.0, 1.5, 0.25))
    request = YieldRequest("rover-way-2.00", "rover", way, 0.25, ("slim",), out)
    message = cv.yield_request_to_msg(request, 2.0)
    assert cv.yield_request_from_msg(message) == request
    assert (message.kind, message.text) == (TeamMessage.WAY, request.text)
    for change, field in (({"way": message.way[:1]}, "way: expected at least 2 points"),
                          ({"way_radius": 0.0}, "way_radius: expected more than 0")):  # fmt: skip
        wrong = cv.yield_request_to_msg(request, 2.0)
        for name, value in change.items():
            setattr(wrong, name, value)
        with pytest.raises(ConversionError, match=field):
            cv.yield_request_from_msg(wrong)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 2.0**31])
def test_times_that_no_message_holds(value):
    with pytest.raises(ValueError, match="expected 0 <= seconds"):
        cv.time_to_msg(value)


def test_a_second_is_not_lost_by_rounding():
    message = cv.time_to_msg(1.9999999999)
    assert (message.sec, message.nanosec) == (2, 0)


UTTERANCES = st.builds(
    Utterance,
    speaker=names,
    round=st.integers(0, 100),
    yes=st.booleans(),
    confidence=confidences,
    evidence=st.sampled_from(["seen", "not_there", "prior_only"]),
    text=texts,
)


@given(UTTERANCES, st.booleans())
def test_what_was_said_in_a_debate_comes_back(value, final):
    message = over_the_wire(debate.utterance_to_msg(value, "q1", final=final))
    assert cv.checked_turn(message) is message
    assert debate.utterance_from_msg(message) == value


@given(st.lists(UTTERANCES, max_size=4).map(tuple))
def test_a_call_to_speak_carries_the_talk_so_far(talk):
    question = Question("q1", "mug", "kitchen")
    call = over_the_wire(debate.call_to_speak(question, "r1", 1, talk, final=False))
    assert debate.conversation_from_msg(call) == talk


@pytest.mark.parametrize(
    ("field", "value"), [("speaker", ""), ("confidence", math.nan), ("evidence", 99)]
)
def test_broken_talk_is_named(field, value):
    said = Utterance("r1", 0, True, 0.9, "seen")
    turn = debate.call_to_speak(Question("q1", "mug", "kitchen"), "r1", 1, [said], final=False)
    setattr(turn.said[0], field, value)
    with pytest.raises(ConversionError, match=rf"discussion, field said\[0\].{field}: expected"):
        debate.conversation_from_msg(turn)
    turn = debate.utterance_to_msg(said, "q1", final=False)
    setattr(turn, field, value)
    with pytest.raises(ConversionError, match=f"discussion, field {field}: expected"):
        debate.utterance_from_msg(turn)


@pytest.mark.parametrize(("sec", "nanosec"), [(-1, 0), (0, 10**9), (2**31 - 1, 2**32 - 1)])
def test_a_stamp_that_no_clock_has_is_refused(sec: int, nanosec: int) -> None:
    """Found by bench_fuzz.py: such a time was taken, and could not be told again."""
    from builtin_interfaces.msg import Time

    from coterie_ros.conversions.checks import Checks, ConversionError

    stamp = Time(sec=sec, nanosec=nanosec)
    with pytest.raises(ConversionError, match="stamp"):
        stamp_from_msg(stamp, Checks("status"))


def test_an_outline_that_crosses_itself_is_refused_and_named():
    scene = SceneGraph()
    scene.add_room(Room("lab", "lab", "", "", [(0.0, 0.0), (4.0, 4.0), (4.0, 0.0), (0.0, 4.0)]))
    message = cv.scene_to_msg(scene)
    with pytest.raises(ConversionError, match=r"semantic_map.*rooms\['lab'\].polygon: it crosses"):
        cv.scene_from_msg(message)
    scene.rooms["lab"].polygon.sort()
    scene.rooms["lab"].polygon[2:] = [(4.0, 4.0), (4.0, 0.0)]
    assert cv.scene_from_msg(over_the_wire(cv.scene_to_msg(scene)), "map") == scene
