"""Widgets that pages share: rows of buttons in pages, and small pieces of safe HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import viser

from coterie_console.text import escaped
from coterie_console.web import Callback, put

Wrap = Callable[[Callable[[Any], Any]], Callback]
"""Makes a callback for viser of what a page does on an event."""

BACK, ON = "◀", "▶"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a list: whose it is, its text (plain), and its colour (None: grey)."""

    id: str
    text: str
    color: tuple[int, int, int] | None = None


class ButtonList:
    """A long list as a few buttons and a pager; a click calls `press` with the row's id."""

    def __init__(
        self, gui: viser.GuiApi, size: int, wrap: Wrap, press: Callable[[str], None]
    ) -> None:
        self._size, self._begin = size, 0
        self._ids: Sequence[str] = ()
        self._row: Callable[[str], Row] = lambda id_: Row(id_, id_)
        self._shown: list[str] = []
        self._buttons = [gui.add_button("", visible=False) for _ in range(size)]
        for k, button in enumerate(self._buttons):
            button.on_click(wrap(lambda _, k=k: self._press(k, press)))  # type: ignore[misc]
        self._pager = Pager(gui, wrap, self._turn)

    def show(self, ids: Sequence[str], row: Callable[[str], Row], restart: bool = False) -> None:
        """Show these rows, on the page that is open or from the first on.

        Args:
            ids: Whose rows.
            row: Makes a row of an id; called for those on the page only.
            restart: Begin at the first page.
        """
        self._ids, self._row = ids, row
        last = max(0, (len(ids) - 1) // self._size * self._size)
        self._begin = 0 if restart else min(self._begin, last)
        self._shown = list(ids[self._begin : self._begin + self._size])
        for button, id_ in zip(self._buttons, self._shown, strict=False):
            made = row(id_)
            put(button, label=made.text, color=made.color or (96, 104, 116), visible=True)
        for button in self._buttons[len(self._shown) :]:
            put(button, visible=False)
        self._pager.show(self._begin, len(self._shown), len(ids))

    @property
    def page(self) -> Sequence[str]:
        """The ids on the page that is open."""
        return self._shown

    def _press(self, k: int, press: Callable[[str], None]) -> None:
        if k < len(self._shown):
            press(self._shown[k])

    def _turn(self, by: int) -> None:
        if 0 <= self._begin + by * self._size < len(self._ids):
            self._begin += by * self._size
            self.show(self._ids, self._row)


class RankedList:
    """A ranked list with buttons per row; `press` gets the row's id and the button's text."""

    ACTIONS = ("↑", "↓", "remove", "look")

    def __init__(
        self, gui: viser.GuiApi, size: int, wrap: Wrap, press: Callable[[str, str], None]
    ) -> None:
        self._size, self._rows, self._begin = size, list[Row](), 0
        self._shown: list[str] = [""] * size
        self._groups = [gui.add_button_group("", self.ACTIONS, visible=False) for _ in range(size)]
        for k, group in enumerate(self._groups):
            group.on_click(
                wrap(lambda event, k=k: press(self._shown[k], event.target.value))  # type: ignore[misc]
            )
        self._pager = Pager(gui, wrap, self._turn)

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows; where one was added the page with the last one."""
        if len(rows) > len(self._rows):
            self._begin = (len(rows) - 1) // self._size * self._size
        self._rows = list(rows)
        self._begin = min(self._begin, max(0, (len(rows) - 1) // self._size * self._size))
        page = self._rows[self._begin : self._begin + self._size]
        self._shown = [row.id for row in page] + [""] * (self._size - len(page))
        for k, (group, row) in enumerate(zip(self._groups, page, strict=False)):
            put(group, label=f"{self._begin + k + 1}.  {row.text}", visible=True)
        for group in self._groups[len(page) :]:
            put(group, visible=False)
        self._pager.show(self._begin, len(page), len(rows))

    def restart(self) -> None:
        """Begin at the first page again: the list is another's now."""
        self._rows, self._begin = [], 0

    def _turn(self, by: int) -> None:
        if 0 <= self._begin + by * self._size < len(self._rows):
            self._begin += by * self._size
            self.show(self._rows)


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
