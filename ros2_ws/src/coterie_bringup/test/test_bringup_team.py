"""Team files: what is accepted, and that every mistake is named with line, field and a way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coterie_bringup.node_parameters import aggregator_parameters, open_parameters
from coterie_bringup.plan import plan
from coterie_bringup.team import load_team, parse_team
from coterie_core.conformal import LEARNED_FROM, load_conformal
from coterie_core.yaml_marks import FileProblem

pytestmark = pytest.mark.quick

GOOD = """\
name: trio
world:
  kind: embedded
  seed: 7
seed: 3
models:
  local:
    kind: openai
    base_url: http://localhost:11434/v1
    model: some-model
robots:
  - name: rover
    embodiment: wheels
    model: local
  - name: walker
    embodiment: legs
    start: {room: kitchen}
  - name: drone
    embodiment: air
exploration: {steps: 12}
questions: {count: 10, train: 20}
aggregator:
  method: cam_plus
  deadline: 2.5
"""


def problems(text: str) -> list[str]:
    with pytest.raises(FileProblem) as caught:
        parse_team(text, "demo.yaml")
    return str(caught.value).splitlines()


def test_a_good_file() -> None:
    team = parse_team(GOOD)
    assert [r.name for r in team.robots] == ["rover", "walker", "drone"]
    assert team.robots[1].start.room == "kitchen"
    assert team.profile("local").model == "some-model"
    assert team.profile("rules").kind == "rules"
    assert team.mode == "lockstep"


# What is put in place of what, and what the message must hold.
TYPOS = [
    (
        "embodiment: wheels",
        "embodiment: whels",
        "demo.yaml:13: robots[0].embodiment: unknown embodiment 'whels'; did you mean 'wheels'?",
    ),
    (
        "steps: 12",
        "stepps: 12",
        "exploration.stepps: unknown field 'stepps'; did you mean 'steps'?",
    ),
    (
        "model: local",
        "model: locale",
        "demo.yaml:14: robots[0].model: unknown model profile 'locale'; did you mean 'local'?",
    ),
    (
        "method: cam_plus",
        "method: cam_pluss",
        "demo.yaml:23: aggregator.method: unknown value 'cam_pluss'; did you mean 'cam_plus'?",
    ),
    (
        "name: walker",
        "name: rover",
        "demo.yaml:15: robots[1].name: the name 'rover' is taken (line 12)",
    ),
    (
        "name: drone",
        "name: the-drone",
        "cannot be a ROS namespace: letters, digits and _, a letter first; for example 'the_drone'",
    ),
    ("name: drone", "name: 2fast", "for example 'robot_2fast'"),
    ("name: drone", "name: on", "expected text, got true (put it in quotes)"),
    ("name: drone", "name: Bridge", "'Bridge' is taken by the team's own nodes"),
    ("name: drone", "nmae: drone", "robots[2].nmae: unknown field 'nmae'; did you mean 'name'?"),
    ("name: drone", "nmae: drone", "demo.yaml:18: robots[2].name: is missing"),
    ("seed: 3", "seed: three", "demo.yaml:5: seed: expected a whole number, got 'three'"),
    ("seed: 3", "seed: -1", "greater than or equal to 0, got -1"),
    ("deadline: 2.5", "deadline: 0", "demo.yaml:24: aggregator.deadline: must be greater than 0"),
    (
        "{room: kitchen}",
        "{room: kitchen, place: p1}",
        "demo.yaml:17: robots[1].start: give only one of room, place, pose; got room and place",
    ),
    ("{room: kitchen}", "{rom: kitchen}", "unknown field 'rom'; did you mean 'room'?"),
    ("{room: kitchen}", "{pose: {x: 1}}", "robots[1].start.pose.y: is missing"),
    (
        "exploration: {steps: 12}",
        "exploration: {steps: 0}",
        "give at least one of steps, time, coverage",
    ),
    (
        "questions: {count: 10, train: 20}",
        "questions: {source: file}",
        "source is 'file': give its path",
    ),
    (
        "questions: {count: 10, train: 20}",
        "questions: 40",
        "demo.yaml:21: questions: expected a map (key: value), got 40",
    ),
    (
        "kind: openai",
        "kind: opnai",
        "demo.yaml:8: models.local.kind: unknown value 'opnai'; did you mean 'openai'?",
    ),
    ("model: some-model", "api_key: sk-12345678901234567890", "api_key_env"),
    ("name: trio", "name: trio\nname: duo", "demo.yaml:2: name: stands twice (first on line 1)"),
    ("name: trio", "nam: trio\nmodee: real_time", "unknown field 'modee'; did you mean 'mode'?"),
    ("  seed: 7", "  sed: 7", "demo.yaml:4: world"),
    ("  seed: 7", "\tseed: 7", "demo.yaml:4: indented with a tab; YAML wants spaces"),
    ("{room: kitchen}", "{room: kitchen", "not YAML"),
    ("name: trio", "name: !!python/object:os.system x", "is not allowed here"),
    ("seed: 3", "seed: 2026-13-45", "put it in quotes"),
    (
        "  - name: drone\n    embodiment: air",
        "  - just a word",
        "robots[2]: expected a map (key: value), got 'just a word'",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), TYPOS, ids=[t[1][:40] for t in TYPOS])
def test_typos(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    text = "\n".join(problems(GOOD.replace(old, new, 1)))
    assert expected in text
    assert "sk-1234" not in text


def test_all_mistakes_are_reported_at_once_in_the_order_of_lines() -> None:
    text = GOOD.replace("seed: 3", "seed: x").replace("wheels", "weels").replace("12}", "-1}")
    found = problems(text)
    assert len(found) == 3
    lines = [int(f.split(":")[1]) for f in found]
    assert lines == sorted(lines) == [5, 13, 20]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "demo.yaml: the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("- a\n- b\n", "expected a map (key: value), got a list"),
        ("just words", "expected a map (key: value), got 'just words'"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("robots: []\nworld: {kind: embedded}\n", "demo.yaml:1: robots: "),
        ("world: {kind: embedded}\n", "robots: is missing"),
        ("[" * 5000, "nested too deeply"),
        ("a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]"
            for i in range(8)), "once aliases are followed"),
        ("a: &a [*a]", "nested too deeply"),
    ],
)  # fmt: skip
def test_odd_files(text: str, expected: str) -> None:
    assert expected in "\n".join(problems(text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(FileProblem) as caught:
            load_team(path)
        return str(caught.value)

    (tmp_path / "demo.yaml").write_text(GOOD)
    missing = message(tmp_path / "demmo.yaml")
    assert "no such file" in missing and "demo.yaml" in missing
    assert "directory" in message(tmp_path)
    big = tmp_path / "big.yaml"
    big.write_text("# " + "x" * 1_100_000)
    assert "larger than" in message(big)
    (tmp_path / "latin.yaml").write_bytes(b"name: x\nworld: caf\xe9\n")
    assert "latin.yaml:2: byte 0xe9 is not UTF-8" in message(tmp_path / "latin.yaml")


def test_groups_of_robots() -> None:
    text = (
        "world: {kind: embedded}\n"
        "robots:\n"
        "  - {name: lead, embodiment: legs}\n"
        "  - {name: 'scout_{n}', count: 48, embodiment: air}\n"
    )
    team = parse_team(text)
    names = [r.name for r in team.robots]
    assert len(names) == 49 and names[1] == "scout_1" and names[-1] == "scout_48"
    found = problems(text.replace("embodiment: air", "embodiment: aire"))
    assert len(found) == 1 and "demo.yaml:4: robots[1].embodiment" in found[0]
    assert "must hold {n}" in problems(text.replace("'scout_{n}'", "scout"))[0]
    assert "from 1 to 200, got 0" in problems(text.replace("48", "0"))[0]
    assert "taken" in problems(text.replace("lead", "scout_3"))[0]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "teams" / "demo.yaml"
    file.parent.mkdir()
    file.write_text(GOOD.replace("model: some-model", "model: m\n    record_to: calls.jsonl"))
    team = load_team(file)
    assert team.resolve("x/y.json") == file.parent / "x" / "y.json"
    assert team.profile("local").record_to == file.parent / "calls.jsonl"


def test_who_works_on_a_map_must_fit_to_the_rest() -> None:
    maps = GOOD + "mapper:\n  cameras: [rovr/head]\n  farr: 3\nplanner: {method: grouned}\n"
    assert problems(maps + "open_questions:\n  robot: wlker\n  model: locl\n") == [
        "demo.yaml:26: mapper.cameras[0]: no robot 'rovr'; did you mean 'rover'?",
        "demo.yaml:27: mapper.farr: unknown field 'farr'; did you mean 'far'?",
        "demo.yaml:28: planner.method: unknown value 'grouned'; did you mean 'grounded'?",
        "demo.yaml:30: open_questions.robot: no robot 'wlker'; did you mean 'walker'?",
        "demo.yaml:31: open_questions.model: unknown model profile 'locl'; did you mean 'local'?",
    ]
    (alone,) = problems(GOOD + "planner: {}\n")
    assert alone.startswith("demo.yaml:25: planner: needs a map")


@pytest.mark.parametrize("method", ["confidence_vote", "cam_plus"])
def test_coverage_withholds_what_is_not_sure_enough(method: str) -> None:
    text = (
        "name: trio\nworld: {kind: embedded}\nrobots: [{name: ann, embodiment: wheels}]\n"
        f"aggregator: {{method: {method}, coverage: 0.95}}\n"
        "open_questions: {coverage: 0.9, liar: true}\nmapper: {}\n"
    )
    team, known = parse_team(text), load_conformal()
    own = aggregator_parameters(team, None)
    assert own["abstain_below"] > known.answer(method, 0.95)
    assert own["labels_needed"] == LEARNED_FROM
    opened = open_parameters(team, team.open_questions, None)
    assert opened["abstain_below"] > known.open_answer(0.9, liar=True)


@pytest.mark.parametrize("given", ["{method: my_votes.any:AnyYes}", "my_votes.any:AnyYes"])
def test_an_aggregator_of_the_users_own_reaches_its_node(given: str):
    team = parse_team(GOOD.partition("aggregator:")[0] + f"aggregator: {given}\n", "demo.yaml")
    assert aggregator_parameters(team, None)["method"] == "my_votes.any:AnyYes"
    assert json.loads(team.model_dump_json())["aggregator"]["method"] == "my_votes.any:AnyYes"


def test_decisions_of_the_users_own_reach_all_processes():
    named = {"mele.answer": "my_rules:yes", "mele.choose_place": "my_rules.far:Farthest"}
    team = parse_team(GOOD + f"decisions: {json.dumps(named)}\n")
    for spec in plan(team):
        assert json.loads(spec.environment["COTERIE_DECISIONS"]) == named
    assert not any("COTERIE_DECISIONS" in spec.environment for spec in plan(parse_team(GOOD)))


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("decisions: {mele.anser: 'a:b'}", "there is no decision 'mele.anser'; did you mean mele."),
        ("decisions: {mele.answer: yes_always}", "decisions.mele.answer: 'yes_always' names nothi"),
        ("decisions: {mele.answer: \"a:b('rm')\"}", "expected my_package.module:Class"),
        ("decisions: {mele.answer: 7}", "decisions.mele.answer: expected text"),
        ("decisions: {emos.split_task: 'a:b'}", "nobody in this team makes this decision; it take"),
        ("decisions: [a]", "decisions: expected a map"),
    ],
)
def test_decisions_that_cannot_be_meant_are_refused_by_line_and_field(field: str, why: str):
    (told,) = problems(f"{GOOD}{field}\n")
    assert told.startswith("demo.yaml:25: decisions") and why in told


@pytest.mark.parametrize("given", ["my votes:Any", "my_votes:Any.yes", ":Any", "x:exec('1')"])
def test_an_aggregator_is_named_by_a_dotted_name_and_nothing_else(given: str):
    (told,) = problems(GOOD.replace("method: cam_plus", f'method: "{given}"'))
    assert "demo.yaml:23: aggregator.method: " in told and "my_package.module:Class" in told


def test_a_room_that_no_generated_house_has_is_named() -> None:
    wrong = GOOD.replace("room: kitchen", "room: kitchn")
    (told,) = problems(wrong)
    assert told.startswith("demo.yaml:17: robots[1].start.room:") and "'kitchen'?" in told
    for room in ("hallway-1", "bedroom 2", "Living Room"):
        assert parse_team(GOOD.replace("room: kitchen", f"room: {room}"))
    own = wrong.replace("kind: embedded\n  seed: 7", "kind: own\n  maker: my_world:make")
    assert not [told for told in _problems_of(own) if "start.room" in told]


def _problems_of(text: str) -> list[str]:
    try:
        parse_team(text, "demo.yaml")
    except FileProblem as error:
        return str(error).splitlines()
    return []


def test_a_polygon_that_is_none_is_not_told_to_be_a_word() -> None:
    (told,) = problems(f"{GOOD}limits: {{area: [[0, 0], [1, 1]]}}\n")
    assert "at least 3 corners" in told
    assert problems(f"{GOOD}limits: {{area: anywere}}\n")[0].endswith("did you mean 'anywhere'?")
