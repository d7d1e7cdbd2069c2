"""Start, spin and end the nodes of one process: what every node's `main` calls."""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

import rclpy
from rclpy.action.server import RCLError
from rclpy.context import Context
from rclpy.executors import Executor
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from coterie_ros.agent_node import AgentNode
from coterie_ros.executors import make_executor, spin
from coterie_ros.names import OF_THE_TEAM, as_remapped
from coterie_ros.parameters import remember_arguments
from coterie_safety.why import journal_from_environment

# After so many seconds a shutdown that hangs is ended from outside [s].
_SHUTDOWN_TIMEOUT_S = 4.0
# A second signal so long after the first ends the process without more ado [s].
_INSIST = 1.0
_PR_SET_PDEATHSIG = 1

MISCONFIGURED = os.EX_CONFIG
"""Exit code that says: started in the same way it would fail again."""


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What a process was started with.

    Attributes:
        arguments: Command line without the program's name and without ROS arguments.
        namespace: Namespace that `-r __ns:=...` asks for, "" where nothing does. It is taken out of
            the global arguments, because there it would move all nodes of the process into one
            namespace: put nodes into it, or below it, yourself.
        context: Give it to every node.
    """

    arguments: list[str]
    namespace: str
    context: Context

    def below(self, name: str) -> str:
        """Return the namespace `name` inside the process's own."""
        return f"{self.namespace.rstrip('/')}/{name.strip('/')}"


NodeT = TypeVar("NodeT", bound=AgentNode)
Factory = Callable[[ProcessOptions], "AgentNode | Sequence[AgentNode]"]


MAX_FULL_NODES = 4
"""Number of nodes in a process above which they are made light."""


def nodes_of_robots(
    options: ProcessOptions, make: Callable[..., NodeT], name: str, about: str | None = None
) -> list[NodeT]:
    """Make one node for each robot that the command line names with `--robots`.

    Args:
        options: Options that the process was started with.
        make: Makes a node: an AgentNode's class.
        name: Name of each node, below its robot's namespace; without `--robots` one node of this
            name in the namespace that the process was given.
        about: Text that `--help` prints.
    """
    parser = argparse.ArgumentParser(prog=f"{name}_node", description=about)
    parser.add_argument(
        "--robots",
        nargs="+",
        metavar="NAME",
        help="one node per robot, each in the namespace of its robot; without it one node in "
        "the namespace that the process was given",
    )
    robots = parser.parse_args(options.arguments).robots
    if not robots:
        return [make(name, namespace=options.namespace, context=options.context)]
    light = len(robots) > MAX_FULL_NODES
    return [
        make(name, namespace=options.below(robot), context=options.context, light=light)
        for robot in robots
    ]


