"""What robots moved, in the memory and the answers of a robot that only looks."""

from __future__ import annotations

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView, RoomView
from coterie_core.questions import Answer, Question
from coterie_requests.common_sense import HouseholdSense
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import Room, SceneGraph
from coterie_world.team_memory import TeamMemory
from mele_explorer.answering import Answerer
from mele_explorer.memory import Memory
from mele_explorer.memory_file import memory_from_json, memory_to_json
from mele_explorer.moves import note_event

STUDY, PANTRY = RoomView("s", "study", "office"), RoomView("p", "pantry", "kitchen")


class Team:
    """One explorer that was in the study, and a robot `dora` that carries things about."""

    def __init__(self, *clocks: float) -> None:
        self.memory, self.team = Memory("ada"), TeamMemory()
        rooms = SceneGraph()
        for view in (STUDY, PANTRY):
            rooms.add_room(Room(view.id, view.name, view.type))
        self.team.adopt(rooms)
        self.answerer = Answerer(self.memory, HouseholdSense())
        self.answerer.team = self.team
        self.events = 0
        self.steps = 0
        for _ in range(3):
            self.look(1.0, *clocks)

    def look(self, time: float, *clocks: float) -> None:
        seen = tuple(
            Detection("clock", 0.9, Box((x, 0.0, 1.0), (0.1, 0.1, 0.2)), STUDY) for x in clocks
        )
        pose = Pose((0.0, 0.6 * self.steps, 0.0))
        self.memory.update(
            Observation(
                "ada",
                self.steps,
                time,
                pose,
                "here",
                STUDY,
                seen,
                (PlaceView("there", (9.0, 0.0, 0.0), 1.0),),
                {"here": 1.0},
            )
        )
        self.steps += 1

    def carry(self, x: float, time: float, to: float = 20.0) -> None:
        self._event("picked", x, time, from_room="s")
        self._event("placed", to, time + 5.0, to_room="p")
        self.team.time = time + 5.0

    def _event(self, kind: str, x: float, time: float, **more: str) -> None:
        self.events += 1
        event = ObjectEvent(
            id=f"e{self.events}", kind=kind, robot="dora", object=f"d-{x}", label="clock",
            time=time, position=(x, 0.0, 1.0), **more,
        )  # fmt: skip
        if self.team.note(event):
            note_event(self.memory, event, self.team.graph.rooms.get(event.to_room))

    def ask(self, room: str) -> Answer:
        return self.answerer.answer_by_rule(Question("q", "clock", room))


def test_what_was_brought_away_is_no_longer_there_and_who_brought_it_is_told() -> None:
    team = Team(1.0)
    assert team.ask("study").yes and team.ask("pantry").evidence.kind == "prior_only"
    team.carry(1.05, 100.0)
    team.team.time = 400.0
    answer = team.ask("study")
    assert not answer.yes and answer.confidence > 0.5
    evidence = answer.evidence
    assert (evidence.kind, evidence.moved_to, evidence.moved_by) == ("moved", "pantry", "dora")
    assert evidence.age == pytest.approx(295.0)
    assert answer.explanation == "dora brought it to the pantry 5 min ago"
    there = team.ask("pantry")
    assert there.yes and there.evidence.kind == "seen"
    assert there.explanation == "dora brought one there 5 min ago", "it has not seen it itself"


def test_of_three_of_which_two_were_brought_away_the_third_counts() -> None:
    team = Team(1.0, 2.5, 4.0)
    team.carry(1.0, 100.0)
    team.carry(4.0, 200.0)
    answer = team.ask("study")
    assert answer.yes and len(answer.evidence.objects) == 1
    team.carry(2.5, 300.0)
    assert not team.ask("study").yes
    assert len(team.memory.graph.objects) == 3, "all three are in the pantry now"


def test_who_was_never_there_hears_of_it_too() -> None:
    team = Team()
    team.memory.looks.clear()
    team.carry(1.0, 100.0)
    assert team.ask("study").evidence.kind == "moved"


def test_a_sighting_after_the_event_counts_more() -> None:
    team = Team(1.0)
    team.carry(1.0, 100.0)
    team.look(200.0, 1.0)
    team.team.time = 210.0
    answer = team.ask("study")
    assert answer.yes and answer.evidence.kind == "seen"
    assert answer.evidence.age == pytest.approx(10.0)
    late = Team(1.0)
    late.look(200.0, 1.0)
    late.carry(1.0, 100.0)  # heard after it was seen again
    assert late.ask("study").yes


def test_it_is_kept_in_the_file() -> None:
    team = Team(1.0)
    team.carry(1.0, 100.0)
    again = memory_from_json(memory_to_json(team.memory))
    assert again.graph == team.memory.graph
    assert [again.knowledge(["clock"], again.graph.rooms[r]).sightings for r in "sp"] == [0, 1]
