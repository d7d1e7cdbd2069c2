"""The scripts of examples/ run as they are; those that need a team share one that runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coterie_fixtures.commands import coterie
from coterie_fixtures.ros_harness import patience

if TYPE_CHECKING:
    from coterie import Team

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROS = (pytest.mark.ros, pytest.mark.slow)
SCRIPTS = [
    pytest.param("ask_a_team", r"yes, \d+% sure(?s:.*)Why: the question", marks=ROS),
    pytest.param("give_a_task", "done: Brought", marks=ROS),
    pytest.param("my_aggregator", r"(yes, 90|no, 80)% sure, as any_yes decides", marks=ROS),
    pytest.param("my_rule", r"because seen \d+ times(?s:.*)as any_yes decides", marks=ROS),
    pytest.param("my_driver", "yes", marks=ROS),
    ("my_decision", "door-2, decided by rule"),
    ("my_detector", r"cup at \(2\.0, 0\.0, 1\.0\) m"),
    ("map_in_a_notebook", r"chair in bedroom at \(0\.96, (?s:.*)the picture: /.*house_map.png"),
]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A place of its own for running teams, which the scripts find, too."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(folder))
        patch.delenv("ROS_DOMAIN_ID", raising=False)
        yield folder


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package of two skills, installed for the programs of teams."""
    folder = tmp_path_factory.mktemp("packages")
    source, site = folder / "my_skills", folder / "site"
    shutil.copytree(EXAMPLES / "my_skills", source)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", site)
    pip = [sys.executable, "-m", "pip", "install", *options, source]
    subprocess.run(pip, check=True, timeout=patience(120.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
        patch.syspath_prepend(str(site))
        yield


@pytest.fixture(scope="module")
def house(state: Path, skills: None) -> Iterator[Team]:
    """The team of the examples, running."""
    from coterie import Team

    with Team.start(EXAMPLES / "house.yaml", timeout=patience(180.0)) as team:
        yield team


def run(script: str, folder: Path) -> str:
    """Run a script in a folder; return what it says."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{script}.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=patience(300.0),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(("script", "says"), SCRIPTS)
def test_it_runs_as_it_is(script, says, request, state, tmp_path, monkeypatch):
    if script in ("ask_a_team", "give_a_task"):
        request.getfixturevalue("house")
    if script == "my_driver":  # a real robot's team is in domain 0 where nothing else is said
        monkeypatch.setenv("ROS_DOMAIN_ID", str(request.getfixturevalue("ros_domain")))
    told = run(script, tmp_path)
    assert re.search(says, told), told
    if script == "my_rule":
        why = coterie("why", "--team", "seen_twice").communicate(timeout=patience(60.0))[0]
        assert "by my_rule:seen_twice" in why and "any_yes" in why


@pytest.mark.ros
@pytest.mark.slow
def test_a_running_team_does_the_skills_of_a_package(house: Team):
    told = coterie("robot", "try", "rover", "wipe", "nothing")
    assert "it sees no 'nothing'" in told.communicate(timeout=patience(120.0))[0]
    ended = house.do("Wipe the kitchen counter and press a light switch")
    assert (ended.outcome, ended.success) == ("partial", False), ended.message
    for part in ("wipe done: counter", "press done: light-switch", "nobody looked at what came of"):
        assert part in ended.message.lower()
    why = coterie("why", "rover", "--team", "house").communicate(timeout=patience(60.0))[0]
    assert "its hand did it; nobody looked at what came of it" in why, why


def test_every_script_is_short_and_run():
    scripts = {file.stem: len(file.read_text().splitlines()) for file in EXAMPLES.glob("*.py")}
    assert len(scripts) >= 8 and max(scripts.values()) <= 40
    known = {one.values[0] if hasattr(one, "values") else one[0] for one in SCRIPTS}
    assert set(scripts) == known | {"team.launch"}


def test_the_team_files_of_the_examples_are_right(monkeypatch):
    from coterie_bringup.team import load_team

    monkeypatch.syspath_prepend(str(EXAMPLES))
    names = {load_team(file).name for file in EXAMPLES.glob("*.yaml") if file.stem != "floor"}
    assert names == {"house", "any_yes", "seen_twice", "paper_dog"}


def test_the_launch_file_starts_the_house(monkeypatch):
    pytest.importorskip("launch.actions")
    pytest.importorskip("launch_ros")
    import runpy

    description = runpy.run_path(str(EXAMPLES / "team.launch.py"))["generate_launch_description"]()
    assert len(description.entities) == 2


@pytest.mark.ros
@pytest.mark.slow
def test_words_of_a_person_reach_no_shell_and_a_stop_is_heard(house: Team, state: Path, tmp_path):
    reason = f"hot; touch {tmp_path}/a $(touch {tmp_path}/b) --by=nobody"
    events: list[tuple[str, str]] = []
    house.on_event(lambda event: events.append((event.kind, event.who)))
    assert set(house.stop(reason, "rover")) == {"rover"}
    assert set(house.release()) == {"rover", "scout"}
    logged = [json.loads(line) for line in (state / "stops.log").read_text().splitlines()]
    assert logged[-2]["reason"] == reason and logged[-2]["robots"] == ["rover"]
    assert not list(tmp_path.iterdir())
    assert ("stopped", "rover") in events


@pytest.mark.ros
@pytest.mark.slow
def test_a_program_that_does_not_close_its_team_ends_well(house: Team):
    words = "from coterie import Team; team = Team('house'); print(team.robots, team.map())"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=False,
        timeout=patience(120.0),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "rover" in done.stdout


@pytest.mark.ros
@pytest.mark.slow
async def test_a_loop_of_its_own_hears_answers_and_gets_the_map(house: Team):
    from coterie import AsyncTeam, SemanticMap, TeamError

    async with await AsyncTeam.join("house") as team:
        heard = team.answers()
        answer = await team.ask("Is there a bed in the bedroom?", explore=False)
        other = answer
        while other is answer or other.question != answer.question:  # earlier ones come first
            other = await asyncio.wait_for(anext(heard), patience(30.0))
        assert (other.text, answer.question) == (answer.text, "Is there a bed in the bedroom?")
        house_map = await team.map()
        assert isinstance(house_map, SemanticMap) and len(house_map.rooms) == 4
        found = await team.find("something to sit on", limit=2)
        assert found and all(thing.label and thing.center for thing in found)
        with pytest.raises(TeamError, match="empty"):
            await team.ask("  ")
    with pytest.raises(TeamError, match="closed"):
        await team.map()