def take_namespace(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Split `-r __ns:=/x` off a command line: (what is left, the namespace or "")."""
    left: list[str] = []
    namespace = ""
    inside = False
    words = iter(arguments)
    for word in words:
        if word == "--ros-args":
            inside = True
        elif word == "--":
            inside = False
        if inside and word in ("-r", "--remap"):
            rule = next(words, None)
            if rule is not None and rule.startswith("__ns:="):
                namespace = rule.removeprefix("__ns:=")
                continue
            left += [word] if rule is None else [word, rule]
            continue
        left.append(word)
    return left, "" if namespace == "/" else namespace


def team_remaps(arguments: Sequence[str], namespace: str) -> list[str]:
    """Return ROS arguments that move /tf, /tf_static and /clock into a team's namespace.

    With them two teams in one domain do not see one another's frames and time. Rules that the
    command line has for these topics stand.
    """
    if not namespace:
        return []
    rules: list[str] = []
    for topic in OF_THE_TEAM:
        if not any(word.startswith(f"{topic}:=") for word in arguments):
            rules += ["-r", f"{topic}:={as_remapped(topic, namespace)}"]
    return ["--ros-args", *rules, "--"] if rules else []


def end_with_parent() -> None:
    """Have the kernel end this process with the one that COTERIE_PARENT names, if it is the parent.

    `ros2 launch` that is told to end by SIGTERM, or is killed, leaves its nodes behind.
    """
    parent = os.environ.get("COTERIE_PARENT", "")
    if not parent.isdigit() or int(parent) != os.getppid() or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def run_nodes(factory: Factory, args: Sequence[str] | None = None) -> int:
    """Make the nodes, spin them until SIGINT or SIGTERM, end them, return the exit code.

    0 after a signal; MISCONFIGURED where a parameter or what it names cannot be used, so that no
    restart would help; 1 where anything else kept a node from starting, or something raised that
    nobody caught (its message and traceback go to stderr).

    Args:
        factory: Makes the node or nodes.
        args: Command line with the program's name; None for that of the process, which then ends
            here: tearing down all the libraries it has loaded would take seconds.
    """
    code = _run_nodes(factory, args)
    if args is None:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run_nodes(factory: Factory, args: Sequence[str] | None) -> int:
    arguments, namespace = take_namespace(sys.argv if args is None else args)
    arguments += team_remaps(arguments, namespace)
    end_with_parent()
    context = Context()
    stop = threading.Event()

    asked = 0.0

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        # A terminal and ros2 launch both pass on one Ctrl-C; only a later one means: at once.
        if stop.is_set() and time.monotonic() - asked > _INSIST:
            os._exit(1)
        if not stop.is_set():
            asked = time.monotonic()
        stop.set()

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        rclpy.init(args=arguments, context=context, signal_handler_options=SignalHandlerOptions.NO)
        remember_arguments(context, arguments)
        own = remove_ros_args(args=arguments)[1:]
        robots = own[own.index("--robots") + 1 :] if "--robots" in own else []
        journal_from_environment("-".join([os.path.basename(arguments[0]), *robots[:1]]))
        made = factory(ProcessOptions(own, namespace, context))
        nodes = [made] if isinstance(made, AgentNode) else list(made)
        return spin_nodes(nodes, context, stop)
    except SystemExit as wish:  # argparse in a factory
        return wish.code if isinstance(wish.code, int) else 1
    except Exception as error:
        print(f"{os.path.basename(arguments[0])}: {error}", file=sys.stderr, flush=True)
        # What rcl says about a command line needs no traceback, nor do errors of the user's input.
        if not isinstance(error, (ValueError, OSError, RCLError)):
            traceback.print_exc()
        return MISCONFIGURED if isinstance(error, ValueError) else 1
    finally:
        context.try_shutdown()
        for number, handler in before.items():
            signal.signal(number, handler)


def spin_nodes(nodes: Sequence[AgentNode], context: Context, stop: threading.Event) -> int:
    """Spin nodes until `stop` is set or one fails; then end them all. Returns the exit code."""
    executor = make_executor(context)
    for node in nodes:
        executor.add_node(node)
    code = 0
    try:
        spin(executor, context, until=lambda: stop.is_set() or any(n.failure for n in nodes))
        if any(node.failure for node in nodes):
            code = MISCONFIGURED if any(node.misconfigured for node in nodes) else 1
    except Exception:
        traceback.print_exc()
        code = 1
    finally:
        watchdog = threading.Timer(_SHUTDOWN_TIMEOUT_S, _give_up, [code])
        watchdog.daemon = True
        watchdog.start()
        for node in nodes:
            node.ending = True
        wind_down(nodes, executor, context)
        if context.ok():
            # Results of goals that were cancelled just now still have to leave.
            spin(executor, context, until=lambda: False, timeout=0.1, period=0.05)
        for node in nodes:
            node.destroy_node()
        executor.shutdown()
        context.try_shutdown()
        watchdog.cancel()
    return code


def _give_up(code: int) -> None:
    print(f"shutdown took more than {_SHUTDOWN_TIMEOUT_S:g} s; ended it. Threads:", file=sys.stderr)
    faulthandler.dump_traceback(file=sys.stderr)
    sys.stderr.flush()
    os._exit(code or 1)


def wind_down(nodes: Sequence[AgentNode], executor: Executor, context: Context) -> None:
    """Halt nodes and end their tasks while their executor spins; then deactivate them.

    Where the executor cannot spin any more, what was halted by other ways is waited for all the
    same. Call `destroy_node` of each next.
    """
    for node in nodes:
        node.wind_down()

    def over() -> bool:
        return all(node.wound_down for node in nodes)

    try:
        spin(executor, context, until=over, period=0.02)
    except Exception:
        traceback.print_exc()
    while not over():
        time.sleep(0.02)
    for node in nodes:
        node.stop_work()
