"""Which of the running teams a command means."""

from __future__ import annotations

import os

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import DomainError, RunState, choose_team, team_here


def state(domain: int) -> RunState:
    return RunState(
        team="trio",
        pid=os.getpid(),
        pid_birth=0,
        domain=domain,
        directory="run",
        started=1.0,
    )


def test_which_team_is_asked() -> None:
    a, b = state(40), state(41)
    assert choose_team([a], None, "") is a
    assert choose_team([a, b], 41, "") is b
    assert choose_team([a, b], None, "40") is a  # the shell's domain chooses among them
    assert choose_team([a], None, "41") is a
    assert choose_team([a], 99, "").domain == 99
    assert choose_team([], None, "13").domain == 13
    with pytest.raises(CommandError, match=r"no team runs.*\./coterie up"):
        choose_team([], None, "")
    with pytest.raises(CommandError, match=r"trio \(--domain 40 --namespace /\), trio"):
        choose_team([a, b], None, "")


def test_of_two_teams_in_one_domain_the_namespace_chooses() -> None:
    a, b = state(40), state(40)
    b.namespace = "lab"
    with pytest.raises(CommandError, match="--domain 40 --namespace lab"):
        choose_team([a, b], 40, "")
    assert choose_team([a, b], 40, "", "/lab") is b
    assert choose_team([a, b], None, "", "/") is a
    assert choose_team([a], 7, "", "/lab").namespace == "lab"


@pytest.mark.parametrize("text", ["300", "-1", "lab"])
def test_a_domain_that_is_none_is_named_before_any_node_is_made(text) -> None:
    with pytest.raises(DomainError, match=f"'{text}': expected a number from 0 to 232"):
        choose_team([], None, text)
    assert choose_team([state(40)], None, text).domain == 40
    assert choose_team([], 12, text).domain == 12


def test_a_team_is_chosen_by_its_name(monkeypatch) -> None:
    one, other = state(40), state(41)
    other.team = "home"
    monkeypatch.setattr("coterie_bringup.rundir.running_teams", lambda: [one, other])
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    assert team_here(team="home") is other
    with pytest.raises(CommandError, match="no team 'hom' runs here; did you mean 'home'"):
        team_here(team="hom")
