"""Widgets that pages share: rows of buttons in pages, and small pieces of safe HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import viser

from coterie_console.text import escaped
from research.annotate.web import put

Callback = Callable[[Any], Coroutine[Any, Any, None]]
"""Function that viser calls with an event."""
Wrap = Callable[[Callable[[Any], Any]], Callback]
"""Makes a callback for viser of what a page does on an event."""

BACK, ON = "◀", "▶"
GREY = (96, 104, 116)


@dataclass(frozen=True, slots=True)
class Row:
    """What a row of a list shows: its text (plain), and its colour (None: grey)."""

    text: str
    color: tuple[int, int, int] | None = None


class _Rows(ABC):
    """A long list of which one page is shown, with a widget per row.

    A widget belongs to its row for good, and is made and removed with it: what a person clicks
    is what they saw, even if the list has changed by the time the click arrives.
    """

    def __init__(self, gui: viser.GuiApi, size: int, wrap: Wrap) -> None:
        self._gui, self._size, self._wrap = gui, size, wrap
        self._begin = 0
        self._ids: Sequence[str] = ()
        self._place = gui.add_folder(None)
        self._widgets: dict[tuple[str, int], Any] = {}
        self._pager = Pager(gui, wrap, self._turn)

    @property
    def page(self) -> Sequence[str]:
        """The ids on the page that is open."""
        return self._ids[self._begin : self._begin + self._size]

    @abstractmethod
    def _made(self, id_: str) -> Any:
        """Make the widget of a row."""

    @abstractmethod
    def _dress(self, widget: Any, number: int, id_: str) -> None:
        """Let a widget show its row, the list's number-th (from 0)."""

    def _show(self, ids: Sequence[str], begin: int) -> None:
        self._ids = ids
        self._begin = max(0, min(begin, len(ids) - 1) // self._size * self._size)
        page = list(self.page)
        keys = [(id_, page[:k].count(id_)) for k, id_ in enumerate(page)]
        for key in [key for key in self._widgets if key not in keys]:
            self._widgets.pop(key).remove()
        with self._place:
            for k, key in enumerate(keys):
                if key not in self._widgets:
                    self._widgets[key] = self._made(key[0])
                put(self._widgets[key], order=float(k))
                self._dress(self._widgets[key], self._begin + k, key[0])
        self._pager.show(self._begin, len(page), len(ids))

    def _turn(self, by: int) -> None:
        if 0 <= self._begin + by * self._size < len(self._ids):
            self._show(self._ids, self._begin + by * self._size)


class ButtonList(_Rows):
    """A list of buttons; a click calls `press` with the row's id."""

    def __init__(
        self, gui: viser.GuiApi, size: int, wrap: Wrap, press: Callable[[str], None]
    ) -> None:
        super().__init__(gui, size, wrap)
        self._press = press
        self._row: Callable[[str], Row] = lambda id_: Row(id_)

    def show(self, ids: Sequence[str], row: Callable[[str], Row], restart: bool = False) -> None:
        """Show these rows, on the page that is open or from the first on.

        Args:
            ids: Whose rows.
            row: Makes a row of an id; called for those on the page only.
            restart: Begin at the first page.
        """
        self._row = row
        self._show(ids, 0 if restart else self._begin)

    def _made(self, id_: str) -> Any:
        button = self._gui.add_button("")
        button.on_click(self._wrap(lambda _: self._press(id_)))
        return button

    def _dress(self, widget: Any, number: int, id_: str) -> None:
        row = self._row(id_)
        put(widget, label=row.text, color=row.color or GREY)


class RankedList(_Rows):
    """A ranked list with buttons per row; `press` gets the row's id and the button's text."""

    ACTIONS = ("↑", "↓", "remove", "look")

    def __init__(
        self, gui: viser.GuiApi, size: int, wrap: Wrap, press: Callable[[str, str], None]
    ) -> None:
        super().__init__(gui, size, wrap)
        self._press = press
        self._name: Callable[[str], str] = str

    def show(self, ids: Sequence[str], name: Callable[[str], str], restart: bool = False) -> None:
        """Show these rows; where one was added, the page with the last one.

        Args:
            ids: Whose rows, best first.
            name: The text of a row.
            restart: The list is another's now: begin at the first page.
        """
        self._name = name
        added = len(ids) > len(self._ids) and not restart
        self._show(ids, 0 if restart else (len(ids) - 1 if added else self._begin))

    def _made(self, id_: str) -> Any:
        group = self._gui.add_button_group("", self.ACTIONS)
        group.on_click(self._wrap(lambda event: self._press(id_, event.target.value)))
        return group

    def _dress(self, widget: Any, number: int, id_: str) -> None:
        put(widget, label=f"{number + 1}.  {self._name(id_)}")


class Pager:
    """Back and on through a list; only there if the list has more than one page."""

    def __init__(self, gui: viser.GuiApi, wrap: Wrap, turn: Callable[[int], None]) -> None:
        self._group = gui.add_button_group("", (BACK, ON), visible=False)
        self._group.on_click(wrap(lambda event: turn(1 if event.target.value == ON else -1)))

    def show(self, begin: int, count: int, total: int) -> None:
        """Say which part of the list is shown."""
        put(
            self._group,
            label=f"{begin + 1} to {begin + count} of {total}",
            visible=count < total,
        )


def block(inner: str, style: str = "") -> str:
    """Return HTML for a part of a panel; `inner` is HTML whose texts are escaped already."""
    look = f"padding:0 .75em .5em;font-size:.9em;line-height:1.4;overflow-wrap:anywhere;{style}"
    return f'<div style="{look}">{inner}</div>'


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table of names and values (plain texts)."""
    cells = "".join(
        f'<tr><td style="opacity:.6;padding-right:.8em;vertical-align:top">{escaped(a)}</td>'
        f"<td>{escaped(b)}</td></tr>"
        for a, b in rows
    )
    return f'<table style="font-size:.85em;line-height:1.35">{cells}</table>'


def badge(text: str, color: str) -> str:
    """Return a word on a coloured ground."""
    return (
        f'<span style="background:{color};color:#fff;border-radius:.6em;padding:.1em .6em;'
        f'font-size:.75em;margin-right:.4em;white-space:nowrap">{escaped(text)}</span>'
    )
