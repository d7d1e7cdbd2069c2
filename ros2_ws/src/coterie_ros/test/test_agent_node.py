"""AgentNode over real rclpy: lifecycle, loop, services, actions, shutdown."""

from __future__ import annotations

import asyncio
import gc
import operator
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from coterie_fixtures.endpoint import Endpoint
from coterie_llm import BudgetExceeded, Message, ModelRequest
from coterie_llm.tokens import most_prompt
from coterie_msgs.action import Explore
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer, ServiceClient
from coterie_ros.model import node_decider
from coterie_ros.parameters import ParameterError, ParameterSpec
from coterie_ros.qos import profile
from coterie_ros.spinning import spinning
from coterie_ros.waitables import DestroySafe

pytestmark = pytest.mark.ros


class Worker(AgentNode):
    PARAMETERS = (
        ParameterSpec("delay", 0.2, "How long a request takes.", "s", minimum=0.0, maximum=60.0),
        ParameterSpec("fail", False, "Whether to fail in setup."),
    )

    def on_setup(self, parameters):
        if parameters["fail"]:
            raise ValueError("no model directory; give one with -p model_directory:=PATH")
        self.echo = self.publisher(String, "echo", "messages")
        self.serve(Trigger, "work", self.work)
        self.server = self.serve_action(Explore, "explore", self.explore, when_busy="preempt")
        self.threads = set()
        self.seen = []
        self.at_once = self.most_at_once = 0

    def on_start(self):
        self.subscribe(String, "hear", "messages", self.hear)

    def hear(self, message):
        self.threads.add(threading.current_thread().name)
        self.seen.append(message.data)
        self.echo.publish(String(data=message.data.upper()))

    async def work(self, request):
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.parameters["delay"])
        self.at_once -= 1
        return Trigger.Response(success=True, message="done")

    async def explore(self, goal):
        steps = 0
        try:
            for steps in range(1, goal.request.max_steps + 1):
                goal.feedback(Explore.Feedback(steps=steps))
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            why = "preempted" if goal.preempted else "cancelled"
            return goal.cancel(Explore.Result(success=False, reason=why, steps=steps))
        if goal.request.coverage > 0.9:
            raise RuntimeError("boom")
        return goal.succeed(Explore.Result(success=True, reason="steps", steps=steps))


@pytest.fixture
def worker(ros):
    node = ros.add(Worker("worker", context=ros.context))
    ros.wait_active(node)
    return node


@pytest.fixture
def client(ros):
    node = ros.add(AgentNode("client", context=ros.context, light=True))
    ros.wait_active(node)
    return node


def test_messages_reach_the_loop_in_order(ros, worker):
    node = ros.node()
    heard = []
    node.create_subscription(String, "echo", lambda m: heard.append(m.data), profile("messages"))
    out = node.create_publisher(String, "hear", profile("messages"))
    ros.wait_for_matched(out, worker.echo)
    for k in range(50):
        out.publish(String(data=f"m{k}"))
    ros.spin_until(lambda: len(heard) == 50)
    assert heard == [f"M{k}" for k in range(50)]
    assert worker.threads == {"loop /worker"}


def test_callbacks_go_on_while_a_service_works(ros, worker, client):
    service = ServiceClient(client, Trigger, "work")
    calls = [client.run(service.call(Trigger.Request())) for _ in range(20)]
    for call in calls:
        assert ros.result(call).message == "done"
    assert worker.most_at_once > 1


def test_service_of_nobody_times_out_and_says_what_to_do(ros, client):
    service = ServiceClient(client, Trigger, "nowhere")
    call = client.run(service.call(Trigger.Request(), timeout=0.1, attempts=2))
    with pytest.raises(NoAnswer, match=r"nowhere.*2 requests.*ROS_DOMAIN_ID"):
        ros.result(call)


