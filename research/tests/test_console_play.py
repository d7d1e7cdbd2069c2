"""People as agents: what they can do and know, the terminal, records, resuming."""

import asyncio
import contextlib
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from coterie_core.cooperation import Facts, Note, Send, compose
from research.bench.reveca.bodies import HouseholdOptions
from research.bench.reveca.household import HouseholdWorld
from research.bench.reveca.methods import METHODS, WORLDS
from research.play.actions import choices
from research.play.command import decider_of, play_in_terminal
from research.play.person import Person
from research.play.record import PlayError, Record, read_record
from research.play.session import PlaySession, Quit, names_of_people
from research.play.state import state_of
from research.play.terminal import Terminal
from reveca_agent.agent import RevecaAgent


class Picks:
    """A person who chooses by a rule."""

    def __init__(self, rule):
        self.rule = rule

    async def decide(self, person):
        return self.rule(person, choices(person))

    async def underway(self, person):
        pass


def session(tmp_path, rule, world="household", method="reveca", agents=2, seed=0):
    record = Record(world=world, method=method, seed=seed, agents=agents, people=["Ada"])
    return PlaySession(record, tmp_path / "s.json", {"Ada": Picks(rule)})


def sensible(person, found):
    """Put, take, open, go to what is wanted, look into what is new, else wait."""
    held = bool(person.percept.hands)
    for pattern in (
        r"answer .* (taken|placed|searched)$", "put ", "take ", "open ",
        *([r"go to (" + "|".join(t for t in person.briefing.goal.targets) + ")-"] if held else []),
        r"go to (" + "|".join(t.replace(" ", "-") for t in person.briefing.goal.items) + ")-",
    ):  # fmt: skip
        for choice in found:
            if choice.group != "further" and re.match(pattern, choice.id):
                return choice
    new = [c for c in found if "not seen yet" in c.text or c.target in person.memory.closed]
    return (new or [c for c in found if c.id == "stand by"])[0]


@pytest.mark.parametrize("world", ["household", "transport"])
def test_all_that_is_offered_can_be_done(tmp_path, world):
    draw, kinds = random.Random(3), set()

    def rule(person, found):
        assert len({c.id for c in found}) == len(found)
        result = person.percept.result
        assert result is None or result.ok, (person.current, result)
        hands = [c for c in found if c.id.split()[0] in {"put", "take", "open", "look"}]
        chosen = draw.choice(hands if hands and draw.random() < 0.6 else found)
        kinds.add(chosen.id.split()[0])
        if person.percept.step > 240:
            raise Quit
        return chosen

    for seed in range(3):
        played = session(tmp_path, rule, world, agents=1, seed=seed)
        with contextlib.suppress(Quit):  # random actions may even reach the goal
            asyncio.run(played.play())
    assert {"put", "take", "go"} <= kinds and {"open", "look"} & kinds


def test_what_one_tells_of_rooms_is_what_was_looked_into():
    """No click says that nothing is left where something is closed, or what is needed lies."""
    told = 0
    for seed in range(60, 66):
        world = HouseholdWorld(HouseholdOptions(agents=2))
        person = Person("Ada", None)
        person.begin(world.reset(seed)["Ada"])
        for room in world.home.ways.rooms.values():
            world.bodies["Ada"].spot = room.spot
            world.steps += 1
            person.observe(world.percepts()["Ada"])
            note = next(c for c in choices(person) if c.id == "tell").action().note
            left = set(note.facts.searched)
            for thing in world.things.values():
                if thing.spot.room in left:
                    assert thing.is_open is not False
                    assert thing.label not in world.goal.items or thing.id in person.memory.placed
            closed = {id_ for one in note.facts.looked for id_ in one.closed}
            assert all(world.things[id_].is_open is False for id_ in closed)
            told += len(closed)
    assert told


async def test_a_free_question_is_answered_and_the_person_is_told():
    world = HouseholdWorld(HouseholdOptions(agents=2))
    person, bob = Person("Ada", None), RevecaAgent("Bob")
    briefings = world.reset(61)
    person.begin(briefings["Ada"])
    bob.begin(briefings["Bob"])
    percepts = world.percepts()
    person.observe(percepts["Ada"])
    bob.observe(percepts["Bob"])
    choice = person.message("which rooms are nice, shall I take the milk?")
    percepts = world.step({"Ada": person._did(choice.action()), "Bob": await bob.act()})
    assert any("of no form that robots understand" in one for one in person.news)
    bob.observe(percepts["Bob"])
    answer = await bob.act()
    assert isinstance(answer, Send) and "did not understand" in answer.note.text


