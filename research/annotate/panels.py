"""Panels of the annotation page: the query and its answer, suggestions, editing, objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coterie_console.text import escaped, plain
from research.annotate.queries import DIFFICULTIES, Query
from research.annotate.shapes import on_floor
from research.annotate.web import put
from research.annotate.widgets import ButtonList, RankedList, Row, badge, block, pairs
from research.bench.objects.data import QUERY_TYPES
from semantic_mapper.files import color_of

if TYPE_CHECKING:
    from research.annotate.page import AnnotatePage

BACK, ON, OPEN = "◀ Previous", "Next ▶", "First unanswered"
NONE_FITS, CLEAR = "No object fits", "Clear answer"
UNDO, REDO = "↶ Undo", "↷ Redo"
SIGNS = {"open": "○", "none": "∅", "some": "●"}
UNSAID = "(not said)"
ANY = "(any)"
ALL_FLOORS = "All floors"
SHOWN = 12
"""Objects in the list at a time."""
RANKED = 8
"""Chosen objects in the list at a time."""


class QueryPanel:
    """The query that is shown, its answer, and the way to the others."""

    def __init__(self, page: AnnotatePage) -> None:
        self._page, self._for = page, ""
        gui, session, wrap = page.page.server.gui, page.session, page.wrap
        self._bar = gui.add_progress_bar(0.0)
        self._head = gui.add_html("")
        ways = gui.add_button_group("Go", (BACK, ON, OPEN))
        ways.on_click(wrap(self._go))
        self._jump = gui.add_dropdown("To query", ("-",))
        self._jump.on_update(
            wrap(lambda event: session.go(self._ids.get(event.target.value, session.current)))
        )
        self._ids: dict[str, str] = {}
        with gui.add_folder("Answer, best first"):
            self._status = gui.add_html("")
            self._list = RankedList(gui, RANKED, wrap, self._press)
            kinds = gui.add_button_group("Or", (NONE_FITS, CLEAR))
            kinds.on_click(
                wrap(
                    lambda event: (
                        session.none_fits() if event.target.value == NONE_FITS else session.clear()
                    )
                )
            )
            steps = gui.add_button_group("Steps", (UNDO, REDO))
            steps.on_click(
                wrap(lambda e: page.take_back() if e.target.value == UNDO else page.do_again())
            )
            self._steps = gui.add_html("")
            self._note = gui.add_text("Note", "", multiline=True)
            self._note.on_update(wrap(lambda e: page.type_note(e.target.value), keep_note=True))
        self._problems = gui.add_html("", visible=False)

    def refresh(self) -> None:
        """Show the session."""
        session, index = self._page.session, self._page.index
        done, total = session.progress()
        put(self._bar, value=100.0 * done / total if total else 0.0)
        put(self._head, content=self._heading(done, total))
        options = {}
        for k, query in enumerate(session.queries.values(), start=1):
            text = f"{k} {SIGNS[session.status(query.id)]} {plain(query.id, 24)}: {query.words}"
            options[plain(text, 70)] = query.id
        self._ids = options
        texts = tuple(options) or ("(no queries)",)
        put(self._jump, options=texts)
        here = next((t for t, id_ in options.items() if id_ == session.current), texts[0])
        put(self._jump, value=here)
        chosen, other = session.answer(session.current) or (), session.current != self._for
        self._for = session.current
        self._list.show(chosen, lambda id_: index.name(id_, 22), restart=other)
        put(self._status, content=self._state())
        put(self._steps, content=self._undoable())
        if not self._page.typing:
            put(self._note, value=session.note(session.current))
        self._show_problems()

    def _go(self, event: Any) -> None:
        session, way = self._page.session, event.target.value
        if way != OPEN:
            session.step(1 if way == ON else -1)
        elif session.first_open():
            session.go(session.first_open())
        else:
            self._page.page.tell("all queries are answered")

    def _press(self, id_: str, action: str) -> None:
        up, down, remove, _ = RankedList.ACTIONS
        session = self._page.session
        if action in {up, down}:
            session.move(id_, -1 if action == up else 1)
        elif action == remove:
            session.remove(id_)
        else:
            self._page.look(id_)

    def _heading(self, done: int, total: int) -> str:
        session = self._page.session
        query = session.query
        if query is None:
            return block("<b>No queries yet.</b> Add one below, under “Queries”.")
        number = list(session.queries).index(query.id) + 1
        badges = "".join(
            badge(text, color)
            for text, color in ((query.type, "#2662a0"), (query.difficulty, "#6b7280"))
            if text
        )
        return block(
            f'<div style="font-size:.8em;opacity:.7">{escaped(query.id, 80)} · {number} of {total}'
            f" · {done} of {total} answered</div>"
            f'<div style="font-size:1.15em;line-height:1.3;margin:.2em 0 .3em">'
            f"{escaped(query.words)}</div>{badges}"
        )

    def _state(self) -> str:
        session = self._page.session
        if session.query is None:
            return ""
        status = session.status(session.current)
        if status == "none":
            return block(badge("answered", "#2f855a") + "No object of the map fits.")
        if status == "open":
            hint = "Click boxes in the map or names in the list, or say that no object fits."
            return block(badge("not answered", "#b7791f") + hint)
        taken = badge("from a suggestion", "#8a46be") if session.suggested(session.current) else ""
        return block(badge("answered", "#2f855a") + taken)

    def _undoable(self) -> str:
        session = self._page.session
        parts = [
            f"{word}: {escaped(what, 90)}"
            for word, what in (("undo", session.can_undo), ("redo", session.can_redo))
            if what
        ]
        return block(" · ".join(parts), "font-size:.75em;opacity:.6") if parts else ""

    def _show_problems(self) -> None:
        found = [*self._page.problems, *self._page.session.problems()]
        rows = "".join(f"<li>{escaped(p, 400)}</li>" for p in found[:20])
        more = f"<li>and {len(found) - 20} more</li>" if len(found) > 20 else ""
        text = f"<b>{len(found)} to look at</b><ul style='margin:.2em 0 0 1.2em'>{rows}{more}</ul>"
        put(self._problems, content=block(text, "color:#9c4221;font-size:.8em"))
        put(self._problems, visible=bool(found))


class SuggestPanel:
    """What the rules would answer: asked for, marked as such, and only a proposal."""

    def __init__(self, page: AnnotatePage) -> None:
        self._page = page
        gui, wrap = page.page.server.gui, page.wrap
        with gui.add_folder("Suggestion by the rules", expand_by_default=False):
            self._on = gui.add_checkbox("Offer it", False)
            self._on.on_update(wrap(self._switch))
            self._ask = gui.add_button("Suggest", visible=False)
            self._ask.on_click(wrap(lambda _: page.ask_rules()))
            self._text = gui.add_html("", visible=False)
            self._list = ButtonList(gui, RANKED, wrap, page.session.choose)
            self._take = gui.add_button("Accept as the answer", color="violet", visible=False)
            self._take.on_click(wrap(self._accept))
            self._drop = gui.add_button("Dismiss", color="gray", visible=False)
            self._drop.on_click(wrap(lambda _: self._forget()))

    def refresh(self) -> None:
        """Show the proposal, if there is one."""
        found, on = self._page.proposal, bool(self._on.value)
        put(self._ask, visible=on)
        put(self._text, visible=on and found is not None, content=self._words())
        ids, name = self._ids(), self._page.index.name
        self._list.show(ids, lambda id_: Row(f"? {name(id_)}", (138, 70, 190)))
        put(self._take, visible=on and found is not None)
        put(self._take, label="Accept as the answer" if ids else "Accept: no object fits")
        put(self._drop, visible=on and found is not None)

    def _ids(self) -> tuple[str, ...]:
        found = self._page.proposal
        return found.ids if found and self._on.value else ()

    def _words(self) -> str:
        found = self._page.proposal
        if found is None:
            return ""
        what = (
            "Click an object to add it to the answer."
            if found.ids
            else "They find no object that fits."
        )
        return block(
            badge("proposal, not saved", "#8a46be") + f"{what} Check it: rules make mistakes."
            f'<div style="font-size:.8em;opacity:.7">{escaped(found.explanation, 300)}</div>'
        )

    def _switch(self, _event: Any) -> None:
        if not self._on.value:
            self._forget()

    def _accept(self, _event: Any) -> None:
        if self._page.proposal:
            self._page.session.accept(self._page.proposal.ids)
            self._forget()

    def _forget(self) -> None:
        self._page.proposal = None


class EditPanel:
    """Adding, changing and deleting queries."""

    def __init__(self, page: AnnotatePage) -> None:
        self._page = page
        self._loaded: Query | None = None
        self._sure = ""
        gui, wrap = page.page.server.gui, page.wrap
        with gui.add_folder("Queries", expand_by_default=not page.session.queries):
            self._id = gui.add_text("Id", "")
            self._words = gui.add_text("Words", "", multiline=True)
            self._type = gui.add_dropdown("Type", (UNSAID, *QUERY_TYPES))
            self._level = gui.add_dropdown("Difficulty", (UNSAID, *DIFFICULTIES))
            gui.add_button("Save changes").on_click(wrap(self._change))
            gui.add_button("Add as a new query").on_click(wrap(self._add))
            self._delete = gui.add_button("Delete this query", color="gray")
            self._delete.on_click(wrap(self._remove))

    def refresh(self) -> None:
        """Load the query into the fields when another is shown; typed text stays otherwise."""
        query = self._page.session.query
        if query != self._loaded:
            self._loaded, self._sure = query, ""
            put(self._id, value=query.id if query else "")
            put(self._words, value=query.words if query else "")
            put(self._type, value=(query.type if query else None) or UNSAID)
            put(self._level, value=(query.difficulty if query else None) or UNSAID)
        sure = query is not None and self._sure == query.id
        put(self._delete, label="Really delete, with its answer" if sure else "Delete this query")
        put(self._delete, color="red" if sure else "gray")

    def _typed(self) -> Query:
        kind = next((t for t in QUERY_TYPES if t == self._type.value), None)
        level = next((d for d in DIFFICULTIES if d == self._level.value), None)
        return Query(self._id.value, self._words.value, kind, level)

    def _change(self, _event: Any) -> None:
        if self._loaded is not None:
            self._page.session.change_query(self._loaded.id, self._typed())

    def _add(self, _event: Any) -> None:
        typed = self._typed()
        if typed.id.strip() in self._page.session.queries or not typed.id.strip():
            typed = Query(self._free_id(), typed.words, typed.type, typed.difficulty)
        self._page.session.add_query(typed)

    def _free_id(self) -> str:
        taken, k = self._page.session.queries, len(self._page.session.queries) + 1
        while f"query_{k:02d}" in taken:
            k += 1
        return f"query_{k:02d}"

    def _remove(self, _event: Any) -> None:
        query = self._page.session.current
        if query and self._sure == query:
            self._sure = ""
            self._page.session.delete_query(query)
        else:
            self._sure = query


class ObjectsPanel:
    """The objects of the map to search and choose from; what is shown of the map."""

    def __init__(self, page: AnnotatePage, has_cloud: bool) -> None:
        self._page = page
        gui, index, wrap = page.page.server.gui, page.index, page.wrap
        self._labels = {choice.text: choice.value for choice in index.labels}
        self._rooms = {choice.text: choice.value for choice in index.rooms}
        panel = gui.add_panel()
        with panel.add_tab("Objects"):
            self._count = gui.add_html("")
            self._search = gui.add_text("Search", "", hint="Parts of label, id or room")
            self._label = gui.add_dropdown("Label", (ANY, *self._labels))
            self._room = gui.add_dropdown("Room", (ANY, *self._rooms), visible=len(self._rooms) > 1)
            floors = page.view.floors
            self._floor = gui.add_dropdown(
                "Floor", (ALL_FLOORS, *reversed(floors)), visible=len(floors) > 1
            )
            self._floor.on_update(wrap(lambda _: self._show_floor()))
            for widget in (self._search, self._label, self._room):
                widget.on_update(wrap(lambda _: self._restart()))
            self._list = ButtonList(gui, SHOWN, wrap, page.toggle)
            self._details = gui.add_html("")
            self._turn = gui.add_button("Look at it", visible=False, color="gray")
            self._turn.on_click(wrap(lambda _: page.look(page.looked)))
        with panel.add_tab("View"):
            named = gui.add_checkbox("Room names", True, visible=bool(page.scene.rooms))
            named.on_update(wrap(lambda event: page.view.show_room_names(event.target.value)))
            points = gui.add_checkbox("Points", True, visible=has_cloud)
            points.on_update(wrap(lambda event: page.show_points(event.target.value)))
            gui.add_button("Whole map", color="gray").on_click(
                wrap(lambda _: page.view.look_at(None))
            )
            gui.add_html(block(_HELP, "font-size:.8em;opacity:.75"))
        panel.dock_left()
        panel.set_width(300)
        self._again = False

    def refresh(self) -> None:
        """Show the objects that fit the filters, the chosen ones marked."""
        page = self._page
        ids = page.index.find(
            str(self._search.value),
            self._labels.get(str(self._label.value)),
            self._rooms.get(str(self._room.value)),
        )
        if self._floor.value != ALL_FLOORS:
            here = on_floor(page.view.shapes, str(self._floor.value))
            ids = [i for i in ids if i in here]
        chosen = page.session.answer(page.session.current) or ()
        rank = {id_: k for k, id_ in enumerate(chosen, start=1)}

        def row(id_: str) -> Row:
            sign = f"✓ {rank[id_]}  " if id_ in rank else ""
            return Row(sign + page.index.name(id_), self._color(id_, rank))

        self._list.show(ids, row, self._again)
        self._again = False
        total = len(page.scene.objects)
        text = f"{len(ids)} of {total} objects" if total else "The map has no objects."
        put(self._count, content=block(text, "font-size:.8em;opacity:.7"))
        put(self._details, content=block(pairs(page.index.details(page.looked))))
        put(self._turn, visible=page.looked in page.scene.objects)

    @property
    def found(self) -> Sequence[str]:
        """The objects on the open page of a search; none while nothing is searched for."""
        searched = self._search.value.strip() or self._label.value != ANY or self._room.value != ANY
        return self._list.page if searched else ()

    def _color(self, id_: str, rank: dict[str, int]) -> tuple[int, int, int] | None:
        if id_ in rank:
            return (193, 127, 0)
        r, g, b = color_of(self._page.scene.objects[id_].label.top)
        return (int(r * 0.6), int(g * 0.6), int(b * 0.6))  # white text is read on it

    def _restart(self) -> None:
        self._again = True

    def _show_floor(self) -> None:
        self._restart()
        view, chosen = self._page.view, str(self._floor.value)
        view.show_floors(view.floors if chosen == ALL_FLOORS else [chosen])
        view.look_at(None)


_HELP = (
    "Click a box: choose it, or take it out. Shift and click: the one behind it. "
    "What is searched for is named in the map.<br>"
    "Drag: turn the map; right button: move it; wheel: zoom.<br>"
    "Keys: N next, P previous, U first unanswered, 0 no object fits, Ctrl Z undo, Ctrl Y redo."
)