def test_an_answer_that_comes_after_its_service_is_dropped_without_a_word(ros):
    node = ros.add(Worker("late", context=ros.context, parameters={"delay": 30.0}))
    ros.wait_active(node)
    troubles = []
    node.report_failure = lambda what, error: troubles.append((what, error))
    client = ros.node().create_client(Trigger, "work")
    ros.wait_for_matched(client)
    client.call_async(Trigger.Request())
    ros.spin_until(lambda: node.at_once == 1)
    node.trigger_deactivate()
    node.trigger_cleanup()
    ros.spin(0.3)
    assert not troubles


def test_action_succeeds_with_feedback(ros, worker, client):
    steps = []
    action = ActionClient(client, Explore, "explore")
    goal = Explore.Goal(max_steps=5)
    run = client.run(action.run(goal, on_feedback=lambda f: steps.append(f.steps)))
    end = ros.result(run)
    assert (end.status, end.result.steps) == (GoalStatus.STATUS_SUCCEEDED, 5)
    assert steps == sorted(steps) and len(steps) >= 3


def test_cancelling_the_caller_cancels_the_goal(ros, worker, client):
    steps = []
    action = ActionClient(client, Explore, "explore")
    goal = Explore.Goal(max_steps=10000)
    run = client.run(action.run(goal, on_feedback=lambda f: steps.append(f.steps)))
    ros.spin_until(lambda: steps)
    assert worker.server.busy == 1
    run.cancel()
    ros.spin_until(lambda: worker.server.busy == 0)


def test_goal_of_a_server_that_is_gone_is_given_up(ros, worker, client):
    action = ActionClient(client, Explore, "explore")
    run = client.run(action.run(Explore.Goal(max_steps=10000), poll=0.1, lost_after=0.3))
    ros.spin_until(lambda: worker.server.busy == 1)
    # Gone without a word: nothing is cancelled or told to anybody.
    worker.server._server.end()
    with pytest.raises(NoAnswer, match=r"gone for 0\.3 s"):
        ros.result(run)


def test_goal_that_a_restarted_server_does_not_know_is_given_up(ros, worker, client):
    action = ActionClient(client, Explore, "explore")
    run = client.run(action.run(Explore.Goal(max_steps=10000), poll=0.2))
    ros.spin_until(lambda: worker.server.busy == 1)
    worker.server._server.end()
    ros.add(Worker("worker2", context=ros.context))
    with pytest.raises(GoalRejected, match="started again"):
        ros.result(run)


def test_server_side_cancel_returns_what_was_reached(ros, worker):
    from rclpy.action import ActionClient as Plain

    plain = Plain(ros.node(), Explore, "explore")
    ros.wait_for_matched(plain)
    steps = []
    handle = ros.result(plain.send_goal_async(Explore.Goal(max_steps=10000), steps.append))
    ros.spin_until(lambda: steps)
    assert len(ros.result(handle.cancel_goal_async()).goals_canceling) == 1
    response = ros.result(handle.get_result_async())
    assert response.status == GoalStatus.STATUS_CANCELED
    assert response.result.reason == "cancelled" and response.result.steps > 0


def test_newer_goal_preempts_the_older(ros, worker, client):
    action = ActionClient(client, Explore, "explore")
    first = client.run(action.run(Explore.Goal(max_steps=10000)))
    ros.spin_until(lambda: worker.server.busy == 1)
    second = client.run(action.run(Explore.Goal(max_steps=3)))
    assert ros.result(second).succeeded
    end = ros.result(first)
    assert (end.status, end.result.reason) == (GoalStatus.STATUS_ABORTED, "preempted")


def test_exception_in_an_action_aborts_it_with_the_reason(ros, worker, client):
    action = ActionClient(client, Explore, "explore")
    end = ros.result(client.run(action.run(Explore.Goal(max_steps=1, coverage=1.0))))
    assert end.status == GoalStatus.STATUS_ABORTED
    assert "boom" in end.result.reason
    assert "boom" in worker.diagnostics.status().message


