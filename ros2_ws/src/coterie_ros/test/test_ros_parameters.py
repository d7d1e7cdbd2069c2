"""Parameters: types, ranges, lists, JSON, changes at run time; subscriptions that overflow."""

from __future__ import annotations

import threading
from typing import Literal

import pytest
from pydantic import Field

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from builtin_interfaces.msg import Duration
from rcl_interfaces.srv import DescribeParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String

from coterie_core.questions import Question
from coterie_core.settings import Settings
from coterie_msgs.msg import Question as QuestionMsg
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.parameters import ParameterError, ParameterSpec, specs_of
from coterie_ros.qos import profile

pytestmark = pytest.mark.ros


class Tunable(AgentNode):
    PARAMETERS = (
        ParameterSpec("rate", 10.0, "Ticks.", "Hz", minimum=1.0, maximum=100.0, read_only=False),
        ParameterSpec("count", 3, "How many.", minimum=0, maximum=9, read_only=False),
        ParameterSpec("mode", "calm", "How.", choices=("calm", "wild"), read_only=False),
        ParameterSpec("names", (), "Whose."),
        ParameterSpec("weights", (1.0,), "How much."),
        ParameterSpec("profile", "", "What.", json=True),
        ParameterSpec("house", "", "Where.", alias="home"),
    )


class Arm(Settings):
    speed: float = Field(0.5, ge=0.1, le=2.0, description="Speed of the hand [m/s]; 0: the usual.")


class Body(Settings):
    arm: Arm = Field(Arm(speed=0.25), description="Settings of the arm.")
    mode: Literal["calm", "wild"] = Field("calm", description="Way to move.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of choices.")
    names: tuple[str, ...] = Field(("ann",), description="Names of friends.")
    tool: str | None = Field(None, description="Name of the tool; null: none.")


def test_a_models_fields_are_parameters():
    assert specs_of(Body, "body.") == (
        ParameterSpec(
            "body.arm.speed",
            0.25,
            "Speed of the hand; 0: the usual.",
            "m/s",
            minimum=0.1,
            maximum=2.0,
        ),
        ParameterSpec("body.mode", "calm", "Way to move.", choices=("calm", "wild")),
        ParameterSpec("body.seed", 0, "Seed of choices.", minimum=0, maximum=2**31 - 1),
        ParameterSpec("body.names", '["ann"]', "Names of friends.", json=True),
        ParameterSpec("body.tool", "null", "Name of the tool; null: none."),
    )
    assert Body().to_parameters() == {}
    body = Body(arm=Arm(speed=1.0), names=("bob", "eve"), tool="hand")
    assert Body.from_parameters(body.to_parameters()) == body


def make(ros, **given):
    return ros.add(Tunable("tunable", context=ros.context, parameters=given))


def test_defaults_and_types(ros):
    values = make(ros).parameters
    wanted = {"rate": 10.0, "count": 3, "mode": "calm", "names": [], "weights": [1.0]}
    assert {name: values[name] for name in wanted} == wanted
    assert values.json("profile") is None


def test_given_values_come_in_the_declared_type(ros):
    values = make(
        ros, rate=20, names=["r1", "r2"], weights=[1, 2], profile='{"kind": "rules"}', house=17
    ).parameters
    assert values["rate"] == 20.0 and isinstance(values["rate"], float)
    assert values["names"] == ["r1", "r2"] and values["weights"] == [1.0, 2.0]
    assert values.json("profile") == {"kind": "rules"}
    # `-p house:=17` is read as a number; the name of a house is a text all the same.
    assert values["house"] == "17"