def test_a_person_knows_nothing_that_is_out_of_sight():
    def first_view(change):
        world = HouseholdWorld(HouseholdOptions(agents=2))
        person = Person("Ada", None)
        person.begin(world.reset(4)["Ada"])
        if change:
            room = world.bodies["Ada"].spot.room
            away = [t for t in world.things.values() if t.spot.room != room]
            target = next(t for t in away if t.kind == "surface")
            moved = [t for t in away if t.portable and t.parent != target.id]
            for thing in moved:
                world.place(thing.id, target.id)
            assert moved and world.bodies["Bob"].spot.room != room
            world.bodies["Bob"].walked = 99.0
        person.observe(world.percepts()["Ada"])
        return state_of(person, choices(person))

    assert first_view(False) == first_view(True)


def test_whole_episode_is_measured_and_written_down(tmp_path):
    played = session(tmp_path, sensible, agents=3, seed=1)
    asyncio.run(played.play())
    kept = read_record(tmp_path / "s.json")
    assert kept.state == "questions" and kept.metrics["success"]
    steps = kept.metrics["simulation_steps"]
    for name in kept.team:
        assert sum(r.last - r.first + 1 for r in kept.rows if r.who == name) == steps
    assert len(kept.messages) == kept.metrics["communication_steps"]
    assert kept.decisions[0].step == 0 and kept.goal.startswith("put groceries away")
    played.answer("Ada", dict.fromkeys(kept.asked(), 7), "good")
    kept = read_record(tmp_path / "s.json")
    assert kept.state == "finished" and kept.comments == {"Ada": "good"}
    assert kept.answers["Ada"]["trust"] == 7


def test_ended_early_and_resumed_is_the_same_as_never_ended(tmp_path):
    whole = session(tmp_path, sensible)
    asyncio.run(whole.play())
    turns = iter(range(5))

    def tires(person, found):
        if next(turns, None) is None:
            raise Quit
        return sensible(person, found)

    with pytest.raises(Quit):
        asyncio.run(session(tmp_path, tires).play())
    half = read_record(tmp_path / "s.json")
    assert half.state == "aborted" and half.rows
    again = PlaySession(half, tmp_path / "s.json", {"Ada": Picks(sensible)})
    asyncio.run(again.play())
    for part in ("rows", "messages", "metrics", "state"):
        assert getattr(again.record, part) == getattr(whole.record, part)
    assert [d.choice for d in again.record.decisions] == [d.choice for d in whole.record.decisions]

    half.rows[1].do = {"action": "Wait"}  # the others did something else then
    with pytest.raises(PlayError, match="do not act as they did"):
        asyncio.run(PlaySession(half, tmp_path / "s.json", {"Ada": Picks(sensible)}).play())


def meet():
    """Return a person and a REVECA agent with the same plate known, and the world."""
    world = HouseholdWorld(HouseholdOptions(agents=2, known=True))
    agents = {"Ada": Person("Ada", None), **METHODS["reveca"].make(world, None)}
    agents["Ada"] = Person("Ada", None)
    for name, briefing in world.reset(0).items():
        agents[name].begin(briefing)
    for name, percept in world.percepts().items():
        agents[name].observe(percept)
    plate = next(t.id for t in world.things.values() if t.label == "plate")
    return agents["Ada"], agents["Bob"], plate


def test_questions_are_answered_with_one_click_and_agents_understand():
    ada, bob, plate = meet()
    facts = Facts(item=plate, label="plate", place="cabinet-1")
    ada.receive(Note("Bob-1", "Bob", "ask", compose("ask", facts)[0], facts, ("Ada",)))
    yes = next(c for c in choices(ada) if c.id == "answer Bob-1 taken")
    bob.communicator.asked[plate] = "Ada"
    said = ada._did(yes.action()).note
    assert said.to == ("Bob",) and said.text.startswith(f"Yes, I took {plate}.")
    bob.receive(said)
    assert bob.memory.scene[plate].thing.parent == "Ada"
    assert not [c for c in choices(ada) if c.id.startswith("answer")]


def test_words_of_ones_own_are_understood_and_never_more_than_allowed():
    ada, bob, plate = meet()
    note = ada._did(ada.message(f"Did you take the {plate}?").action()).note
    assert note.facts is None and ada.ears.asked == {plate: ""}
    bob.receive(note)
    assert bob.communicator.duties[0].facts.item == plate
    for words, to, why in (("", "", "some words"), ("x" * 501, "", "at most 500"),
                           ("hi", "Zed", "no 'Zed'")):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            ada.message(words, to)
    told = next(c for c in choices(ada) if c.id == "tell").action()
    assert isinstance(told, Send) and len(told.note.text) <= 500 and told.note.facts.seen


def terminal(tmp_path, lines, **changes):
    values = {"world": "short", "method": "reveca", "seed": 0, "agents": 2, "people": ["Ada"]}
    script = iter(lines)

    def read(prompt):
        line = next(script, None)
        if line is None:
            raise EOFError
        return line

    with open(tmp_path / "screen", "w") as screen:
        console = Console(file=screen, width=100)
        code = play_in_terminal(
            Record(**values | changes), tmp_path / "t.json", console, read
        )  # fmt: skip
    return code, (tmp_path / "screen").read_text(), tmp_path / "t.json"