def test_deactivate_cancels_goals_and_a_new_activation_works(ros, worker, client):
    action = ActionClient(client, Explore, "explore")
    run = client.run(action.run(Explore.Goal(max_steps=10000)))
    ros.spin_until(lambda: worker.server.busy == 1)
    worker.trigger_deactivate()
    assert worker.state_label == "inactive" and worker.loop.running == 0
    assert ros.result(run).status == GoalStatus.STATUS_ABORTED
    worker.trigger_activate()
    assert ros.result(client.run(action.run(Explore.Goal(max_steps=2)))).succeeded
    worker.trigger_deactivate()
    worker.trigger_cleanup()
    worker.trigger_configure()
    worker.trigger_activate()
    assert ros.result(client.run(action.run(Explore.Goal(max_steps=2)))).succeeded


def test_failing_setup_says_why_and_stays_unconfigured(ros):
    node = ros.add(Worker("worker", context=ros.context, parameters={"fail": True}))
    ros.spin_until(lambda: node.failure)
    assert "no model directory; give one" in node.failure
    assert node.state_label == "unconfigured"


def test_a_node_ends_with_the_work_that_it_lives_by(ros):
    node = ros.add(Worker("worker", context=ros.context))

    async def work() -> None:
        raise KeyError("wipe")

    node.live_by(work(), "work")
    ros.spin_until(lambda: node.failure)  # which ends its process, see spin_nodes
    assert node.failure == "work: KeyError: 'wipe'"


def test_without_autostart_a_failing_setup_fails_the_transition_only(ros):
    given = {"fail": True, "autostart": False}
    node = ros.add(Worker("worker", context=ros.context, parameters=given))
    assert node.trigger_configure() != TransitionCallbackReturn.SUCCESS
    assert node.state_label == "unconfigured" and not node.failure
    assert "no model directory" in node.diagnostics.status().message


def test_without_autostart_it_waits_for_the_lifecycle_services(ros):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    node = ros.add(Worker("worker", context=ros.context, parameters={"autostart": False}))
    ros.spin(0.1)
    assert node.state_label == "unconfigured"
    change = ros.node().create_client(ChangeState, "worker/change_state")
    ros.wait_for_matched(change)
    for number, label in (
        (Transition.TRANSITION_CONFIGURE, "inactive"),
        (Transition.TRANSITION_ACTIVATE, "active"),
    ):
        request = ChangeState.Request(transition=Transition(id=number))
        assert ros.result(change.call_async(request)).success
        assert node.state_label == label
    for number in (Transition.TRANSITION_CLEANUP, Transition.TRANSITION_CONFIGURE, 77):
        request = ChangeState.Request(transition=Transition(id=number))
        assert not ros.result(change.call_async(request)).success
        assert node.state_label == "active"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dealy": 1.0}, "no parameter 'dealy'; did you mean 'delay'"),
        ({"delay": "long"}, "'delay': expected a number, got 'long'"),
        ({"delay": -1.0}, "'delay': -1.0 is out of range; expected 0 to 60 s"),
    ],
)
def test_wrong_parameters_are_named(ros, given, message):
    with pytest.raises(ParameterError, match=message):
        Worker("worker", context=ros.context, parameters=given)


def test_a_task_that_refuses_to_end_does_not_hold_up_the_node(ros):
    node = ros.add(AgentNode("stubborn", context=ros.context))
    ros.wait_active(node)

    begun = []

    async def stubborn():
        begun.append(True)
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(60)

    node.run(stubborn())
    ros.spin_until(lambda: begun)
    node.stop_work()
    assert node.loop.closed
    assert node.state_label == "unconfigured"


def test_diagnostics_arrive(ros, worker):
    from diagnostic_msgs.msg import DiagnosticArray

    got = []
    ros.node().create_subscription(DiagnosticArray, "/diagnostics", got.append, 10)
    ros.spin_until(lambda: got)
    status = got[0].status[0]
    assert status.name == "worker"
    assert {"state", "tasks", "hear.waiting"} <= {v.key for v in status.values}


