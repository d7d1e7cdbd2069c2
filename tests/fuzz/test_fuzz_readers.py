"""Every reader gets damaged input: its own error, or something that is right; never more."""

from __future__ import annotations

import pytest
import yaml

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")


from coterie_core.confidence import parse_confidence
from coterie_core.household import HouseholdError, parse_household
from coterie_core.yaml_marks import FileProblem, load_marked, read_yaml
from coterie_fixtures.fuzzing.readers import Reader
from coterie_fixtures.fuzzing.registry import readers, reading_functions
from coterie_fixtures.fuzzing.running import run

EXAMPLES = 8
OWN = "reads what comes with Coterie, or with the command"
PART = "a part of another conversion, which is tried"
WORLDS = "test_habitat_scenes_broken.py damages such data sets by hand"
NOT_TRIED = {
    "cam_aggregator.store.load_model": "skops checks the types of a model that Coterie wrote",
    "coterie_core.own_classes.load_own": "test_own_classes.py has bad names",
    "coterie_core.own_classes.load_made": "test_own_classes.py has bad names",
    "coterie_llm.decision.read_reply": "tests of decisions give it damaged replies",
    "coterie_llm.openai_model.read_key": "a variable of the environment",
    "coterie_llm.embedders.load_embedder": "options of the team file, which is tried",
    "coterie_safety.why.reading.read_story": "a folder of lines that are tried one by one",
    "coterie_ros.conversions.cooperation.goal_from_msg": "test_conversions_cooperation.py does",
    "coterie_ros.conversions.detections.labels_from_msg": "needs vision_msgs",
    "coterie_ros.conversions.notes.names_from_msg": PART,
    "habitat_bridge.habitat.annotations.read_annotations": WORLDS,
    "habitat_bridge.habitat.assets.load_mesh": WORLDS,
    "habitat_bridge.habitat.data_files.read_json": WORLDS,
    "habitat_bridge.habitat.data_files.read_text": WORLDS,
    "habitat_bridge.habitat.dataset_world.open_scene": WORLDS,
    "habitat_bridge.habitat.descriptors.read_descriptors": WORLDS,
    "habitat_bridge.habitat.scenes.load_scene": WORLDS,
    "robot_resume.compare.load_stated": OWN,
    "semantic_mapper.files.load_spark": "tests/readers, where spark-dsg is installed",
    "semantic_mapper.from_recording.load_detector": "a name on the command line",
    "semantic_mapper.state.load_state": "tests/readers",
}


@pytest.fixture(scope="module")
def all_readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return readers(tmp_path_factory.mktemp("valid"))


def test_readers_take_damaged_input(all_readers: dict[str, Reader]) -> None:
    """A few inputs each; benchmarks/bench_fuzz.py gives them as many as there is time for."""
    failed = []
    for name, reader in all_readers.items():
        try:
            run(reader, EXAMPLES)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 5000, "{" * 5000, "- " * 5000 + "x", "? " * 5000, "a: [" * 2000]
)
def test_small_files_of_yaml_do_not_keep_a_reader_busy(text: str) -> None:
    """Found by bench_fuzz.py: 3000 brackets took longer than 10 s, and household data crashed."""
    with pytest.raises(yaml.YAMLError, match="too deeply"):
        read_yaml(text)
    with pytest.raises(FileProblem, match="too deeply"):
        load_marked(text, "a.yaml")
    with pytest.raises(HouseholdError, match="too deeply"):
        parse_household(text)
    with pytest.raises(ValueError, match="too deeply"):
        parse_confidence(text)
    assert read_yaml("a: [[{b: ']]]'}]]\nb: []\n") == {"a": [[{"b": "]]]"}]], "b": []}


@pytest.mark.parametrize("text", ["a: !!bool maybe", "a: !!int ''", "a: !!timestamp x"])
def test_values_that_pyyaml_stumbles_over(text: str) -> None:
    """Found by bench_fuzz.py: household data ended with a traceback."""
    with pytest.raises(HouseholdError):
        parse_household(text)
    with pytest.raises(ValueError, match=r"confidence\.yaml"):
        parse_confidence(text)


def test_every_reader_is_tried(all_readers: dict[str, Reader]) -> None:
    tried = {function for reader in all_readers.values() for function in reader.covers}
    missing = [name for name in reading_functions() if name not in tried | NOT_TRIED.keys()]
    assert not missing, "try them in tests/fixtures/coterie_fixtures/fuzzing: " + ", ".join(missing)
    assert not tried & NOT_TRIED.keys()
