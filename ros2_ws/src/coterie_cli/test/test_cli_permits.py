"""`./coterie permits` and `log`: what a person sees, decides, and can check afterwards."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import key_file, own_state, registered, team_here
from coterie_cli.log import folder_of, moment, show, verify
from coterie_core.skills import Outcome, Pick, SkillRefused, SkillResult, Target
from coterie_safety.ledger import Ledger, check, entries, file_of
from coterie_safety.permits import (
    Decision,
    PermitGate,
    PermitGoal,
    PermitRequest,
    Permits,
    RobotPermits,
    make_key,
    public_half,
)

MUG = Pick(Target("mug", (2.0, 1.0, 0.8)))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    return tmp_path


def written(folder: Path) -> Path:
    """Return the log of a robot that did one thing, and was refused another."""
    gate = PermitGate(
        RobotPermits(team=Permits.model_validate(
            {"rules": [{"objects": "mug", "answer": "allow"}], "otherwise": "refuse"}
        ), name="rover"), Ledger(folder),
    )  # fmt: skip
    goal = gate.around.goal("rover", MUG, None, 0.4, why="the [red]table[/red]\x1b[2J")
    gate.begin(gate.apply(goal, print), goal, MUG, None)
    gate.ended(goal, SkillResult(Outcome.SUCCEEDED))
    with pytest.raises(SkillRefused):
        gate.apply(gate.around.goal("rover", "dock", None, 0.4), print)
    return folder


def test_the_log_in_words(tmp_path, capsys):
    folder = written(tmp_path)
    assert show(folder, "", "", "", False) == 0
    told = capsys.readouterr().out
    assert "take the mug, for 'the [red]table[/red]" in " ".join(told.split())
    assert "\x1b" not in told
    assert "the policy (permits.rules[0])" in " ".join(told.split())
    assert show(folder, "", "", "refusal", True) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["body"]["reason"].startswith("no permit to drive to its dock")
    assert show(folder, "slim", "", "", True) == 0 and capsys.readouterr().out == ""
    assert show(folder, "", "1h", "", True) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    later = (datetime.now() + timedelta(days=1)).isoformat()
    assert show(folder, "", later, "", True) == 0 and capsys.readouterr().out == ""


def test_the_first_wrong_entry_is_named_and_the_exit_code_tells(tmp_path, capsys):
    folder = written(tmp_path)
    assert verify("", folder, "") == 0
    told = capsys.readouterr().out
    assert "5 entries, all as they were written" in told
    head = told.split()[-1]
    Ledger(folder).write("stop", "rover", {"by": "anna"})
    assert verify("", folder, head) == 0
    assert verify("", folder, "0" * 64) == 1
    capsys.readouterr()
    file = file_of(folder, 1)
    file.write_bytes(file.read_bytes().replace(b"SUCCEEDED", b"CANCELLED"))
    assert verify("", folder, "") == 1
    assert "000001.jsonl, line 3 (after entry 2): was altered" in capsys.readouterr().out
    assert show(folder, "", "", "", True) == 1
    assert "was altered" in " ".join(capsys.readouterr().err.split())


def test_which_log_is_meant(state):
    with pytest.raises(CommandError, match="no log of any team"):
        folder_of("", None)
    old = written(state / "runs" / "20260101-101010-home-77" / "log")
    assert folder_of("", None) == old and folder_of("home", None) == old
    real = written(state / "log" / "lab")
    os.utime(old / "head.json", (1.0, 1.0))
    assert folder_of("", None) == real
    with pytest.raises(CommandError, match="no log of shed"):
        folder_of("shed", None)
    directory = state / "runs" / "now"
    directory.mkdir(parents=True)
    with registered(own_state("demo", 7, directory, log=directory / "log")):
        assert folder_of("", None) == folder_of("demo", None) == directory / "log"
        assert folder_of("lab", None) == real


@pytest.mark.parametrize(
    ("text", "ago"), [("90s", 90.0), ("10m", 600.0), ("2h", 7200.0), ("1d", 86400.0)]
)
def test_moments(text, ago):
    found = datetime.now(timezone.utc) - moment(text)
    assert found.total_seconds() == pytest.approx(ago, abs=5.0)
    with pytest.raises(CommandError, match="no moment"):
        moment("yesterday")


def test_an_id_of_the_list_stands_for_the_words_beside_it():
    from coterie_cli.permits import chosen

    goal = PermitGoal("rover", "pick", "take the knife", digest="ab" * 32)
    true = PermitRequest("12" * 16, goal, (), "permits.otherwise", 1.0, 2.0)
    lie = replace(true, goal=replace(goal, what="turn and look around"))
    assert chosen({true.id: true}, true.shown[:12]) is true
    for said in (lie.shown[:12], true.id[:12]):
        with pytest.raises(CommandError, match="no request that waits"):
            chosen({true.id: true}, said)


@pytest.mark.ros
def test_a_person_at_a_terminal_of_their_own_and_inline(ros, state, capfd, monkeypatch):
    """Requests are listed, allowed by id in another process, and asked beside a task."""
    pytest.importorskip("coterie_msgs")
    from coterie_bringup.task_record import TaskRecord
    from coterie_bringup.task_watcher import TaskWatcher
    from coterie_cli.permits import decide, revoke
    from coterie_cli.permits import show as show_waiting
    from coterie_cli.person import PersonAtTerminal
    from coterie_cli.person_seat import attend
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.permit_server import PermitServer

    monkeypatch.setattr("coterie_cli.permits._FOUND", 0.5)
    key = make_key(key_file())
    policy = RobotPermits(team=Permits(otherwise="ask"), name="rover")
    gate = PermitGate(policy, Ledger(state / "log" / "lab"), public_half(key))
    settled: list[object] = []

    class Driver(AgentNode):
        def on_start(self) -> None:
            PermitServer(self, {"rover": gate}, {"rover": "rover/"})

    def put(label: str) -> str:
        skill = Pick(Target(label, (2.0, 1.0, 0.8)))
        goal = gate.around.goal("rover", skill, None, 0.4)
        return gate.apply(goal, lambda permit, _: settled.append(permit)).shown[:12]

    driver = ros.add(Driver("driver", context=ros.context))
    ros.wait_active(driver)
    directory = state / "runs" / "lab"
    directory.mkdir(parents=True)

    def run(work):
        """Run a command as in a process of its own: with a node, a context, a loop of its own."""
        told: list[object] = []

        def kept() -> None:
            try:
                told.append(work())
            except CommandError as error:
                told.append(error)

        thread = threading.Thread(target=kept)
        thread.start()
        ros.spin_until(lambda: not thread.is_alive(), what="the command")
        return told[0]

    def answer(decision, id_, by="", reason="", lasting=""):
        return run(lambda: decide(decision, id_, by, reason, lasting, team_here()))

    with registered(own_state("lab", ros.domain, directory, robots=["rover"])):
        first, second = put("mug"), put("vase")
        assert run(lambda: show_waiting(team_here())) == 0
        listed = " ".join(capfd.readouterr().out.split())
        assert first in listed and "take the vase" in listed and "not heard" not in listed
        assert "several requests" in str(answer(Decision.ALLOW, "rover"))
        assert answer(Decision.ALLOW, first, by="anna", lasting="5m") == 0
        assert settled[0].standing and settled[0].by == "anna"
        assert settled[0].until - time.time() == pytest.approx(300.0, abs=100.0)
        assert answer(Decision.REFUSE, second, reason="it is dear") == 0
        assert settled[1] is None
        with monkeypatch.context() as patience:
            patience.setattr("coterie_cli.permits._SETTLE", 2.0)
            assert "no request" in str(answer(Decision.ALLOW, first))
        assert run(lambda: show_waiting(team_here())) == 0
        listed = " ".join(capfd.readouterr().out.split())
        held = settled[0].shown[:12]
        assert held in listed and "goals like" in listed and "anna" in listed
        with monkeypatch.context() as patience:
            patience.setattr("coterie_cli.permits._SETTLE", 2.0)
            assert "no permit that holds" in str(run(lambda: revoke("x", "", "", team_here())))
        assert run(lambda: revoke(held, "ben", "guests come", team_here())) == 0
        assert "revoked: rover" in capfd.readouterr().out and gate.standing == ()
    monkeypatch.setattr("coterie_cli.permits._SETTLE", 4.0)
    with registered(own_state("lab", ros.domain, directory, robots=["rover", "ghost"])):
        assert run(lambda: show_waiting(team_here())) == 0
        listed = " ".join(capfd.readouterr().out.split())
        assert "not heard of: ghost" in listed and "nothing waits for a permit of rover" in listed
    keys, end = os.openpty()
    with os.fdopen(end, "r") as stdin:
        shown = io.StringIO()
        person = PersonAtTerminal(Console(file=shown, force_terminal=True), stdin)
        watcher = ros.add(
            TaskWatcher(
                ["rover"],
                TaskRecord("tidy up"),
                attend=lambda node: attend(node, ["rover"], person, "do"),
                context=ros.context,
            )
        )
        ros.wait_active(watcher)
        put("plate")
        ros.spin_until(lambda: "take the plate" in shown.getvalue(), what="the question")
        os.write(keys, b"perhaps\n")
        ros.spin_until(lambda: "not understood" in shown.getvalue(), what="another try")
        os.write(keys, b"1\n")
        ros.spin_until(lambda: len(settled) == 3, what="the answer")
        assert settled[2] is not None and not settled[2].standing
        person.close()
    os.close(keys)
    kinds = [entry.kind for entry in entries(state / "log" / "lab")]
    assert kinds.count("permit") == 2 and kinds.count("refusal") == 1
    assert kinds.count("revocation") == 1
    assert check(state / "log" / "lab").fault == ""
