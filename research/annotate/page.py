"""The annotation page: the map in the middle, objects to its left, queries to its right."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from coterie_core.yaml_marks import FileProblem
from coterie_world.scene import SceneGraph
from research.annotate.clouds import load_cloud
from research.annotate.objects import ObjectIndex
from research.annotate.panels import EditPanel, ObjectsPanel, QueryPanel, SuggestPanel
from research.annotate.queries import QueryError
from research.annotate.session import AnnotationSession
from research.annotate.store import AnnotationError
from research.annotate.suggest import Suggestion, suggest
from research.annotate.view import AnnotationView, Mark
from research.annotate.web import WorkPage
from research.annotate.widgets import Callback

WATCH = 1.0
"""How often files are looked at for changes by others [s]."""
NOTE_WAIT = 0.6
"""How long after the last key a note is saved [s]."""

CHOSEN = (236, 166, 20)
PROPOSED = (138, 70, 190)
LOOKED = (30, 40, 55)
FOUND = (40, 110, 190)


class AnnotatePage:
    """Shows a session and carries out what the person clicks; all logic is the session's.

    Attributes:
        page: The server.
        session: Queries and answers.
        index: The objects to choose from.
        view: The map.
        looked: The object whose details are shown ("": none).
        proposal: What the rules suggest for the query that is shown; None: nothing was asked.
    """

    def __init__(
        self, session: AnnotationSession, name: str, port: int | None, cloud: Path | None
    ) -> None:
        """Serve the page.

        Args:
            session: What is annotated.
            name: Name of the map.
            port: As for `WorkPage`.
            cloud: A PLY to draw; None: none.

        Raises:
            PageError: The port cannot be had.
        """
        self.page = WorkPage(f"Annotate {name}"[:60], port)
        self.page.expect(AnnotationError, QueryError, FileProblem)
        self.session, self.looked = session, ""
        self.proposal: Suggestion | None = None
        self.problems: list[str] = []
        self._note: tuple[str, str] | None = None
        self._note_timer: asyncio.TimerHandle | None = None
        self.index = ObjectIndex(session.scene)
        server = self.page.server
        with server.atomic():
            self.view = AnnotationView(server, session.scene)
            self._points = self._draw_cloud(cloud)
            server.gui.main_panel.dock_right()
            server.gui.main_panel.set_width(390)
            self.queries = QueryPanel(self)
            self.suggestions = SuggestPanel(self)
            self.edit = EditPanel(self)
            self.objects = ObjectsPanel(self, has_cloud=self._points is not None)
            self.view.on_pick(self.wrap(self._picked))
            self._hotkeys()
            self.refresh()
        self.page.every(WATCH, self._watch)

    @property
    def scene(self) -> SceneGraph:
        """The map."""
        return self.session.scene

    def wrap(
        self, react: Callable[[Any], Awaitable[None] | None], keep_note: bool = False
    ) -> Callback:
        """Return a callback that saves a note in work, reacts, and shows what is so then.

        Changes that the program made to a widget itself are not passed on.
        """

        def all_of_it(event: Any) -> Awaitable[None] | None:
            if not keep_note:
                self.flush_note()
            return react(event)

        async def callback(event: Any) -> None:
            if getattr(event, "client", None) is None:
                return
            await self.page.attempt(lambda: all_of_it(event))
            await self.page.attempt(self.refresh)

        return callback

    def refresh(self) -> None:
        """Show the session as it is."""
        if self.proposal and self.proposal.query != self.session.current:
            self.proposal = None
        for text in self.session.notices:
            self.page.tell(text)
        self.session.notices.clear()
        with self.page.server.atomic():
            for panel in (self.queries, self.suggestions, self.edit, self.objects):
                panel.refresh()
            self.view.mark(self._marks())

    def look(self, id_: str) -> None:
        """Turn to an object and show its details."""
        self.looked = id_
        if id_ in self.scene.objects:
            self.view.look_at(id_)

    def toggle(self, id_: str) -> None:
        """Choose an object, or take it out."""
        self.looked = id_
        self.session.toggle(id_)

    def show_points(self, visible: bool) -> None:
        """Show or hide the point cloud."""
        if self._points is not None:
            self._points.visible = visible

    def take_back(self) -> None:
        """Undo."""
        if not self.session.undo():
            self.page.tell("there is nothing to take back")

    def do_again(self) -> None:
        """Redo."""
        if not self.session.redo():
            self.page.tell("there is nothing to do again")

    async def ask_rules(self) -> None:
        """Ask the rules for a suggestion; it is shown, and nothing is saved."""
        query = self.session.query
        if query is None:
            raise AnnotationError("there is no query; add one first")
        found = await asyncio.to_thread(suggest, self.scene, query.id, query.words)
        if self.session.query == query:
            self.proposal = found

    def type_note(self, text: str) -> None:
        """Take a note in work; it is saved when no key was pressed for a moment."""
        if not self.typing:
            self.flush_note()
        self._note = (self.session.current, text)
        if self._note_timer:
            self._note_timer.cancel()
        loop = self.page.server.get_event_loop()
        self._note_timer = loop.call_later(
            NOTE_WAIT, lambda: loop.create_task(self.page.attempt(self._save_note))
        )

    @property
    def typing(self) -> bool:
        """Whether a note on the query that is shown is in work."""
        return self._note is not None and self._note[0] == self.session.current

    def flush_note(self) -> None:
        """Save a note in work now; one that cannot be saved stays in work, and is told."""
        if self._note is None:
            return
        query, text = self._note
        try:
            if query in self.session.queries:
                self.session.write_note(text, query)
            self._note = None
        except AnnotationError as error:
            self.page.tell(f"note on {query}: {error}", "warning")

    def close(self) -> None:
        """Save what is in work and stop serving."""
        done = asyncio.run_coroutine_threadsafe(
            self.page.attempt(self.flush_note), self.page.server.get_event_loop()
        )
        done.result(timeout=10.0)
        self.page.close()

    def _save_note(self) -> None:
        self.flush_note()
        self.refresh()

    def _picked(self, event: Any) -> None:
        hits = self.view.picked(event)
        if hits:
            self.toggle(hits[min(1, len(hits) - 1)] if event.modifier == "shift" else hits[0])

    def _marks(self) -> list[Mark]:
        chosen = self.session.answer(self.session.current) or ()
        marks = [
            Mark(id_, f"{k}  {self.index.name(id_, 20)}", CHOSEN, filled=True)
            for k, id_ in enumerate(chosen, start=1)
        ]
        if self.proposal:
            marks += [
                Mark(id_, f"? {k}", PROPOSED)
                for k, id_ in enumerate(self.proposal.ids, start=1)
                if id_ not in chosen
            ]
        marked = {mark.id for mark in marks}
        for id_ in self.objects.found:
            if id_ not in marked and id_ != self.looked:
                marks.append(Mark(id_, self.index.name(id_, 20), FOUND))
        if self.looked and self.looked not in marked:
            marks.append(Mark(self.looked, self.index.name(self.looked, 20), LOOKED))
        return marks

    def _watch(self) -> None:
        if self.session.poll():
            self.refresh()

    def _draw_cloud(self, cloud: Path | None) -> Any:
        if cloud is None:
            return None
        try:
            return self.view.show_cloud(*load_cloud(cloud, self.view.shapes.origin))
        except ValueError as error:
            self.problems.append(f"{error}; the map is shown without points")
            return None

    def _hotkeys(self) -> None:
        gui, session = self.page.server.gui, self.session
        for label, key, modifier, do in (
            ("Next query", "N", None, lambda _: session.step(1)),
            ("Previous query", "P", None, lambda _: session.step(-1)),
            ("First unanswered query", "U", None, lambda _: session.go(session.first_open())),
            ("No object fits", "0", None, lambda _: session.none_fits()),
            ("Undo", "Z", "cmd/ctrl", lambda _: self.take_back()),
            ("Redo", "Y", "cmd/ctrl", lambda _: self.do_again()),
        ):
            command = gui.add_command(label, hotkey=key, modifier=modifier)  # type: ignore[arg-type]
            command.on_trigger(self.wrap(do))
