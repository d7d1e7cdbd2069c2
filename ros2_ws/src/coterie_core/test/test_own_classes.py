"""Classes of the user's own: loaded by a checked name, and refused in words that say what to do."""

from __future__ import annotations

import abc
import sys
from pathlib import Path

import pytest

from coterie_core.detections import load_detector
from coterie_core.own_classes import TEAM_FILE, load_class, load_own, own_name

pytestmark = pytest.mark.quick

MODULE = """
import abc
from coterie_core.own_classes import OwnName as Borrowed
from test_own_classes import Wheel

class Round(Wheel):
    def turn(self): return 1

class Square(Wheel):
    pass

def spin(): return lambda frame: []
def jam(): raise RuntimeError("stuck")
def number(): return 7
"""


class Wheel(abc.ABC):
    """What is expected."""

    @abc.abstractmethod
    def turn(self) -> int: ...


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_wheels.py").write_text(MODULE)
    (tmp_path / "broken_wheels.py").write_text("raise OSError('no grease')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "test_own_classes", sys.modules[__name__])
    monkeypatch.delenv(TEAM_FILE, raising=False)
    monkeypatch.delitem(sys.modules, "own_wheels", raising=False)


def test_a_class_is_loaded_by_its_name():
    assert load_class("own_wheels:Round", "wheel", Wheel)().turn() == 1  # type: ignore[type-abstract]
    assert load_detector("own_wheels:spin")(None) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("own_wheels:Square", "write turn, which a class derived from .*Wheel has to have"),
        ("own_wheels:spin", "expected a class derived from .*Wheel, got a function that is none"),
        ("own_wheels:Wheels", r"own_wheels \(.*own_wheels.py\) has no Wheels; expected a class"),
        ("own_weels:Round", "own_weels cannot be imported .*ModuleNotFound.*PYTHONPATH"),
        ("broken_wheels:Round", "OSError: no grease"),
    ],
)
def test_what_is_no_such_class_is_refused_by_file_and_field(name, why, monkeypatch):
    monkeypatch.setenv(TEAM_FILE, "/home/me/cart.yaml")
    with pytest.raises(ValueError, match=rf"cart\.yaml: robots: cart: wheel: {name}: .*{why}"):
        load_class(name, "robots: cart: wheel", Wheel)  # type: ignore[type-abstract]


@pytest.mark.parametrize(
    "name",
    ["", "own_wheels", "own_wheels.Round", ":Round", "own_wheels:", "a:b:c", "..a:b", "a.:b",
     "__import__('os'):x", "a:b()", "a:b.c", "a;b:c", "ä:b", "a: b", "a:b\n", "/tmp/a.py:b"],
)  # fmt: skip
def test_nothing_but_a_dotted_name_is_imported(name, monkeypatch):
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(name))
    for read in (own_name, lambda one: load_own(one, "wheel", "a wheel")):
        with pytest.raises(ValueError, match=r"expected my_package\.module:Class"):
            read(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("own_wheels:jam", r"own_wheels:jam\(\) failed \(RuntimeError: stuck\).*a detector"),
        ("own_wheels:number", r"own_wheels:number\(\) made int; expected a detector"),
        ("own_wheels:MODULE", "has no MODULE; expected a class or function that makes a detector"),
    ],
)
def test_what_makes_nothing_of_use_is_refused(name, why):
    with pytest.raises(ValueError, match=f"--detector: .*{why}"):
        load_detector(name)