def test_diagnostics_tell_what_is_left_of_a_models_budget_and_when_it_is_used_up(ros, worker):
    request = ModelRequest((Message.user("where?"),), max_tokens=50)
    fits = most_prompt(request) + 50 + 100  # the first call uses 120: a second one does not fit
    with Endpoint() as endpoint:
        profile = {"kind": "openai", "model": "m", "base_url": endpoint.url, "cache": 0}
        decider = node_decider(worker, profile | {"budget_tokens": fits}, "worker")
        model = decider.model
        told = lambda: {v.key: v.value for v in worker.diagnostics.status().values}  # noqa: E731
        assert (told()["model.left_tokens"], told()["model.used_up"]) == (str(fits), "no")
        assert "model.left_cost" not in told()
        worker.run(model.complete(request), "first").result(60.0)
        assert (told()["model.left_tokens"], told()["model.used_up"]) == (str(fits - 120), "no")
        with pytest.raises(BudgetExceeded):
            worker.run(model.complete(request), "second").result(60.0)
        assert (told()["model.left_tokens"], told()["model.used_up"]) == (str(fits - 120), "yes")


def test_nodes_that_ended_leave_nothing_behind(ros_domain, monkeypatch, tmp_path):
    """Also amid work, and where no garbage is collected: programs make client after client."""
    here = Path("/proc/self")
    if not here.is_dir():
        pytest.skip("counts threads, descriptors and shared memory by /proc")

    def held() -> tuple[int, int, int]:
        mapped = {line.split()[-1] for line in (here / "maps").read_text().splitlines()}
        shared = sum(name.startswith("/dev/shm/fastrtps_") for name in mapped)
        return len(list((here / "task").iterdir())), len(list((here / "fd").iterdir())), shared

    def session() -> tuple[int, int, int]:
        """Let a client leave while a goal and a request of its run; return what was held."""
        came = threading.Event()
        with (
            spinning(lambda context: Worker("worker", context=context), domain=ros_domain),
            spinning(
                lambda context: AgentNode("client", context=context, light=True), domain=ros_domain
            ) as client,
        ):
            action = ActionClient(client, Explore, "explore")
            goal = Explore.Goal(max_steps=100_000)
            client.run(action.run(goal, on_feedback=lambda news: came.set()))
            client.run(ServiceClient(client, Trigger, "work").call(Trigger.Request()))
            assert came.wait(30.0)
            return held()

    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    session()  # what is made once in a process
    gc.collect()
    before = held()
    gc.disable()
    try:
        for _ in range(2):
            assert all(map(operator.gt, session(), before))
        end = time.monotonic() + 10.0
        while not (gone := all(map(operator.le, held(), before))) and time.monotonic() < end:
            time.sleep(0.05)
        assert gone, (before, held())
        assert not list(tmp_path.iterdir())
    finally:
        gc.enable()


class Late:
    """A server of a driver's own that takes its time in its goal callback, in its own thread."""

    def __init__(self, ros, delay):
        self.delay, self.begun, self.ended = delay, [], []
        self.node = Node("late", context=ros.context)
        self.server = ActionServer(
            self.node,
            Explore,
            "explore",
            self.execute,
            goal_callback=self.accept,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )
        self.over = threading.Event()
        self.executor = MultiThreadedExecutor(4, context=ros.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.spin, daemon=True)
        self.thread.start()

    def spin(self):
        while not self.over.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def accept(self, request):
        time.sleep(self.delay)
        return GoalResponse.ACCEPT

    def execute(self, handle):
        self.begun.append(time.monotonic())
        while not handle.is_cancel_requested and time.monotonic() < self.begun[-1] + 30.0:
            time.sleep(0.01)
        cancelled = handle.is_cancel_requested
        handle.canceled() if cancelled else handle.succeed()
        self.ended.append(cancelled)
        return Explore.Result()

    def close(self):
        self.over.set()
        self.thread.join()
        self.executor.shutdown()
        self.node.destroy_node()


