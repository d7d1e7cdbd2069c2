"""Behavior trees whose leaves offer a step: ticked for a situation, and exported.

A tick does nothing itself. It goes through the tree as any tick does, and a leaf offers what the
robot does next by rule. What was tried before stands in the situation, so that a tree has no memory
of its own and a restart loses nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from xml.etree import ElementTree

from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.composites import Selector, Sequence

from coterie_execution.options import Option
from coterie_execution.situation import Situation

Offers = Callable[[Situation], Iterable[Option]]
Test = Callable[[Situation], object]


class Tick:
    """One tick: the situation that it is about, and the step that a leaf has offered."""

    def __init__(self, now: Situation) -> None:
        self.now = now
        self.option: Option | None = None


class Leaf(Behaviour):
    """A node that looks at the situation of the tick; `Tree` sets that."""

    tick_of: Tick


class Condition(Leaf):
    """Succeeds where something is so."""

    def __init__(self, name: str, test: Test) -> None:
        super().__init__(name)
        self._test = test

    def update(self) -> Status:
        """Look whether it is so."""
        return Status.SUCCESS if self._test(self.tick_of.now) else Status.FAILURE


class Act(Leaf):
    """Offers a step: runs if there is one, succeeds with one that ends the sub-task as done.

    Args:
        name: Its name.
        offers: What can be done in a situation; the first of it is offered.
    """

    def __init__(self, name: str, offers: Offers) -> None:
        super().__init__(name)
        self._offers = offers

    def update(self) -> Status:
        """Offer what can be done."""
        found = next(iter(self._offers(self.tick_of.now)), None)
        if found is None:
            return Status.FAILURE
        self.tick_of.option = replace(found, path=self._path())
        return Status.SUCCESS if found.effect == "done" else Status.RUNNING

    def _path(self) -> str:
        names: list[str] = []
        node: Behaviour | None = self
        while node is not None:
            names.append(node.name)
            node = node.parent
        return " > ".join(reversed(names))


def fallback(name: str, *children: Behaviour) -> Behaviour:
    """Return a node that does what the first child does that can be done."""
    return Selector(name, memory=False, children=list(children))


def sequence(name: str, *children: Behaviour) -> Behaviour:
    """Return a node that goes through its children as long as they succeed."""
    return Sequence(name, memory=False, children=list(children))


def when(name: str, test: Test, *children: Behaviour) -> Behaviour:
    """Return a sequence that begins with a condition of the same name."""
    return sequence(name, Condition(f"{name}?", test), *children)


class Tree:
    """A tree that tells what a robot does next by rule.

    Args:
        root: Its root; no part of it belongs to another tree.
    """

    def __init__(self, root: Behaviour) -> None:
        self.root = root
        self._leaves = [node for node in root.iterate() if isinstance(node, Leaf)]

    def step(self, now: Situation) -> Option:
        """Tick the tree; return the step that it offers.

        Raises:
            ValueError: It offers none: its last child should always have one.
        """
        tick = Tick(now)
        for leaf in self._leaves:
            leaf.tick_of = tick
        for node in self.root.iterate():
            node.status = Status.INVALID  # what this tick does not come to was not looked at
        self.root.tick_once()
        if tick.option is None:
            raise ValueError(
                f"tree {self.root.name}: no leaf offers a step; add one that always does"
            )
        return tick.option


_TAGS: tuple[tuple[type[Behaviour], str], ...] = (
    (Selector, "ReactiveFallback"),
    (Sequence, "ReactiveSequence"),
    (Condition, "Condition"),
    (Behaviour, "Action"),
)


def to_xml(trees: dict[str, Tree]) -> str:
    """Return trees as XML of BehaviorTree.CPP 4, which Groot 2 draws.

    Args:
        trees: Name of each -> tree.
    """
    root = ElementTree.Element("root", BTCPP_format="4")
    for name, tree in sorted(trees.items(), key=operator.itemgetter(0)):
        parent = ElementTree.SubElement(root, "BehaviorTree", ID=name)
        _write(tree.root, parent)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _write(node: Behaviour, parent: ElementTree.Element) -> None:
    tag = next(tag for kind, tag in _TAGS if isinstance(node, kind))
    element = ElementTree.SubElement(parent, tag, name=node.name)
    if tag in ("Condition", "Action"):
        element.set("ID", "".join(word.capitalize() for word in node.name.strip("?").split()))
    for child in node.children:
        _write(child, element)