def test_a_parameter_is_also_taken_by_the_name_that_it_had(ros):
    assert make(ros, home="seven").parameters["house"] == "seven"
    with pytest.raises(ParameterError, match="has no parameter 'home'"):
        make(ros, home="seven", house="eight")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 1000.0}, "'rate': 1000.0 is out of range; expected 1 to 100 Hz"),
        ({"rate": float("nan")}, "'rate': expected a number, got nan"),
        ({"count": 1.5}, "'count': expected a whole number, got 1.5"),
        ({"count": True}, "'count': expected a whole number, got True"),
        ({"mode": "wilt"}, "'wilt' is none of calm, wild; did you mean 'wild'"),
        ({"names": "r1"}, "'names': expected a list of strings, got 'r1'"),
        ({"weights": ["a"]}, "'weights': expected a list of numbers, got"),
        ({"profile": "{"}, "'profile': expected JSON, got '{'"),
        ({"huose": "x"}, "has no parameter 'huose'; did you mean 'house'"),
    ],
)
def test_mistakes_are_named(ros, given, message):
    with pytest.raises(ParameterError) as caught:
        make(ros, **given)
    assert message in str(caught.value)


def test_changes_at_run_time_are_checked_and_seen(ros):
    node = make(ros)
    (done,) = node.set_parameters([Parameter("mode", value="wild")])
    assert done.successful and node.parameters["mode"] == "wild"
    for name, value in (("mode", "odd"), ("rate", 0.5), ("count", 77), ("house", "x")):
        (done,) = node.set_parameters([Parameter(name, value=value)])
        assert not done.successful, name
        assert done.reason
    assert node.parameters["rate"] == 10.0


def test_descriptions_with_units_and_ranges_are_served(ros):
    make(ros)
    client = ros.node().create_client(DescribeParameters, "tunable/describe_parameters")
    ros.wait_for_matched(client)
    request = DescribeParameters.Request(names=["rate", "mode", "count"])
    rate, mode, count = ros.result(client.call_async(request)).descriptors
    assert rate.description == "Ticks [Hz]."
    assert rate.floating_point_range[0].to_value == 100.0
    assert mode.additional_constraints == "one of: calm, wild"
    assert count.integer_range[0].to_value == 9 and not count.read_only


class Listener(AgentNode):
    def on_start(self):
        self.words, self.questions = [], []
        self.gate = threading.Event()
        self.subscribe(String, "word", "messages", self.hear, limit=5)
        self.subscribe(
            QuestionMsg,
            "question",
            "questions",
            self.questions.append,
            convert=conversions.question_from_msg,
        )

    def hear(self, message):
        self.gate.wait(20.0)  # what an agent must not do: it holds up its own loop
        self.words.append(message.data)


def test_a_loop_that_hangs_does_not_pile_up_messages(ros):
    node = ros.add(Listener("listener", context=ros.context))
    ros.wait_active(node)
    out = ros.node().create_publisher(String, "word", profile("messages"))
    ros.wait_for_matched(out)
    for k in range(40):
        out.publish(String(data=str(k)))
    ros.spin_until(lambda: node.diagnostics.counter("word.dropped") >= 34)
    node.gate.set()
    ros.spin_until(lambda: len(node.words) + node.diagnostics.counter("word.dropped") == 40)
    assert node.words[:5] == ["0", "1", "2", "3", "4"]
    assert node.words == sorted(node.words, key=int)
    assert "more than 5 messages wait" in node.diagnostics.status().message


def test_broken_messages_are_dropped_counted_and_named(ros):
    node = ros.add(Listener("listener", context=ros.context))
    ros.wait_active(node)
    out = ros.node().create_publisher(QuestionMsg, "question", profile("questions"))
    ros.wait_for_matched(out)
    out.publish(QuestionMsg(id="", object="mug"))
    out.publish(QuestionMsg(id="q2", object="mug", deadline=Duration(sec=-1)))
    out.publish(QuestionMsg(id="q3", object="mug"))
    ros.spin_until(lambda: node.questions)
    assert node.questions == [Question("q3", "mug", "")]
    status = node.diagnostics.status()
    assert {v.key: v.value for v in status.values}["question.invalid"] == "2"
    assert "question, field deadline: expected 0 to 86400 s" in status.message