@pytest.mark.parametrize("gives_up", [True, False])
def test_a_goal_that_begins_after_it_was_given_up_is_cancelled(ros, client, gives_up):
    """Its server accepts it when its client has gone: nobody watches what it moves."""
    late = Late(ros, 1.5)
    try:
        action = ActionClient(client, Explore, "explore")
        run = client.run(action.run(Explore.Goal(), accept_timeout=0.3, attempts=1))
        if gives_up:
            with pytest.raises(NoAnswer, match="no server accepted"):
                ros.result(run)
        else:  # whoever waits for it is cancelled
            ros.spin(0.2)
            run.cancel()
        ros.spin_until(lambda: late.ended, what="the goal to be cancelled")
        assert late.ended == [True]
        ros.spin_until(lambda: client.loop.running <= 1)  # and then it is left alone
    finally:
        late.close()


def test_a_goal_that_is_accepted_between_a_cancel_and_its_answer_is_cancelled_again(ros, client):
    """Only then does the server know it; its earlier answer, read later, tells nothing of it."""
    server = ros.node("server")
    impl, goals, cancels = Explore.Impl, [], []
    qos = profile("latched")
    ends = [
        server.create_publisher(impl.FeedbackMessage, "explore/_action/feedback", 10),
        server.create_publisher(GoalStatusArray, "explore/_action/status", qos),
        server.create_service(
            impl.GetResultService, "explore/_action/get_result", lambda _, answer: answer
        ),
    ]

    def later(kind, name, take):
        service = server.create_service(kind, f"explore/_action/{name}", lambda request, _: request)
        send = service.send_response
        service.send_response = lambda request, header: take(send, header)

    def cancelled(send, header):
        if not cancels:
            goals[0][0](impl.SendGoalService.Response(accepted=True), goals[0][1])
        unknown, none = CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, CancelGoal.Response.ERROR_NONE
        send(CancelGoal.Response(return_code=none if cancels else unknown), header)
        cancels.append(header)

    later(impl.SendGoalService, "send_goal", lambda send, header: goals.append((send, header)))
    later(CancelGoal, "cancel_goal", cancelled)
    action = ActionClient(client, Explore, "explore")
    run = client.run(action.run(Explore.Goal(), accept_timeout=0.5, attempts=1))
    with pytest.raises(NoAnswer, match="no server accepted"):
        ros.result(run)
    ros.spin_until(lambda: len(cancels) == 2, what="a cancel of what was accepted")
    ros.spin_until(lambda: client.loop.running <= 1, what="the end of it")
    assert ends


def test_clients_outlive_deactivations_amid_their_goals(ros, worker):
    """An EventsExecutor crashes over events that it has queued of an action that is destroyed."""
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    class Sender(AgentNode):
        def on_start(self):
            action = ActionClient(self, Explore, "explore")
            self.run(action.run(Explore.Goal(max_steps=10000), stopping=1.0))

    node = ros.add(Sender("sender", context=ros.context))
    ros.wait_active(node)
    change = ros.node().create_client(ChangeState, "sender/change_state")
    ros.wait_for_matched(change)
    for _ in range(10):
        ros.spin_until(lambda: worker.server.busy == 1)
        for number in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE):
            request = ChangeState.Request(transition=Transition(id=number))
            assert ros.result(change.call_async(request)).success
            if number == Transition.TRANSITION_DEACTIVATE:
                assert not worker.server.busy
    assert len([one for one in node.waitables if isinstance(one, DestroySafe)]) == 1


def test_a_server_that_was_cleaned_up_refuses_and_begins_nothing_later(ros, worker):
    """What nobody took while it was down would be taken in the place of what comes next."""
    from rclpy.action import ActionClient as Plain

    plain = Plain(ros.node(), Explore, "explore")
    ros.wait_for_matched(plain)
    begun = []
    worker.explore = lambda goal, own=worker.explore: (
        begun.append(goal.request.max_steps) or own(goal)
    )
    worker.trigger_deactivate()
    worker.trigger_cleanup()
    for steps in (1, 2):
        assert not ros.result(plain.send_goal_async(Explore.Goal(max_steps=steps))).accepted
    worker.trigger_configure()
    worker.trigger_activate()
    handle = ros.result(plain.send_goal_async(Explore.Goal(max_steps=3)))
    assert handle.accepted and ros.result(handle.get_result_async()).result.steps == 3
    assert begun == [3]
