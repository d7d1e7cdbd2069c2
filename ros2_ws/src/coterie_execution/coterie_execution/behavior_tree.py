"""Behavior trees whose leaves offer steps: ticked for a situation, drawn, and exported.

A tick does nothing itself. It goes through the tree as any tick does, and its leaves offer what the
robot may do next; the first offer is the rule's. What was tried before stands in the situation, so
that a tree has no memory of its own and a restart loses nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from xml.etree import ElementTree

from py_trees import display
from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.composites import Composite, Selector, Sequence

from coterie_execution.options import Option
from coterie_execution.situation import Situation

Offers = Callable[[Situation], Iterable[Option]]
Test = Callable[[Situation], object]


class Tick:
    """One tick: the situation that it is about, and the steps that leaves have offered so far."""

    def __init__(self, now: Situation) -> None:
        self.now = now
        self.options: list[Option] = []


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
    """Offers steps: runs while there are any, succeeds with one that ends the sub-task as done.

    Args:
        name: Its name.
        offers: What can be done in a situation.
        besides: Whether it is for beside what others have offered, and not once that is an end.
    """

    def __init__(self, name: str, offers: Offers, besides: bool = False) -> None:
        super().__init__(name)
        self._offers, self._besides = offers, besides

    def update(self) -> Status:
        """Offer what can be done."""
        tick = self.tick_of
        if self._besides and not (tick.options and tick.options[-1].effect == "act"):
            return Status.FAILURE
        found = list(self._offers(tick.now))
        path = self._path()
        tick.options += [replace(option, path=path) for option in found]
        if not found:
            return Status.FAILURE
        return Status.SUCCESS if found[0].effect == "done" else Status.RUNNING

    def _path(self) -> str:
        names: list[str] = []
        node: Behaviour | None = self
        while node is not None:
            names.append(node.name)
            node = node.parent
        return " > ".join(reversed(names))


class Alternatives(Leaf, Composite):
    """Offers what all children offer, best first; until something has gone wrong, the first only.

    Args:
        name: Its name.
        open_to: Tells whether there is a choice.
        children: Best first.
    """

    def __init__(self, name: str, open_to: Test, children: list[Behaviour]) -> None:
        Composite.__init__(self, name, children)
        self._open_to = open_to

    def tick(self) -> Iterator[Behaviour]:
        """Tick all children, or up to the first one that offers something."""
        self.status, self.current_child = Status.FAILURE, None
        every = self._open_to(self.tick_of.now)
        for child in self.children:
            yield from child.tick()
            if self.status is Status.FAILURE and child.status is not Status.FAILURE:
                self.status, self.current_child = child.status, child
                if not every:
                    break
        yield self


def fallback(name: str, *children: Behaviour) -> Behaviour:
    """Return a node that does what the first child does that can be done."""
    return Selector(name, memory=False, children=list(children))


def sequence(name: str, *children: Behaviour) -> Behaviour:
    """Return a node that goes through its children as long as they succeed."""
    return Sequence(name, memory=False, children=list(children))


def alternatives(name: str, *children: Behaviour, open_to: Test = lambda now: True) -> Behaviour:
    """Return a node that offers what all children offer, where it is open to a choice."""
    return Alternatives(name, open_to, list(children))


def when(name: str, test: Test, *children: Behaviour) -> Behaviour:
    """Return a sequence that begins with a condition of the same name."""
    return sequence(name, Condition(f"{name}?", test), *children)


class Tree:
    """A tree that tells what a robot may do next.

    Args:
        root: Its root; no part of it belongs to another tree.
    """

    def __init__(self, root: Behaviour) -> None:
        self.root = root
        self._leaves = [node for node in root.iterate() if isinstance(node, Leaf)]

    def options(self, now: Situation) -> tuple[Option, ...]:
        """Tick the tree; return the steps that it offers, best first, those of one id once."""
        tick = Tick(now)
        for leaf in self._leaves:
            leaf.tick_of = tick
        for node in self.root.iterate():
            node.status = Status.INVALID  # what this tick does not come to was not looked at
        self.root.tick_once()
        unique: dict[str, Option] = {}
        for option in tick.options:
            unique.setdefault(option.id, option)
        return tuple(unique.values())

    def drawing(self, status: bool = True) -> str:
        """Return the tree as indented lines, with how the last tick went through it."""
        text = display.unicode_tree(self.root, show_status=status)
        return "\n".join(line.rstrip() for line in text.splitlines())


_TAGS: tuple[tuple[type[Behaviour], str], ...] = (
    (Selector, "ReactiveFallback"),
    (Sequence, "ReactiveSequence"),
    (Alternatives, "ReactiveFallback"),
    (Condition, "Condition"),
    (Behaviour, "Action"),
)


def to_xml(trees: dict[str, Tree]) -> str:
    """Return trees as XML of BehaviorTree.CPP 4, which Groot 2 draws.

    Args:
        trees: Name of each -> tree. Alternatives are fallbacks there: the rule takes the first.
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
