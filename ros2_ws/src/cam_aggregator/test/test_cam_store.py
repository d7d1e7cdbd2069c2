"""Trained models in files: round trip of every method, and refusal of what does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cam_aggregator.cam import MODELS
from cam_aggregator.registry import make_aggregator
from cam_aggregator.store import MANIFEST, ModelFileError, load_model, save_model


def trained(name, table, **options):
    if name == "random_forest":
        options["trees"] = 10
    aggregator = make_aggregator(name, **options)
    aggregator.fit(table)
    return aggregator


@pytest.mark.parametrize("name", [*MODELS, "cam_plus"])
def test_a_stored_model_predicts_the_same(table, tmp_path, name):
    model = trained(name, table, abstain_below=0.6)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model", table=table, method=name)
    assert np.array_equal(loaded.p_yes(table), model.p_yes(table))
    assert loaded.predict(table) == model.predict(table)
    assert not list((tmp_path / "model").glob(".*"))
    assert not [p for p in (tmp_path / "model").iterdir() if p.suffix in (".pkl", ".pickle")]


def test_the_manifest_names_house_robots_vocabulary_and_size(table, tmp_path):
    save_model(trained("xgboost", table), tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["house"] == table.house and manifest["agents"] == list(table.agents)
    assert manifest["objects"] == sorted(set(table.objects))
    assert manifest["trained_on"] == len(table) and manifest["features"][:2] == ["object", "room"]
    assert {"numpy", "scikit-learn", "skops"} <= set(manifest["versions"])
    assert (tmp_path / "model.json").is_file()


@pytest.mark.parametrize("name", ["decision_tree", "cam_plus"])
def test_a_model_of_another_house_or_team_is_refused(table, house, tmp_path, name):
    save_model(trained(name, table), tmp_path)
    with pytest.raises(ModelFileError, match="house is 'house 0', but 'house 1'"):
        load_model(tmp_path, table=house(1))
    with pytest.raises(ModelFileError, match="for the robots robot_1, robot_2, robot_3"):
        load_model(tmp_path, agents=("robot_2", "robot_1", "robot_3"))
    with pytest.raises(ModelFileError, match="method"):
        load_model(tmp_path, method="svm_rbf")


def test_a_model_with_another_vocabulary_is_refused(table, tmp_path):
    from dataclasses import replace

    save_model(trained("decision_tree", table), tmp_path)
    other = replace(table, objects=tuple(f"new {o}" for o in table.objects))
    with pytest.raises(ModelFileError, match="not in the model's vocabulary"):
        load_model(tmp_path, table=other)


def test_untrained_and_untrainable_aggregators_are_not_stored(table, tmp_path):
    for aggregator in (make_aggregator("xgboost"), make_aggregator("majority_vote")):
        with pytest.raises(ModelFileError, match="no trained model"):
            save_model(aggregator, tmp_path)


def test_missing_and_damaged_files_are_named(table, tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        load_model(tmp_path / "nothing")
    save_model(trained("decision_tree", table), tmp_path)
    model = tmp_path / "model.skops"
    data = model.read_bytes()
    model.write_bytes(data[:-20])
    with pytest.raises(ModelFileError, match="digest"):
        load_model(tmp_path)
    model.unlink()
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)
    (tmp_path / MANIFEST).write_text("{not json")
    with pytest.raises(ModelFileError, match="JSON"):
        load_model(tmp_path)
    (tmp_path / MANIFEST).write_text('{"format": "other"}')
    with pytest.raises(ModelFileError, match="expected format"):
        load_model(tmp_path)


def test_a_manifest_cannot_point_outside_its_folder(table, tmp_path):
    save_model(trained("decision_tree", table), tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    manifest["model"]["file"] = "../../etc/passwd"
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelFileError, match=r"must be 'model\.skops'"):
        load_model(tmp_path)


def test_a_file_with_foreign_types_is_not_loaded(table, tmp_path):
    import hashlib

    from sklearn.preprocessing import FunctionTransformer
    from skops.io import dumps

    save_model(trained("decision_tree", table), tmp_path)
    data = dumps(FunctionTransformer(func=pytest.raises))
    (tmp_path / "model.skops").write_bytes(data)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    manifest["model"]["sha256"] = hashlib.sha256(data).hexdigest()
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelFileError, match="not trusted"):
        load_model(tmp_path)


def test_a_damaged_cam_plus_is_refused(table, tmp_path):
    save_model(trained("cam_plus", table), tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    manifest["cam_plus"]["first"]["weight"] = [1.0]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path)


def test_storing_again_replaces_the_model(table, house, tmp_path):
    save_model(trained("decision_tree", table), tmp_path)
    save_model(trained("decision_tree", house(1)), tmp_path)
    assert load_model(tmp_path).house == "house 1"