@pytest.fixture
def short(monkeypatch):
    """A world whose episodes end after a few steps."""
    options = {"horizon": 4}
    monkeypatch.setitem(
        WORLDS, "short", lambda n: HouseholdWorld(HouseholdOptions(agents=n, **options))
    )
    return options


def test_terminal_from_the_first_step_to_the_last_answer(tmp_path, short):
    lines = ["?", "m", "99", "@Zed hi", "@Bob [bold]hi[/bold] there", "", "h", "1", "wait for me",
             "1", "8", "6", "x", "5", "4", "3", "not bad"]  # fmt: skip
    code, screen, file = terminal(tmp_path, lines)
    assert code == 0 and "there is no 99" in screen and "no 'Zed'" in screen
    assert "Ada to Bob: [bold]hi[/bold] there" in screen and "4 left" in screen
    assert screen.count("a number from 1 to 7") == 2
    kept = json.loads(file.read_text())
    assert kept["state"] == "finished" and list(kept["answers"]["Ada"].values()) == [6, 5, 4, 3]
    assert kept["comments"] == {"Ada": "not bad"} and kept["metrics"]["simulation_steps"] == 4
    assert kept["messages"][0]["to"] == ["Bob"]


def test_terminal_that_ends_is_saved_and_goes_on(tmp_path, short):
    code, screen, file = terminal(tmp_path, ["hello"])
    assert code == 3 and f"--resume {file}" in screen.replace("\n", "")
    kept = read_record(file)
    assert kept.state == "aborted" and kept.metrics["simulation_steps"] == 1
    session = PlaySession(kept, file, {"Ada": Terminal(Console(quiet=True), lambda _: "go on")})
    asyncio.run(session.play())
    assert read_record(file).state == "questions"


def test_silent_methods_are_not_asked_about_talk():
    asked = Record(world="household", method="no_talk", seed=0, agents=2, people=["A"]).asked()
    assert asked == ["efficiency", "trust"]
    assert Record(world="household", method="rhp", seed=0, agents=1, people=["A"]).asked() == []


def test_mistakes_are_told(tmp_path):
    def made(**changes):
        values = {"world": "household", "method": "reveca", "seed": 0, "agents": 2}
        return PlaySession(Record(**values | {"people": ["Ada"]} | changes), tmp_path / "x", {})

    for changes, why in (
        ({"world": "moon"}, "world 'moon': expected one of household"),
        ({"method": "oracle"}, "sees everything"),
        ({"agents": 11}, "agents: expected 1 to 10"),
        ({"people": ["A"] * 3}, "people: expected 1 to 2"),
    ):
        with pytest.raises(PlayError, match=why):
            made(**changes)
    record = made().record
    for answers, why in (
        ({"trust": 8}, "appropriateness: choose"),
        (dict.fromkeys(record.asked(), True), "choose a number"),
        ({"joy": 1}, "'joy' is not asked"),
    ):
        with pytest.raises(PlayError, match=why):
            record.answer("Ada", answers, "")
    assert record.answers == {}
    file = tmp_path / "damaged.json"
    for text, why in (("{", "not a saved session"), ('{"world": 3}', "damaged.json: .*world")):
        file.write_text(text)
        with pytest.raises(PlayError, match=why):
            read_record(file)
    with pytest.raises(PlayError, match="cannot be read"):
        read_record(tmp_path / "none.json")
    (tmp_path / "f").write_text("")
    with pytest.raises(PlayError, match="cannot be written"):
        record.save(tmp_path / "f" / "x.json")
    with pytest.raises(PlayError, match="people"):
        names_of_people("household", 2, 3)


def test_profiles_that_cannot_be_used_are_told(tmp_path):
    (tmp_path / "p.yaml").write_text("kind: rules\n")
    decider, model = decider_of(tmp_path / "p.yaml")
    assert decider is not None and model == "rules" and decider_of(None) == (None, "")
    (tmp_path / "bad.yaml").write_text("kind: magic\n")
    for name in ("bad.yaml", "none.yaml"):
        with pytest.raises(PlayError, match=name):
            decider_of(tmp_path / name)


def test_ctrl_c_at_a_real_terminal_saves(tmp_path):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "research.play.command", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    screen = b""

    def see(text):
        nonlocal screen
        end = time.monotonic() + 60.0
        while text not in screen:
            assert time.monotonic() < end, screen.decode()
            if select.select([master], [], [], 1.0)[0]:
                screen += os.read(master, 65536)

    see(b"> ")
    screen = b""
    os.write(master, b"hello Bob\n")
    see(b"step 1")
    see(b"> ")
    process.send_signal(signal.SIGINT)
    see(b"--resume")
    assert process.wait(30.0) == 3
    os.close(master)
    (file,) = tmp_path.glob("*.json")
    kept = read_record(file)
    assert kept.state == "aborted" and kept.messages[0].text == "hello Bob"
